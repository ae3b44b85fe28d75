"""Tables without a header: no command takes the first record for names, and each reads them where it is said so."""

from __future__ import annotations

import gzip
import io
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

import anonkit
from anonkit.engines import open_engine
from anonkit.engines.snapshots.addresses import source_at
from anonkit.engines.snapshots.dispatch import snapshot
from anonkit.errors import ChoiceError, ParameterError
from anonkit.policy.declaration import Policy

MARK = "Xqvwj"
"""A cell of the first record alone."""
NAMES = ["who", "age", "zip", "sex", "born", "income"]
GIVEN = ",".join(NAMES)
ROWS = 120
QUICK = ("--method", "mondrian", "--k", "3", "--quiet", "--no-ledger")


def records() -> list[list[str]]:
    """Rows of people; the first one has the mark."""
    r = random.Random(3)
    return [
        [
            f"Person {MARK if at == 0 else at}",
            str(r.randrange(20, 60)),
            str(r.choice([1010, 1020, 1030])),
            r.choice("FM"),
            f"{r.randrange(1950, 2000)}-0{r.randrange(1, 10)}-1{r.randrange(10)}",
            r.choice(["low", "high"]),
        ]
        for at in range(ROWS)
    ]


def text(delimiter: str = ",") -> str:
    """The rows without a header."""
    return "".join(delimiter.join(row) + "\n" for row in records())


def _plain(path: Path, raw: bytes) -> Path:
    path.write_bytes(raw)
    return path


def _workbook(folder: Path) -> Path:
    path = folder / "in.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:
        page = book.add_worksheet("People")
        for row, cells in enumerate(records()):
            for column, cell in enumerate(cells):
                page.write(row, column, int(cell) if cell.isdigit() else cell)
    return path


