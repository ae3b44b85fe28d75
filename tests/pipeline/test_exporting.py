"""`anonkit export`: only verified releases leave, whole or not at all, and no secret or cell is shown."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from postgresql import PASSWORD, QUOTED

import anonkit
from anonkit.bundle.exports.export_files import Target
from anonkit.bundle.exports.opened_targets import ReleasedTable
from anonkit.cli import anonkit as command_line
from anonkit.cli.boundary import run
from anonkit.errors import EngineError, GuaranteeError, MissingDependencyError, ParameterError
from anonkit.pipeline.exporting import validate_export

TABLE = anonkit.datasets.bank_customers(300, seed=2)
FILES = ("out.csv", "out.tsv", "out.xlsx", "out.arrow", "out.feather")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release, made once."""
    folder = tmp_path_factory.mktemp("kept")
    anonkit.release(TABLE, method="mondrian", k=5, target="customer_value", output=folder / "out.parquet", ledger=None)
    return folder


@pytest.fixture
def release(kept: Path, tmp_path: Path) -> Path:
    """A copy of the release that a test may change."""
    shutil.copytree(kept, tmp_path / "r")
    return tmp_path / "r" / "out.parquet"


def names(folder: Path) -> set[str]:
    """Everything in a folder, hidden things too."""
    return {path.name for path in folder.iterdir()}


@pytest.mark.quick_cases("out.csv")
@pytest.mark.parametrize("name", FILES)
def test_a_file_has_its_sidecars_beside_it(name: str, release: Path) -> None:
    """Params and report byte by byte, and a descriptor with the hash of each file; the release's own stay."""
    before = names(release.parent)

    made = anonkit.export(release, release.parent / name)

    added = {name, *(f"{name}.{sidecar}.json" for sidecar in ("params", "report", "datapackage"))}
    assert names(release.parent) == before | added
    for sidecar in ("params", "report"):
        copy = release.parent / f"{name}.{sidecar}.json"
        assert copy.read_bytes() == (release.parent / f"out.{sidecar}.json").read_bytes()
    described = json.loads((release.parent / f"{name}.datapackage.json").read_text())
    for resource in described["resources"]:
        assert resource["hash"] == f"sha256:{sha256((release.parent / resource['path']).read_bytes()).hexdigest()}"
    assert described["resources"][0]["path"] == name
    assert made.rows == pq.read_metadata(release).num_rows
    assert validate_export(release.parent / name, release).passed


@pytest.mark.parametrize("harm", ["changed", "sidecar", "seeded", "plain", "unreadable", "gone"])
def test_only_a_release_that_validates_leaves(harm: str, release: Path, tmp_path: Path) -> None:
    """A changed file, one that is not for release, a plain table, a damaged one: exit 1, nothing written."""
    if harm == "changed":
        table = pq.read_table(release)
        pq.write_table(table.slice(1), release)
    elif harm == "sidecar":
        report = release.with_suffix(".report.json")
        report.write_text(report.read_text().replace('"k": 5', '"k": 50', 1))
    elif harm == "seeded":
        shutil.rmtree(release.parent)
        release.parent.mkdir()
        anonkit.release(TABLE, method="mondrian", k=5, target="customer_value", output=release, seed=1, ledger=None)
    elif harm == "plain":
        for path in release.parent.glob("*.json"):
            path.unlink()
    elif harm == "unreadable":
        release.write_bytes(b"PAR1")
    else:
        release.unlink()
    before = names(tmp_path)

    with pytest.raises(ParameterError if harm == "gone" else GuaranteeError):
        anonkit.export(release, tmp_path / "new.csv")
    assert names(tmp_path) == before


