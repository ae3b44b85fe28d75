# SPDX-License-Identifier: Apache-2.0
"""No cell of a source table reaches the terminal, whatever goes wrong: a marker is planted in every cell."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonkit.ledger import NAME as LEDGER

MARKER = "MARKER"
COLUMNS = ("name", "age", "zip", "sex", "illness", "income")
ROWS = 40
ROLES = ("--policy", "roles.toml")


def cell(row: int, column: str) -> str:
    """Return a cell that nobody else has, the marker in it."""
    return f"{MARKER}-{column}-{row}"


def lines() -> list[str]:
    """Return a table of marked cells as lines of CSV."""
    return [",".join(COLUMNS), *(",".join(cell(row, column) for column in COLUMNS) for row in range(ROWS))]


def frame() -> pa.Table:
    """Return a table of marked cells."""
    return pa.table({column: [cell(row, column) for row in range(ROWS)] for column in COLUMNS})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in, with its own place for temporary files, which must be empty in the end."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    (work / "in.csv").write_text("\n".join(lines()) + "\n", encoding="utf-8")
    # columns of marked cells look like identifiers: a role is declared where they shall be distinguished
    roles = [f'{name} = {{ role = "quasi_identifier" }}' for name in ("age", "zip", "sex", "illness")]
    (work / "roles.toml").write_text("\n".join(["[columns]", *roles]), encoding="utf-8")
    yield work
    left = {path.name: [inner.name for inner in path.iterdir()] for path in temporary.iterdir()}
    # the database of the checks stays open with the process: its folder holds a lock, and no row
    assert all(inner == ["owner.lock"] for inner in left.values()), left


def check_silent(cli: Any, *args: object, code: tuple[int, ...]) -> None:
    """Run a command line in both output formats, and search all output for the marker."""
    before = {
        path: path.read_bytes() for path in Path().rglob("*") if path.is_file() and not path.name.startswith(LEDGER)
    }
    for more in ((), ("--json",)):
        ran = cli(*args, *more)
        assert ran.code in code, (ran.code, ran.err, ran.out)
        assert MARKER.lower() not in (ran.out + ran.err).lower()
        assert "Traceback" not in ran.err
        if more:
            assert json.loads(ran.out)["ok"] is False
    assert {
        path: path.read_bytes() for path in Path().rglob("*") if path.is_file() and not path.name.startswith(LEDGER)
    } == before


def ragged(path: Path) -> None:
    """One row has a cell too many."""
    rows = lines()
    rows[7] += f",{MARKER}"
    path.write_text("\n".join(rows), encoding="utf-8")


def short(path: Path) -> None:
    """One row has a cell too few."""
    rows = lines()
    rows[7] = rows[7].rsplit(",", 1)[0]
    path.write_text("\n".join(rows), encoding="utf-8")


def latin(path: Path) -> None:
    """The file is in another encoding."""
    path.write_bytes("\n".join(lines()).replace("illness-3", "illnéss-3").encode("latin-1"))


def utf16(path: Path) -> None:
    """The file is in another encoding, from its first byte."""
    path.write_bytes("\n".join(lines()).encode("utf-16"))


def open_quote(path: Path) -> None:
    """A quote is never closed."""
    rows = lines()
    rows[7] = '"' + rows[7]
    path.write_text("\n".join(rows), encoding="utf-8")


def twice(path: Path) -> None:
    """A column occurs twice."""
    path.write_text("\n".join(["age,age,zip,sex,illness,income", *lines()[1:]]), encoding="utf-8")


def empty(path: Path) -> None:
    """There is a header and no row."""
    path.write_text(lines()[0] + "\n", encoding="utf-8")


def no_header(path: Path) -> None:
    """There is not even a header."""
    path.write_bytes(b"")


def binary(path: Path) -> None:
    """It is no text."""
    path.write_bytes(bytes(range(256)) * 16 + MARKER.encode())


def cut_gzip(path: Path) -> None:
    """The compressed file ends too early."""
    packed = gzip.compress("\n".join(lines()).encode())
    path.with_name("in.csv.gz").write_bytes(packed[: len(packed) // 2])


def bad_json(path: Path) -> None:
    """One line of JSON Lines is broken."""
    rows = [json.dumps(row) for row in frame().to_pylist()]
    rows[5] = rows[5][:-3]
    path.with_name("in.jsonl").write_text("\n".join(rows), encoding="utf-8")


def mixed_json(path: Path) -> None:
    """A column of JSON Lines mixes texts and objects."""
    rows: list[dict[str, Any]] = frame().to_pylist()
    rows[5]["zip"] = {MARKER: [MARKER]}
    path.with_name("in.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def cut_parquet(path: Path) -> None:
    """A Parquet file is damaged in its middle."""
    damaged = path.with_name("in.parquet")
    pq.write_table(frame(), damaged, compression="none")
    content = bytearray(damaged.read_bytes())
    content[40:400] = MARKER.encode() * 60
    damaged.write_bytes(bytes(content))


def nested_parquet(path: Path) -> None:
    """A column holds lists."""
    pq.write_table(frame().append_column("list", pa.array([[MARKER]] * ROWS)), path.with_name("in.parquet"))


READERS: tuple[tuple[Callable[[Path], None], str], ...] = (
    (ragged, "in.csv"), (short, "in.csv"), (latin, "in.csv"), (utf16, "in.csv"), (open_quote, "in.csv"),
    (twice, "in.csv"), (empty, "in.csv"), (no_header, "in.csv"), (binary, "in.csv"), (cut_gzip, "in.csv.gz"),
    (bad_json, "in.jsonl"), (mixed_json, "in.jsonl"), (cut_parquet, "in.parquet"), (nested_parquet, "in.parquet"),
)  # fmt: skip


@pytest.mark.parametrize(("damage", "name"), READERS, ids=lambda one: getattr(one, "__name__", str(one)))
def test_a_table_that_cannot_be_read_keeps_its_cells(
    cli: Any, folder: Path, damage: Callable[[Path], None], name: str
) -> None:
    """Readers quote the line they stumble over; the refusal does not."""
    damage(folder / "in.csv")
    check_silent(cli, "release", name, "out.parquet", "--method", "mondrian", code=(1, 3))
    if damage is not empty:
        check_silent(cli, "init", name, code=(3,))


POLICIES = {
    "numbers declared": '[columns]\nage = { type = "integer" }',
    "dates declared": '[columns]\nage = { type = "date" }',
    "truth declared": '[columns]\nage = { type = "boolean" }',
    "bounds of texts": '[columns]\nage = { bounds = [0, 1], outside = "refuse" }',
    "ladder of texts": "[columns]\nage = { ladder = [5, 10] }",
    "other categories": '[columns]\nage = { categories = ["young", "old"] }',
    "another tree": '[columns]\nage = { tree = [["young", "any"], ["old", "any"]] }',
    "no target left": "[columns]\n" + "\n".join(f'{name} = {{ role = "identifier" }}' for name in COLUMNS),
    "a role that is none": '[columns]\nage = { role = "boss" }',
    "no TOML": "[columns\nage =",
    "no UTF-8": "\udcff",
    "unknown column": '[columns]\nweight = { role = "identifier" }',
    "missing refused": 'missing = "error"\nmissing_values = ["'
    + cell(3, "age")
    + '"]\n[columns]\nage = { role = "quasi_identifier" }',
}


@pytest.mark.parametrize(
    ("policy", "code"),
    [(policy, 1 if name in ("other categories", "another tree") else 3) for name, policy in POLICIES.items()],
    ids=POLICIES.keys(),
)
def test_a_policy_that_does_not_fit_keeps_the_cells(cli: Any, folder: Path, policy: str, code: int) -> None:
    """Cells that contradict the policy are counted, not quoted."""
    (folder / "policy.toml").write_bytes(policy.encode("utf-8", "surrogateescape"))
    arguments = ("release", "in.csv", "out.parquet", "--method", "mondrian", "--policy", "policy.toml", "--k", "2")
    check_silent(cli, *arguments, code=(code,))


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--k", "41", *ROLES), 1),
        (("--k", "2", "--sensitive", "illness", "--l", "41", *ROLES), 1),
        (("--k", "2", "--l", "2", *ROLES), 3),
        (("--target", "weight"), 3),
        (("--unit", "weight"), 3),
        (("--k", "0"), 2),
        (("--engine", "abacus"), 2),
        (("--policy", "in.csv"), 3),
    ],
)
def test_what_is_asked_in_vain_keeps_the_cells(cli: Any, folder: Path, options: tuple[str, ...], code: int) -> None:
    """Unreachable promises, wrong options, a table in place of a policy."""
    check_silent(cli, "release", "in.csv", "out.parquet", "--method", "mondrian", *options, code=(code,))


def test_places_that_cannot_be_written_keep_the_cells(cli: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release that is there, a file for a folder, a folder without permission, a full disk."""
    arguments = (
        "release",
        "in.csv",
        "--method",
        "mondrian",
        "--k",
        "2",
        *ROLES,
        "--insensitive",
        "sex",
        "--release-as-is",
        "sex",
    )
    (folder / "there.parquet").write_bytes(b"old")
    check_silent(cli, *arguments, "there.parquet", code=(2,))
    check_silent(cli, *arguments, "in.csv/out.parquet", code=(3,))
    if os.geteuid():
        (folder / "closed").mkdir(mode=0o500)
        check_silent(cli, *arguments, "closed/out.parquet", code=(3,))

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device", MARKER)

    monkeypatch.setattr(Path, "write_bytes", full)
    check_silent(cli, *arguments, "out.parquet", code=(3,))
    monkeypatch.setattr(pq, "ParquetWriter", full)
    check_silent(cli, *arguments, "out.parquet", code=(3,))


