"""One argument states the place of the files of a release.

An output such as `out.csv`: the release and its data in that form, together or not at all, and no other file.

Names of a release.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

import anonkit
from anonkit.bundle import atomic
from anonkit.bundle.data_files import sha256
from anonkit.bundle.exports import sheets
from anonkit.bundle.release_place import COPIES, Place, package_name
from anonkit.cli import anonkit as command_line
from anonkit.cli.boundary import run
from anonkit.cli.precommit import main as precommit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import EngineError, MissingDependencyError, ParameterError
from anonkit.ledger import NAME, Ledger
from anonkit.pipeline.exporting import export
from anonkit.pipeline.recipe import Recipe
from anonkit.policy.column_declarations import Column
from anonkit.policy.declaration import Policy

pytestmark = pytest.mark.usefixtures("ledger_beside")

TABLE = bank_customers(60, seed=3)
POLICY = bank_customers_policy()
METHODS: dict[str, dict[str, Any]] = {
    "mondrian": {"k": 5},
    "rr": {"epsilon": 2.0},
    "dp-forest": {"epsilon": 1.0, "trees": 1},
}
OWN = "name;age\nAda;36\n"


def ask(output: Path, table: Any = TABLE, *, method: str = "mondrian", **more: Any) -> anonkit.Release:
    """Request a release in the same words each time."""
    given = {"policy": POLICY, "utility": False, "dataset": "bank", **METHODS[method], **more}
    return anonkit.release(table, method=method, output=output, **given)


def names(folder: Path) -> set[str]:
    """Everything in a folder but the ledger and what a kill leaves of a look at its rights, hidden things too."""
    other = (NAME, ".anonkit-ledger", ".anonkit-probe")
    return {path.name for path in folder.iterdir() if not path.name.startswith(other)}


def passed(path: Path) -> dict[str, bool]:
    """Return how the checks of a release came out, by name."""
    return {check.name: check.passed for check in anonkit.validate(path).checks}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a release that has a CSV copy, made once."""
    folder = tmp_path_factory.mktemp("kept")
    ask(folder / "out.csv", ledger=None)
    return folder


