"""Layouts that people have: which earlier releases are known in each, and what is said where they are not.

Requests are known again under the ledger's key alone, with the same rows and the same data.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Cli, Ran

from anonkit.ledger import NAME, Ledger
from anonkit.ledger.earlier_releases import POINTER, SIMULATED_NAME, request_digest, sealed
from anonkit.ledger.ledger_place import users_ledger

KEY, OTHER = b"k" * 32, b"o" * 32


def test_a_request_is_recognized_under_the_key_of_its_ledger() -> None:
    """Sixteen bytes that another key does not give; a request that is not known again has none."""
    digest = request_digest(KEY, b"mondrian k=5")
    assert digest is not None
    assert len(digest) == 16
    assert digest == request_digest(KEY, b"mondrian k=5")
    assert len({digest, request_digest(OTHER, b"mondrian k=5"), request_digest(KEY, b"mondrian k=6")}) == 3
    assert request_digest(KEY, None) is None


@pytest.mark.parametrize(
    ("key", "request_", "spelled", "data"),
    [(OTHER, b"r", b"rows", "ab"), (KEY, b"q", b"rows", "ab"), (KEY, b"r", b"rowz", "ab"), (KEY, b"r", b"rows", "ac")],
)
def test_a_seal_is_of_request_rows_and_data(key: bytes, request_: bytes, spelled: bytes, data: str) -> None:
    """Any other one of them has another seal."""
    seal = sealed(KEY, b"r", b"rows", "ab")
    assert seal is not None
    assert sealed(key, request_, spelled, data) != seal


def test_entries_of_older_versions_are_never_known_again() -> None:
    """They have no mark of their rows, or no request."""
    assert sealed(KEY, b"r", b"", "ab") is None
    assert sealed(KEY, None, b"rows", "ab") is None


QUICK = ("--method", "mondrian", "--k", "3", "--identifier", "name", "--sensitive", "illness", "--quiet")


def month(folder: Path, rows: list[str]) -> Path:
    """Write a table into the folder of a month."""
    folder.mkdir(exist_ok=True)
    (folder / "in.csv").write_text("".join(rows), encoding="utf-8")
    return folder / "in.csv"


@pytest.fixture
def rows(table: Path) -> list[str]:
    """The lines of the small table, its header first."""
    return table.read_text(encoding="utf-8").splitlines(keepends=True)


@pytest.fixture
def january(cli: Any, tmp_path: Path, rows: list[str]) -> Path:
    """The release of January, in a folder of its own."""
    output = tmp_path / "2024-01" / "out.parquet"
    assert cli("release", month(output.parent, rows), output, *QUICK).code == 0
    return output


def test_one_new_person_is_not_given_away_in_another_folder(
    cli: Any, tmp_path: Path, rows: list[str], january: Path
) -> None:
    """A folder a month: February's table with one person more is known again, and the recoding is not applied to it."""
    table = month(tmp_path / "2024-02", [*rows, "Somebody new,33,102,F,flu,low\n"])
    output = tmp_path / "2024-02" / "out.parquet"
    asked = ("apply", january, table, output, "--max-suppression", "1", "--quiet")
    refused = cli(*asked)
    assert refused.code == 1
    assert "looks like dataset 'in'" in refused.err
    refused = cli(*asked, "--dataset", "in")
    assert refused.code == 1
    assert "the table has changed since release 1" in refused.err
    assert not output.exists()
    assert not (tmp_path / "2024-02" / NAME).exists()


@pytest.mark.slow
def test_copied_params_are_known(cli: Any, tmp_path: Path, rows: list[str], january: Path) -> None:
    """Mailed and renamed, they are still those of release 1."""
    copy = tmp_path / "mail" / "recoding.params.json"
    copy.parent.mkdir()
    for suffix in ("params.json", "datapackage.json"):
        shutil.copy(january.with_name(f"out.{suffix}"), copy.with_name(f"recoding.{suffix}"))
    document = json.loads(copy.with_name("recoding.datapackage.json").read_text(encoding="utf-8"))
    text = json.dumps(document).replace('"out.', '"recoding.')
    copy.with_name("recoding.datapackage.json").write_text(text, encoding="utf-8")
    others = [line.replace("Person", "Other").replace("flu", "cold") for line in rows]
    table = month(tmp_path / "2024-02", others)
    ran = cli("apply", copy, table, tmp_path / "2024-02" / "out.parquet", "--max-suppression", "1", "--dataset", "feb",
              "--quiet")  # fmt: skip
    assert ran.code == 0, ran.err
    assert [one.dataset for one in Ledger(users_ledger()).datasets()] == ["feb", "in"]


