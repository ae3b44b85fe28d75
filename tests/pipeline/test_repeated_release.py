"""A release that is requested again: handed back when it is the same and whole, else refused; never drawn by itself."""

from __future__ import annotations

import json
import logging
import pickle
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from ledger.claims import claim, environment, free

import anonkit
from anonkit.bundle.data_files import sha256
from anonkit.bundle.release_place import Place
from anonkit.checks import document_agreement, validation
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import BudgetError, GuaranteeError, ParameterError, ReleaseFormatError
from anonkit.ledger import NAME, Ledger, earlier_releases, fingerprint
from anonkit.ledger.booked_releases import Entry, PlaceTakenError, ReleaseState
from anonkit.ledger.earlier_releases import POINTER
from anonkit.ledger.file_store import key_file
from anonkit.pipeline import repeated_release
from anonkit.pipeline.recipe import Recipe
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy

pytestmark = pytest.mark.usefixtures("ledger_beside")

FAMILIES: dict[str, dict[str, Any]] = {
    "mondrian": {"k": 5},
    "rr": {"epsilon": 2.0},
    "dp-nb": {"epsilon": 1.0},
}
"""A quick method of every promise."""
TABLE = bank_customers(60, seed=3)
POLICY = bank_customers_policy()


def ask(output: Path | str | None, table: Any = TABLE, *, method: str = "rr", **more: Any) -> anonkit.Release:
    """Request a release as a pipeline does, each time in the same words."""
    return anonkit.release(table, method=method, output=output, **{"policy": POLICY, **FAMILIES[method], **more})


