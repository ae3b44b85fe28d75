# SPDX-License-Identifier: Apache-2.0
"""`anonkit release` and `anonkit apply` end to end: what is shown, what is written, which exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from anonkit.ledger.earlier_releases import POINTER
from anonkit.ledger.ledger_place import users_ledger
from anonkit.report.markdown import report_markdown

SUFFIXES = (".datapackage.json", ".params.json", ".parquet", ".report.html", ".report.json")


def names_beside(table: Path) -> list[str]:
    """Return all that is beside the table, staging folders included."""
    return sorted(path.name for path in table.parent.iterdir() if path != table and path.name != POINTER)


def names_of(table: Path) -> list[Path]:
    """Return the files beside the table, the pointer to the ledger apart."""
    return [table.with_name(name) for name in names_beside(table)]


def test_a_release_is_five_files_and_one_object(cli: Any, table: Path, quick: tuple[str, ...]) -> None:
    """--json has the files and their hashes, k required and reached, the rows, columns, checks and notes."""
    output = table.with_name("out.parquet")
    ran = cli("release", table, output, *quick, "--json")
    document = ran.document

    assert ran.code == 0
    assert ran.err == ""
    assert names_beside(table) == [f"out{suffix}" for suffix in SUFFIXES]
    assert document["ok"] is True
    assert document["dry_run"] is False
    assert document["reused"] is False
    assert sorted(document["files"].values()) == [str(output.with_name(f"out{suffix}")) for suffix in SUFFIXES]
    assert document["k_anonymity"]["requested"] == 3
    assert document["k_anonymity"]["achieved"] >= 3
    assert document["k_anonymity"]["meets"] is True
    assert document["rows"]["in"] == document["rows"]["out"] + document["rows"]["suppressed"] == 60
    assert {column["name"] for column in document["columns"]} == {"name", "age", "zip", "sex", "illness", "income"}
    assert all(check["passed"] for check in document["checks"])
    assert set(document["sha256"]) == set(document["files"])
    assert document["method"]["parameters"]["k"] == 3


@pytest.mark.slow
def test_people_read_what_was_promised_and_done(
    cli: Any, table: Path, quick: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The terminal has promise, checks, rows, columns and files on stdout, in one screen; names of files are short."""
    monkeypatch.chdir(table.parent)
    output = "out.parquet"
    ran = cli("release", table, output, *quick)

    assert ran.code == 0
    for words in (
        f"Released {output}",
        "60 of 60 rows are released",
        "k = 3",
        "checks passed",
        "Left out as identifiers: name",
        "out.report.html",
    ):
        assert words in ran.out.replace("\n           ", " ")


@pytest.mark.slow
def test_the_terminal_says_which_column_was_taken_as_target(cli: Any, table: Path) -> None:
    """Without --target a class label at the end is guessed: said once on the terminal, with the remedy, and in JSON."""
    options = ("--k", "3", "--trees", "20", "--identifier", "name", "--dry-run", "--owner")
    note = "Target 'income': guessed, released unchanged."

    ran = cli("release", table, "out.parquet", *options)
    assert ran.out.count("guessed") == 1
    remedy = "Say --target income if it is one, --no-target if nothing is to be predicted."
    assert remedy in ran.out.replace("\n           ", " ")
    assert "guessed" not in ran.err
    notes = cli("release", table, "out.parquet", *options, "--json").document["notes"]
    assert any(told.startswith(note) for told in notes)


def test_quiet_shows_nothing(cli: Any, table: Path, quick: tuple[str, ...]) -> None:
    """--quiet releases without a word."""
    ran = cli("release", table, table.with_name("out.parquet"), *quick, "--quiet")

    assert (ran.code, ran.out, ran.err) == (0, "", "")


@pytest.mark.slow
def test_a_dry_run_tells_all_and_writes_nothing(cli: Any, table: Path, quick: tuple[str, ...]) -> None:
    """Under k-anonymity what a decision needs, to the owner the source's figures too; no file, nothing booked."""
    arguments = (
        "release",
        table,
        table.with_name("out.parquet"),
        *quick,
        "--dry-run",
        "--owner-report",
        table.with_name("o"),
    )
    plain, document = cli(*arguments, "--owner"), cli(*arguments, "--owner", "--json").document

    assert plain.out.startswith("Dry run, nothing was written\n\nTable      60 of 60 rows")
    plain = cli(*arguments).out
    for words in ("Table      60 of 60 rows", "columns", "Risk", "illness"):
        assert words in plain
    assert cli(*arguments, "--json").document["disclosure_risk"] == document["disclosure_risk"]
    assert not users_ledger().may_be_there
    assert document["dry_run"] is True
    assert document["files"] is None
    assert document["owner_report"] is None
    assert document["k_anonymity"]["meets"] is True
    assert names_beside(table) == []


