"""Validation from the files alone: a tampered release fails, each change with its own message."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.checks.requirements import Requirements
from anonkit.errors import ParameterError, ReleaseFormatError

NOTHING_REQUIRED = Requirements(quasi_identifiers=None, sensitive=(), k=None, l=None, t=None, alpha=None, beta=None)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory, small_customers: pa.Table) -> Path:
    """A release nobody has touched."""
    output = tmp_path_factory.mktemp("release") / "out.parquet"
    anonkit.release(
        small_customers,
        method="rfka",
        k=5,
        trees=10,
        target="customer_value",
        sensitive=["customer_value"],
        output=output,
    )
    return output


@pytest.fixture
def copy(untouched: Path, tmp_path: Path) -> Path:
    """A copy to tamper with."""
    for path in untouched.parent.iterdir():
        shutil.copy(path, tmp_path)
    return tmp_path / untouched.name


def _rewrite(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    metadata = pq.read_schema(path).metadata
    table = change(pq.read_table(path, partitioning=None))
    pq.write_table(table.replace_schema_metadata(metadata), path)


def _edit(path: Path, change: Callable[[dict], object]) -> None:  # type: ignore[type-arg]
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def _flip_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(bytes(content))


def _sidecar(path: Path, kind: str) -> Path:
    return path.with_name(f"out.{kind}")


TAMPERING: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    "one row removed": (lambda p: _rewrite(p, lambda t: t.slice(1)), {"hash:data", "rows", "class_sizes"}),
    "one row repeated": (lambda p: _rewrite(p, lambda t: pa.concat_tables([t, t.slice(0, 1)])), {"hash:data", "rows"}),
    "an identifier added": (
        lambda p: _rewrite(p, lambda t: t.append_column("name", pa.array(map(str, range(len(t)))))),
        {"hash:data", "columns"},
    ),
    "a column removed": (
        lambda p: _rewrite(p, lambda t: t.drop_columns([t.column_names[0]])),
        {"hash:data", "columns"},
    ),
    "k lowered in the report": (
        lambda p: _edit(_sidecar(p, "report.json"), lambda d: d["guarantee"]["parameters"].update(k=2)),
        {"hash:report", "manifest:report.json"},
    ),
    "k raised in the report": (
        lambda p: _edit(_sidecar(p, "report.json"), lambda d: d["guarantee"]["parameters"].update(k=10_000)),
        {"hash:report", "manifest:report.json", "k_anonymity"},
    ),
    "the recoding edited": (
        lambda p: _edit(_sidecar(p, "params.json"), lambda d: d["recoding"].update(columns=[])),
        {"hash:params", "manifest:params.json"},
    ),
    "the page edited": (
        lambda p: _sidecar(p, "report.html").write_text("all is well"),
        {"hash:page", "manifest:report.html"},
    ),
    "metadata dropped by another tool": (
        lambda p: pq.write_table(pq.read_table(p).replace_schema_metadata(None), p),
        {"hash:data", "manifest"},
    ),
    "a hash edited": (
        lambda p: _edit(_sidecar(p, "datapackage.json"), lambda d: d["resources"][0].update(hash="sha256:" + "0" * 64)),
        {"hash:data"},
    ),
}


def test_an_untouched_release_passes(untouched: Path) -> None:
    """Every check holds, and there are many."""
    validation = anonkit.validate(untouched)
    assert validation.passed
    assert len(validation.checks) > 10
    assert validation.disclosure is not None


@pytest.mark.parametrize("tampering", TAMPERING)
def test_a_tampered_release_fails_by_name(copy: Path, tampering: str) -> None:
    """Each kind of change is found by the checks that are there for it."""
    change, expected = TAMPERING[tampering]
    change(copy)
    failed = {check.name for check in anonkit.validate(copy).checks if not check.passed}
    assert expected <= failed


def test_a_flipped_byte_never_passes(copy: Path) -> None:
    """The file is found changed, or cannot be read at all."""
    _flip_a_byte(copy)
    outcome: list[str] = []
    try:
        outcome.append("passed" if anonkit.validate(copy).passed else "failed")
    except anonkit.AnonkitError as error:
        outcome.append(f"exit code {error.exit_code}")
    assert outcome in (["failed"], ["exit code 3"])


@pytest.mark.parametrize("kind", ["params.json", "report.json", "datapackage.json"])
def test_a_missing_sidecar_cannot_be_checked(copy: Path, kind: str) -> None:
    """Less than the whole release is no release."""
    _sidecar(copy, kind).unlink()
    with pytest.raises(ReleaseFormatError, match="does not exist"):
        anonkit.validate(copy)


def test_a_missing_page_fails(copy: Path) -> None:
    """The page is a file of the release too."""
    _sidecar(copy, "report.html").unlink()
    assert "hash:page" in {check.name for check in anonkit.validate(copy).checks if not check.passed}


def test_more_can_be_asked_than_was_promised(untouched: Path) -> None:
    """--k, --l and --t are checked on top of the report's promise."""
    assert anonkit.validate(untouched, k=5).passed
    assert not anonkit.validate(untouched, k=400).passed
    assert not anonkit.validate(untouched, l=99).passed
    assert not anonkit.validate(untouched, t=0.0).passed