@pytest.fixture
def copied(kept: Path, tmp_path: Path) -> Path:
    """The CSV copy of a release that a test may change."""
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    return tmp_path / "out.csv"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A private and a public key."""
    folder, key = tmp_path_factory.mktemp("keys"), Ed25519PrivateKey.generate()
    private, public = folder / "owner.pem", folder / "owner.pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return private, public


# --- what is written -------------------------------------------------------------------------------------------------


@pytest.mark.quick_cases("rr-sqlite")
@pytest.mark.parametrize("form", COPIES)
@pytest.mark.parametrize("method", METHODS)
def test_the_release_and_its_copy_appear_together(method: str, form: str, tmp_path: Path) -> None:
    """Parquet file, sidecars and copy are there, and both names validate as the one release."""
    output = tmp_path / f"out{COPIES[form]}"

    release = ask(output, method=method)

    assert {output.name, "out.parquet", "out.report.json", "out.datapackage.json"} < names(tmp_path)
    assert release.to_dict()["files"][form] == str(output)
    assert release.to_dict()["sha256"][form] == sha256(output)
    for name in (output, tmp_path / "out.parquet"):
        checks = passed(name)
        assert all(checks.values())
        assert {f"hash:{form}", f"copy:{form}"} <= set(checks)
    assert anonkit.load(output).to_arrow().equals(pq.read_table(tmp_path / "out.parquet").replace_schema_metadata(None))


def test_a_copy_holds_the_cells(copied: Path) -> None:
    """The CSV copy has the columns and rows of the Parquet file."""
    there, data = pc_csv.read_csv(copied), pq.read_table(copied.with_suffix(".parquet"))
    assert there.column_names == data.column_names
    assert there["age"].to_pylist() == data["age"].cast(pa.string()).to_pylist()


@pytest.mark.slow
def test_a_copy_in_sqlite_is_one_plain_table(tmp_path: Path) -> None:
    """There is no table of sidecars in it: the descriptor beside it holds its hash."""
    ask(tmp_path / "out.sqlite")
    with contextlib.closing(sqlite3.connect(tmp_path / "out.sqlite")) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("released",)]
        assert connection.execute("SELECT count(*) FROM released").fetchone() == (
            anonkit.load(tmp_path / "out.sqlite").report["rows"]["out"],
        )


@pytest.mark.slow
def test_bounds_and_parts_have_copies_too(tmp_path: Path) -> None:
    """A copy holds what the data hold, whatever their form."""
    ask(tmp_path / "out.csv", cells="bounds", part_rows=20)
    assert (tmp_path / "out.parquet").is_dir()
    assert all(passed(tmp_path / "out.csv").values())
    assert pc_csv.read_csv(tmp_path / "out.csv").column_names == pq.read_table(tmp_path / "out.parquet").column_names


def test_a_unit_is_in_no_copy(tmp_path: Path) -> None:
    """The column that says whose the rows are is counted, and released in no form."""
    table = TABLE.append_column("person", pa.array([f"p{at}" for at in range(60)]))
    ask(tmp_path / "out.csv", table, policy=None, k=5, unit="person", target="customer_value")
    assert all(passed(tmp_path / "out.csv").values())
    assert "person" not in pc_csv.read_csv(tmp_path / "out.csv").column_names


@pytest.mark.slow
def test_batches_recipes_and_saved_releases_take_the_names(kept: Path, tmp_path: Path) -> None:
    """`anonkit.apply`, a recipe's `output` and `Release.save` write copies as `anonkit.release` does."""
    anonkit.apply(
        kept / "out.csv", bank_customers(200, seed=5), output=tmp_path / "b.csv", ledger=None, max_suppression=1
    )
    assert passed(tmp_path / "b.csv")["copy:csv"]
    (tmp_path / "r.toml").write_text(
        'method = "mondrian"\ninput = "in.parquet"\noutput = "c.tsv"\n[parameters]\nk = 5\n'
    )
    pq.write_table(TABLE, tmp_path / "in.parquet")
    assert Recipe.load(tmp_path / "r.toml").output.copy == "tsv"
    saved = anonkit.load(kept / "out.parquet").save(tmp_path / "d.xlsx")
    assert {"d.xlsx", "d.parquet"} < names(tmp_path)
    assert "d.csv" not in names(tmp_path)  # under another name it would be made anew, and was not requested
    assert anonkit.validate(saved).passed
    memory = anonkit.release(TABLE, method="mondrian", k=5, target="customer_value", utility=False, ledger=None)
    assert anonkit.validate(memory.save(tmp_path / "e.sqlite")).passed


def test_other_forms_are_named(tmp_path: Path) -> None:
    """A name of no known form, and one in a store, are refused with those that are known."""
    for name in (str(tmp_path / "out.docx"), "s3://bucket/out.csv"):
        with pytest.raises(ParameterError, match=r"must end in \.parquet") as caught:
            ask(name)  # type: ignore[arg-type]
        assert ".csv, .tsv, .xlsx, .sav, .dta, .arrow, .sqlite" in (caught.value.hint or "")


# --- files of others -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize("form", COPIES)
def test_a_file_of_others_is_refused(form: str, force: bool, tmp_path: Path) -> None:
    """A file under the name of a copy that is in no release is not replaced, and nothing is drawn for it."""
    own = tmp_path / f"out{COPIES[form]}"
    own.write_text(OWN)
    with pytest.raises(ParameterError, match="is no file of the release there"):
        ask(own, force=force)
    assert names(tmp_path) == {own.name}
    assert own.read_text() == OWN


