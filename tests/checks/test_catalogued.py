"""Entries for catalogues beside a release: written with it, checked like it, and made of its public files alone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from jsonschema import Draft202012Validator

import anonkit
from anonkit.bundle.data_files import digest
from anonkit.bundle.release_place import Place
from anonkit.bundle.signing import Signer, digests, write_signature
from anonkit.checks.validation import catalogue_checks
from anonkit.cli import anonkit as commands
from anonkit.cli.boundary import run
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import ParameterError
from anonkit.pipeline.recipe import Recipe
from anonkit.pipeline.repeated_release import add_entries
from anonkit.report.descriptors import build_registry_entry

WORDS = ("croissant", "registry")
REGISTRY: dict[str, Any] = {
    # the parts of the registry's schema (deployments-schema.yaml) that a draft by anonkit fills in
    "type": "object",
    "additionalProperties": False,
    "required": ["url_slug", "deployment"],
    "properties": {
        "url_slug": {"type": "string"},
        "deployment": {
            "type": "object",
            "additionalProperties": False,
            "required": ["basic", "administrative"],
            "properties": {
                "basic": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": [
                        "name", "data_curators", "description", "intended_use", "data_product_type",
                        "data_product_region", "publication_date",
                    ],
                    "properties": {
                        "name": {"type": "string"},
                        "data_curators": {
                            "type": "array",
                            "minItems": 1,
                            "items": {
                                "type": "object",
                                "required": ["data_curator_name", "data_curator_type"],
                                "properties": {
                                    "data_curator_name": {"type": "string"},
                                    "data_curator_type": {"enum": ["Government", "Industry", "Nonprofit"]},
                                },
                            },
                        },
                        "description": {"type": "string"},
                        "intended_use": {"type": "string"},
                        "data_product_type": {
                            "enum": [
                                "Summary statistics", "Machine learning model", "Dataset", "Synthetic data",
                                "Interactive API", "SQL queries",
                            ]
                        },
                        "data_product_region": {"type": "string"},
                        "data_product_sector": {"type": "string"},
                        "publication_date": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"},
                    },
                },
                "dp_variant": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "variant_name": {
                            "enum": ["Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"]
                        },
                        "data_domain": {"type": "string"},
                        "unprotected_quantities": {"type": "string"},
                    },
                },
                "privacy_loss": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "privacy_unit": {"type": "string"},
                        "privacy_unit_details": {"type": "string"},
                        "number_of_privacy_units": {"type": "integer"},
                        "privacy_parameters": {
                            "type": "object",
                            "additionalProperties": False,
                            "properties": {
                                "epsilon": {"type": "number"},
                                "delta": {"type": ["number", "string"]},
                                "rho": {"type": "number"},
                            },
                        },
                        "privacy_parameters_details": {"type": "string"},
                    },
                },
                "deployment_model": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "model_name": {"enum": ["Local", "Central", "Shuffle", "Federated", "Varies"]},
                        "trust_assumptions": {"type": "string"},
                        "release_type": {"enum": ["One release", "Many releases"]},
                        "data_source_type": {"enum": ["Static", "Dynamic"]},
                        "access_type": {"enum": ["Interactive", "Non-interactive"]},
                    },
                },
                "implementation": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {"mechanisms": {"type": "string"}},
                },
                "administrative": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["status", "registry_authors", "tier"],
                    "properties": {
                        "status": {"enum": ["Draft", "Pending"]},
                        "registry_authors": {"type": "array", "minItems": 1, "items": {"type": "string"}},
                        "tier": {"enum": [1, 2, 3]},
                    },
                },
            },
        },
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def customers() -> pa.Table:
    """A small table."""
    return bank_customers(200, seed=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, customers: pa.Table) -> Path:
    """A release of rr in one file, of dp-nb in parts, and a k-anonymous one."""
    path = tmp_path_factory.mktemp("emitted")
    _release(customers, path / "rr.parquet", method="rr", epsilon=3.0, emit=WORDS)
    _release(customers, path / "nb.parquet", method="dp-nb", epsilon=1.0, part_rows=80, emit=WORDS)
    _release(customers, path / "k.parquet", method="mondrian", k=5, emit="croissant")
    return path


def _release(customers: pa.Table, output: Path | None, **options: Any) -> anonkit.Release:
    return anonkit.release(customers, policy=bank_customers_policy(), output=output, **{"ledger": None, **options})


def _failed(output: Path) -> list[str]:
    return [check.name for check in anonkit.validate(output).checks if not check.passed]


def test_entries_are_files_of_the_release(folder: Path) -> None:
    """They are beside it, in the descriptor with their hashes, in to_dict, and are validated."""
    for name, words in (("rr", WORDS), ("nb", WORDS), ("k", ("croissant",))):
        release = anonkit.load(folder / f"{name}.parquet")
        descriptor = json.loads((folder / f"{name}.datapackage.json").read_bytes())
        stated = {resource["name"]: resource["hash"].removeprefix("sha256:") for resource in descriptor["resources"]}
        document = release.to_dict()
        checked = {check.name: check.passed for check in anonkit.validate(release).checks}
        assert all(checked.values())
        assert {word for word in WORDS if word in stated} == set(words)
        for word in words:
            assert stated[word] == document["sha256"][word] == digest(Path(document["files"][word]))
            assert {word, f"hash:{word}"} <= set(checked)


def test_the_croissant_file_describes_every_file_and_column(folder: Path) -> None:
    """As Croissant 1.1 has them: hashes of what is there, a field a column with its type, read from the data."""
    for name in ("rr", "nb", "k"):
        document = json.loads((folder / f"{name}.croissant.json").read_bytes())
        assert document["conformsTo"] == "http://mlcommons.org/croissant/1.1"
        assert document["@type"] == "sc:Dataset"
        assert {"name", "description", "license", "datePublished", "distribution", "recordSet"} <= set(document)
        nodes = {node["@id"]: node for node in document["distribution"]}
        assert len(nodes) == len(document["distribution"])
        for node in nodes.values():
            if node["@type"] == "cr:FileObject":
                assert node["sha256"] == digest(folder / node["contentUrl"])
        (rows,) = document["recordSet"]
        schema = anonkit.load(folder / f"{name}.parquet").to_arrow().schema
        assert [field["source"]["extract"]["column"] for field in rows["field"]] == schema.names
        assert len({field["@id"] for field in rows["field"]}) == len(schema.names)
        for field in rows["field"]:
            (source,) = (field["source"][key]["@id"] for key in ("fileObject", "fileSet") if key in field["source"])
            assert source in nodes
            kind = schema.field(field["name"]).type
            assert (field["dataType"] == "sc:Text") == (pa.types.is_dictionary(kind) or pa.types.is_string(kind))


def test_the_registry_entry_is_a_draft_that_its_owner_completes(folder: Path) -> None:
    """Known fields follow the registry's schema; unknown ones are empty and marked, and nothing else is missing."""
    validator = Draft202012Validator(REGISTRY)
    for name, kind in (("rr", "Dataset"), ("nb", "Synthetic data")):
        text = (folder / f"{name}.registry.yaml").read_text(encoding="utf-8")
        entry = yaml.safe_load(text)
        report = anonkit.load(folder / f"{name}.parquet").report
        basic, loss = entry["deployment"]["basic"], entry["deployment"]["privacy_loss"]
        assert [list(error.path)[-1] for error in validator.iter_errors(entry)] == ["data_curator_type"]
        assert text.count('""  # to fill in') == 5
        basic["data_curators"][0]["data_curator_type"] = "Nonprofit"
        assert not list(validator.iter_errors(entry))
        assert loss["privacy_parameters"] == {"epsilon": report["guarantee"]["parameters"]["epsilon"]}
        assert loss["privacy_parameters_details"] == report["guarantee"]["formal"]
        assert basic["data_product_type"] == kind
        assert entry["deployment"]["administrative"]["status"] == "Draft"