def test_a_recoding_that_no_ledger_knows_is_not_applied(
    cli: Any, tmp_path: Path, rows: list[str], january: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A laptop and a server: exit code 2, unless no record is kept or the release is adopted, which is booked."""
    for name in (POINTER,):
        january.with_name(name).unlink()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "laptop"))
    table = month(tmp_path / "2024-02", [line.replace("flu", "cold") for line in rows])
    asked = ("apply", january, table, tmp_path / "2024-02" / "out.parquet", "--max-suppression", "1", "--quiet")
    for more in ((), ("--ledger", tmp_path / "l.sqlite")):
        refused = cli(*asked, *more)
        assert refused.code == 2
        assert "no ledger knows the release whose recoding is applied" in refused.err
        assert "--adopt" in refused.err
    assert cli(*asked, "--no-ledger", "--force").code == 0
    ran = cli(*asked, "--adopt", "--dataset", "feb", "--force")
    assert ran.code == 0, ran.err
    shown = {one.dataset: [entry.remark for entry in one.entries] for one in Ledger(users_ledger()).datasets()}
    assert shown == {"out": ["adopted"], "feb": [None]}
    assert "adopted" in cli("ledger").out
    # once it is known there is nothing to adopt
    assert cli(*asked, "--adopt", "--dataset", "feb", "--force", "--accept-joint-k", "1").code == 0
    assert len(Ledger(users_ledger()).standing("out").entries) == 1


@pytest.mark.slow
def test_the_ledger_beside_the_params_is_found(
    cli: Any, tmp_path: Path, rows: list[str], january: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the pointer there, or because it is there."""
    known = users_ledger()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "another user"))
    table = month(tmp_path / "2024-02", [line.replace("flu", "cold") for line in rows])
    asked = (
        "apply",
        january,
        table,
        tmp_path / "2024-02" / "out.parquet",
        "--max-suppression",
        "1",
        "--dataset",
        "feb",
    )
    ran = cli(*asked, "--quiet")
    assert ran.code == 0, ran.err
    assert len(Ledger(known).datasets()) == 2
    assert not users_ledger().may_be_there


def test_a_container_whose_home_dies_is_noticed(
    cli: Any, tmp_path: Path, rows: list[str], january: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pointer names a ledger that is not there: exit code 2, `--force` or not, until it is accepted; then it is
    booked and reported.
    """
    table, output = january.with_name("in.csv"), january.with_name("b.parquet")
    home = users_ledger().file
    assert home is not None
    shutil.rmtree(home.parent)
    for more in ((), ("--force",), ("--dry-run",), ("--ledger", tmp_path / "new.sqlite")):
        refused = cli("release", table, output, *QUICK, *more)
        assert refused.code == 2
        assert "which cannot be opened" in refused.err
        assert "--new-ledger" in refused.err
    assert not users_ledger().may_be_there
    assert cli("release", table, output, *QUICK, "--new-ledger", "--no-ledger").code == 2
    ran = cli("release", table, output, *QUICK, "--new-ledger")
    assert ran.code == 0, ran.err
    report = json.loads(output.with_name("b.report.json").read_text(encoding="utf-8"))
    assert report["ledger"] == {"booked": True, "new_ledger": True}
    assert "begins a new ledger" in output.with_name("b.report.html").read_text(encoding="utf-8")
    assert f"new ledger, instead of {home}" in cli("ledger").out
    # the pointer names the new one from now on
    assert cli("release", table, january.with_name("c.parquet"), *QUICK).code == 0


@pytest.mark.slow
def test_two_users_on_one_server_notice_each_other(
    cli: Any, tmp_path: Path, january: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder that both release into, the other's ledger is named."""
    first = users_ledger()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "eve"))
    refused = cli("release", january.with_name("in.csv"), january.with_name("b.parquet"), *QUICK)
    assert refused.code == 2
    assert f"--ledger {first}" in refused.err
    assert (
        cli("release", january.with_name("in.csv"), january.with_name("b.parquet"), *QUICK, "--ledger", first).code == 0
    )


