# SPDX-License-Identifier: Apache-2.0
"""Nothing of the owner on a platform: what commands print by default follows from the public files, and file modes."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import pytest

import anonkit
from anonkit.cli.summary import OWNER_HEADING, notes_of, release_document, release_text
from anonkit.errors import GuaranteeError
from anonkit.ledger import Ledger
from anonkit.ledger.ledger_place import users_ledger
from anonkit.methods import make_method
from anonkit.pipeline import declared_source, release_path
from anonkit.pipeline.output_measures import SourceCounts
from anonkit.randomness import Randomness

POLICY = """
[columns]
name = { role = "identifier" }
age = { role = "quasi_identifier", bounds = [20, 60] }
zip = { role = "quasi_identifier", bounds = [100, 110] }
sex = { role = "quasi_identifier", categories = ["F", "M"] }
illness = { role = "quasi_identifier", categories = ["cold", "flu", "none"] }
income = { role = "target", categories = ["high", "low"] }
"""
OPTIONS = {
    "mondrian": ("--k", "3"),
    "rfka": ("--k", "3", "--trees", "10"),
    "rr": ("--epsilon", "3"),
    "dp-nb": ("--epsilon", "1"),
}
"""A method of every promise, and the one with most figures for its owner."""
PLANTED = "PLANTED-7531"


@pytest.fixture
def policy(table: Path) -> Path:
    """The table's columns, declared."""
    path = table.with_name("policy.toml")
    path.write_text(POLICY, encoding="utf-8")
    return path


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every release has owner's figures that nothing else can print: numbers, lists, notes, keys."""
    release_table = release_path.release_table

    def marked(source: object, request: Any) -> anonkit.Release:
        release = release_table(source, request)
        figures = {"search": {PLANTED: 7531.25}, "source": {"rows": 75317531, "counts": [75317531]}}
        notes = {"reading_notes": [f"{PLANTED} cells"], "ledger": {"notes": [f"{PLANTED} looks like another"]}}
        return release.with_owner({**release.owner, **figures, **notes})

    for where in ("release_path", "recipe", "python_calls"):
        monkeypatch.setattr(f"anonkit.pipeline.{where}.release_table", marked)