def test_any_table_can_be_checked(tmp_path: Path) -> None:
    """A table that is no release: name the quasi-identifiers and what is requested."""
    frame = pd.DataFrame({"q": ["a"] * 3 + ["b"] * 2, "s": [1, 1, 2, 1, 2]})
    frame.to_csv(tmp_path / "in.csv", index=False)
    for table in (frame, tmp_path / "in.csv"):
        assert anonkit.validate(table, quasi_identifiers=["q"], k=2).passed
        assert not anonkit.validate(table, quasi_identifiers=["q"], k=3).passed
        assert anonkit.validate(table, quasi_identifiers=["q"], sensitive=["s"], k=2, l=2).passed
        assert not anonkit.validate(table, quasi_identifiers=["q"], sensitive=["s"], l=3).passed


def test_a_known_defect_of_peers_is_not_ours() -> None:
    """l = 1 although rows were reordered, and a missing quasi-identifier is a value: a peer says l = 3 and k = 3."""
    frame = pd.DataFrame({"q": ["a", "b", "a", "b", None], "s": [1, 2, 1, 3, 1]}).iloc[[4, 2, 0, 3, 1]]
    found = anonkit.validate(frame, quasi_identifiers=["q"], sensitive=["s"], k=1, l=1).disclosure
    assert found is not None
    assert (found.k, found.sensitive["s"]["l"]) == (1, 1.0)


def test_an_empty_table_keeps_no_promise() -> None:
    """Nothing there is not the same as everybody protected."""
    empty = pa.table({"q": pa.array([], pa.string())})
    assert not anonkit.validate(empty, quasi_identifiers=["q"], k=2).passed


def test_a_check_of_nothing_is_refused() -> None:
    """Without quasi-identifiers, or without any requirement, there is nothing to evaluate."""
    table = pa.table({"q": ["a"]})
    with pytest.raises(ParameterError, match="quasi-identifiers"):
        anonkit.validate(table, k=2)
    with pytest.raises(ParameterError, match="no requirement on the table is given"):
        anonkit.validate(table, quasi_identifiers=["q"])
    with pytest.raises(ParameterError, match=r"did you mean 'q'\?|known: q"):
        anonkit.validate(table, quasi_identifiers=["qq"], k=2)


def test_only_tables_and_stored_releases_are_validated(untouched: Path, small_customers: pa.Table) -> None:
    """A release in memory has no files; a number is no table; a public key is about releases."""
    with pytest.raises(ParameterError, match="release in memory"):
        anonkit.validate(anonkit.release(small_customers, method="mondrian", k=20, ledger=None))
    with pytest.raises(ParameterError, match="is not a table"):
        anonkit.validate(3, quasi_identifiers=["q"], k=2)
    assert anonkit.validate(anonkit.load(untouched)).passed


def test_l_needs_a_sensitive_attribute() -> None:
    """t, alpha and beta too."""
    for asked in ({"l": 2}, {"t": 0.1}, {"alpha": 0.5}, {"beta": 1.0}):
        with pytest.raises(ParameterError, match="about sensitive attributes"):
            anonkit.validate(pa.table({"q": ["a"]}), quasi_identifiers=["q"], **asked)  # type: ignore[arg-type]


