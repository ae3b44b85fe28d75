"""Files of a release that do not belong together, or are no documents of anonkit.

The documents of a release have the keys that anonkit writes; damaged ones are refused as such.

Signatures as a receiver verifies them: whose key, which files, and nothing that was not signed.
"""

from __future__ import annotations

import base64
import json
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from checks.forgeries import Files, forged, verdict
from checks.forging import at
from objects_in_memory import bucket_in_memory

import anonkit
from anonkit.bundle.data_files import sha256
from anonkit.bundle.release_place import DESCRIPTOR, METADATA_KEY, SIGNATURE, Place
from anonkit.bundle.signing import Signer
from anonkit.checks.approximate_account import approximate_report_checks
from anonkit.checks.central import central_report_checks
from anonkit.checks.document_agreement import _type_of
from anonkit.checks.file_integrity import Envelope, Order, key_checks, manifest_of, read_descriptor
from anonkit.checks.local_table import local_file_checks
from anonkit.cli import anonkit as program
from anonkit.cli.boundary import run
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import GuaranteeError, ParameterError, ReleaseFormatError
from tests.bundle import test_signing
from tests.bundle.test_signing import SIDECARS, make_keys, release

keys, signed = test_signing.keys, test_signing.signed
"""The owner's private and public key, and a signed release on disk."""


def copy_of(release: anonkit.Release, folder: Path) -> Path:
    """Return the data file of a copy of a release, its signature included."""
    assert release.place is not None
    shutil.copytree(release.place.folder, folder, dirs_exist_ok=True)
    return folder / release.place.name(".parquet")


def failed(found: anonkit.checks.validation.Validation) -> set[str]:
    """Return the names of the checks that failed."""
    return {check.name for check in found.checks if not check.passed}


@pytest.mark.quick_cases("True-out.parquet", "True-out.report.json", "False-*")
@pytest.mark.parametrize("name", ["out.parquet", *(f"out.{name}" for name in SIDECARS)])
@pytest.mark.parametrize("with_key", [True, False])
def test_a_changed_byte_in_any_file_is_refused(
    signed: anonkit.Release, keys: tuple[Path, Path], tmp_path: Path, name: str, with_key: bool
) -> None:
    """The file list no longer agrees, with the key and without it."""
    data = copy_of(signed, tmp_path)
    content = (tmp_path / name).read_bytes()
    at = content.rindex(b"0" if b"0" in content else b"a")
    (tmp_path / name).write_bytes(content[:at] + b"1" + content[at + 1 :])
    try:
        found = failed(anonkit.validate(data, signed_by=keys[1] if with_key else None))
    except ReleaseFormatError:  # not readable any more is a refusal, too
        return
    assert "signed_files" in found


def test_a_forger_who_rewrites_all_files_lacks_the_key(
    signed: anonkit.Release, small_customers: pa.Table, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    """A sound release under the owner's old signature, and under one of another key, are both refused."""
    assert signed.place is not None
    other, _ = make_keys(tmp_path, "other")
    forged = release(small_customers, tmp_path / "a" / "out.parquet")
    assert forged.place is not None
    shutil.copy(signed.place.file(SIGNATURE), forged.place.file(SIGNATURE))
    assert failed(anonkit.validate(forged, signed_by=keys[1])) == {"signed_files"}

    resigned = release(small_customers, tmp_path / "b" / "out.parquet", sign=other)
    assert failed(anonkit.validate(resigned, signed_by=keys[1])) == {"signature"}
    assert resigned.place is not None
    assert run(program, ["validate", str(resigned.place.file(".parquet")), "--signed-by", str(keys[1])], "anonkit") == 1


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"{}",
        b"[]",
        b'{"payloadType": "application/vnd.in-toto+json", "payload": 7, "signatures": []}',
        b'{"payloadType": "text/plain", "payload": "", "signatures": []}',
        b"[" * 100_000,
    ],
)
def test_a_missing_or_damaged_signature_is_a_failed_check(
    signed: anonkit.Release, keys: tuple[Path, Path], tmp_path: Path, content: bytes | None
) -> None:
    """A required signature that is absent is never a pass."""
    data = copy_of(signed, tmp_path)
    signature = tmp_path / "out.signature.json"
    signature.unlink()
    if content is not None:
        signature.write_bytes(content)
    assert failed(anonkit.validate(data, signed_by=keys[1])) == {"signature", "signed_files"}


