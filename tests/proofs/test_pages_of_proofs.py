"""The pages of docs/proofs against the code: tests that exist, lemmas that name them, keys that are accounted for."""

from __future__ import annotations

import ast
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from tests.privacy.test_rules_and_spikes import POLICY as RULED
from tests.privacy.test_rules_and_spikes import ROWS as BREAKING
from tests.privacy.test_rules_and_spikes import table as rows_of
from tests.proofs.test_replayed_releases import NUMBER, POLICY, ROWS, table
from tests.proofs.transcripts import standing_clock

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "proofs").glob("*.md"))
GOLDEN = ROOT / "tests" / "golden" / "expected"
FAMILIES = {"anonkit-params/2": "classes.md", "anonkit-randomized-1": "local.md"}
"""The page of a release by the format of its params; all others are those of central differential privacy."""
COMMON = "what-leaves.md"

_HEADING = re.compile(r"^#{2,3} ", re.M)
_LEMMA = re.compile(r"^### Lemma ([SCLKW]\d+): \S", re.M)
_NUMBER = re.compile(r"\b[SCLKW]\d+\b")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


@dataclass(frozen=True)
class Row:
    """A row of a table of keys."""

    page: str
    file: str
    keys: tuple[str, ...]
    of_source: bool
    """True when the table says that the source decides, rows that were left out included."""
    lemmas: tuple[str, ...]


