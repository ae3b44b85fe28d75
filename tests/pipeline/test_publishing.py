"""From a verified draft to files: hashes, reading back, replacing, and failing in the middle."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import EngineError, GuaranteeError, ParameterError
from anonkit.pipeline import publishing
from anonkit.policy.declaration import Policy

PAGE, REPORT, PARAMS, DESCRIPTOR = ".report.html", ".report.json", ".params.json", ".datapackage.json"

Kind = dict[str, Any]
KINDS: dict[str, Kind] = {
    "rows": {"method": "mondrian", "k": 3, "unit": "none"},
    "people": {"method": "mondrian", "k": 3, "unit": "customer_id"},
    "local": {"method": "rr", "epsilon": 1.0},
    "central": {"method": "dp-nb", "epsilon": 1.0},
}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Two rows each of 45 people: too few for a model of the target."""
    return bank_customers(90, seed=6, rows_per_customer=2)


@pytest.fixture(scope="module")
def policy() -> Policy:
    """Public domains for them."""
    return bank_customers_policy().with_roles(quasi_identifiers=["deposit", "loan"])


def release(table: pa.Table, policy: Policy, kind: str, **more: Any) -> anonkit.Release:
    """Release it in one of the ways."""
    given = {"identifiers": () if kind == "people" else ["customer_id"], "ledger": None, **KINDS[kind]}
    return anonkit.release(table, policy=policy, **{**given, **more})


def contents_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def sha256(content: bytes) -> str:
    """The hash as hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


@pytest.mark.quick_cases("rows-None", "local-*", "central-*")
@pytest.mark.parametrize("parts", [None, 25])
@pytest.mark.parametrize("kind", KINDS)
def test_every_file_stands_with_its_hash_in_the_others(
    kind: str, parts: int | None, table: pa.Table, policy: Policy, tmp_path: Path
) -> None:
    """The descriptor has the hash of every file; each file of data names the sidecars it belongs to."""
    release(table, policy, kind, output=tmp_path / "out.parquet", part_rows=parts)
    files = contents_of(tmp_path)
    listed = {
        path: one.get("hash")
        for one in json.loads(files[f"out{DESCRIPTOR}"])["resources"]
        for path in ([one["path"]] if isinstance(one["path"], str) else one["path"])
    }
    assert set(listed) == set(files) - {f"out{DESCRIPTOR}"}
    data = [name for name in files if name.endswith(".parquet")]
    assert len(data) == 1 if parts is None else len(data) > 1
    for name, content in files.items():
        if name != f"out{DESCRIPTOR}" and (parts is None or name not in data):
            assert listed[name].removeprefix("sha256:") == sha256(content)
    for name in data:
        labels = json.loads(pq.read_schema(tmp_path / name).metadata[b"anonkit"])
        assert labels["sidecars"] == {
            suffix.lstrip("."): sha256(files[f"out{suffix}"]) for suffix in (PARAMS, REPORT, PAGE)
        }


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_parameters_and_treatment_are_published_as_they_were(kind: str, table: pa.Table, policy: Policy) -> None:
    """Given parameters are in params.json and in the report, with every other parameter; treatments of columns too."""
    made = release(table, policy, kind)
    given = {name: value for name, value in KINDS[kind].items() if name not in ("method", "unit")}
    assert made.params["method"] == KINDS[kind]["method"]
    assert given.items() <= made.params["method_parameters"].items()
    assert made.params["method_parameters"] == made.report["method"]["parameters"]
    done = {one["name"]: (one["role"], one["action"]) for one in made.report["columns"]}
    assert {name: (one["role"], one["action"]) for name, one in made.params["treatment"].items()} == done
    assert set(table.column_names) <= set(done)
    assert done["customer_id"][1] == "dropped"
    assert "customer_id" not in made.to_arrow().column_names


def less(table: pa.Table) -> pa.Table:
    """A table without its first row."""
    return table.slice(1)


def other(table: pa.Table) -> pa.Table:
    """A table in which the first row is of a class of its own."""
    name = "age"
    cells = table.column(name).to_pylist()
    column = pa.array(["[98, 99)", *cells[1:]], pa.string())
    return table.set_column(table.column_names.index(name), name, column)


@pytest.mark.quick_cases("local-less", "rows-other")
@pytest.mark.parametrize(("kind", "change"), [("rows", less), ("rows", other), ("local", less), ("central", less)])
def test_a_file_that_does_not_hold_what_was_counted_is_not_released(
    kind: str,
    change: Callable[[pa.Table], pa.Table],
    table: pa.Table,
    policy: Policy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The written file is read back: a lost row or another cell is noticed, and an earlier release stays."""
    release(table, policy, "rows", output=tmp_path / "out.parquet")
    before = contents_of(tmp_path)

    def lossy(source: Path, target: Path, metadata: dict[str, str]) -> int:
        changed = change(pq.read_table(source))
        pq.write_table(changed, target)
        return changed.num_rows

    monkeypatch.setattr(publishing, "relabelled", lossy)
    with pytest.raises(GuaranteeError, match="does not hold what was counted"):
        release(table, policy, kind, output=tmp_path / "out.parquet", force=True)
    assert contents_of(tmp_path) == before


