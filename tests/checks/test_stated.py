"""Rows that follow from the published values of a statement: a table that is not made of them is refused.

Releases by noise statements are validated from their files; a change of account, table or words is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from checks.forgeries import Edit, Files, forged, verdict
from checks.forging import at, both, stated_anew
from checks.leaf_mutants import Mutant, is_accepted, mutants
from checks.stated_releases import CELLS, LINES, POLICY, RowsByCells, made, people

import anonkit
from anonkit.checks.stated import loss_of_draw, not_below
from anonkit.checks.stated_params import read_statement
from anonkit.errors import GuaranteeError, ReleaseFormatError
from anonkit.protocols import Draft, NoDraws

KINDS = (CELLS, LINES)
SETTINGS: dict[str, dict[str, Any]] = {
    "one row": {},
    "replaced": {"adjacency": "replace"},
    "two rows of a person": {"rows_per_unit": 2},
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_true_release_validates_without_its_method(kind: str, setting: str, tmp_path: Path) -> None:
    """The class of the method is in no package: the files alone decide, under both kinds of neighbours."""
    files = made(kind, **SETTINGS[setting])
    promise = files.report["guarantee"]["parameters"]

    assert verdict(files.copy().write(tmp_path)) == (0, ())
    assert 1.9 < promise["epsilon"] <= 2.0
    assert promise["rows_per_unit"] == SETTINGS[setting].get("rows_per_unit", 1)


def test_checks_of_noise_and_of_rows_are_made() -> None:
    """Tables of the same rows are compared with each other, and the released table with the values."""
    for kind in KINDS:
        names = {check["name"] for check in made(kind).report["verification"]["checks"]}
        assert {"epsilon", "account_lines", "noise_is_stated", "counts_agree", "rows_from_values"} <= names


def _draw(files: Files, name: str) -> dict[str, Any]:
    return next(draw for draw in files.params["statement"]["draws"] if draw["name"] == name)


def _value(files: Files, name: str) -> dict[str, Any]:
    return next(value for value in files.params["values"] if value["draw"] == name)


def careful(edit: Callable[[Files], object]) -> Edit:
    """Edit the statement, then make promise, budget and words of the report anew where they follow from it."""

    def forge(files: Files) -> None:
        edit(files)
        release = read_statement(files.params)
        lines = [{"name": one.name, "epsilon": not_below(loss_of_draw(release, one))} for one in release.draws]
        files.report["budget"]["per_attribute"] = lines

    return forge


def halved_claim(files: Files) -> None:
    """State half of epsilon in promise, budget and the checks of the report."""
    half = files.report["guarantee"]["parameters"]["epsilon"] / 2
    files.report["guarantee"]["parameters"]["epsilon"] = files.report["budget"]["epsilon"] = half
    for check in files.report["verification"]["checks"]:
        if check["name"] == "epsilon":
            check["observed"] = check["required"] = half


def restricted_to_one(name: str, column: str, code: int) -> Edit:
    """State of a draw on all rows that it read those of one value."""
    return lambda files: _draw(files, name).update(where=[{"column": column, "code": code}])


def without(name: str) -> Edit:
    """Take a draw and its value away."""

    def edit(files: Files) -> None:
        files.params["statement"]["draws"].remove(_draw(files, name))
        files.params["values"].remove(_value(files, name))
        files.report["draws"] = [line for line in files.report["draws"] if line["name"] != name]

    return edit


def twice(name: str, *, with_line: bool) -> Edit:
    """Publish a second answer of a draw; with a line it is a draw of the statement of the same name."""

    def edit(files: Files) -> None:
        files.params["values"].append(dict(_value(files, name)))
        if with_line:
            files.params["statement"]["draws"].append(dict(_draw(files, name)))

    return edit


UNDERSTATED: dict[str, tuple[str, Edit]] = {
    "half of epsilon promised": (CELLS, stated_anew(halved_claim)),
    "half of epsilon promised, of lines": (LINES, stated_anew(halved_claim)),
    "half of epsilon promised, and half the rate of the largest draw": (
        CELLS,
        stated_anew(both(halved_claim, careful(lambda files: _draw(files, "values").update(rate=1 << 50)))),
    ),
    "a draw on all rows said to be of one sex": (CELLS, careful(restricted_to_one("choices", "sex", 0))),
    "the same, promised as parallel": (
        CELLS,
        stated_anew(both(halved_claim, careful(restricted_to_one("choices", "sex", 0)))),
    ),
    "a draw left out of the statement": (CELLS, careful(without("choices"))),
    "a draw left out of the statement alone": (
        LINES,
        lambda files: files.params["statement"]["draws"].remove(_draw(files, "ages")),
    ),
    "a second answer of one draw": (CELLS, twice("choices", with_line=False)),
    "two draws of one name": (CELLS, twice("choices", with_line=True)),
    "rows of a unit of one for two": (
        CELLS,
        at("params", "statement", "rows_per_unit", to=2),
    ),
    "replaced rows called removed ones": (CELLS, at("params", "statement", "adjacency", to="replace one record")),
    "neighbours of other words": (CELLS, at("params", "statement", "adjacency", to="nobody")),
    "parameters of a smaller epsilon": (CELLS, at("params", "parameters", "epsilon", to=1.0)),
    "an epsilon that is no number": (CELLS, at("params", "parameters", "epsilon", to="2")),
    "a delta": (CELLS, at("report", "guarantee", "parameters", "delta", to=0.001)),
    "a quantile of another share": (
        LINES,
        careful(lambda files: _draw(files, "upper quartile")["query"].update(denominator=5)),
    ),
    "a sum called a count": (
        LINES,
        careful(lambda files: _draw(files, "ages").update(query={"kind": "count", "by": ["sex"]})),
    ),
    "a choice by the other law": (LINES, careful(lambda files: _draw(files, "job").update(law="permute-and-flip"))),
    "a number in fewer cells": (
        LINES,
        lambda files: files.params["statement"]["columns"][0]["domain"].update(cells=5),
    ),
}
"""Forgeries that make a promise look stronger than the draws were, or hide a draw."""


@pytest.mark.parametrize("name", UNDERSTATED)
def test_a_statement_that_says_less_than_was_drawn_is_refused(name: str, tmp_path: Path) -> None:
    """Such a statement is refused whether or not the forger adapts promise and budget."""
    kind, edit = UNDERSTATED[name]
    code, failed = verdict(forged(made(kind), edit, tmp_path))

    assert code in (1, 3)
    assert failed


UNKNOWN: dict[str, Edit] = {
    "query": lambda files: _draw(files, "choices")["query"].update(kind="threshold"),
    "law": lambda files: _draw(files, "choices").update(law="discrete-gaussian"),
    "law of another kind": lambda files: _draw(files, "choices").update(law="exponential"),
    "table": at("params", "statement", "shows", to={"kind": "drawn-rows", "of": "values"}),
    "table of no draw": at("params", "statement", "shows", "of", to="other"),
    "table of a sum": at("params", "statement", "shows", "of", to="age where 0"),
    "format": at("params", "format", to="anonkit-marginals-1"),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_what_cannot_be_checked_is_refused_with_the_page_that_lists_what_can(what: str, tmp_path: Path) -> None:
    """A query, a law of noise or a table that no check knows: exit code 3, and a hint."""
    data = forged(made(CELLS), UNKNOWN[what], tmp_path)
    with pytest.raises(ReleaseFormatError) as caught:
        anonkit.validate(data)
    assert "docs/how-to/add-a-noise-method.md" in str(caught.value.hint)


@dataclass(frozen=True, kw_only=True)
class WithoutStatement(RowsByCells):
    """A method whose params state no noise."""

    name: ClassVar[str] = "without-statement"

    def release(self, *args: Any, **more: Any) -> Draft:
        """Leave the statement out."""
        draft = super().release(*args, **more)
        return replace(draft, published={**draft.published, "format": "anonkit-noisy-tables-1"}, statement=NoDraws())


def test_a_method_that_states_no_noise_releases_nothing(tmp_path: Path) -> None:
    """A method without stated noise is refused, with any params, and the error names the page on stating noise."""
    with pytest.raises(GuaranteeError, match="states no noise") as caught:
        anonkit.release(
            people(),
            method=WithoutStatement(epsilon=1.0),
            policy=dict(POLICY),
            output=tmp_path / "o.parquet",
            ledger=None,
        )
    assert "docs/how-to/add-a-noise-method.md" in str(caught.value.hint)
    assert list(tmp_path.iterdir()) == []


BLOCKS: dict[str, Edit] = {
    "in params": lambda files: files.params.update(rows={"true": [1, 2]}),
    "of its own in params": lambda files: files.params.update(figures=[{"mean": 41.3}]),
    "in the report": lambda files: files.report.update(figures={"mean": 41.3}),
    "of a method of ours": both(
        at("params", "method", to="dp-nb"),
        at("report", "method", "name", to="dp-nb"),
        at("manifest", "method", to="dp-nb"),
    ),
}


@pytest.mark.parametrize("where", BLOCKS)
def test_a_block_that_no_check_reads_is_refused(where: str, tmp_path: Path) -> None:
    """Under k-anonymity a method may add blocks; under noise they could hold what nobody paid for."""
    code, failed = verdict(forged(made(CELLS), BLOCKS[where], tmp_path))

    assert code == 1
    assert {"blocks", "documents"} & set(failed)


_WORDS = {
    "report: created", "report: dataset", "report: domains_declared_by", "report: method.paper",
    "report: method.summary", "report: columns[].reason", "descriptor: resources[].anonkit:bytes", "report: notes",
    "report: columns[].may_be_person",
}  # fmt: skip
"""Places that promise nothing, as `test_every_place.py` names them for every family."""


def _could_be_so(kind: str, files: Files, mutant: Mutant) -> bool:
    """Return whether only a signature protects a place.

    These are noisy numbers that the released table does not show, which could have been drawn so: those of other
    tables, and negative counts, which make no row. And names of values among which is chosen, where no line has them.
    """
    if kind == LINES:
        return mutant.change == "text" and mutant.path[:5] == ("statement", "columns", 1, "domain", "categories")
    if mutant.change != "number" or mutant.path[0] != "values":
        return False
    _, at, _, cell = mutant.path
    return at != 0 or files.params["values"][0]["numbers"][cell] < 0


def _is_watched(mutant: Mutant) -> bool:
    """Return whether a place is part of the statement, its values, or the report's text about them."""
    if any(mutant.place == place or mutant.place.startswith((f"{place}.", f"{place}[")) for place in _WORDS):
        return False
    blocks = ("params: statement", "params: values", "report: budget", "report: draws", "report: guarantee")
    return mutant.place.startswith((*blocks, "params: parameters", "params: columns"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_place_of_a_statement_or_of_what_is_said_of_it_can_be_changed(kind: str) -> None:
    """Every key and leaf deleted, of another type, of another value: rates, codes, names, cells, words, epsilons."""
    files = made(kind)
    tried = [mutant for mutant in mutants(files) if _is_watched(mutant)]

    assert len(tried) > 500
    unlisted = [mutant for mutant in tried if not _could_be_so(kind, files, mutant)]
    assert [(mutant.path, mutant.change) for mutant in unlisted if is_accepted(files, mutant)] == []


def test_a_sample_of_the_places_of_a_statement_cannot_be_changed() -> None:
    """One number of each kind of place: the quick sibling of the test of every place."""
    for kind in KINDS:
        files, seen = made(kind), set()
        for mutant in mutants(files):
            is_new = mutant.change == "number" and mutant.place not in seen
            if is_new and _is_watched(mutant) and not _could_be_so(kind, files, mutant):
                seen.add(mutant.place)
                assert not is_accepted(files, mutant), mutant.place
        assert len(seen) > 10


def _without_a_row(files: Files) -> None:
    files.table = files.table.slice(1)


def _rows_of_another_cell(files: Files) -> None:
    rows = files.table.to_pylist()
    other = next(at for at, row in enumerate(rows) if row != rows[0])
    files.table = pa.concat_tables([files.table.slice(1), files.table.slice(other, 1)])


def _another_column(files: Files) -> None:
    files.table = files.table.append_column("secret", pa.array(range(files.table.num_rows)))


def _other_number(files: Files) -> None:
    values = files.table.column("value").to_pylist()
    values[1] += 1
    files.table = files.table.set_column(files.table.num_columns - 1, "value", pa.array(values, pa.float64()))


def _other_type(files: Files) -> None:
    values = files.table.column("value").cast(pa.float32())
    files.table = files.table.set_column(files.table.num_columns - 1, "value", values)


TABLES: dict[str, tuple[str, Edit]] = {
    "a row less": (CELLS, both(_without_a_row, at("report", "rows", "out", to=lambda rows: rows - 1))),
    "a row of another cell": (CELLS, _rows_of_another_cell),
    "a column that nobody describes": (CELLS, _another_column),
    "a line less": (LINES, both(_without_a_row, at("report", "rows", "out", to=lambda rows: rows - 1))),
    "another number": (LINES, _other_number),
    "numbers of another type": (LINES, _other_type),
    "a column more": (LINES, _another_column),
}


@pytest.mark.parametrize("what", TABLES)
def test_a_table_that_is_not_made_of_the_values_is_refused(what: str, tmp_path: Path) -> None:
    """True rows in place of those of noisy cells would be in such a table."""
    kind, edit = TABLES[what]
    code, failed = verdict(forged(made(kind), edit, tmp_path))

    assert code == 1
    assert any(name.startswith(("rows_from_values", "undescribed_columns", "domain")) for name in failed)