def sections(text: str) -> Iterator[str]:
    """Yield what is under each heading, heading included."""
    starts = [match.start() for match in _HEADING.finditer(text)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield text[start:end]


def lemmas() -> dict[str, str]:
    """Return the text of every lemma by its number."""
    found: dict[str, str] = {}
    for page in PAGES:
        for section in sections(page.read_text(encoding="utf-8")):
            if match := _LEMMA.match(section):
                assert match[1] not in found, f"{match[1]} stands twice"
                found[match[1]] = section
    return found


LEMMAS = lemmas()


@cache
def names_in(file: str) -> frozenset[str]:
    """Return the names of the tests of a file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def rows_of_keys() -> list[Row]:
    """Return every row of the tables under *Key by key*, by page and file."""
    found = []
    for page in PAGES:
        file, inside = "", False
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith("## "):
                inside = line == "## Key by key"
            elif line.startswith("### "):
                file = line[4:].strip("`")
            elif inside and line.startswith("| `"):
                keys, *_, origin, last = (cell.strip() for cell in line.strip("|").split(" | "))
                names, numbers = re.findall(r"`([^`]+)`", keys), _NUMBER.findall(last)
                found.append(Row(page.name, file, tuple(names), "**source**" in origin, tuple(numbers)))
    return found


KEYS = rows_of_keys()


def flat(value: Any, at: str = "") -> set[str]:
    """Return the keys of a document, any entry of a list being `[]`; lists of lists are one."""
    if isinstance(value, dict) and value:
        return {key for name, inner in value.items() for key in flat(inner, f"{at}.{name}" if at else name)}
    if isinstance(value, list):
        under = at if at.endswith("[]") else f"{at}[]"
        if not isinstance(value[0] if value else None, dict | list):
            return {under}
        return {key for inner in value for key in flat(inner, under)} or {under}
    return {at}


def covers(listed: str, key: str) -> bool:
    """Return whether an entry of a table represents a key."""
    if not listed.endswith("…"):
        return listed == key
    stem = listed[:-1]
    return key == stem or key.startswith((f"{stem}.", f"{stem}[")) or (stem.endswith(":") and key.startswith(stem))


@cache
def seen() -> list[tuple[str, str, set[str]]]:
    """Return page, file and keys of every golden release, and of some made here."""
    return list(_seen())


def _seen() -> Iterator[tuple[str, str, set[str]]]:
    for path in sorted(GOLDEN.glob("*.params.json")):
        params = json.loads(path.read_bytes())
        page = FAMILIES.get(params["format"], "central.md")
        yield page, "params.json", flat(params)
        outcome = json.loads((GOLDEN / path.name.replace(".params.json", ".json")).read_bytes())
        yield page, "report.json", flat(outcome["report"])
    for method, policy in (("dp-tree", NUMBER), ("rr", POLICY)):
        yield from _made(anonkit.release(table(ROWS), method=method, policy=policy, seed=1, ledger=None, epsilon=1.0))
    yield from _made(anonkit.release(rows_of(BREAKING), method="dp-nb", policy=RULED, seed=1, ledger=None, epsilon=1.0))
    yield from _made(released_without_a_row(_with_a_rare_row()))


def _made(release: anonkit.Release) -> Iterator[tuple[str, str, set[str]]]:
    page = FAMILIES.get(release.params["format"], "central.md")
    for file in ("params.json", "report.json", "datapackage.json"):
        yield page, file, flat(json.loads(release.contents[f".{file}"]))


# --- pages -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lemma", LEMMAS)
def test_a_lemma_names_what_enumerates_and_what_audits_it(lemma: str) -> None:
    """One test or more of each kind; a lemma without a test is a sentence."""
    text = LEMMAS[lemma]
    _, _, named = text.partition("* Enumerated by")
    enumerated, _, audited = named.partition("* Audited by")
    assert _TEST.findall(enumerated)
    assert _TEST.findall(audited)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    """File and function; whatever is named as one."""
    text = page.read_text(encoding="utf-8")
    missing = [f"{file}::{name}" for file, name in _TEST.findall(text) if name not in names_in(file)]
    assert missing == []
    assert text.count("::test_") == len(_TEST.findall(text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    """To a page of the docs, and to a heading of it where one is named."""
    for place, _, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(#?)([^)\s]*)\)", page.read_text(encoding="utf-8")):
        target = (page.parent / place).resolve() if place else page
        assert target.is_file(), place
        headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.M)
        slugs = {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
        assert not anchor or anchor in slugs, f"{place}#{anchor}"


def test_every_lemma_that_is_referred_to_is_there_and_numbers_run_on() -> None:
    """In the text and in the tables; 1, 2, 3, … on each page."""
    for page in PAGES:
        assert set(_NUMBER.findall(page.read_text(encoding="utf-8"))) <= set(LEMMAS), page.name
    for letter in "SCLKW":
        numbers = [int(lemma[1:]) for lemma in LEMMAS if lemma[0] == letter]
        assert numbers == list(range(1, len(numbers) + 1)), letter


def test_every_key_of_every_kind_of_release_is_accounted_for() -> None:
    """Of params, report and descriptor: the table of the family, or the one of all, lists it with its lemma."""
    listed = {
        (page, file): [key for row in KEYS if row.page in (page, COMMON) and row.file == file for key in row.keys]
        for page in ("central.md", "local.md", "classes.md")
        for file in ("params.json", "report.json", "datapackage.json")
    }
    unaccounted = {
        f"{page} {file}: {key}"
        for page, file, keys in seen()
        for key in keys
        if not any(covers(entry, key) for entry in listed[page, file])
    }
    assert sorted(unaccounted) == []


def test_every_entry_of_a_table_is_a_key_with_a_lemma() -> None:
    """Seen in a release, or written by the package if a policy requires it: no line outlives its key."""
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "anonkit").rglob("*.py"))
    found = seen()
    for row in KEYS:
        assert row.lemmas, row.keys
        for entry in row.keys:
            held = any(
                file == row.file and row.page in (page, COMMON) and any(covers(entry, key) for key in keys)
                for page, file, keys in found
            )
            name = re.split(r"[.\[]", entry.rstrip("…").replace("[]", ""))[-1]
            assert held or f'"{name}"' in source, entry


def test_the_table_of_draws_lists_every_central_method() -> None:
    """Under *What each method draws*, and at the head of the page."""
    text = (ROOT / "docs" / "proofs" / "central.md").read_text(encoding="utf-8")
    table_ = text.partition("## What each method draws")[2].partition("## Key by key")[0]
    methods = set(re.findall(r"`([\w-]+)`", text.partition("Methods: ")[2].partition(". What")[0]))
    assert methods <= set(re.findall(r"`([\w-]+)`", table_))
    golden = {path.name.partition("--")[0] for path in GOLDEN.glob("*.params.json")}
    of_noise = {
        name
        for name in golden
        for path in GOLDEN.glob(f"{name}--*.params.json")
        if json.loads(path.read_bytes())["format"] not in FAMILIES
    }
    assert of_noise - {"ledger"} == methods


# --- small facts that the pages name -----------------------------------------------------------------------------


def test_no_child_of_a_key_is_called_like_a_key() -> None:
    """`child(name)` and `key(name)` hash /name and /key/name: a child called key/… would be a key of words."""
    names = [
        name
        for path in (ROOT / "anonkit").rglob("*.py")
        for name in re.findall(r"\.child\(\s*f?[\"']([^\"']*)", path.read_text(encoding="utf-8"))
    ]
    assert len(names) > 20
    assert [name for name in names if name.startswith(("key/", "{"))] == []


RARE = Policy(
    columns={
        "town": Column(name="town"),
        "note": Column(name="note", role=Role.INSENSITIVE),
        "ill": Column(name="ill", role=Role.TARGET),
    }
)


def _with_a_rare_row(rare: str = "Guarda", answer: str | None = None) -> pa.Table:
    """A row that is alone in its town, with a note that no other row has, in a column with a dictionary."""
    town = np.where(np.arange(60) % 2 == 0, "Bern", "Chur").tolist()
    note = [f"n{at % 5}" for at in range(60)]
    town[7], note[7] = rare, "MARKER"
    ill = ["yes" if at % 3 else "no" for at in range(60)]
    ill[7] = answer or ill[7]
    return pa.table({"town": town, "note": pa.array(note).dictionary_encode(), "ill": ill})


def released_without_a_row(source: Any, method: str = "datafly", **options: Any) -> anonkit.Release:
    """The release that leaves the rare row out."""
    return anonkit.release(source, method=method, policy=RARE, k=5, max_suppression=0.2, seed=3, ledger=None, **options)


def _values(document: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """Yield every value of a document with its key, in order."""
    if isinstance(document, dict):
        for name, inner in document.items():
            yield from _values(inner, f"{at}.{name}" if at else name)
    elif isinstance(document, list):
        for inner in document:
            yield from _values(inner, f"{at}[]")
    else:
        yield at, repr(document)


def _with_a_rare_pair(town: str, hue: str, answer: str) -> pa.Table:
    """A row that is alone with its town and its hue, each of which many rows have; the target follows from both."""
    common = [("Bern", "red", "yes"), ("Chur", "red", "no"), ("Chur", "blue", "yes"), ("Bern", "green", "no")]
    rows = [(*common[at % 4][:2], common[at % 4][2] if at % 8 else "no") for at in range(200)]
    rows[7] = (town, hue, answer)
    towns, hues, ill = (list(cells) for cells in zip(*rows, strict=True))
    return pa.table({"town": towns, "hue": hues, "note": ["n"] * 200, "ill": ill})


@pytest.mark.parametrize(
    "method", ["datafly", *(pytest.param(one, marks=pytest.mark.slow) for one in ("incognito", "rfka"))]
)
def test_what_is_not_of_the_source_does_not_see_a_row_that_was_left_out(method: str) -> None:
    """Other cells and another answer in the row that is left out: only keys marked as the source's may differ."""
    if method == "rfka":
        pairs = [_with_a_rare_pair("Bern", "blue", "yes"), _with_a_rare_pair("Chur", "green", "no")]
    else:
        pairs = [_with_a_rare_row("Guarda", "yes"), _with_a_rare_row("Zuoz", "no")]
    with standing_clock():
        releases = [released_without_a_row(pair, method) for pair in pairs]
    assert all(release.report["rows"]["suppressed"] == 1 for release in releases)
    assert releases[0].to_arrow().equals(releases[1].to_arrow())
    marked = {
        file: [
            key for row in KEYS if row.page == "classes.md" and row.file == file and row.of_source for key in row.keys
        ]
        for file in ("params.json", "report.json")
    }
    for file, listed in marked.items():
        first, second = (list(_values(json.loads(release.contents[f".{file}"]))) for release in releases)
        differing = {
            key for one, other in zip(first, second, strict=True) if one != other for key in (one[0], other[0])
        }
        assert [key for key in differing if not any(covers(entry, key) for entry in listed)] == [], file


@pytest.mark.parametrize("kind", ["arrow", "pandas"])
def test_a_dictionary_holds_no_cell_of_a_row_that_was_left_out(kind: str) -> None:
    """Neither in the Parquet file nor in memory: a list of categories is published like the cells."""
    source = _with_a_rare_row() if kind == "arrow" else _with_a_rare_row().to_pandas()
    release = released_without_a_row(source)
    assert release.report["rows"]["suppressed"] == 1
    for shown in (pq.read_table(io.BytesIO(release.contents[".parquet"])), release.to_arrow()):
        column = shown.column("note")
        assert pa.types.is_dictionary(column.type)
        assert all("MARKER" not in chunk.dictionary.to_pylist() for chunk in column.chunks)