@pytest.mark.slow
def test_one_file_that_is_replaced_each_month_is_held_against_the_last(
    cli: Any, tmp_path: Path, rows: list[str], january: Path
) -> None:
    """`--force` replaces the file and not what was handed out."""
    table = month(january.parent, [*rows, "Somebody new,33,102,F,flu,low\n"])
    refused = cli("release", table, january, *QUICK, "--force")
    assert refused.code == 1
    assert "looks like dataset 'in'" in refused.err


def test_a_pointer_holds_no_figure(january: Path) -> None:
    """The random id of the ledger and its place."""
    said = json.loads(january.with_name(POINTER).read_text(encoding="utf-8"))
    assert said == {
        "format": "anonkit-ledger-pointer/1",
        "ledger": Ledger(users_ledger()).name,
        "place": str(users_ledger()),
    }
    january.with_name(POINTER).write_text("no pointer", encoding="utf-8")


@pytest.mark.quick_cases("no pointer", "{}")
@pytest.mark.parametrize("content", ["no pointer", "[]", "{}", '{"format": "anonkit-ledger-pointer/2"}'])
def test_a_pointer_that_cannot_be_read_names_an_unknown_ledger(cli: Any, january: Path, content: str) -> None:
    """The contents of the pointer are not guessed."""
    january.with_name(POINTER).write_text(content, encoding="utf-8")
    refused = cli("release", january.with_name("in.csv"), january.with_name("b.parquet"), *QUICK)
    assert refused.code == 2


@pytest.fixture
def simulated(cli: Cli, tmp_path: Path) -> Callable[[Path], Ran]:
    """Run a recipe of simulated customers into a folder."""

    def run(folder: Path) -> Ran:
        recipe = tmp_path / "recipe.toml"
        recipe.write_text(
            f'method = "mondrian"\noutput = "{folder.name}/made.parquet"\nutility = false\n'
            "[simulate]\nrows = 200\nseed = 1\n[parameters]\nk = 5\n",
            encoding="utf-8",
        )
        return cli("run", recipe, "--json")

    return run


def refuses_one_more(cli: Any, folder: Path, rows: list[str]) -> bool:
    """Return True if a release into a folder of one person more than in January is refused."""
    table = month(folder, [*rows, "Somebody new,33,102,F,flu,low\n"])
    refused = cli("release", table, folder / "next.parquet", *QUICK)
    return refused.code == 1 and "looks like dataset 'in'" in refused.err


def test_a_simulated_release_is_in_the_way_of_no_real_one(
    cli: Any, rows: list[str], january: Path, simulated: Callable[[Path], Ran]
) -> None:
    """After a real one in its folder it is made, and again; what is real is known there as before."""
    pointer = january.with_name(POINTER).read_bytes()
    for reused in (False, True):
        ran = simulated(january.parent)
        assert ran.code == 0, ran.err
        assert ran.document["reused"] is reused
        assert january.with_name(POINTER).read_bytes() == pointer
    assert [one.dataset for one in Ledger(users_ledger()).datasets()] == ["in"]
    assert cli("release", january.with_name("in.csv"), january.with_name("b.parquet"), *QUICK).code == 0
    assert refuses_one_more(cli, january.parent, rows)


def test_a_real_release_is_not_booked_among_simulated_people(
    cli: Any, tmp_path: Path, rows: list[str], january: Path, simulated: Callable[[Path], Ran]
) -> None:
    """In a folder that a simulated one was made in before: the user's ledger knows January there."""
    folder = tmp_path / "2024-02"
    for at in range(2):
        ran = simulated(folder)
        assert ran.code == 0, ran.err
        assert refuses_one_more(cli, folder, rows)
        ran = cli("release", january.with_name("in.csv"), folder / f"{at}.parquet", *QUICK)
        assert ran.code == 0, ran.err
        [known] = Ledger(users_ledger()).datasets()
        assert [entry.output for entry in known.counted][1:] == [str(folder / f"{n}.parquet") for n in range(at + 1)]


def test_the_demo_touches_no_ledger_of_its_folder(cli: Any, january: Path) -> None:
    """Neither one that a pointer names, nor one beside it that knows other people by the name of its customers."""
    pointer = january.with_name(POINTER).read_bytes()
    assert cli("demo", "--folder", january.parent, "--rows", "200", "--quiet").code == 0
    assert january.with_name(POINTER).read_bytes() == pointer
    assert [one.dataset for one in Ledger(users_ledger()).datasets()] == ["in"]
    Ledger.create(january.with_name(NAME))
    real = cli("release", january.with_name("in.csv"), january.with_name("b.parquet"), *QUICK, "--new-ledger",
               "--dataset", "bank-customers")  # fmt: skip
    assert real.code == 0, real.err
    assert cli("demo", "--folder", january.parent, "--rows", "200", "--quiet", "--force").code == 0
    [known] = Ledger(january.with_name(NAME)).datasets()
    assert [entry.counts for entry in known.entries] == [True]