@pytest.mark.quick_cases("relabelled")
@pytest.mark.parametrize("step", ["render_page", "build_descriptor", "relabelled"])
def test_a_disk_that_is_full_leaves_what_was_there(
    step: str, table: pa.Table, policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line says so; the release that was there stays byte for byte, nothing of the new one appears."""
    release(table, policy, "rows", output=tmp_path / "out.parquet")
    before = contents_of(tmp_path)

    def full(*args: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a path that is nobody's business")

    monkeypatch.setattr(publishing, step, full)
    with pytest.raises(EngineError, match=r"cannot write to .*No space left on device") as failed:
        release(table, policy, "local", output=tmp_path / "out.parquet", force=True)
    assert "nobody's business" not in str(failed.value)
    assert contents_of(tmp_path) == before


@pytest.mark.slow
def test_a_release_is_replaced_whole_whatever_its_form(table: pa.Table, policy: Policy, tmp_path: Path) -> None:
    """One file by a folder of parts, that by fewer parts, and back: no file of the old one stays."""
    place = tmp_path / "out.parquet"
    sizes = []
    for parts in (None, 10, 40, None):
        release(table, policy, "rows", output=place, part_rows=parts, force=True)
        assert anonkit.validate(place).passed
        sizes.append(len(contents_of(tmp_path)))
    assert sizes == [5, 13, 7, 5]


def test_the_owner_report_stands_apart_from_the_release(table: pa.Table, policy: Policy, tmp_path: Path) -> None:
    """Not in its folder, also not by another name of it; for the owner's eyes, also where others could read before."""
    handed_out, own = tmp_path / "out", tmp_path / "own"
    handed_out.mkdir()
    (tmp_path / "link").symlink_to(handed_out)
    for beside in (handed_out, tmp_path / "link", handed_out / "x" / ".."):
        with pytest.raises(ParameterError, match="is the folder of the release"):
            release(table, policy, "rows", output=handed_out / "out.parquet", owner_report=beside)
    own.mkdir()
    (own / "owner.report.json").write_text("{}")
    (own / "owner.report.json").chmod(0o644)
    made = release(table, policy, "rows", output=handed_out / "out.parquet", owner_report=own)
    document = json.loads((own / "owner.report.json").read_text())
    assert (own / "owner.report.json").stat().st_mode & 0o777 == 0o600
    assert document["banner"].startswith("DO NOT PUBLISH")
    assert document["source"] == made.owner["source"]
    assert not any(b"utility_of_source" in content for content in contents_of(handed_out).values())


@pytest.mark.slow
def test_an_owner_report_that_cannot_be_written_holds_the_release_back(
    table: pa.Table, policy: Policy, tmp_path: Path
) -> None:
    """The owner requested both: nothing is handed out, and nothing is written on a dry run."""
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(EngineError, match="cannot write to"):
        release(table, policy, "rows", output=tmp_path / "out" / "out.parquet", owner_report=tmp_path / "file")
    assert list(contents_of(tmp_path)) == ["file"]
    release(table, policy, "rows", output=tmp_path / "out.parquet", owner_report=tmp_path / "own", dry_run=True)
    assert list(contents_of(tmp_path)) == ["file"]