def test_a_payload_of_another_kind_is_no_statement(
    signed: anonkit.Release, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    """A payload that the owner signed for another purpose is refused, though the signature is right."""
    data = copy_of(signed, tmp_path)
    signature = tmp_path / "out.signature.json"
    statement = json.loads(base64.b64decode(json.loads(signature.read_text())["payload"]))
    signer = Signer.load(keys[0])
    for edit in ({"predicateType": "https://slsa.dev/provenance/v1"}, {"subject": statement["subject"][:-1]}, {}):
        payload = json.dumps({**statement, **edit}).encode()
        kind = b"application/vnd.in-toto+json"
        signed_bytes = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
        sig = base64.b64encode(signer.key.sign(signed_bytes)).decode()
        envelope = {"payloadType": kind.decode(), "payload": base64.b64encode(payload).decode()}
        signature.write_text(json.dumps({**envelope, "signatures": [{"sig": sig}]}))
        assert failed(anonkit.validate(data, signed_by=keys[1])) == ({"signed_files"} if edit else set())


def test_files_of_a_data_folder_are_signed_one_by_one(
    small_customers: pa.Table, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    """A part that is taken away, or any file that is added, is seen."""
    made = release(small_customers, tmp_path / "out.parquet", sign=keys[0], part_rows=150)
    assert anonkit.validate(made, signed_by=keys[1]).passed
    (tmp_path / "out.parquet" / "notes.txt").write_text("hidden")
    assert failed(anonkit.validate(made, signed_by=keys[1])) == {"signed_files"}


def test_a_copy_under_the_same_names_keeps_the_signature(
    signed: anonkit.Release, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    """Under other names the descriptor is another file, so the copy is unsigned."""
    assert anonkit.validate(signed.save(tmp_path / "a" / "out.parquet"), signed_by=keys[1]).passed
    renamed = signed.save(tmp_path / "b" / "other.parquet")
    assert anonkit.validate(renamed).passed
    assert failed(anonkit.validate(renamed, signed_by=keys[1])) == {"signature", "signed_files"}


def test_only_releases_are_signed(keys: tuple[Path, Path], small_customers: pa.Table) -> None:
    """A signature cannot be required of a plain table."""
    with pytest.raises(ParameterError, match="plain table"):
        anonkit.validate(small_customers, quasi_identifiers=["age"], k=1, signed_by=keys[1])


@pytest.mark.parametrize("payload", [b"no JSON", b"[]", b"{}", b'{"subject": [{"name": "x"}]}', b"[" * 100_000])
def test_what_is_no_statement_lists_no_files(payload: bytes) -> None:
    """A signed payload of any other kind gives neither a traceback nor an empty list that nothing differs from."""
    assert Envelope(payload=payload, signatures=()).files() is None


@pytest.mark.parametrize("moment", ["yesterday", "2026-01-01T00:00:00"])
def test_when_a_release_was_made_is_a_moment(small_releases: dict[str, Files], moment: str, tmp_path: Path) -> None:
    """Words are no moment, nor is a time that names no zone."""
    true = small_releases["k-anonymous"]

    assert verdict(forged(true, at("report", "created", to=moment), tmp_path)) == (1, ("documents",))


def test_a_method_of_somebody_else_need_not_speak_of_a_shuffle(
    small_releases: dict[str, Files], tmp_path: Path
) -> None:
    """The shuffle checks are left out for a stranger's report without a shuffle; anonkit's own reports have one."""
    true = small_releases["local"]
    data, params, report = forged(true, lambda _: None, tmp_path), true.params, deepcopy(true.report)
    own = [check.name for check in local_file_checks(data, params, report, is_promised=True).later]
    del report["shuffle"]
    report["method"]["name"] = "somebody-elses"
    other = [check.name for check in local_file_checks(data, params, report, is_promised=True).later]

    assert [name for name in own if name not in other] == [name for name in own if "shuffle" in name] != []


def test_a_damaged_report_is_refused_as_such(small_releases: dict[str, Files]) -> None:
    """A report with a missing block, or with params that cannot be read, is refused as damaged."""
    true = small_releases["forest"]
    broken = {**true.params, "target": None}

    for params, report in ((true.params, {}), (broken, true.report)):
        with pytest.raises(ReleaseFormatError):
            list(central_report_checks(params, report, is_promised=True))
    with pytest.raises(ReleaseFormatError):
        list(approximate_report_checks({}, {}))


@pytest.mark.parametrize(("interval", "wrong"), [([0.4, 0.6], 0), ([0.6, 0.4], 1), ([0.4], 1), ("0.4 to 0.6", 1)])
def test_an_interval_of_a_figure_is_two_numbers_in_order(
    small_releases: dict[str, Files], interval: object, wrong: int
) -> None:
    """Anything else in its place is of another kind."""
    true = small_releases["k-anonymous"]
    report = deepcopy(true.report)
    shares = dict.fromkeys(("auc", "balanced_accuracy", "accuracy", "majority"), 0.5)
    figure = {"model": "m", "protocol": "p", **shares, "ci": {"auc": interval}}
    report["utility"]["prediction_of_target"] = figure
    (check,) = key_checks(true.params, report)

    assert check.observed == wrong


@pytest.mark.parametrize("raw", [b"no JSON", b"[]", b'{"sidecars": 3}'])
def test_a_damaged_manifest_is_no_manifest(raw: bytes) -> None:
    """It is there, and is no object with a list of sidecars: neither believed nor taken for absent."""
    with pytest.raises(ReleaseFormatError, match="manifest in the data file is damaged"):
        manifest_of(pa.schema([], metadata={METADATA_KEY: raw}))


def test_a_manifest_that_other_tools_dropped_is_absent() -> None:
    """Without metadata, or with those of somebody else."""
    assert manifest_of(pa.schema([])) is None
    assert manifest_of(pa.schema([], metadata={"pandas": "{}"})) is None


def test_a_release_without_a_descriptor_says_so(tmp_path: Path) -> None:
    """The missing file is named."""
    with pytest.raises(ReleaseFormatError, match="does not exist"):
        read_descriptor(Place.of(tmp_path / "out.parquet"))


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("no JSON", "not the descriptor"),
        ({}, "not the descriptor"),
        ({"resources": [{"name": "data"}]}, "not the descriptor"),
        ({"resources": [{"name": "data", "path": [], "hash": "sha256:0"}]}, "not the descriptor"),
        ({"resources": [{"name": "data", "path": "out.parquet", "hash": "sha256:0"}]}, "does not name all files"),
    ],
)
def test_what_is_no_descriptor_is_refused(tmp_path: Path, document: Any, words: str) -> None:
    """No JSON, no resources, none of their hashes, no path of one, not all of the files."""
    place = Place.of(tmp_path / "out.parquet")
    place.file(DESCRIPTOR).write_text(document if isinstance(document, str) else json.dumps(document))
    with pytest.raises(ReleaseFormatError, match=words):
        read_descriptor(place)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (pa.dictionary(pa.int32(), pa.large_string()), "string"),
        (pa.bool_(), "boolean"),
        (pa.int8(), "integer"),
        (pa.decimal128(9, 2), "number"),
        (pa.date32(), "date"),
        (pa.timestamp("us"), "datetime"),
        (pa.time64("us"), "time"),
        (pa.binary(), "any"),
    ],
)
def test_every_column_has_a_type_of_a_data_package(kind: pa.DataType, name: str) -> None:
    """A type that data packages lack is `any`."""
    assert _type_of(kind) == name