PLACES = [
    "anonkit.engines.local.local_engine.LocalEngine.scan",
    "anonkit.methods.mondrian.Mondrian.release",
    "anonkit.engines.local.local_engine.LocalEngine.write",
    "anonkit.promises.anonymous_classes.KAnonymity.verify",
    "anonkit.promises.anonymous_classes.KAnonymity.to_dict",
]
KINDS = [KeyError, RuntimeError, pa.ArrowInvalid, MemoryError, AssertionError, OSError]


@pytest.mark.quick_cases(
    "*LocalEngine*", "*KAnonymity.verify*", "*Mondrian.release-ArrowInvalid", "*Mondrian.release-MemoryError"
)
@pytest.mark.parametrize(
    ("place", "kind"), [*((place, ValueError) for place in PLACES), *((PLACES[1], kind) for kind in KINDS)]
)
def test_a_defect_keeps_the_cells(
    cli: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, place: str, kind: type[Exception]
) -> None:
    """An exception with cells in it, anywhere on the way, is reported by its type and line."""

    def fail(*args: object, **kwargs: object) -> None:
        raise kind(cell(3, "name"))

    monkeypatch.setattr(place, fail)
    arguments = ("--method", "mondrian", "--k", "2", *ROLES, "--insensitive", "sex", "--release-as-is", "sex")
    check_silent(cli, "release", "in.csv", "out.parquet", *arguments, code=(3,))