def seen(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return every file of a folder, the ledger's apart: its content, and when it was written."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(NAME)]
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def booked(folder: Path) -> list[Entry]:
    """Return what the ledger beside the outputs counts."""
    return [entry for standing in Ledger(folder / NAME).datasets() for entry in standing.counted]


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """A place with a release in it, made of randomized answers."""
    ask(tmp_path / "out.parquet")
    return tmp_path / "out.parquet"


@pytest.mark.slow_cases("mondrian")
@pytest.mark.parametrize("method", FAMILIES)
def test_the_same_is_handed_back(tmp_path: Path, method: str) -> None:
    """After a second request the files are untouched, the ledger has one line, and it is said that nothing was made."""
    first = ask(tmp_path / "out.parquet", method=method)
    before = seen(tmp_path)
    again = ask(tmp_path / "out.parquet", method=method)
    assert (first.reused, again.reused) == (False, True)
    assert seen(tmp_path) == before
    assert len(booked(tmp_path)) == 1
    assert again.params == first.params
    assert again.report == first.report


SAME_ROWS: dict[str, Callable[[pa.Table], Any]] = {
    "in another order": lambda table: table.take(pa.array(range(table.num_rows - 1, -1, -1))),
    "as a data frame": lambda table: table.to_pandas(),
}


@pytest.mark.parametrize("rows", SAME_ROWS.values(), ids=SAME_ROWS)
def test_the_same_rows_in_another_guise_are_recognised(output: Path, rows: Callable[[pa.Table], Any]) -> None:
    """The multiset of rows identifies a table."""
    assert ask(output, rows(TABLE)).reused


def _another_cell(table: pa.Table) -> pa.Table:
    ages = table["age"].to_pylist()
    return table.set_column(table.column_names.index("age"), "age", pa.array([ages[0] + 1, *ages[1:]]))


OTHER_ROWS: dict[str, Callable[[pa.Table], Any]] = {
    "a row twice": lambda table: pa.concat_tables([table, table.slice(3, 1)]),
    "a row less": lambda table: table.slice(1),
    "another cell": _another_cell,
}


@pytest.mark.parametrize("rows", OTHER_ROWS.values(), ids=OTHER_ROWS)
def test_other_rows_are_another_release(output: Path, rows: Callable[[pa.Table], Any]) -> None:
    """One cell is enough: the release that is there is in the way, and stays as it is."""
    before = seen(output.parent)
    with pytest.raises(ParameterError, match=r"exists(?s:.)*made of other rows; force=True"):
        ask(output, rows(TABLE))
    assert seen(output.parent) == before
    assert len(booked(output.parent)) == 1


def test_rows_that_are_spelled_otherwise_are_other_rows(tmp_path: Path) -> None:
    """Of a column of texts 1 and 1.0 are two categories, though they are one number."""
    rows, policy = tmp_path / "in.csv", Policy.from_dict({"columns": {"a": {"type": "text"}, "c": {"role": "target"}}})
    rows.write_text("a,c\n" + "1,x\n2,y\n" * 10)
    more: dict[str, Any] = {"policy": policy, "k": 2, "method": "mondrian"}
    ask(tmp_path / "out.parquet", rows, **more)
    assert ask(tmp_path / "out.parquet", rows, **more).reused
    rows.write_text("a,c\n" + "1,x\n2,y\n" * 9 + "1.0,x\n2,y\n")
    with pytest.raises(ParameterError, match="made of other rows"):
        ask(tmp_path / "out.parquet", rows, **more)


OTHER_REQUESTS: dict[str, dict[str, Any]] = {
    "parameter": {"epsilon": 2.5},
    "policy": {"policy": POLICY.with_roles(insensitive=["age"])},
    "domains from the table": {"domains_from_data": True},
    "form of the data": {"part_rows": 20},
    "dataset": {"dataset": "another"},
}


@pytest.mark.parametrize("more", OTHER_REQUESTS.values(), ids=OTHER_REQUESTS)
def test_another_request_is_another_release(output: Path, more: dict[str, Any]) -> None:
    """A release of another request blocks the place; it is made by force, or in another place."""
    with pytest.raises(ParameterError, match=r"exists(?s:.)*requested differently"):
        ask(output, **more)
    assert len(booked(output.parent)) == 1


def test_how_the_work_is_done_does_not_matter(output: Path) -> None:
    """Memory for the search, progress, and a budget that is named again."""
    steps: list[str] = []
    assert ask(output, search_rows=1000, budget=2.0, progress=lambda step, share: steps.append(step)).reused


FILES = [f"out{suffix}" for suffix in (".parquet", ".params.json", ".report.json", ".report.html", ".datapackage.json")]
DAMAGES: dict[str, Callable[[Path], None]] = {
    "changed": lambda path: path.write_bytes(path.read_bytes().replace(b"an", b"on", 1) + b" "),
    "gone": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
}


@pytest.mark.quick_cases("changed")
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_should_be_the_same_and_is_not_is_never_drawn_anew(output: Path, damage: Callable[[Path], None]) -> None:
    """Any file changed or gone: a broken promise, nothing drawn, nothing charged; whole again, it is handed back."""
    whole = seen(output.parent)
    for name in FILES:
        damage(output.with_name(name))
        damaged = seen(output.parent)
        with pytest.raises(GuaranteeError, match=r"is release 1 of dataset 'bank-customers'") as refused:
            ask(output)
        assert not isinstance(refused.value, BudgetError)
        assert seen(output.parent) == damaged
        output.with_name(name).write_bytes(whole[name][0])
    assert len(booked(output.parent)) == 1
    assert ask(output).reused


def test_a_release_whose_files_are_gone_is_not_drawn_anew(output: Path) -> None:
    """It was published: without them it is made again on purpose only, or in another place."""
    for name in FILES:
        output.with_name(name).unlink()
    output.with_name(POINTER).unlink()
    for dry_run in (True, False):
        with pytest.raises(GuaranteeError, match="its files are gone"):
            ask(output, dry_run=dry_run, budget=9)
    assert seen(output.parent) == {}
    assert not ask(output, force=True, budget=9).reused
    assert [entry.state for entry in booked(output.parent)] == [ReleaseState.COMMITTED] * 2


def test_an_edited_copy_elsewhere_is_not_drawn_anew(output: Path) -> None:
    """The descriptor says whose files they are: who edits the data cannot have them drawn again."""
    elsewhere = output.parent / "cache"
    shutil.copytree(output.parent, elsewhere, ignore=shutil.ignore_patterns(f"{NAME}*"))
    DAMAGES["changed"](elsewhere / "out.parquet")
    with pytest.raises(GuaranteeError, match="its data were changed"):
        ask(elsewhere / "out.parquet", ledger=output.parent / NAME)


def test_files_that_a_cache_brings_elsewhere_are_recognised(output: Path) -> None:
    """In another folder, and under another name, by their content."""
    ledger = output.parent / NAME
    shutil.copytree(output.parent, output.parent / "cache", ignore=shutil.ignore_patterns(f"{NAME}*"))
    assert ask(output.parent / "cache" / "out.parquet", ledger=ledger).reused
    anonkit.load(output).save(output.parent / "other" / "name.parquet")
    assert ask(output.parent / "other" / "name.parquet", ledger=ledger).reused
    assert len(booked(output.parent)) == 1


def test_an_earlier_generation_that_was_replaced_is_another_release(output: Path) -> None:
    """The ledger knows both: what is there now is not what is requested, and is in the way."""
    ask(output, epsilon=3.0, force=True, budget=9)
    with pytest.raises(ParameterError, match="requested differently"):
        ask(output)
    assert ask(output, epsilon=3.0).reused


UNKNOWN: dict[str, Callable[[Path], dict[str, Any]]] = {
    "no ledger": lambda folder: {"ledger": None},
    "another ledger": lambda folder: {"ledger": Ledger.create(folder / "another.sqlite").place.file},
    "another ledger with releases": lambda folder: {"ledger": folder / "other" / "ledger.sqlite"},
    "a lost key": lambda folder: key_file(folder / NAME).unlink() or {},  # type: ignore[func-returns-value]
    "a damaged ledger": lambda folder: ((folder / NAME).write_bytes(b"no ledger" * 99) and {}) or {},
    "a seed": lambda folder: {"seed": 1},
}


@pytest.mark.quick_cases("no ledger", "another ledger", "a seed")
@pytest.mark.parametrize("case", UNKNOWN.values(), ids=UNKNOWN)
def test_what_cannot_be_recognised_is_in_the_way(output: Path, case: Callable[[Path], dict[str, Any]]) -> None:
    """Without the ledger that knows it, the release is a file that exists."""
    other = output.parent / "other"
    ask(other / "out.parquet", ledger=other / "ledger.sqlite")
    asked = case(output.parent)
    before = seen(output.parent)
    with pytest.raises(ParameterError, match="exists"):
        ask(output, **asked)
    assert seen(output.parent) == before


def test_a_release_that_was_withdrawn_is_in_the_way(tmp_path: Path) -> None:
    """The owner said that it was never handed out: it does not count, and is not handed back."""
    ask(tmp_path / "out.parquet", method="mondrian")
    Ledger(tmp_path / NAME).withdraw(1)
    with pytest.raises(ParameterError, match="the ledger does not know it"):
        ask(tmp_path / "out.parquet", method="mondrian")


def test_force_draws_anew_charges_and_says_so_first(output: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The budget holds; before the draw the owner reads that it is made and what it costs."""
    with caplog.at_level(logging.WARNING, "anonkit"):
        with pytest.raises(BudgetError):
            ask(output, force=True)
        assert caplog.messages == []
        first = output.read_bytes()
        assert not ask(output, force=True, budget=4).reused
    assert output.read_bytes() != first
    assert [round(entry.epsilon or 0, 6) for entry in booked(output.parent)] == [2, 2]
    assert len(caplog.messages) == 1
    assert "release 1 of the ledger, is replaced by a new release, which is charged, epsilon 2 once" in caplog.text


def test_a_dry_run_says_that_nothing_would_be_made(output: Path) -> None:
    """The report of what is there, in no budget's way."""
    rehearsed = ask(output, dry_run=True)
    assert rehearsed.reused
    assert rehearsed.is_dry_run
    assert rehearsed.report == anonkit.load(output).report


@pytest.mark.parametrize("form", [{"part_rows": 20}, {}])
def test_folders_are_recognised(tmp_path: Path, form: dict[str, Any]) -> None:
    """A folder that is handed out, data in parts: a part that is edited, missing or added is noticed."""
    place = f"{tmp_path}/release/"
    ask(place, **form)
    assert ask(place, **form).reused
    if form:
        data = tmp_path / "release" / "release.parquet"
        shutil.copyfile(data / "part-00000.parquet", data / "part-99999.parquet")
        with pytest.raises(GuaranteeError, match="its data were changed"):
            ask(place, **form)


def _key(folder: Path, name: str) -> tuple[Path, Path]:
    """Write a private and a public key."""
    private = Ed25519PrivateKey.generate()
    paths = folder / f"{name}.pem", folder / f"{name}.pub"
    paths[0].write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    paths[1].write_bytes(private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return paths


@pytest.mark.slow
def test_a_release_that_is_reused_is_signed_then(output: Path) -> None:
    """The signature alone is written; one by the same key is left alone, another key's is replaced."""
    before = seen(output.parent)
    for name in ("ann", "ben"):
        private, public = _key(output.parent, name)
        assert ask(output, sign=private).reused
        assert anonkit.validate(output, signed_by=public).passed
        signed = seen(output.parent)
        assert ask(output, sign=private).reused
        assert ask(output).reused
        assert seen(output.parent) == signed
    assert {name: content for name, content in signed.items() if name in before} == before


@pytest.mark.slow
def test_the_dossier_of_a_release_that_is_reused_is_written_then(output: Path) -> None:
    """A missing dossier of these data is written; one that was written with the draw, or then, stays as it is."""
    before, folder = seen(output.parent), output.parent / "owner"
    assert ask(output, owner_report=folder).reused
    assert {name: content for name, content in seen(output.parent).items() if name in before} == before
    written = seen(folder)
    assert sorted(written) == ["out.dossier.html", "owner.report.json"]
    assert json.loads(written["owner.report.json"][0])["data_sha256"] == sha256(output)
    assert ask(output, owner_report=folder).reused
    assert seen(folder) == written
    (folder / "owner.report.json").write_text("{}")
    assert ask(output, owner_report=folder).reused
    assert json.loads((folder / "owner.report.json").read_text())["data_sha256"] == sha256(output)


@pytest.mark.slow
def test_an_entry_for_catalogues_is_no_reason_to_draw_anew(tmp_path: Path) -> None:
    """An entry that was made with the release is there; otherwise it is made then, and nothing is charged."""
    output, ledger = tmp_path / "out.parquet", tmp_path / NAME
    ask(output)
    spent, before = Ledger(ledger).datasets(), seen(tmp_path)
    assert ask(output, emit=["croissant"], dry_run=True).reused
    assert not (tmp_path / "out.croissant.json").exists()
    assert ask(output, emit=["croissant"]).reused
    assert anonkit.validate(output).passed
    assert Ledger(ledger).datasets() == spent
    changed = {name for name, content in seen(tmp_path).items() if before.get(name) != content}
    assert {name for name in changed if not name.startswith(".")} == {"out.croissant.json", "out.datapackage.json"}
    after = seen(tmp_path)
    assert ask(output, emit=["croissant"]).reused
    assert ask(output).reused
    assert {name: content for name, content in seen(tmp_path).items() if not name.startswith(".")} == {
        name: content for name, content in after.items() if not name.startswith(".")
    }


@pytest.mark.slow
def test_another_engine_recognises_the_release(tmp_path: Path, spark: Any) -> None:
    """Rows and request have one form on both: what one engine has made the other hands back."""
    rows = tmp_path / "in.parquet"
    pq.write_table(TABLE, rows)
    for first, then in (("local", "spark"), ("spark", "local")):
        place, ledger = tmp_path / first / "out.parquet", tmp_path / f"{first}.sqlite"
        assert [ask(place, rows, engine=engine, ledger=ledger).reused for engine in (first, then)] == [False, True]


def test_what_changes_while_it_is_looked_at_is_refused(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that were validated are the files that are handed back and signed."""
    real = repeated_release.validate

    def slow(path: Path) -> Any:
        result = real(path)
        output.with_name("out.report.html").write_bytes(b"another page")
        return result

    private, _ = _key(output.parent, "owner")
    monkeypatch.setattr(repeated_release, "validate", slow)
    with pytest.raises(GuaranteeError, match="was changed while it was validated"):
        ask(output, sign=private)
    assert not Place.of(output).file(".signature.json").exists()


def test_a_release_in_memory_is_always_made(tmp_path: Path) -> None:
    """There is nothing to hand back: the budget of the ledger holds."""
    more: dict[str, Any] = {"ledger": tmp_path / NAME, "budget": 9}
    assert [ask(None, **more).reused for _ in range(2)] == [False, False]
    assert len(booked(tmp_path)) == 2


@pytest.mark.slow
def test_the_joint_view_does_not_count_a_release_against_itself(tmp_path: Path) -> None:
    """A k-anonymous release that is handed back meets no floor, and is one earlier release for the next."""
    more: dict[str, Any] = {"method": "mondrian", "accept_joint_k": 1}
    ask(tmp_path / "out.parquet", **more)
    assert ask(tmp_path / "out.parquet", **more).reused
    other = ask(tmp_path / "other.parquet", **{**more, "k": 6})
    assert other.report["ledger"]["release_of_dataset"] == 2


def test_that_it_was_reused_travels_with_no_copy(output: Path) -> None:
    """Reuse discloses that the table has not changed: neither a copy nor metadata for platforms states it."""
    again = ask(output)
    assert again.reused
    assert not pickle.loads(pickle.dumps(again)).reused
    assert not replace(again).reused
    assert "reused" not in again.to_dict()


@pytest.mark.slow
def test_a_recipe_and_the_next_batch_are_recognised_too(tmp_path: Path) -> None:
    """`run` and `apply` are the same path."""
    (tmp_path / "recipe.toml").write_text(
        'method = "mondrian"\noutput = "out.parquet"\nsimulate = { rows = 60 }\n[parameters]\nk = 5\n'
    )
    runs = [Recipe.load(tmp_path / "recipe.toml").run() for _ in range(2)]
    more: dict[str, Any] = {"output": tmp_path / "next.parquet", "max_suppression": 1.0, "accept_joint_k": 1}
    batches = [anonkit.apply(tmp_path / "out.params.json", bank_customers(60, seed=8), **more) for _ in range(2)]
    assert [release.reused for release in (*runs, *batches)] == [False, True] * 2
    assert len(booked(tmp_path)) == 2


@pytest.mark.slow
def test_a_comment_in_a_policy_is_no_other_request(tmp_path: Path) -> None:
    """Policies are compared as they are parsed, with the roles of the call merged into them."""
    text = '[columns.name]\nrole = "identifier"\n'
    table = TABLE.append_column("name", pa.array([f"n{at}" for at in range(60)]))
    for written, more in ((text, {}), (f"# reviewed\n{text}", {}), ("", {"identifiers": ["name"]})):
        (tmp_path / "policy.toml").write_text(written)
        last = ask(
            tmp_path / "out.parquet", table, method="mondrian", target="income", policy=tmp_path / "policy.toml", **more
        )
    assert last.reused
    assert anonkit.Policy.load(tmp_path / "policy.toml").names(Role.IDENTIFIER) == ()
    assert len(booked(tmp_path)) == 1


_ASK = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from test_repeated_release import ask
print(ask(Path(sys.argv[1]), budget={budget}).reused)
"""


@pytest.mark.slow
@pytest.mark.parametrize("budget", [2.0, pytest.param(9.0, marks=pytest.mark.slow)])
def test_processes_at_once_draw_once(tmp_path: Path, budget: float) -> None:
    """The same request by four processes at a time: one release, charged once; the others wait for it and reuse it."""
    code = _ASK.format(tests=str(Path(__file__).parent), budget=budget)
    command = [sys.executable, "-c", code, str(tmp_path / "out.parquet")]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True)
        for _ in range(4)
    ]
    said = [process.communicate() for process in running]
    told = [out.strip() for out, _ in said if out.strip()]
    refused = [err for out, err in said if not out.strip()]
    assert told.count("False") == 1, said
    assert all("BudgetError" in err for err in refused), said
    assert [entry.state for entry in booked(tmp_path)] == [ReleaseState.COMMITTED]
    assert anonkit.validate(tmp_path / "out.parquet").passed


def test_an_entry_of_another_version_that_was_edited_is_not_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what another version wrote validation knows one sentence: it is made again before the owner's key is on it."""
    output, entry = tmp_path / "out.parquet", tmp_path / "out.croissant.json"
    ask(output, emit=["croissant"])
    genuine = entry.read_bytes()
    forged = genuine.replace(b'"creator"', b'"forger"', 1).replace(b'"license"', b'"forged"', 1)
    forged = forged if forged != genuine else genuine.replace(b"{", b'{"forger": "x",', 1)
    entry.write_bytes(forged)
    descriptor = tmp_path / "out.datapackage.json"
    stated = descriptor.read_text().replace(sha256(genuine), sha256(forged))
    descriptor.write_text(stated.replace(f'"anonkit:bytes": {len(genuine)}', f'"anonkit:bytes": {len(forged)}'))
    for module in (validation, document_agreement):
        monkeypatch.setattr(module, "__version__", "99")
    monkeypatch.setattr(repeated_release, "__version__", "99", raising=False)
    private, public = _key(tmp_path, "owner")
    assert ask(output, sign=private).reused
    assert entry.read_bytes() == genuine
    assert anonkit.validate(output, signed_by=public).passed
    signed = seen(tmp_path)
    assert ask(output, sign=private).reused
    assert seen(tmp_path) == signed


def test_a_row_of_the_ledger_that_was_edited_vouches_for_no_other_file(output: Path) -> None:
    """A writer of the ledger without its key cannot make a file of theirs the owner's release."""
    other = output.parent / "other" / "out.parquet"
    ask(other, ledger=output.parent / "other.sqlite")
    for name in FILES:
        shutil.copyfile(other.with_name(name), output.with_name(name))
    with sqlite3.connect(output.parent / NAME) as ledger:
        ledger.execute("UPDATE release SET data_sha256 = ?", (sha256(output),))
    ledger.close()
    assert anonkit.validate(output).passed
    with pytest.raises(ParameterError, match="exists"):
        ask(output)


def test_a_row_of_the_ledger_with_the_rows_of_another_vouches_for_nothing(output: Path) -> None:
    """The mark of another table, moved into its line, does not make it a release of that table."""
    ask(output.parent / "other.parquet", _another_cell(TABLE), budget=9)
    with sqlite3.connect(output.parent / NAME) as ledger:
        ledger.execute("UPDATE release SET sketch = (SELECT sketch FROM release WHERE id = 2) WHERE id = 1")
    ledger.close()
    with pytest.raises(ParameterError, match="exists"):
        ask(output, _another_cell(TABLE), budget=9)


def test_only_the_marks_that_are_needed_are_made_of_rows_that_are_known(
    output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release that is handed back reads its rows for one sum; sketches are for tables that are booked."""
    monkeypatch.setattr(fingerprint.RowMarks, "__call__", None)
    assert ask(output).reused
    with pytest.raises(ParameterError, match="made of other rows"):
        ask(output, _another_cell(TABLE))


@pytest.mark.slow
def test_what_a_killed_process_left_is_kept_until_the_ledger_is_settled(tmp_path: Path) -> None:
    """Readers of the folder keep the files that prove that nothing was published."""
    output = tmp_path / "out.parquet"
    code = _DIES.format(tests=str(Path(__file__).parent))
    died = subprocess.run(
        [sys.executable, "-c", code, str(output)], env=environment(), capture_output=True, check=False
    )
    assert died.returncode == -9, died.stderr.decode()
    with pytest.raises(ReleaseFormatError):
        anonkit.load(output)
    assert not ask(output, budget=2.0).reused
    assert [entry.state for entry in booked(tmp_path)] == [ReleaseState.COMMITTED]
    assert [path.name for path in tmp_path.iterdir() if ".anonkit-" in path.name and NAME not in path.name] == []


_DIES = """
import os, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from anonkit.bundle.atomic import Staging
from test_repeated_release import ask
Staging.commit = lambda *a, **m: os.kill(os.getpid(), 9)
ask(Path(sys.argv[1]), budget=2.0)
"""


def test_a_place_is_waited_for_also_by_who_cannot_know_the_release_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A seeded release that somebody is making has no form: the next one waits for it, and polls only so often."""
    output, ledger = tmp_path / "out.parquet", Ledger(tmp_path / NAME)
    ledger.reserve(claim(output=str(output)), free)
    monkeypatch.setattr(earlier_releases, "_WAIT", 0.0)
    with pytest.raises(PlaceTakenError, match="still being made"):
        ask(output, dataset="d", budget=9)