@pytest.mark.slow
def test_a_recoding_of_simulated_people_is_that_of_no_release_that_a_ledger_knows(cli: Any, tmp_path: Path) -> None:
    """A batch may be of real people: it is not booked among simulated ones; the owner decides what to do."""
    assert cli("demo", "--folder", tmp_path, "--rows", "200", "--quiet").code == 0
    asked = ("apply", tmp_path / "release.parquet", tmp_path / "customers.csv", tmp_path / "again.parquet", "--quiet")
    refused = cli(*asked)
    assert refused.code == 2
    assert "no ledger knows the release whose recoding is applied" in refused.err
    assert cli(*asked, "--no-ledger").code == 0
    assert not users_ledger().may_be_there


@pytest.mark.slow
def test_the_ledger_of_simulated_people_is_shown_where_no_other_is(cli: Any, january: Path) -> None:
    """By its folder, or by a release in it; a pointer to that of real people goes before it."""
    folder = january.parent.parent / "demo"
    assert cli("demo", "--folder", folder, "--rows", "200", "--quiet").code == 0
    for where in (folder, folder / "release.parquet"):
        assert cli("ledger", where, "--json").document["ledger"] == str(folder / SIMULATED_NAME)
    assert cli("demo", "--folder", january.parent, "--rows", "200", "--quiet").code == 0
    assert cli("ledger", january.parent, "--json").document["ledger"] == str(users_ledger())


@pytest.mark.slow
def test_two_users_in_folders_of_their_own_know_each_other_by_a_shared_ledger_alone(
    cli: Any, tmp_path: Path, rows: list[str], january: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither learns of the other: each has a ledger. With `ANONKIT_LEDGER` shared the second one is refused."""
    known = users_ledger()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "eve"))
    table = month(tmp_path / "eve's", [*rows, "Somebody new,33,102,F,flu,low\n"])
    asked = ("release", table, table.with_name("out.parquet"), *QUICK)
    assert cli(*asked).code == 0
    assert [one.dataset for one in Ledger(users_ledger()).datasets()] == ["in"]
    assert len(Ledger(known).standing("in").entries) == 1
    monkeypatch.setenv("ANONKIT_LEDGER", str(known))
    elsewhere = month(tmp_path / "shared", [*rows, "Somebody new,33,102,F,flu,low\n"])
    refused = cli("release", elsewhere, elsewhere.with_name("out.parquet"), *QUICK)
    assert refused.code == 1
    assert "looks like dataset 'in'" in refused.err


@pytest.mark.slow
def test_a_laptop_and_a_server_release_the_same_table_unnoticed_unless_they_share_a_ledger(
    cli: Any, tmp_path: Path, rows: list[str], january: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second draw of the same people is made on the laptop; through one ledger they are known."""
    server = users_ledger()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "laptop"))
    table = month(tmp_path / "on the laptop", rows)
    asked = ("release", table, table.with_name("out.parquet"), *QUICK)
    assert cli(*asked).code == 0
    assert users_ledger() != server
    both = (*asked, "--ledger", server, "--force")
    refused = cli(*both[:1], month(tmp_path / "another", rows[:-1]), tmp_path / "another" / "out.parquet", *both[3:])
    assert refused.code == 1
    assert "looks like dataset 'in'" in refused.err


@pytest.mark.slow
def test_a_container_whose_ledger_is_on_a_volume_goes_on(
    cli: Any, tmp_path: Path, rows: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on the page: the container's home dies, the volume stays, and February is checked against January."""
    monkeypatch.setenv("ANONKIT_LEDGER", str(tmp_path / "volume" / "ledger.sqlite"))
    (tmp_path / "volume").mkdir()
    table = month(tmp_path / "releases", rows)
    assert cli("release", table, table.with_name("january.parquet"), *QUICK).code == 0
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "a new home"))
    table = month(tmp_path / "releases", [*rows, "Somebody new,33,102,F,flu,low\n"])
    refused = cli("release", table, table.with_name("february.parquet"), *QUICK)
    assert refused.code == 1
    assert "looks like dataset 'in'" in refused.err