def test_other_quasi_identifiers_can_be_asked_of_a_release(untouched: Path) -> None:
    """Fewer columns make larger classes; figures of the report are about its own, and are left alone."""
    name = next(one for one in anonkit.load(untouched).to_arrow().column_names if one != "customer_value")
    found = anonkit.validate(untouched, quasi_identifiers=[name], k=5)
    assert found.passed
    assert "class_sizes" not in {check.name for check in found.checks}
    with pytest.raises(ParameterError, match="not in the table"):
        anonkit.validate(untouched, quasi_identifiers=["nobody"], k=5)


def test_k_is_not_asked_of_noise(tmp_path: Path, small_customers: pa.Table) -> None:
    """A promise about noise has no classes."""
    path = tmp_path / "out.parquet"
    anonkit.release(
        small_customers, method="rr", epsilon=1.0, domains_from_data=True, target="customer_value", output=path,
        ledger=None,
    )  # fmt: skip
    with pytest.raises(ParameterError, match="k-anonymous releases only"):
        anonkit.validate(path, k=5)


@pytest.mark.parametrize("rehashed", [False, True])
def test_data_that_are_no_table(copy: Path, rehashed: bool) -> None:
    """With the old hash a failed check; with a new one nothing can be read, which is no failed promise."""
    copy.write_bytes(b"PAR1 no table")
    if rehashed:
        descriptor = _sidecar(copy, "datapackage.json")
        document = json.loads(descriptor.read_text())
        document["resources"][0]["hash"] = f"sha256:{hashlib.sha256(copy.read_bytes()).hexdigest()}"
        descriptor.write_text(json.dumps(document))
        with pytest.raises(ReleaseFormatError, match="not a readable Parquet file"):
            anonkit.validate(copy)
    else:
        failed = {check.name for check in anonkit.validate(copy).checks if not check.passed}
        assert failed == {"hash:data"}


def test_what_is_asked_and_not_looked_at_is_no_pass(small_customers: pa.Table, tmp_path: Path) -> None:
    """l is about columns: where none is named, nothing says that it holds, and the validation does not pass."""
    output = tmp_path / "out.parquet"
    anonkit.release(small_customers, method="mondrian", k=5, target="customer_value", output=output)
    validation = anonkit.validate(output, l=2)
    assert all(check.passed for check in validation.checks)
    assert (validation.unchecked, validation.passed) == (("l_diversity",), False)
    assert validation.to_dict()["unchecked"] == ["l_diversity"]
    assert anonkit.validate(output, l=1, sensitive=["customer_value"]).passed


def test_a_declared_check_that_was_not_made_is_no_pass(untouched: Path) -> None:
    """Each check that the report states is repeated, unless its files do not allow it."""
    validation = anonkit.validate(untouched)
    told = validation.with_declared(["k_anonymity", "joint_k", "unheard_of"], NOTHING_REQUIRED)
    assert (told.unchecked, told.uncountable, told.passed) == (("unheard_of",), ("joint_k",), False)
    assert validation.passed


@pytest.mark.parametrize(("version", "is_named"), [("0.1.0", True), ("0.1.0\nall is well", False), (None, False)])
def test_a_refused_release_of_another_version_is_named_as_one(copy: Path, version: str | None, is_named: bool) -> None:
    """An old release fails as a forged one does; the note repeats a version number and no other text."""
    if version is None:
        _rewrite(copy, lambda table: table.slice(1))
    else:
        _edit(_sidecar(copy, "report.json"), lambda report: report.update(anonkit_version=version))
    found = anonkit.validate(copy)
    assert not found.passed
    assert any("anonkit 0.1.0 made it" in note for note in found.notes) == is_named
    assert "all is well" not in str(found.notes)


def test_an_old_release_that_cannot_be_read_is_named_as_one(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its hashes hold, and its documents lack what this version needs; read by its own version it passes."""
    assert anonkit.validate(copy).notes == ()
    monkeypatch.setattr("anonkit.checks.validation.__version__", "9.9.0")
    assert anonkit.validate(copy).passed
    monkeypatch.setattr("anonkit.checks.validation.refuse_other_formats", _refuse)
    with pytest.raises(ReleaseFormatError, match="other documents") as refused:
        anonkit.validate(copy)
    assert "made it, and this is 9.9.0" in str(refused.value.hint)


def _refuse(*_: object) -> None:
    raise ReleaseFormatError("these are other documents")
