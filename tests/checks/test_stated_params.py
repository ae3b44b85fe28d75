"""The strict parser of noise statements: what contradicts itself, or is of another kind, is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from mechanisms.stated_tables import as_params, drawing, stating

from anonkit.checks import stated_params
from anonkit.checks.central_params import PublicDomain
from anonkit.checks.stated import loss_of
from anonkit.checks.stated_params import labels_of, read_statement
from anonkit.errors import ReleaseFormatError
from anonkit.published.statements.noise_statement import Count, ModeScore, RankScore, Sum

Params = dict[str, Any]
TRUE: Params = as_params(
    stating(
        drawing(Count(by=("sex", "age")), name="table"),
        drawing(Sum(of="age"), name="sum", sex=1),
        drawing(RankScore(of="age", numerator=1, denominator=2), name="median"),
        drawing(ModeScore(of="sex"), name="mode"),
    )
)
TABLE, SUM, MEDIAN, MODE = range(4)


def _draws(params: Params) -> list[Any]:
    found: list[Any] = params["statement"]["draws"]
    return found


def _put(path: str, value: Any) -> Callable[[Params], None]:
    """Return the edit that puts a value at a path such as `statement.draws.0.rate`."""

    def edit(params: Params) -> None:
        *above, last = path.split(".")
        place: Any = params
        for step in above:
            place = place[int(step) if step.isdigit() else step]
        place[int(last) if last.isdigit() else last] = value

    return edit


CONTRADICTIONS: dict[str, Callable[[Params], None]] = {
    "another format": _put("format", "anonkit-forest-1"),
    "a key more": _put("statement.certified", True),
    "a key of a draw more": _put("statement.draws.0.certified", True),
    "a key of a domain more": _put("statement.columns.0.domain.certified", True),
    "a column twice": lambda params: params["statement"]["columns"].append(params["statement"]["columns"][0]),
    "no rows of a unit": _put("statement.rows_per_unit", 0),
    "no draw": lambda params: (params["values"].clear(), _draws(params).clear()),
    "two draws of one name": lambda params: (
        _put("statement.draws.1.name", "table")(params),
        _put("values.1.draw", "table")(params),
    ),
    "a value of another draw": _put("values.0.draw", "sum"),
    "a statement that is a list": _put("statement", []),
    "draws that are an object": _put("statement.draws", {}),
    "a name that is a number": _put("statement.draws.0.name", 1),
    "a rate of nothing": _put("statement.draws.0.rate", 0),
    "a rate beyond the noise": _put("statement.draws.0.rate", 64 << 52),
    "a query of an unknown kind": _put("statement.draws.0.query.kind", "threshold"),
    "a law of an unknown kind": _put("statement.draws.0.law", "laplace"),
    "a column of a table twice": _put("statement.draws.0.query.by", ["sex", "sex"]),
    "a sum by its own column": _put("statement.draws.1.query.by", ["age"]),
    "a quantile of nothing": _put("statement.draws.2.query.numerator", 0),
    "a quantile of all": _put("statement.draws.2.query.denominator", 1),
    "two restrictions of one column": _put("statement.draws.1.where", [{"column": "sex", "code": 1}] * 2),
    "a code outside the domain": _put("statement.draws.1.where.0.code", 3),
    "a code below": _put("statement.draws.1.where.0.code", -1),
    "a sum of a category": _put("statement.draws.1.query.of", "sex"),
    "a sum of one cell": _put("statement.columns.1.domain.cells", 1),
    "a column of more cells than there are": _put("statement.columns.1.domain.cells", 1 << 40),
    "a candidate beyond the last": _put("values.2.numbers", [4]),
    "a candidate below": _put("values.3.numbers", [-1]),
    "two candidates": _put("values.3.numbers", [0, 1]),
    "a cell less": lambda params: params["values"][0]["numbers"].pop(),
    "a number that no noise reaches": _put("values.1.numbers", [1 << 62]),
    "rows of something else": _put("statement.shows", {"kind": "drawn-rows", "of": "table"}),
    "rows of no draw": _put("statement.shows", {"kind": "cell-rows", "of": "other"}),
    "rows of a sum": _put("statement.shows", {"kind": "cell-rows", "of": "sum"}),
    "lines of a draw": _put("statement.shows.of", "table"),
}


@pytest.mark.parametrize("what", CONTRADICTIONS)
def test_a_statement_that_contradicts_itself_is_refused(what: str) -> None:
    """One edit of a sound statement each."""
    params = copy.deepcopy(TRUE)
    CONTRADICTIONS[what](params)

    with pytest.raises(ReleaseFormatError):
        read_statement(params)


def test_rows_of_a_part_of_the_rows_or_of_one_cell_are_refused() -> None:
    """The released rows are those of a contingency table of all rows."""
    params = as_params(stating(drawing(Count(by=("age",)), name="of F", sex=0), drawing(Count(), name="rows")))
    for name in ("of F", "rows"):
        params["statement"]["shows"] = {"kind": "cell-rows", "of": name}
        with pytest.raises(ReleaseFormatError, match="contingency table"):
            read_statement(params)


def test_more_cells_than_a_release_has_are_refused_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forged size of a column causes no allocation; what all draws have together is counted too."""
    params = as_params(stating(drawing(Count(by=("age",))), drawing(Count(), name="rows")))
    domain = params["statement"]["columns"][1]["domain"]
    domain.update(cells=stated_params._MOST_CELLS + 1, has_missing=False)
    with pytest.raises(ReleaseFormatError, match="a column of the params has more cells"):
        read_statement(params)

    monkeypatch.setattr(stated_params, "_MOST_CELLS", 256)
    domain["cells"] = 256
    params["values"][0]["numbers"] = [0] * 256
    with pytest.raises(ReleaseFormatError, match="the statement of the params has more cells"):
        read_statement(params)


def test_neighbours_and_parts_that_no_release_has_are_refused() -> None:
    """Neighbours of other words, more rows of a unit than the largest, and more kinds of rows than can be added up."""
    for edit in (_put("statement.adjacency", "two records"), _put("statement.rows_per_unit", 1001)):
        params = copy.deepcopy(TRUE)
        edit(params)
        with pytest.raises(ReleaseFormatError, match="neighbours"):
            loss_of(read_statement(params))

    params = as_params(stating(drawing(Count(), name="0", sex=0), drawing(Count(), name="1", sex=1)))
    column = params["statement"]["columns"][0]
    params["statement"]["columns"] = [{**column, "name": f"c{at}"} for at in range(17)]
    params["statement"]["draws"][0]["where"] = [{"column": f"c{at}", "code": 0} for at in range(17)]
    params["statement"]["draws"][1]["where"] = []
    with pytest.raises(ReleaseFormatError, match="finely"):
        loss_of(read_statement(params))


def test_labels_are_categories_intervals_and_a_word_for_what_is_missing() -> None:
    """The last interval holds its upper end."""
    number = PublicDomain(categories=None, bounds=(0.0, 3.0), cells=2, has_missing=True)
    category = PublicDomain(categories=("a", "b"), bounds=None, cells=2, has_missing=False)

    assert labels_of(number, "none") == ["[0, 1.5)", "[1.5, 3]", "none"]
    assert labels_of(category, "none") == ["a", "b"]