@pytest.mark.quick_cases(
    "publishing*-OSError", "publishing*-MemoryError", "release_path*-ValueError", "release_path*-KeyError"
)
@pytest.mark.parametrize("kind", [KeyError, MemoryError, OSError, ValueError])
@pytest.mark.parametrize("place", ["release_path.release_utility", "publishing._write_data"])
def test_a_defect_after_the_draws_says_that_it_is_charged(
    cli: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, place: str, kind: type[Exception]
) -> None:
    """The note that the exception carries, and not the cells in it, nor the notes of others."""

    def fail(*args: object, **kwargs: object) -> None:
        failure = kind(cell(3, "name"))
        failure.add_note(cell(3, "name"))
        raise failure

    monkeypatch.setattr(f"anonkit.pipeline.{place}", fail)
    hidden = "".join(f'{name} = {{ role = "identifier" }}\n' for name in COLUMNS if name != "sex")
    policy = f'[columns]\n{hidden}sex = {{ role = "quasi_identifier", categories = ["F", "M"] }}\n'
    (folder / "public.toml").write_text(policy, encoding="utf-8")
    given = ("in.csv", "out.parquet", "--method", "rr", "--epsilon", "1", "--policy", "public.toml", "--budget", "9")
    check_silent(cli, "release", *given, code=(3,))
    ran = cli("release", *given)
    assert "its privacy loss is booked in the ledger" in ran.err
    assert ran.err.count("booked") == 1