def test_a_small_delta_is_a_number_and_another_variant(folder: Path) -> None:
    """YAML readers take 1e-07 for a text; the second release of a dataset says that there are many."""
    report = anonkit.load(folder / "nb.parquet").report
    parameters = {**report["guarantee"]["parameters"], "delta": 1e-7}
    other = {
        **report,
        "guarantee": {**report["guarantee"], "parameters": parameters},
        "ledger": {"release_of_dataset": 2},
    }
    first, second = (yaml.safe_load(build_registry_entry(name="n", report=r))["deployment"] for r in (report, other))
    assert first["dp_variant"]["variant_name"] == "Pure DP"
    assert first["deployment_model"]["release_type"] == "One release"
    assert second["dp_variant"]["variant_name"] == "Approximate DP"
    assert second["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-7}
    assert second["deployment_model"]["release_type"] == "Many releases"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "mondrian", "k": 5, "emit": "registry"}, "this promise is k-anonymity"),
        ({"method": "trr", "emit": WORDS}, "the registry is for differential privacy with an epsilon"),
        ({"method": "mondrian", "k": 5, "emit": "crosant"}, "must be one of croissant, registry"),
    ],
)
def test_what_has_no_entry_is_refused(options: dict[str, Any], said: str, customers: pa.Table, tmp_path: Path) -> None:
    """k-anonymity has no place in a registry of differential privacy; nothing is written."""
    if options["method"] == "trr":
        customers = customers.select(["age", "income", "customer_value"])
    with pytest.raises(ParameterError, match=said):
        anonkit.release(
            customers, output=tmp_path / "a.parquet", ledger=None, target="customer_value", **_numbers(options)
        )
    assert not list(tmp_path.iterdir())