@pytest.mark.slow
def test_a_release_is_replaced_with_force_only(cli: Any, table: Path, released: Path, quick: tuple[str, ...]) -> None:
    """Of another request: without --force exit code 2 and the old files, bytes and all; with it the new ones."""
    before = {path: path.read_bytes() for path in table.parent.iterdir()}
    refused = cli("release", table, released, *quick, "--k", "5")
    assert refused.code == 2
    assert "requested differently" in refused.err
    assert "--force" in refused.err
    assert {path: path.read_bytes() for path in table.parent.iterdir()} == before

    assert cli("release", table, released, *quick, "--k", "5", "--accept-joint-k", "1", "--force", "--quiet").code == 0
    assert cli("validate", released, "--k", "5").code == 0
    assert sorted(path.name for path in table.parent.iterdir()) == sorted(path.name for path in before)


@pytest.mark.slow
def test_the_same_command_again_makes_nothing(
    cli: Any, table: Path, released: Path, quick: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 0, every file untouched, and it is said: on the terminal, in JSON, in a dry run, of another version."""
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in names_of(table)}
    plain = cli("release", table, released, *quick)
    assert plain.code == 0, plain.err
    assert plain.out.startswith(f"Reused {released}\n")
    assert "nothing new was made, and no budget spent" in " ".join(plain.out.split())
    document = cli("release", table, released, *quick, "--json").document
    assert (document["ok"], document["reused"], document["dry_run"]) == (True, True, False)
    assert "the release is there already" in cli("release", table, released, *quick, "--dry-run").out
    monkeypatch.setattr("anonkit.cli.summary.__version__", "99.0")
    assert "this is 99.0" in " ".join(cli("release", table, released, *quick).out.split())
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in names_of(table)} == before
    assert "committed" in (listed := cli("ledger", released).out)
    assert listed.count("mondrian") == 1


@pytest.mark.slow
def test_files_that_were_changed_are_a_broken_promise(
    cli: Any, table: Path, released: Path, quick: tuple[str, ...]
) -> None:
    """Exit code 1, what does not hold, and the way out; --force says what it does before it does it."""
    released.with_name("out.params.json").write_text("{}")
    refused = cli("release", table, released, *quick, "--json")
    assert (refused.code, refused.document["code"]) == (1, "PROMISE")
    assert "is release 1 of dataset 'in' in the ledger" in refused.document["message"]
    forced = cli("release", table, released, *quick, "--accept-joint-k", "1", "--force", "--json")
    assert forced.code == 0, forced.err
    assert forced.document["reused"] is False
    assert forced.err.startswith(f"Note: {released} is replaced by a new release, which is booked")
    quiet = cli("release", table, released, *quick, "--accept-joint-k", "1", "--force", "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


@pytest.mark.slow
def test_a_folder_is_an_output_too(cli: Any, table: Path, quick: tuple[str, ...]) -> None:
    """OUT with a slash at its end is a folder, and `validate` and `report` take it."""
    folder = f"{table.with_name('release')}/"

    assert cli("release", table, folder, *quick, "--quiet").code == 0
    assert names_beside(table) == ["release"]
    assert cli("validate", folder).code == 0
    assert cli("report", folder).code == 0


@pytest.mark.slow
def test_a_large_table_is_searched_on_a_sample_and_written_in_parts(
    cli: Any, table: Path, quick: tuple[str, ...]
) -> None:
    """--search-rows and --part-rows: the report states the sample, k is counted on all rows, the data are a folder."""
    output = table.with_name("out.parquet")
    bounds = ("--search-rows", "40", "--part-rows", "25")
    ran = cli("release", table, output, *quick, *bounds, "--json")
    assert ran.code == 0, ran.err
    assert ran.document["k_anonymity"]["meets"] is True
    assert len(list(output.glob("part-*.parquet"))) == -(-ran.document["rows"]["out"] // 25)
    report = json.loads(output.with_name("out.report.json").read_text())
    assert (report["search"]["sample"]["rows"], report["search"]["sample"]["of"]) == (40, 60)
    assert cli("validate", output).code == 0
    assert cli("validate", f"{output}/").code == 0


def test_roles_come_from_options_and_from_a_policy(cli: Any, table: Path) -> None:
    """Options are on top of the policy file."""
    policy = table.with_name("policy.toml")
    policy.write_text('[columns]\nname = { role = "identifier" }\nzip = { role = "insensitive" }\n', encoding="utf-8")
    options = ("--method", "mondrian", "--k", "3", "--policy", policy, "--target", "illness", "--insensitive", "income")
    document = cli("release", table, table.with_name("out.parquet"), *options, "--json").document
    roles = {column["name"]: column["role"] for column in document["columns"]}

    assert roles == {
        "name": "identifier", "age": "quasi_identifier", "zip": "insensitive", "sex": "quasi_identifier",
        "illness": "target", "income": "insensitive",
    }  # fmt: skip


@pytest.mark.quick_cases("drop-*", "error-*")
@pytest.mark.parametrize(("missing", "code", "rows"), [("category", 0, 60), ("drop", 0, 56), ("error", 3, None)])
def test_missing_values_are_treated_as_said(cli: Any, table: Path, missing: str, code: int, rows: int | None) -> None:
    """--missing on top of the policy: one more value, out with the row, or a refusal."""
    lines = table.read_text(encoding="utf-8").splitlines()
    for at in (5, 20, 33, 47):
        cells = lines[at].split(",")
        lines[at] = ",".join([cells[0], "", *cells[2:]])
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    output = table.with_name("out.parquet")
    ran = cli(
        "release", table, output, "--method", "mondrian", "--k", "3", "--identifier", "name", "--missing", missing
    )

    assert ran.code == code
    assert output.exists() is (rows is not None)
    if rows is not None:
        assert pq.read_metadata(output).num_rows == rows
    else:
        assert "'age' has 4 missing values" in ran.err


@pytest.mark.slow
def test_a_unit_column_counts_people(cli: Any, table: Path) -> None:
    """With --unit k counts people, required and reached, and the column is not released."""
    output = table.with_name("out.parquet")
    options = ("--method", "mondrian", "--k", "3", "--unit", "name", "--json")
    document = cli("release", table, output, *options).document

    assert "name" not in pq.read_schema(output).names
    assert "k_anonymity_people" in {check["name"] for check in document["checks"]}
    validated = cli("validate", output)
    assert validated.code == 0
    assert "passed  People in the smallest equivalence class" in validated.out


@pytest.mark.slow
def test_owner_figures_go_to_their_own_folder(cli: Any, table: Path, quick: tuple[str, ...]) -> None:
    """--owner-report writes them apart from the release, with the banner, and says where."""
    folder = table.with_name("owner")
    ran = cli("release", table, table.with_name("out.parquet"), *quick, "--owner-report", folder)
    written = json.loads((folder / "owner.report.json").read_text(encoding="utf-8"))

    assert written["banner"].startswith("DO NOT PUBLISH")
    assert "to sign: " in ran.out
    assert "utility of source" not in ran.out + ran.err
    assert str(folder / "owner.report.json") in "".join(line.strip() for line in ran.out.splitlines())
    assert (folder / "owner.report.json").stat().st_mode & 0o077 == 0


def test_a_seed_marks_every_file(cli: Any, table: Path, quick: tuple[str, ...]) -> None:
    """A seeded run needs --not-for-release, says so in every file and on the terminal, and does not validate."""
    output = table.with_name("out.parquet")
    for half in (("--seed", "1"), ("--not-for-release",)):
        assert cli("release", table, output, *quick, *half).code == 2
    assert names_beside(table) == []
    ran = cli("release", table, output, *quick, "--seed", "1", "--not-for-release")

    assert ran.code == 0
    assert "NOT FOR RELEASE" in ran.out
    for suffix in SUFFIXES:
        assert b"not for release" in output.with_name(f"out{suffix}").read_bytes().lower(), suffix
    assert cli("validate", output).code == 1


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("absent.csv", "out.parquet"), 3, "does not exist"),
        (("in.csv",), 2, "OUT"),
        (("in.csv", "out.parquet", "--nonsense"), 2, "--nonsense"),
        (("in.csv", "out.pdf"), 2, ".parquet"),
        (("in.csv", "out.parquet", "--k", "1"), 2, "k (1)"),
        (("in.csv", "out.parquet", "--k", "ten"), 2, "--k (ten)"),
        (("in.csv", "out.parquet", "--epsilon-of-nobody", "1"), 2, "--epsilon-of-nobody"),
        (("in.csv", "out.parquet", "--missing", "maybe"), 2, "--missing"),
        (("in.csv", "out.parquet", "--engine", "abacus"), 2, "abacus"),
        (("in.csv", "out.parquet", "--preset", "nobodys"), 2, "nobodys"),
        (("in.csv", "out.parquet", "--target", "incme"), 3, "did you mean 'income'?"),
        (("in.csv", "out.parquet", "--target", "sex", "--identifier", "sex"), 3, "two roles"),
        (("in.csv", "out.parquet", "--policy", "absent.toml"), 3, "absent.toml"),
        (("in.csv", "out.parquet", "--l", "2"), 3, "sensitive"),
        (("in.csv", "out.parquet", "--k", "61"), 1, "k (61) cannot be reached"),
        (("in.csv", "out.parquet", "--sensitive", "illness", "--l", "4"), 1, ""),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_written(
    cli: Any, table: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, words: str
) -> None:
    """Two lines that name the column or option, the exit code of the contract, no file."""
    monkeypatch.chdir(table.parent)
    for more in ((), ("--json",)):
        ran = cli("release", *arguments, "--method", "mondrian", "--identifier", "name", *more)

        assert ran.code == code
        assert words in (ran.document["message"] + str(ran.document["hint"]) if more else ran.err)
        assert names_beside(table) == []
        if not more:
            assert len(ran.err.splitlines()) <= 2
            assert ran.err.startswith("Error: ")
            assert ran.out == ""


@pytest.mark.slow
def test_the_next_batch_is_recoded_the_same_way(cli: Any, table: Path, released: Path) -> None:
    """`apply` takes params.json and a new table, and k is counted for it."""
    new = table.with_name("new.parquet")
    ran = cli("apply", table.with_name("out.params.json"), table, new, "--json")

    assert ran.code == 0
    assert ran.document["k_anonymity"]["meets"] is True
    assert cli("validate", new, "--k", "3").code == 0
    assert pq.read_schema(new).names == pq.read_schema(released).names


@pytest.mark.slow
def test_a_batch_that_is_too_small_is_refused(cli: Any, table: Path, released: Path) -> None:
    """Classes below k are left out within --max-suppression only; beyond it exit code 1 and no file."""
    lines = table.read_text(encoding="utf-8").splitlines()
    few = table.with_name("few.csv")
    few.write_text("\n".join(lines[:3]) + "\n", encoding="utf-8")
    new = table.with_name("new.parquet")
    ran = cli("apply", released, few, new)

    assert ran.code == 1
    assert not new.exists()
    assert cli("apply", released, table, new, "--dry-run", "--quiet").code == 0
    assert not new.exists()


def test_apply_needs_a_release(cli: Any, table: Path) -> None:
    """A file that is no params.json of a release is refused with exit code 3."""
    other = table.with_name("other.params.json")
    assert cli("apply", other, table, table.with_name("new.parquet")).code == 3
    other.write_text("{}", encoding="utf-8")
    assert cli("apply", other, table, table.with_name("new.parquet")).code == 3


def test_a_table_without_rows_is_refused_as_such(cli: Any, table: Path, quick: tuple[str, ...]) -> None:
    """Neither k nor shares of no rows are talked about: the table has none, for a release and for the next batch."""
    output, empty = table.with_name("out.parquet"), table.with_name("empty.csv")
    empty.write_text(table.read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8")
    assert cli("release", table, output, *quick).code == 0

    for ran in (
        cli("release", empty, empty.with_name("none.parquet"), *quick),
        cli("apply", output.with_name("out.params.json"), empty, empty.with_name("none.parquet")),
    ):
        assert ran.code == 1
        assert "the table has no rows" in ran.err
        assert "Hint: name a table that has some" in ran.err
    assert not empty.with_name("none.parquet").exists()


def test_a_guessed_target_is_said_once(cli: Any, table: Path) -> None:
    """On the terminal, on the page and in Markdown: among the first facts, and not again as a note."""
    output = table.with_name("out.parquet")
    ran = cli("release", "--method", "mondrian", "--k", "3", "--identifier", "name", "--no-ledger", table, output)
    assert ran.code == 0, ran.err
    assert (ran.out + ran.err).count("was guessed to be") == 1
    page = output.with_name("out.report.html").read_text(encoding="utf-8")
    for text in (page, report_markdown(json.loads(output.with_name("out.report.json").read_text(encoding="utf-8")))):
        assert text.count("was guessed to be the column to predict") == 1
        assert "if it is one, --no-target" not in text