def test_the_source_beside_a_release_is_never_removed(tmp_path: Path) -> None:
    """`data.csv` is the owner's table; `--force` on `data.parquet` removes the files of the old release alone."""
    source = tmp_path / "data.csv"
    pc_csv.write_csv(TABLE, source)
    before = source.read_bytes()
    ask(tmp_path / "data.parquet", source)
    ask(tmp_path / "data.parquet", source, force=True)
    anonkit.load(tmp_path / "data.parquet").save(tmp_path / "data.parquet", force=True)
    with pytest.raises(ParameterError, match="is not written over"):
        ask(source, tmp_path / "data.csv", force=True)
    assert source.read_bytes() == before
    with pytest.raises(ParameterError, match="no quasi-identifiers"):  # a plain table, as ever
        anonkit.validate(source)


@pytest.mark.slow
def test_force_replaces_the_copy_that_is_listed(copied: Path) -> None:
    """The old copy goes with its release, under this form and under another."""
    ask(copied.with_suffix(".tsv"), force=True)
    assert "out.csv" not in names(copied.parent)
    assert all(passed(copied.with_suffix(".tsv")).values())
    ask(copied.with_suffix(".parquet"), force=True)
    assert "out.tsv" not in names(copied.parent)
    assert all(passed(copied.with_suffix(".parquet")).values())


@pytest.mark.slow
def test_a_copy_that_was_changed_is_its_editors(copied: Path) -> None:
    """Neither a release in this form nor one without it takes away what somebody typed."""
    copied.write_text(OWN)
    with pytest.raises(ParameterError, match="is no file of the release there"):
        ask(copied, force=True)
    ask(copied.with_suffix(".parquet"), force=True)
    assert copied.read_text() == OWN
    assert all(passed(copied.with_suffix(".parquet")).values())


def test_a_copy_is_no_place_for_its_own_source(copied: Path) -> None:
    """A listed copy that is released again is not replaced, forced or not."""
    for output in (copied, copied.with_suffix(".parquet")):
        with pytest.raises(ParameterError):
            anonkit.release(copied, method="mondrian", k=5, output=output, force=True, ledger=None)
    assert passed(copied)["copy:csv"]


def test_an_export_replaces_no_copy(copied: Path) -> None:
    """The release lists its hash: what is exported goes elsewhere, forced or not."""
    with pytest.raises(ParameterError, match="is a file of the release beside it"):
        export(copied, copied, force=True)
    assert export(copied, copied.with_name("more.csv")).rows == anonkit.load(copied).report["rows"]["out"]


@pytest.mark.parametrize("more", ["-wal", "-journal"])
def test_a_log_of_sqlite_is_not_taken_for_ours(more: str, tmp_path: Path) -> None:
    """SQLite would read it with the new file."""
    (tmp_path / f"out.sqlite{more}").write_text("x")
    with pytest.raises(ParameterError, match="would be read with"):
        ask(tmp_path / "out.sqlite")


def test_a_ledger_is_not_replaced(tmp_path: Path) -> None:
    """A copy in SQLite does not replace the ledger."""
    Ledger.create(tmp_path / "out.sqlite")
    with pytest.raises(ParameterError):
        ask(tmp_path / "out.sqlite", ledger=tmp_path / "out.sqlite", force=True)
    assert Ledger(tmp_path / "out.sqlite").datasets() == []