@pytest.mark.quick_cases("asked0-*")
@pytest.mark.parametrize(("asked", "measured"), [((), 0), (("--owner",), 1), (("--owner-report", "own"), 1)])
def test_the_source_is_measured_where_somebody_is_told(
    asked: tuple[str, ...],
    measured: int,
    cli: Any,
    table: Path,
    policy: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Models of the source, which no file of a release shows, are trained for an owner who looks; the rest is alike."""
    calls: list[object] = []
    owner_measures = declared_source.owner_measures

    def counted(*given: Any) -> dict[str, Any]:
        calls.extend(one for one in given if isinstance(one, SourceCounts))
        return owner_measures(*given)

    monkeypatch.setattr(declared_source, "owner_measures", counted)
    monkeypatch.chdir(tmp_path)
    words = ("release", "--method", "mondrian", "--k", "3", "--policy", policy, "--no-ledger", "--seed", "7")
    done = [
        cli(*words, *more, "--not-for-release", table, table.with_name(name)).code
        for name, more in (("plain.parquet", ()), ("out.parquet", asked))
    ]
    assert (done, len(calls)) == ([0, 0], measured)
    plain, beside = (anonkit.load(table.with_name(name)) for name in ("plain.parquet", "out.parquet"))
    assert plain.to_arrow().equals(beside.to_arrow())
    assert plain.report["utility"] == beside.report["utility"]


def _told(text: str) -> str:
    return click.unstyle(text).strip()


@pytest.mark.quick_cases("dp-nb")
@pytest.mark.parametrize("method", OPTIONS)
def test_what_a_release_prints_follows_from_its_files(
    method: str, cli: Any, table: Path, policy: Path, planted: None
) -> None:
    """The stored release alone, which has no figure of the owner, gives every line of stdout, stderr and JSON."""
    output = table.with_name("out.parquet")
    asked = (
        "release",
        "--method",
        method,
        *OPTIONS[method],
        "--policy",
        policy,
        "--no-ledger",
        "--force",
        table,
        output,
    )
    plain = cli(*asked)
    stored = anonkit.load(output)
    assert (plain.code, stored.owner) == (0, {})
    assert plain.out.strip() == _told(release_text(stored))
    assert plain.err == "".join(f"Note: {note}\n" for note in notes_of(stored))
    document = cli(*asked, "--json").document
    assert document == {"ok": True, **release_document(anonkit.load(output))}
    assert "owner_only" not in document
    assert PLANTED not in plain.out + plain.err + json.dumps(document)


def test_the_owner_sees_the_figures_who_asks_for_them(cli: Any, table: Path, policy: Path, planted: None) -> None:
    """--owner shows figures and notes on stderr, apart from the rest, and JSON has them under the banner."""
    asked = (
        "release",
        "--method",
        "mondrian",
        "--k",
        "3",
        "--policy",
        policy,
        "--no-ledger",
        "--force",
        table,
        table.with_name("out.parquet"),
    )
    ran = cli(*asked, "--owner")
    block = ran.err[ran.err.index(OWNER_HEADING) :]
    assert block.count(PLANTED) == 3
    assert "7531.25" in block
    assert PLANTED not in ran.out + ran.err.removesuffix(block)
    told = cli(*asked, "--owner", "--json").document["owner_only"]
    assert told["banner"].startswith("DO NOT PUBLISH")
    assert told["source"]["rows"] == 75317531


@pytest.mark.quick_cases("rfka")
@pytest.mark.parametrize("method", OPTIONS)
def test_a_dry_run_tells_nothing_of_the_rows(method: str, cli: Any, table: Path, policy: Path, planted: None) -> None:
    """Under noise nothing is published that its figures could follow from: two tables print the same. Under k-anonymity
    it shows what the files would, and no owner's figure.
    """
    asked = ("release", "--method", method, *OPTIONS[method], "--policy", policy, "--no-ledger", "--dry-run")
    other = table.with_name("other.csv")
    lines = table.read_text(encoding="utf-8").splitlines()
    other.write_text("\n".join([lines[0], *lines[1:40]]) + "\n", encoding="utf-8")
    for more in ((), ("--json",)):
        first, second = (cli(*asked, *more, source, table.with_name("out.parquet")) for source in (table, other))
        assert (first == second) == (method in DRAWN)
        assert (first.code, PLANTED in first.out + first.err) == (0, False)
    shown = cli(*asked, "--owner", "--json", table, table.with_name("out.parquet")).document
    assert shown["rows"]["out"]
    assert shown["owner_only"]["source"]["rows"] == 75317531


DRAWN: dict[str, dict[str, float]] = {
    "dp-nb": {"epsilon": 1.0},
    "dp-forest": {"epsilon": 1.0},
    "dp-marginals": {"epsilon": 1.0, "delta": 1e-6},
    "safepub": {"epsilon": 1.0, "delta": 1e-3},
    "rr": {"epsilon": 1.0},
}
"""Methods whose draws decide something."""


@pytest.mark.quick_cases("*-release")
@pytest.mark.parametrize("command", ["release", "run"])
@pytest.mark.parametrize("method", DRAWN)
def test_a_dry_run_draws_for_its_owner_alone(
    method: str, command: str, cli: Any, table: Path, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The draws decide whether they end in a refusal, and a dry run is not charged: it shows nothing of them."""

    def refuse(*args: object, rng: Randomness, **kwargs: object) -> None:
        rng.words(1)
        raise GuaranteeError("nothing is left")

    monkeypatch.setattr(type(make_method(method, DRAWN[method])), "release", refuse)
    parameters = "".join(f"{name} = {value!r}\n" for name, value in DRAWN[method].items())
    table.with_name("recipe.toml").write_text(
        f'method = "{method}"\ninput = "in.csv"\noutput = "out.parquet"\npolicy = "policy.toml"\n'
        f"[parameters]\n{parameters}",
        encoding="utf-8",
    )
    options = [word for name, value in DRAWN[method].items() for word in (f"--{name}", value)]
    asked = {
        "release": ("release", "--method", method, *options, "--policy", policy, table, table.with_name("out.parquet")),
        "run": ("run", table.with_name("recipe.toml")),
    }[command]
    ran = cli(*asked, "--dry-run", "--json")
    assert (ran.code, ran.document["dry_run"]) == (0, True), ran.err
    assert ran.document["budget"]["epsilon"] == pytest.approx(1.0, rel=1e-6)
    assert [cli(*asked, "--dry-run", *more).code for more in ((), ("--owner",))] == [0, 1]
    assert not list(table.parent.glob(".anonkit-ledger*"))
    charged = cli(*asked)
    assert (charged.code, "is booked in the ledger" in charged.err) == (1, True)


@pytest.mark.slow
def test_apply_and_run_keep_to_it(cli: Any, table: Path, policy: Path, planted: None) -> None:
    """The other commands that release: the figures of the owner on request, and else none of them."""
    first = table.with_name("out.parquet")
    options = ("--method", "mondrian", "--k", "3", "--policy", policy, "--no-ledger", "--quiet")
    assert cli("release", *options, table, first).code == 0
    recipe = table.with_name("recipe.toml")
    recipe.write_text(
        'method = "mondrian"\ninput = "in.csv"\noutput = "run.parquet"\npolicy = "policy.toml"\n', encoding="utf-8"
    )
    for asked in (
        ("apply", "--no-ledger", "--force", "--max-suppression", "1", first, table, table.with_name("new.parquet")),
        ("run", "--no-ledger", "--force", recipe),
    ):
        for more in ((), ("--json",)):
            ran = cli(*asked, *more)
            assert (ran.code, PLANTED in ran.out + ran.err) == (0, False), ran.err
            shown = cli(*asked, *more, "--owner")
            assert (shown.code, PLANTED in shown.err) == (0, True), shown.err
            assert (PLANTED in shown.out) is bool(more)


# --- who may read the files -----------------------------------------------------------------------------------


@pytest.fixture(params=[0o027, 0o002], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """The permission bits that the user's files lack."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def _modes(folder: Path) -> dict[str, int]:
    return {path.relative_to(folder).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}


@pytest.mark.quick_cases("0o27")
def test_release_files_follow_the_umask_and_owner_files_are_his_alone(
    umask: int, cli: Any, table: Path, policy: Path, tmp_path: Path
) -> None:
    """One file, a folder of parts, a folder of files, a signature, a copy; the ledger, its key, owner report, pages."""
    key = tmp_path / "owner.pem"
    _write_key(key)
    here, own = tmp_path / "here", tmp_path / "own"
    options = ("--method", "mondrian", "--k", "3", "--policy", policy, "--quiet", "--accept-joint-k", "1", table)
    assert cli("release", *options, here / "a.parquet", "--sign", key, "--owner-report", own).code == 0
    assert cli("release", *options, here / "parts.parquet", "--part-rows", "20").code == 0
    assert cli("release", *options, f"{here}/folder/").code == 0
    anonkit.load(here / "a.parquet").save(here / "copy.parquet")
    anonkit.load(here / "parts.parquet").save(here / "more.parquet")
    modes = _modes(here)
    for name, mode in modes.items():
        assert mode == (0o777 if (here / name).is_dir() else 0o666) & ~umask, name
    ledger = users_ledger().file
    assert ledger is not None
    assert set(_modes(ledger.parent).values()) == {0o600}
    asked = ("audit", here / "a.parquet", "--original", table, "--attacks", "10", "--quiet")
    assert cli(*asked, "--owner-report", own).code == 0
    page = cli("report", here / "a.parquet", "--audit", own / "audit.owner.report.json", "--html", own / "review.html")
    assert page.code == 0
    assert cli("init", table, "-o", own / "draft.toml").code == 0
    assert {name: mode for name, mode in _modes(own).items() if mode != 0o600} == {}


def test_what_sqlite_writes_beside_the_ledger_is_private_too(cli: Any, table: Path, released: Path) -> None:
    """Its journal holds pages of the ledger while a release is booked."""
    ledger = users_ledger().file
    assert ledger is not None
    before = os.umask(0)
    try:
        with closing(sqlite3.connect(ledger, isolation_level=None)) as connection:
            for mode in ("delete", "wal"):
                connection.execute(f"PRAGMA journal_mode = {mode}")
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(f"CREATE TABLE of_{mode} (a)")
                beside = list(ledger.parent.glob(f"{ledger.name}-*"))
                assert beside
                assert {stat.S_IMODE(path.stat().st_mode) for path in beside} == {0o600}
                connection.execute("COMMIT")
    finally:
        os.umask(before)


def _write_key(path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    path.write_bytes(Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


@pytest.mark.slow
def test_a_plan_under_noise_says_its_account_and_what_can_be_foreseen(
    cli: Any, table: Path, policy: Path, tmp_path: Path
) -> None:
    """Promise, account and a release of simulated rows, which are called so; nothing is booked, nothing written."""
    out, ledger = table.with_name("out.parquet"), tmp_path / "l.sqlite"
    asked = ("release", "--method", "dp-nb", "--epsilon", "1", "--policy", policy, "--ledger", ledger)
    plan = cli(*asked, "--dry-run", table, out)
    assert plan.code == 0, plan.err
    assert "Nothing is booked now. The release would be: epsilon 1." in plan.out
    assert not ledger.exists()
    assert "has no ledger" in cli(*asked[:-2], "--no-ledger", "--dry-run", table, out).out
    assert cli(*asked, "--dataset", "d", "--budget", "3", "--quiet", table, out).code == 0
    before = sorted(path.name for path in tmp_path.iterdir())
    again = (*asked, "--dataset", "d", "--force", "--dry-run", table, out)
    shown = " ".join(cli(*again).out.split())
    assert "as release 2 of its dataset" in shown
    assert "All of them together would cost epsilon 2, for one row added or removed" in shown
    assert "The budget is 3, for one row added or removed." in shown.replace("The budget is epsilon", "The budget is")
    assert "Simulated: 120 rows were drawn from the declared domains" in shown
    assert "No cell of your table was read" in shown
    assert "Left out as identifiers: name." in shown
    assert "Noise carries a count, 19 times in 20, by no more than" in shown
    assert "guessing has 0.5" in shown
    document = cli(*again, "--json").document
    assert document["foreseen"]["simulated_rows"] == 120
    assert document["ledger"]["release_of_dataset"] == 2
    assert "guessing" not in cli(*again, "--no-utility").out
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert [len(one.counted) for one in Ledger(ledger).datasets()] == [1]


def test_a_plan_whose_domains_are_read_from_the_table_foresees_nothing(cli: Any, table: Path) -> None:
    """Rows simulated from these domains would disclose the table."""
    asked = ("release", "--method", "dp-nb", "--epsilon", "1", "--domains-from-data", "--domains-min-people", "2")
    ran = cli(*asked, "--identifier", "name", "--no-ledger", "--dry-run", table, table.with_name("out.parquet"))
    assert ran.code == 0, ran.err
    assert "Nothing can be foreseen without looking at the table" in ran.out