def _numbers(options: dict[str, Any]) -> dict[str, Any]:
    if options["method"] != "trr":
        return options
    columns = {"age": {"bounds": [17, 90]}, "income": {"bounds": [0, 900000]}}
    policy = anonkit.Policy.from_dict(
        {"columns": {**columns, "customer_value": {"role": "target", "categories": ["a", "b"]}}}
    )
    return {**options, "policy": policy}


def test_a_release_in_memory_has_no_entries(customers: pa.Table) -> None:
    """They name the files, which have no names yet."""
    with pytest.raises(ParameterError, match="one in memory has none"):
        _release(customers, None, method="mondrian", k=5, emit="croissant")


@pytest.mark.parametrize(
    ("word", "old", "new"), [("croissant", b"rows", b"raws"), ("registry", b"epsilon: 3", b"epsilon: 0")]
)
def test_a_changed_entry_does_not_validate(
    word: str, old: bytes, new: bytes, customers: pa.Table, tmp_path: Path
) -> None:
    """Nor one that is consistent with a forged descriptor, nor one that is gone or is there unlisted."""
    output = tmp_path / "out.parquet"
    _release(customers, output, method="rr", epsilon=3.0, emit=WORDS)
    entry = anonkit.load(output).place.by_role()[word]  # type: ignore[union-attr]
    whole = entry.read_bytes()
    entry.write_bytes(re.sub(old.replace(b": 3", rb": [23][0-9.]*"), new, whole, count=1))
    assert entry.read_bytes() != whole
    assert _failed(output) == [f"hash:{word}", word]
    path = tmp_path / "out.datapackage.json"
    descriptor = path.read_bytes()
    stated = json.loads(descriptor)
    resource = next(resource for resource in stated["resources"] if resource["name"] == word)
    resource |= {"hash": f"sha256:{digest(entry)}", "anonkit:bytes": entry.stat().st_size}
    path.write_text(json.dumps(stated), encoding="utf-8")
    assert _failed(output) == [word]
    stated["resources"] = [resource for resource in stated["resources"] if resource["name"] != word]
    entry.write_bytes(whole)
    path.write_text(json.dumps(stated), encoding="utf-8")
    assert _failed(output) == ["descriptor"]
    path.write_bytes(descriptor)
    entry.unlink()
    assert set(_failed(output)) == {f"hash:{word}", "descriptor"}


