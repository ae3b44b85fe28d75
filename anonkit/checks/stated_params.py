# SPDX-License-Identifier: Apache-2.0
"""Strict parser for the params of a release by a noise statement, written for the checks alone.

A query or a law that is not in the tables here is refused, and so is a key too many: nothing is published that the
account does not cover.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from anonkit.checks.central_params import PublicDomain, domain_of, integers
from anonkit.errors import ReleaseFormatError

FORMAT = "anonkit-statement-1"
HINT = "docs/how-to/add-a-noise-method.md lists the queries and laws of noise that are checked"
COUNT, SUM, RANK, MODE = "count", "sum", "rank-score", "mode-score"
CELL_ROWS, VALUE_LINES = "cell-rows", "value-lines"
LAPLACE, PERMUTE_AND_FLIP, EXPONENTIAL = "discrete-laplace", "permute-and-flip", "exponential"
LAWS = {
    COUNT: (LAPLACE,),
    SUM: (LAPLACE,),
    RANK: (PERMUTE_AND_FLIP, EXPONENTIAL),
    MODE: (PERMUTE_AND_FLIP, EXPONENTIAL),
}
"""Laws of noise on the answer to each kind of query."""
_FIELDS = {COUNT: ("by",), SUM: ("of", "by"), RANK: ("of", "numerator", "denominator"), MODE: ("of",)}
_MOST_CELLS = 1 << 22
_MOST_RANKS = 10_000
_LARGEST_RATE = 64 << 52


@dataclass(frozen=True, kw_only=True)
class StatedQuery:
    """The query of a draw on the rows."""

    kind: str
    by: tuple[str, ...] = ()
    of: str = ""
    """Column of a sum or of scores; nothing of a count."""
    numerator: int = 0
    denominator: int = 1


@dataclass(frozen=True, kw_only=True)
class PublishedDraw:
    """One draw, and the numbers that it published."""

    name: str
    query: StatedQuery
    law: str
    rate: int
    where: Mapping[str, int]
    """The one code of each restricted column whose rows were read."""
    numbers: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class StatedRelease:
    """The public side of a release by a noise statement."""

    domains: Mapping[str, PublicDomain]
    """Of each column that a query may read."""
    draws: tuple[PublishedDraw, ...]
    shows: str
    """`CELL_ROWS` or `VALUE_LINES`."""
    shown: str | None
    """Name of the draw whose cells the rows are of."""
    adjacency: str
    rows_per_unit: int

    def draw(self, name: str | None) -> PublishedDraw:
        """Return the draw of a name."""
        return next(draw for draw in self.draws if draw.name == name)


def read_statement(params: Mapping[str, Any]) -> StatedRelease:
    """Read the statement of a release and its values.

    Raises
    ------
    ReleaseFormatError
        A query or a law is not known, a part contradicts another, or a value is not that of a draw.
    KeyError, TypeError, ValueError, AttributeError
        A key is missing or of the wrong kind; whoever calls refuses these as damage.
    """
    if params["format"] != FORMAT:
        raise ReleaseFormatError("the params of a statement are of another format", HINT)
    raw = _object(params["statement"], "columns", "draws", "shows", "adjacency", "rows_per_unit")
    domains = {_text(column["name"]): _domain(column) for column in _list(raw["columns"])}
    (rows,) = integers([raw["rows_per_unit"]])
    if len(domains) != len(raw["columns"]) or rows < 1:
        raise ReleaseFormatError("the statement of the params has a column twice, or no rows of a unit")
    draws = tuple(
        _draw(draw, value, domains) for draw, value in zip(_list(raw["draws"]), _list(params["values"]), strict=True)
    )
    if not draws or len({draw.name for draw in draws}) != len(draws):
        raise ReleaseFormatError("the statement of the params has no draw, or two of one name")
    if sum(len(draw.numbers) for draw in draws) > _MOST_CELLS:
        raise ReleaseFormatError("the statement of the params has more cells than anonkit writes")
    shows, shown = _shows(raw["shows"])
    release = StatedRelease(
        domains=domains,
        draws=draws,
        shows=shows,
        shown=shown,
        adjacency=_text(raw["adjacency"]),
        rows_per_unit=rows,
    )
    if shows == CELL_ROWS:
        _refuse_other_cells(release)
    return release


def _refuse_other_cells(release: StatedRelease) -> None:
    """Refuse rows that are not those of a contingency table of all rows."""
    tables = [draw for draw in release.draws if draw.name == release.shown]
    if not tables or tables[0].query.kind != COUNT or not tables[0].query.by or tables[0].where:
        raise ReleaseFormatError("the rows of the params are those of no contingency table", HINT)


def _shows(raw: object) -> tuple[str, str | None]:
    kind = _text(_mapping(raw)["kind"])
    if kind == VALUE_LINES:
        _object(raw, "kind")
        return kind, None
    if kind != CELL_ROWS:
        raise ReleaseFormatError("the statement of the params shows something that cannot be checked", HINT)
    return kind, _text(_object(raw, "kind", "of")["of"])


def _domain(raw: object) -> PublicDomain:
    column = _object(raw, "name", "domain")
    domain, kind = _mapping(column["domain"]), column["domain"]["type"]
    _object(domain, "type", "has_missing", *(("categories",) if kind == "category" else ("bounds", "cells")))
    read = domain_of(domain, kind)
    if read.size > _MOST_CELLS:
        raise ReleaseFormatError("a column of the params has more cells than anonkit writes")
    return read


# --- draws -------------------------------------------------------------------------------------------------------


def _draw(raw: object, value: object, domains: Mapping[str, PublicDomain]) -> PublishedDraw:
    draw, published = _object(raw, "name", "query", "law", "rate", "where"), _object(value, "draw", "numbers")
    query, law = _query(draw["query"]), _text(draw["law"])
    if law not in LAWS[query.kind]:
        raise ReleaseFormatError(f"a {query.kind} of the params has a law of noise that cannot be checked", HINT)
    (rate,) = integers([draw["rate"]])
    if not 1 <= rate < _LARGEST_RATE:
        raise ReleaseFormatError("a draw of the params has a rate that cannot be")
    where = _where(draw["where"], domains)
    if _text(published["draw"]) != _text(draw["name"]):
        raise ReleaseFormatError("the values of the params are not those of its draws")
    made = PublishedDraw(
        name=draw["name"], query=query, law=law, rate=rate, where=where, numbers=tuple(integers(published["numbers"]))
    )
    _refuse_unfit(made, domains)
    return made


def _query(raw: object) -> StatedQuery:
    kind = _mapping(raw)["kind"]
    if kind not in _FIELDS:
        raise ReleaseFormatError("the params have a query of a kind that cannot be checked", HINT)
    query = _object(raw, "kind", *_FIELDS[kind])
    by = tuple(_text(name) for name in _list(query.get("by", [])))
    of = _text(query.get("of", ""))
    if len({*by, of}) != len(by) + 1:
        raise ReleaseFormatError("a query of the params has a column twice, or one without a name")
    numerator, denominator = integers([query.get("numerator", 1), query.get("denominator", 2)])
    if not 0 < numerator < denominator <= _MOST_RANKS:
        raise ReleaseFormatError("a quantile of the params has a share that cannot be")
    return StatedQuery(kind=kind, by=by, of=of, numerator=numerator, denominator=denominator)


def _where(raw: object, domains: Mapping[str, PublicDomain]) -> dict[str, int]:
    restrictions = [_object(each, "column", "code") for each in _list(raw)]
    where = {_text(each["column"]): integers([each["code"]])[0] for each in restrictions}
    if len(where) != len(restrictions) or any(not 0 <= code < domains[name].size for name, code in where.items()):
        raise ReleaseFormatError("a draw of the params is restricted to values that cannot be")
    return where


def _refuse_unfit(draw: PublishedDraw, domains: Mapping[str, PublicDomain]) -> None:
    """Refuse a draw whose query does not fit the domains, or whose numbers are not those of its query."""
    query = draw.query
    if query.kind in (SUM, RANK) and (domains[query.of].bounds is None or domains[query.of].cells < 2):
        raise ReleaseFormatError("a sum or a quantile of the params needs a number in two cells at least", HINT)
    if query.kind in (RANK, MODE):
        candidates = domains[query.of].cells + 1 if query.kind == RANK else domains[query.of].size
        fits = len(draw.numbers) == 1 and 0 <= draw.numbers[0] < candidates
    else:
        fits = len(draw.numbers) == math.prod(domains[name].size for name in query.by)
        fits = fits and all(abs(number) < 1 << 62 for number in draw.numbers)
    if not fits:
        raise ReleaseFormatError("the values of the params are not those of its draws")


# --- kinds of JSON -----------------------------------------------------------------------------------------------


def _object(raw: object, *names: str) -> Mapping[str, Any]:
    """Return an object of JSON with these keys and no other."""
    if set(_mapping(raw)) != set(names):
        raise ReleaseFormatError("the statement of the params has a key too many or too few")
    return _mapping(raw)


def _mapping(raw: object) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        raise ReleaseFormatError("the statement of the params has something else for an object")
    return raw


def _list(raw: object) -> list[Any]:
    if not isinstance(raw, list):
        raise ReleaseFormatError("the statement of the params has something else for a list")
    return raw


def _text(raw: object) -> str:
    if not isinstance(raw, str):
        raise ReleaseFormatError("the statement of the params has something else for a name")
    return raw


def labels_of(domain: PublicDomain, missing: str) -> list[str]:
    """Return the label of each code: a category, an interval of a number, or the label of a missing value."""
    labels = list(domain.categories or ())
    if domain.bounds is not None:
        edges = np.linspace(*domain.bounds, domain.cells + 1).tolist()
        labels = [f"[{low:.15g}, {high:.15g})" for low, high in itertools.pairwise(edges)]
        labels[-1] = f"{labels[-1][:-1]}]"
    return [*labels, *([missing] if domain.has_missing else [])]