def test_a_batch_that_does_not_fit_keeps_its_cells(cli: Any, folder: Path, table: Path, released: Path) -> None:
    """`apply` to a table with values and types the earlier one did not have, or without its columns."""
    params = released.with_name("out.params.json")
    check_silent(cli, "apply", params, "in.csv", "new.parquet", code=(1, 3))
    (folder / "in.csv").write_text("\n".join(line.partition(",")[2] for line in lines()), encoding="utf-8")
    check_silent(cli, "apply", params, "in.csv", "new.parquet", code=(1, 3))
    (folder / "in.csv").write_text("\n".join(["name,zip"] + [f"{MARKER},{MARKER}"] * 9), encoding="utf-8")
    check_silent(cli, "apply", params, "in.csv", "new.parquet", code=(3,))


@pytest.mark.parametrize("damage", [ragged, latin, open_quote, binary])
def test_validating_a_raw_table_keeps_its_cells(cli: Any, folder: Path, damage: Callable[[Path], None]) -> None:
    """`validate` reads tables with another reader, which quotes what it stumbles over too."""
    damage(folder / "in.csv")
    check_silent(
        cli, "validate", "in.csv", "--qi", "age,zip", "--k", "2", "--sensitive", "illness", "--l", "2", code=(1, 2, 3)
    )


@pytest.mark.parametrize("damage", [cut_parquet, cut_gzip, bad_json])
def test_validating_damaged_files_keeps_their_cells(cli: Any, folder: Path, damage: Callable[[Path], None]) -> None:
    """Damaged files are refused without a word of theirs."""
    damage(folder / "in.csv")
    name = next(path.name for path in folder.iterdir() if path.name not in ("in.csv", LEDGER))
    check_silent(cli, "validate", name, "--qi", "age,zip", "--k", "2", code=(1, 3))


def test_a_damaged_sidecar_is_not_quoted(cli: Any, folder: Path, released: Path) -> None:
    """Somebody may have put a table where a sidecar should be."""
    params = released.with_name("out.params.json")
    for suffix in (".report.json", ".params.json", ".datapackage.json"):
        path = released.with_name(f"out{suffix}")
        whole = path.read_bytes()
        for content in (
            "\n".join(lines()),
            json.dumps({"format": "anonkit-report/1", MARKER: MARKER}),
            json.dumps([MARKER]),
        ):
            path.write_text(content, encoding="utf-8")
            check_silent(cli, "validate", released, code=(1, 3))
            if suffix == ".report.json":
                check_silent(cli, "report", released, code=(3,))
            if suffix == ".params.json":
                check_silent(cli, "apply", path, "in.csv", "new.parquet", code=(1,))  # its hash is not as stated
            if suffix == ".datapackage.json":
                check_silent(cli, "apply", params, "in.csv", "new.parquet", code=(3,))
        path.write_bytes(whole)


def test_a_release_of_nothing_but_rare_values_shows_none(cli: Any, folder: Path) -> None:
    """When it succeeds too: values that one person has are on no terminal and in no file."""
    rows = lines()
    rows[1:] = [f"{row.rsplit(',', 1)[0]},{('low', 'high')[at % 2]}" for at, row in enumerate(rows[1:])]
    (folder / "in.csv").write_text("\n".join(rows), encoding="utf-8")
    options = ("--method", "mondrian", "--k", "2", "--identifier", "illness", "--target", "income")
    for more in (("--dry-run",), ("--dry-run", "--json"), ("--owner-report", "owner")):
        ran = cli("release", "in.csv", "out.parquet", *options, *more)
        assert ran.code == 0, ran.err
        assert MARKER not in ran.out + ran.err
    (folder / "in.csv").unlink()
    for path in folder.rglob("*"):
        assert path.is_dir() or MARKER.encode() not in path.read_bytes(), path


def test_a_draft_of_rare_values_shows_none(cli: Any, folder: Path) -> None:
    """`init` writes a policy and shows it without one of them."""
    ran = cli("init", "in.csv", "-o", "-")

    assert ran.code == 0
    assert MARKER not in ran.out + ran.err