def test_a_release_that_changed_while_it_was_exported_does_not_leave(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The validated files are those that are put in place."""
    from anonkit.bundle.exports.opened_targets import TextTable

    table, original = pq.read_table(release), TextTable.write

    def written(self: TextTable, rows: ReleasedTable, sidecars: Any) -> None:
        pq.write_table(table.slice(2), release)
        original(self, ReleasedTable(data=release), sidecars)

    monkeypatch.setattr(TextTable, "write", written)
    with pytest.raises(GuaranteeError, match="would not hold the release"):
        anonkit.export(release, tmp_path / "new.csv")
    assert names(tmp_path) == {"r"}


@pytest.mark.parametrize("target", ["o.csv", "o.xlsx", "sqlite:///{}/o.db", "duckdb:///{}/o.duckdb"])
def test_a_write_that_fails_midway_leaves_nothing(
    target: str, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk goes while rows are written: exit 3, and neither the file nor a part of it is there."""
    batches = ReleasedTable.batches

    def lost(self: ReleasedTable) -> Any:
        yield from batches(self)
        raise OSError(5, "secret")

    monkeypatch.setattr(ReleasedTable, "batches", lost)
    with pytest.raises(EngineError) as caught:
        anonkit.export(release, target.format(tmp_path) if "{}" in target else tmp_path / target)
    assert "secret" not in str(caught.value)
    assert names(tmp_path) == {"r"}


@pytest.mark.parametrize(
    ("given", "form"),
    [
        ("a.CSV", "csv"),
        ("a.duckdb", "duckdb"),
        ("duckdb:///a.duckdb", "duckdb"),
        ("sqlite:////tmp/a%20b.db?table=x", "sqlite"),
        ("postgres://u@h/d?table=x&schema=s&sslmode=require", "postgresql"),
    ],
)
def test_a_target_is_read(given: str, form: str) -> None:
    """A file by its suffix, a database by its scheme; parameters that are not about the table go to the server."""
    target = Target.of(given)

    assert target.form == form
    if form == "postgresql":
        assert (target.address, target.table, target.schema) == ("postgresql://u@h/d?sslmode=require", "x", "s")
    if form == "sqlite":
        assert target.path == Path("/tmp/a b.db")


@pytest.mark.parametrize(
    "given",
    ["out", "out.parquet", "out.txt", ".csv", "mysql://h/d", "sqlite://h/d", "sqlite:///", "duckdb:///a?x=1",
     "sqlite:///a.db?table=", "sqlite:///a.db?table=t_anonkit", "s3://bucket/a.csv"],
)  # fmt: skip
def test_what_is_no_target_is_refused(given: str) -> None:
    """With the forms that are known."""
    with pytest.raises(ParameterError):
        Target.of(given)


def test_an_address_is_never_shown_with_its_secret(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not in a `repr`, not in an error, not on the command line, whatever fails: exit 3 where no server is."""
    target = f"postgresql://owner:{QUOTED}@127.0.0.1:1/db?table=x"

    assert QUOTED not in repr(Target.of(target))
    for command in (["export", str(release), target], ["validate", target, "--against", str(release)]):
        for more in ([], ["--json"]):
            assert run(command_line, [*command, *more], "anonkit") == 3
            shown = "".join(capsys.readouterr())
            assert QUOTED not in shown
            assert PASSWORD not in shown


def test_a_missing_extra_is_named(release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 4 with the extra to install."""
    for module, target in (("xlsxwriter", str(tmp_path / "o.xlsx")), ("psycopg", "postgresql://h/d")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingDependencyError, match=r"anonkit\[(excel|postgres)\]"):
            anonkit.export(release, target)
    assert names(tmp_path) == {"r"}


def test_the_command_says_what_it_wrote(release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text, JSON and exit codes of export and of validate with --against; no other option goes with that one."""
    target = str(tmp_path / "o.csv")

    def done(*arguments: str) -> tuple[int, str]:
        return run(command_line, arguments, "anonkit"), capsys.readouterr().out

    code, text = done("export", str(release), target, "--json")
    assert (code, json.loads(text)["target"]) == (0, target)
    assert json.loads(text)["rows"] == pq.read_metadata(release).num_rows
    assert done("validate", target, "--against", str(release))[0] == 0
    lines = Path(target).read_text().splitlines(keepends=True)
    Path(target).write_text("".join(lines[:-1]))
    code, text = done("validate", target, "--against", str(release), "--json")
    assert code == 1
    assert "more or fewer rows" in text
    assert done("validate", target, "--against", str(release), "--k", "3")[0] == 2


@pytest.mark.slow
def test_a_killed_export_leaves_the_old_file_or_the_new_one(release: Path, tmp_path: Path) -> None:
    """Killed at any moment: what was there is there, or what was written is, whole; the next one tidies up."""
    target = tmp_path / "to" / "o.csv"
    target.parent.mkdir()
    anonkit.export(release, target)
    old = target.read_bytes()
    code = (
        "import sys, os, signal; from anonkit.bundle import atomic\n"
        "from anonkit.bundle.exports import export_files, text_tables\n"
        "import anonkit\n"
        "step = sys.argv[1]\n"
        "def die(*_): os.kill(os.getpid(), signal.SIGKILL)\n"
        "if step == 'writing': export_files.ExportFile._described = die\n"
        "elif step == 'marking': atomic._sync = die\n"
        "else: atomic._replace = die\n"
        f"anonkit.export({str(release)!r}, {str(target)!r}, force=True)\n"
    )
    for step in ("writing", "marking", "renaming"):
        done = subprocess.run([sys.executable, "-c", code, step], capture_output=True, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert target.read_bytes() == old
        assert validate_export(target, release).passed
    anonkit.export(release, target, force=True)
    assert names(target.parent) == {"o.csv", *(f"o.csv.{one}.json" for one in ("params", "report", "datapackage"))}