@pytest.mark.quick_cases("40")
@pytest.mark.parametrize("part_rows", [None, 40])
def test_the_descriptor_lists_every_file_with_its_bytes_and_its_hash(tmp_path: Path, part_rows: int | None) -> None:
    """And a descriptor that says otherwise of one of them does not validate, although all hashes of resources hold."""
    data = tmp_path / "out.parquet"
    table = bank_customers(100, seed=1)
    how = {"method": "ppnb", "p_keep": 0.5, "policy": bank_customers_policy(), "ledger": None}
    anonkit.release(table, output=data, part_rows=part_rows, **how)
    path = tmp_path / "out.datapackage.json"
    document = json.loads(path.read_text())
    of_data, *sidecars = document["resources"]
    for resource in sidecars if part_rows else document["resources"]:
        assert resource["anonkit:bytes"] == (tmp_path / resource["path"]).stat().st_size
    if part_rows:
        assert "anonkit:bytes" not in of_data
        assert [file["path"] for file in of_data["anonkit:files"]] == of_data["path"]
        for file in of_data["anonkit:files"]:
            assert file["bytes"] == (tmp_path / file["path"]).stat().st_size
            assert file["hash"] == f"sha256:{sha256(tmp_path / file['path'])}"
    assert anonkit.validate(data).passed

    lies = [(of_data["anonkit:files"][1], key) for key in ("bytes", "hash", "path")] if part_rows else []
    for where, key in [*lies, (sidecars[0], "anonkit:bytes"), *([] if part_rows else [(of_data, "anonkit:bytes")])]:
        true = where[key]
        where[key] = true + 1 if isinstance(true, int) else f"{true[:-1]}{'0' if true[-1] != '0' else '1'}"
        path.write_text(json.dumps(document))
        assert [check.name for check in anonkit.validate(data).checks if not check.passed] == ["descriptor"], key
        where[key] = true
    for resource in document["resources"]:  # releases of earlier versions say neither
        resource.pop("anonkit:bytes", None)
        resource.pop("anonkit:files", None)
    path.write_text(json.dumps(document))
    assert anonkit.validate(data).passed