def _parts(folder: Path) -> Path:
    lines = text().splitlines(keepends=True)
    for part in (0, 1):
        (folder / f"part-{part}.csv").write_text("".join(lines[part * ROWS // 2 : (part + 1) * ROWS // 2]))
    return folder / "part-*.csv"


SOURCES: dict[str, Callable[[Path], Path]] = {
    "CSV": lambda folder: _plain(folder / "in.csv", text().encode()),
    "CSV with a mark and semicolons": lambda folder: _plain(folder / "in.txt", text(";").encode("utf-8-sig")),
    "TSV": lambda folder: _plain(folder / "in.tsv", text("\t").encode()),
    "gzip": lambda folder: _plain(folder / "in.csv.gz", gzip.compress(text().encode())),
    "workbook": _workbook,
    "several files": _parts,
}


@pytest.mark.quick_cases("several files")
@pytest.mark.parametrize("source", SOURCES)
def test_every_text_source_is_refused_and_read_where_it_is_said(cli: Any, tmp_path: Path, source: str) -> None:
    """Exit code 2 without a cell; all rows with --no-header and --names; one row less with --header."""
    path = SOURCES[source](tmp_path)
    refused = cli("release", path, tmp_path / "no.parquet", *QUICK)
    assert refused.code == 2
    assert "looks like a record, not names" in refused.err
    assert "--no-header" in refused.err
    assert MARK not in refused.err + refused.out
    assert not (tmp_path / "no.parquet").exists()

    for how, names, rows in (
        (("--no-header",), [f"c{at}" for at in range(1, 7)], ROWS),
        (("--names", GIVEN), NAMES, ROWS),
        (("--header",), None, ROWS - (2 if source == "several files" else 1)),
    ):
        if how == ("--header",) and source == "several files":
            continue  # the first records of two files are no names that both have
        out = tmp_path / f"{len(how)}{how[0].strip('-')}.parquet"
        ran = cli("release", path, out, *QUICK, *how, "--identifier", names[0] if names else records()[0][0])
        assert ran.code == 0, ran.err
        release = anonkit.load(out)
        assert release.report["rows"]["in"] == rows
        if names is not None:
            assert set(release.to_arrow().column_names) <= set(names)


def test_standard_input(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a file of the same bytes."""
    for how, code in (((), 2), (("--names", GIVEN), 0)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text().encode())))
        ran = cli("release", "-", tmp_path / "out.parquet", "--format", "csv", *QUICK, *how)
        assert ran.code == code, ran.err
        assert MARK not in ran.err + ran.out


@pytest.fixture
def headerless(tmp_path: Path) -> Path:
    """The rows in `in.csv`, and a release of the same rows with names, `out.parquet`."""
    path = SOURCES["CSV"](tmp_path)
    policy = Policy.from_dict(
        {
            "columns": {
                "who": {"role": "identifier"},
                "age": {"bounds": [20, 60]},
                "zip": {"categories": ["1010", "1020", "1030"], "type": "string"},
                "sex": {"categories": ["F", "M"]},
                "born": {"role": "identifier"},
                "income": {"role": "target", "categories": ["low", "high"]},
            }
        }
    )
    anonkit.release(path, method="mondrian", k=3, names=NAMES, policy=policy, output=tmp_path / "out.parquet")
    anonkit.release(path, method="rr", epsilon=4.0, names=NAMES, policy=policy, output=tmp_path / "noisy.parquet")
    return path


COMMANDS: dict[str, Callable[[Path], tuple[object, ...]]] = {
    "init": lambda path: ("init", path, "-o", "-"),
    "risk": lambda path: ("risk", path, "--no-target"),
    "compare": lambda path: ("compare", path, "--methods", "mondrian", "--target", "income", "--quiet"),
    "apply": lambda path: (
        "apply",
        path.with_name("out.params.json"),
        path,
        path.with_name("next.parquet"),
        "--no-ledger",
    ),
    "audit": lambda path: ("audit", path.with_name("out.parquet"), "--original", path, "--attacks", "10"),
    "validate": lambda path: ("validate", path, "--qi", GIVEN, "--k", "1"),
    "reconstruct": lambda path: ("reconstruct", path.with_name("noisy.parquet"), "--test", path),
    "report": lambda path: (*("report", path.with_name("out.parquet"), "--dossier", "--original", path),),
}


@pytest.mark.quick_cases("apply", "validate")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_and_reads(cli: Any, headerless: Path, command: str) -> None:
    """The same words and the same exit code wherever a table is read, and no cell."""
    line = COMMANDS[command](headerless)
    refused = cli(*line)
    assert refused.code == 2, refused.err
    assert "looks like a record, not names" in refused.err
    assert MARK not in refused.err + refused.out
    ran = cli(*line, "--names", GIVEN)

    assert ran.code == 0, ran.err


@pytest.mark.slow
def test_a_recipe_says_it(cli: Any, headerless: Path) -> None:
    """`header` and `names` are keys; of another type they are refused."""
    recipe = headerless.with_name("recipe.toml")
    end = '[policy]\ncolumns = { c1 = { role = "identifier" } }\n[parameters]\nk = 3\n'
    start = 'method = "mondrian"\ninput = "in.csv"\noutput = "of-recipe.parquet"\n'
    for keys, code in (
        ("", 2),
        ("header = false\n", 0),
        ('names = ["c1", "c2", "c3", "c4", "c5", "c6"]\n', 0),
        ('names = "c1,c2,c3,c4,c5,c6"\n', 0),
        ("header = 1\n", 3),
        ("names = 7\n", 3),
    ):
        recipe.write_text(f'{start}dataset = "{len(keys)}"\n{keys}{end}', encoding="utf-8")
        ran = cli("run", recipe, "--quiet", "--force")
        assert ran.code == code, (keys, ran.err)
        assert MARK not in ran.err


@pytest.mark.slow
def test_tables_of_several_say_it_each(headerless: Path) -> None:
    """`names` beside `source`, and what is not said is refused there too."""
    from anonkit.pipeline.recipe_sources import SeveralTables

    visits = headerless.with_name("visits.csv")
    visits.write_text("who,cost\n" + "".join(f"{row[0]},{at}\n" for at, row in enumerate(records())), encoding="utf-8")

    def tables(**how: object) -> SeveralTables:
        people = {"source": "in.csv", "key": "who", **how}
        return SeveralTables.from_dict(
            {"people": people, "visits": {"source": "visits.csv", "key": "who", "of": "people"}}, headerless.parent, "x"
        )

    with pytest.raises(ChoiceError, match="looks like a record"):
        anonkit.release(tables(), method="mondrian", k=3)
    release = anonkit.release(tables(names=GIVEN), method="mondrian", k=3)

    assert release.report["rows"]["in"] == ROWS


def test_under_differential_privacy_header_and_policy_decide(tmp_path: Path) -> None:
    """For any cells: none of the declared columns is in the first line."""
    path = tmp_path / "in.csv"
    declared = {"columns": {"sex": {"categories": ["F", "M"]}, "ill": {"role": "target", "categories": ["y", "n"]}}}
    for cells in ("F,y\n" * 40, "M,n\nF,y\n" * 20, "a,b\n" * 40):
        path.write_text("F,y\n" + cells, encoding="utf-8")
        with pytest.raises(ChoiceError, match="none of the 2 columns of the policy"):
            anonkit.release(path, method="rr", epsilon=1.0, policy=Policy.from_dict(declared))
        release = anonkit.release(
            path, method="rr", epsilon=1.0, policy=Policy.from_dict(declared), names=["sex", "ill"]
        )
        assert release.report["rows"]["out"] == 41


def test_one_name_that_looks_like_a_cell_is_said(tmp_path: Path) -> None:
    """To the owner and in the draft, in counts alone; nothing is refused."""
    path = tmp_path / "in.csv"
    path.write_text("sex,35,job\n" + "".join(f"{'FM'[at % 2]},{20 + at},{'abc'[at % 3]}\n" for at in range(60)))
    release = anonkit.release(path, method="mondrian", k=5)
    notes = release.owner["reading_notes"]

    assert [note for note in notes if note.startswith("1 name of a column looks like a cell")]
    assert "# 1 name of a column looks like a cell" in anonkit.draft_policy(path)
    assert "reading_notes" not in anonkit.release(path, method="mondrian", k=5, header=True).owner


def test_a_policy_that_declares_the_names_settles_it(tmp_path: Path) -> None:
    """Columns that are called like their values are names where half of them are declared."""
    path = tmp_path / "in.csv"
    path.write_text("F,35\n" + "".join(f"{'FM'[at % 2]},{20 + at % 30}\n" for at in range(60)))
    policy = Policy.from_dict({"columns": {"F": {"role": "quasi_identifier"}}})

    assert anonkit.release(path, method="mondrian", k=5, policy=policy).report["rows"]["in"] == 60


@pytest.mark.quick_cases("how1-*", "how2-*")
@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"names": ["a", "b"]}, "2 names, and the table has 6 columns"),
        ({"names": GIVEN, "header": True}, "whose first line is a row"),
        ({"names": ""}, "names must be texts"),
        ({"names": ["a", ""]}, "names must be texts"),
        ({"header": 1}, "header must be true or false"),
    ],
)
def test_names_that_do_not_fit_are_refused(headerless: Path, how: dict[str, Any], says: str) -> None:
    """Wrong usage, by the option."""
    with pytest.raises(ParameterError, match=says):
        anonkit.release(headerless, method="mondrian", k=3, **how)


@pytest.mark.parametrize("place", ["in.parquet", "in.jsonl", "sqlite:///in.db?table=people"])
def test_a_source_with_names_of_its_own_has_no_header(tmp_path: Path, place: str) -> None:
    """The options mean nothing there."""
    (tmp_path / "in.parquet").write_bytes(b"")
    (tmp_path / "in.jsonl").write_text("{}\n")
    (tmp_path / "in.db").write_bytes(b"")

    with pytest.raises(ParameterError, match="header means nothing"):
        anonkit.release(source_at(place, in_folder=tmp_path, header=False), method="mondrian", k=3)


@pytest.mark.slow
def test_both_engines_read_the_same(headerless: Path, spark: Any) -> None:
    """Refused alike, and the same rows under the given names."""
    tables = []
    for engine in ("local", "spark"):
        with open_engine(engine) as opened:
            with snapshot(str(headerless)) as stays, pytest.raises(ChoiceError, match="looks like a record"):
                stays.scan(opened, Policy())
            with snapshot(source_at(headerless, names=GIVEN)) as stays:
                source = stays.scan(opened, Policy())
                tables.append([row for batch in source.batches() for row in batch.to_pylist()])

    assert tables[0] == tables[1]
    assert len(tables[0]) == ROWS
    assert list(tables[0][0]) == NAMES