def test_an_entry_of_another_version_is_compared_with_the_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its layout may differ; the promise it states must not."""
    monkeypatch.setattr("anonkit.checks.validation.__version__", "9.9")
    place = Place.of(folder / "rr.parquet")
    release = anonkit.load(folder / "rr.parquet")
    schema = release.to_arrow().schema
    assert all(check.passed for check in catalogue_checks(place, schema, release.report, None))
    other = {**release.report, "guarantee": {**release.report["guarantee"], "statement": "It is safe."}}
    assert [check.passed for check in catalogue_checks(place, schema, other, None)] == [False, False]


@pytest.mark.slow
def test_copies_and_replacements_keep_no_entry_of_another_release(customers: pa.Table, tmp_path: Path) -> None:
    """Under its own name a copy has them, under another none; a new release without them removes the old ones."""
    output = tmp_path / "out.parquet"
    made = _release(customers, output, method="mondrian", k=5, emit="croissant")
    for place, there in ((tmp_path / "same" / "out.parquet", True), (tmp_path / "other.parquet", False)):
        copied = made.save(place)
        assert ("croissant" in copied.to_dict()["files"]) == there
        assert _failed(place) == []
    _release(customers, output, method="mondrian", k=5, force=True)
    assert not (tmp_path / "out.croissant.json").exists()
    assert _failed(output) == []


def test_entries_are_signed_with_the_release(customers: pa.Table, tmp_path: Path) -> None:
    """The signature is over them too."""
    key = Ed25519PrivateKey.generate()
    private, public, output = tmp_path / "own.pem", tmp_path / "own.pub", tmp_path / "out.parquet"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    _release(customers, output, method="rr", epsilon=3.0, emit=WORDS, sign=private)
    assert anonkit.validate(output, signed_by=public).passed
    (tmp_path / "out.registry.yaml").write_text("epsilon: 0", encoding="utf-8")
    failed = [check.name for check in anonkit.validate(output, signed_by=public).checks if not check.passed]
    assert failed == ["signed_files"]  # what was not signed is not looked at any further
    failed = [check.name for check in anonkit.validate(output).checks if not check.passed]
    assert {"signed_files", "hash:registry", "registry"} <= set(failed)


@pytest.mark.slow
def test_commands_and_recipes_request_entries_too(
    customers: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--emit with commas, `emit` in a recipe, and `apply`."""
    monkeypatch.chdir(tmp_path)
    from pyarrow import csv

    csv.write_csv(
        customers.select(["age", "loan", "customer_value"]).cast(
            pa.schema([("age", pa.int64()), ("loan", pa.string()), ("customer_value", pa.string())])
        ),
        "in.csv",
    )
    options = ["--method", "mondrian", "--k", "3", "--target", "customer_value", "--no-ledger", "--quiet"]
    assert run(commands, ["release", *options, "--emit", "croissant", "in.csv", "a.parquet"], "anonkit") == 0
    assert (
        run(
            commands,
            ["apply", "--no-ledger", "--quiet", "--emit", "croissant", "a.parquet", "in.csv", "b.parquet"],
            "anonkit",
        )
        == 0
    )
    assert run(commands, ["release", *options, "--emit", "croissant,registry", "in.csv", "c.parquet"], "anonkit") == 2
    Path("r.toml").write_text(
        'method = "mondrian"\ninput = "in.csv"\noutput = "d.parquet"\nemit = ["croissant"]\n', encoding="utf-8"
    )
    assert run(commands, ["run", "--no-ledger", "--quiet", "r.toml"], "anonkit") == 0
    assert sorted(path.name for path in tmp_path.glob("*.croissant.json")) == [f"{n}.croissant.json" for n in "abd"]
    Path("r.toml").write_text(
        'method = "mondrian"\ninput = "in.csv"\noutput = "d.parquet"\nemit = "croissant"\n', encoding="utf-8"
    )
    with pytest.raises(anonkit.AnonkitError, match="must be a list"):
        Recipe.load("r.toml")


def test_entries_can_be_added_to_an_existing_release(customers: pa.Table, tmp_path: Path) -> None:
    """Byte for byte those it would have been made with; its data, params and report untouched; signed anew."""
    key = Ed25519PrivateKey.generate()
    output = tmp_path / "out.parquet"
    _release(customers, output, method="rr", epsilon=3.0, emit="croissant")
    place = Place.of(output)
    before = {name: path.read_bytes() for name, path in place.files().items()}
    add_entries(place, WORDS, digests(place), None)
    assert _failed(output) == []
    after = {name: path.read_bytes() for name, path in place.files().items()}
    assert [name for name in after if before.get(name) != after[name]] == ["out.datapackage.json", "out.registry.yaml"]
    assert {word for word in WORDS if word in anonkit.load(output).to_dict()["files"]} == set(WORDS)
    (tmp_path / "out.registry.yaml").unlink()
    (tmp_path / "out.datapackage.json").write_bytes(before["out.datapackage.json"])
    write_signature(place, Signer(key=key))
    with pytest.raises(ParameterError, match="over all files"):
        add_entries(place, WORDS, digests(place), None)
    add_entries(place, WORDS, digests(place), Signer(key=key))
    public = tmp_path / "own.pub"
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    assert anonkit.validate(output, signed_by=public).passed
    add_entries(place, WORDS, digests(place), None)