def test_a_release_in_a_store_is_validated_as_it_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its address or its place; a file that is not the listed one is refused before anything is looked at."""
    bucket = bucket_in_memory(monkeypatch)
    how = {"method": "ppnb", "p_keep": 0.5, "policy": bank_customers_policy(), "ledger": None}
    made = anonkit.release(bank_customers(100, seed=1), output="s3://bucket/out.parquet", **how)
    assert anonkit.validate("s3://bucket/out.parquet").passed
    assert anonkit.validate(made.place).passed
    key = next(key for key in bucket.objects if key.endswith("/out.parquet"))
    bucket.objects[key] = bucket.objects[key][:-1] + b"?"
    with pytest.raises(GuaranteeError, match="changed after the release"):
        anonkit.validate("s3://bucket/out.parquet")


def test_half_of_a_character_is_refused(small_releases: dict[str, Files]) -> None:
    """No writer of UTF-8 can have written it: one fault, and no crash of the schema's reader."""
    true = small_releases["k-anonymous"]
    (check,) = key_checks({**true.params, "\ud800": 1}, true.report)
    assert check.observed == 1


@pytest.mark.parametrize("instance", ["1, 2", None, [2, "1"], [1, 2, 2]])
def test_an_order_is_one_of_numbers(instance: object) -> None:
    """All else is refused by its type, in the same schema."""
    Order({}, "ascending", []).validate(instance)


def test_numbers_in_another_order_are_refused() -> None:
    """A step back, and where the order is strict two equal ones."""
    with pytest.raises(ValueError, match="another order"):
        Order({}, "ascending", []).validate([2, 1])
    with pytest.raises(ValueError, match="another order"):
        Order({}, "strictly ascending", []).validate([1, 2, 2])