def test_a_file_that_appears_meanwhile_stops_the_release(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is put there after the check is seen before the first file is put in place."""
    release, other = anonkit.load(copied), copied.with_name("new.csv")
    real = atomic.files_of

    def meanwhile(path: Path, digests: Any = None) -> Any:
        other.write_text(OWN)
        return real(path, digests)

    monkeypatch.setattr(atomic, "files_of", meanwhile)
    with pytest.raises(EngineError, match="is no file of a release"):
        release.save(other)
    assert {name for name in names(copied.parent) if "new" in name} == {"new.csv"}
    assert other.read_text() == OWN


# --- killed ----------------------------------------------------------------------------------------------------------


class _Killed(BaseException):
    """The process is gone at this moment."""


@contextlib.contextmanager
def _killed_at(stop: int) -> Iterator[list[int]]:
    """Let the n-th rename, replacement or sync be the last thing that the process does."""
    calls, real = [0], {name: getattr(os, name) for name in ("replace", "rename", "fsync", "unlink")}

    def counted(name: str) -> Any:
        def call(*args: Any, **settings: Any) -> Any:
            calls[0] += 1
            if calls[0] > stop:
                raise _Killed
            return real[name](*args, **settings)

        return call

    with pytest.MonkeyPatch.context() as patched:
        for name in real:
            patched.setattr(os, name, counted(name))
        with contextlib.suppress(_Killed):
            yield calls


@pytest.mark.slow
@pytest.mark.parametrize(("old", "step"), [(None, 1), ("csv", 1), ("csv", 5), ("tsv", 1)])
def test_killed_at_any_moment_one_generation_stands_there(
    old: str | None, step: int, kept: Path, tmp_path: Path
) -> None:
    """Under the name of the copy, too: the old release or the new one, each with its own copy and no other."""
    new = anonkit.release(TABLE, method="mondrian", k=6, target="customer_value", utility=False, ledger=None)
    stop, done, seen = 0, False, set()
    while not done:
        folder = tmp_path / str(stop)
        folder.mkdir()
        if old is not None:
            anonkit.load(kept / "out.csv").save(folder / f"out{COPIES[old]}")
        at_work = set(atomic._OWN)
        with _killed_at(stop) as calls:
            new.save(folder / "out.csv", force=True)
        done = calls[0] <= stop
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(atomic, "_OWN", at_work)
            there = folder / "out.csv"
            with contextlib.suppress(ParameterError):  # the name of no release, before the first file is in place
                assert anonkit.validate(there).passed
            atomic.recover(folder, "out")
        if "out.parquet" not in names(folder):
            assert names(folder) == set()
            k = 0
        else:
            release = anonkit.load(folder / "out.parquet")
            assert anonkit.validate(release).passed
            k = release.report["guarantee"]["parameters"]["k"]
            suffixes = set(COPIES.values()) & {path.suffix for path in folder.iterdir()}
            assert suffixes == ({".csv"} if k == 6 else {".csv", COPIES[old or ""]})
        seen.add(k)
        stop += step
    assert seen == {0 if old is None else 5, 6}


def test_what_others_put_in_the_way_of_an_interrupted_run_stays(copied: Path, tmp_path: Path) -> None:
    """Recovery replaces no file that is none of a release, and goes on when it is gone."""
    folder = tmp_path / "new"
    release, at_work = anonkit.load(copied), set(atomic._OWN)
    real = atomic._replace
    with pytest.MonkeyPatch.context() as patched:

        def killed(new: Path, old: Path) -> None:
            if old.suffix == ".csv":
                raise _Killed
            real(new, old)

        patched.setattr(atomic, "_replace", killed)
        with contextlib.suppress(_Killed):
            release.save(folder / "out.csv")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(atomic, "_OWN", at_work)
        (folder / "out.csv").write_text(OWN)
        atomic.recover(folder, "out")
        assert (folder / "out.csv").read_text() == OWN
        assert not passed(folder / "out.parquet")["hash:csv"]
        (folder / "out.csv").unlink()
        assert all(passed(folder / "out.csv").values())


# --- what is compared ------------------------------------------------------------------------------------------------


def test_a_changed_copy_fails(copied: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One cell more is found under both names: exit code 1."""
    copied.write_bytes(copied.read_bytes().replace(b"high", b"low", 1))
    for name in (copied, copied.with_suffix(".parquet")):
        assert run(command_line, ["validate", str(name)], "anonkit") == 1
        assert "copy" in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(("form", "suffix"), COPIES.items())
def test_the_command_finds_the_release_beside_a_copy(
    form: str, suffix: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of every form, and it compares the cells; workbooks and databases had been read as plain tables."""
    output = tmp_path / f"out{suffix}"
    ask(output)
    assert run(command_line, ["validate", str(output), "--json"], "anonkit") == 0
    assert f"copy:{form}" in {check["name"] for check in json.loads(capfd.readouterr().out)["checks"]}
    output.write_bytes(output.read_bytes()[:-9])
    assert run(command_line, ["validate", str(output)], "anonkit") == 1


def test_a_copy_is_signed_and_must_be_the_signed_one(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    """The signature is over the copy like over every file; a copy that is gone is missed."""
    output = tmp_path / "out.csv"
    ask(output, sign=keys[0])
    assert anonkit.validate(output, signed_by=keys[1]).passed
    content = output.read_bytes()
    output.write_bytes(content.replace(b"high", b"low", 1))
    assert not anonkit.validate(output, signed_by=keys[1]).passed
    output.unlink()
    found = {check.name: check for check in anonkit.validate(output.with_suffix(".parquet"), signed_by=keys[1]).checks}
    assert found["signed_files"].observed == 1
    output.write_bytes(content)
    again = anonkit.load(output).save(tmp_path / "again" / "out.csv")
    assert anonkit.validate(again, signed_by=keys[1]).passed  # the same files under the same names
    more = anonkit.load(output).save(tmp_path / "more" / "out.tsv")
    assert anonkit.validate(more).passed
    assert not (tmp_path / "more" / "out.signature.json").exists()  # it is over other files


# --- what a form cannot hold -----------------------------------------------------------------------------------------


def _strange(name: str = "a", category: str = "x") -> tuple[pa.Table, Policy]:
    table = pa.table({name: [category, "y"] * 20, "b": ["u", "v"] * 20})
    columns = [Column(name=name, categories=(category, "y")), Column(name="b", categories=("u", "v"))]
    return table, Policy.of(columns) if hasattr(Policy, "of") else Policy(columns={c.name: c for c in columns})


@pytest.mark.parametrize(
    ("form", "table"),
    [
        ("xlsx", _strange(name="a\x01")),
        ("xlsx", _strange(category="x\x01")),
        ("sqlite", _strange(name="B")),
        ("sav", _strange(name="a b")),
        ("dta", _strange(name="a" * 33)),
        ("sav", _strange(category="x\0")),
    ],
)
def test_names_and_categories_are_refused_before_anything_is_drawn(
    form: str, table: tuple[pa.Table, Policy], tmp_path: Path, ledger_beside: Path
) -> None:
    """The policy says what the form would have to hold: nothing is drawn and nothing charged."""
    rows, policy = table
    with pytest.raises(ParameterError):
        ask(tmp_path / f"out{COPIES[form]}", rows, method="dp-forest", policy=policy.with_roles(target="b"))
    assert Ledger(ledger_beside).datasets() == []
    assert names(tmp_path) == set()


def test_a_library_that_is_missing_is_missed_before_anything_is_drawn(
    tmp_path: Path, ledger_beside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is charged for a form that cannot be written here."""
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(MissingDependencyError, match="xlsxwriter"):
        ask(tmp_path / "out.xlsx", method="dp-forest")
    assert Ledger(ledger_beside).datasets() == []


def test_rows_that_are_public_are_refused_before_and_noisy_ones_after(
    tmp_path: Path, ledger_beside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Randomized answers are as many as the source's rows; a number that is drawn is charged when it is too large."""
    monkeypatch.setattr(sheets, "MOST_ROWS", 20)
    with pytest.raises(ParameterError, match="a sheet of Excel holds 19 and a header"):
        ask(tmp_path / "out.xlsx", method="rr")
    assert Ledger(ledger_beside).datasets() == []
    with pytest.raises(ParameterError, match="a sheet of Excel holds 19 and a header"):
        ask(tmp_path / "out.xlsx", method="dp-forest")
    [standing] = Ledger(ledger_beside).datasets()
    assert [entry.epsilon for entry in standing.counted] == [1.0]
    assert names(tmp_path) == set()


# --- asked again -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_copy_is_added_to_the_release_that_stands_there(tmp_path: Path, ledger_beside: Path) -> None:
    """The same request in another form draws nothing and charges nothing; the copy is listed."""
    ask(tmp_path / "out.parquet", method="rr")
    before = sha256(tmp_path / "out.parquet")
    for name in ("out.tsv", "out.csv", "out.csv", "out.parquet"):
        assert ask(tmp_path / name, method="rr").reused
        assert all(passed(tmp_path / "out.parquet").values())
    assert sha256(tmp_path / "out.parquet") == before
    assert set(Place.of(tmp_path / "out.csv").copies()) == {"csv", "tsv"}
    assert [len(standing.counted) for standing in Ledger(ledger_beside).datasets()] == [1]
    (tmp_path / "out.xlsx").write_text(OWN)
    with pytest.raises(ParameterError, match="is no file of the release there"):
        ask(tmp_path / "out.xlsx", method="rr")


def test_a_signed_release_gets_a_copy_with_its_key_alone(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    """A new file would not be among those that were signed."""
    ask(tmp_path / "out.parquet", method="rr", sign=keys[0])
    with pytest.raises(ParameterError, match="is over all files"):
        ask(tmp_path / "out.csv", method="rr")
    assert not (tmp_path / "out.csv").exists()
    ask(tmp_path / "out.csv", method="rr", sign=keys[0], emit=["croissant"])
    assert anonkit.validate(tmp_path / "out.csv", signed_by=keys[1]).passed


# --- who hands out ---------------------------------------------------------------------------------------------------


def test_precommit_lets_a_listed_copy_pass(copied: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A copy is handed out with its release; the same name without one, or changed, is a table without a release."""
    anonkit.load(copied).save(copied.with_name("other.sqlite"))
    assert precommit(["tables", str(copied), str(copied.with_name("other.sqlite"))]) == 0
    raw = copied.with_name("raw.csv")
    shutil.copy(copied, raw)
    assert precommit(["tables", str(raw)]) == 1
    copied.write_bytes(copied.read_bytes() + b"x")
    assert precommit(["tables", str(copied)]) == 1
    copied.with_suffix(".params.json").unlink()
    assert precommit(["tables", str(copied)]) == 1
    assert "is a table without a release" in capfd.readouterr().err


def test_a_package_of_another_tool_makes_no_release_of_a_table(tmp_path: Path) -> None:
    """A descriptor beside a CSV file says nothing unless it is that of a release."""
    (tmp_path / "t.csv").write_text("a,b\n1,2\n1,2\n")
    resources = [{"name": "csv", "path": "t.csv", "hash": "x"}]
    (tmp_path / "t.datapackage.json").write_text(json.dumps({"resources": resources}))
    assert anonkit.validate(tmp_path / "t.csv", quasi_identifiers=["a", "b"], k=2).passed


@pytest.mark.parametrize(("stem", "name"), [("Out 1", "out-1"), ("über", "ber"), ("...", "..."), ("", "release")])
def test_package_names_are_lower_case_and_plain(stem: str, name: str) -> None:
    """Data Package names allow letters, digits and three signs."""
    assert package_name(stem) == name


@pytest.mark.parametrize("output", ["out.csv", "out", "out.txt"])
def test_an_output_of_another_name_is_refused(output: str) -> None:
    """A release is a Parquet file with sidecars, or a folder."""
    with pytest.raises(ParameterError, match=r"must end in \.parquet"):
        Place.of(output)


def test_a_copy_for_duckdb_is_refused_with_the_reason() -> None:
    """Receivers validate copies of strangers, and DuckDB expects its files from trusted writers; others are taken."""
    with pytest.raises(ParameterError, match=r"must end in \.parquet") as refused:
        Place.of_output("out.duckdb")
    assert "anonkit export out.parquet out.duckdb" in str(refused.value.hint)
    assert "trusted writers" in str(refused.value.hint)
    assert Place.of_output("out.sqlite")[1] == "sqlite"
