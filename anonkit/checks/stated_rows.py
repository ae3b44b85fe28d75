# SPDX-License-Identifier: Apache-2.0
"""Check that the released table is made of the published values of a statement, row for row: nothing else is in it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.bundle.data_files import iter_batches, parts_of, read_rows, read_schema
from anonkit.checks.central import domain_checks
from anonkit.checks.central_params import PublicColumn, PublicDomain, domain_of
from anonkit.checks.central_rows import codes_of
from anonkit.checks.sameness import none_of, same
from anonkit.checks.stated_params import (
    CELL_ROWS,
    COUNT,
    MODE,
    SUM,
    PublishedDraw,
    StatedRelease,
    labels_of,
)
from anonkit.promises.guarantee import Check

_BATCH_ROWS = 1 << 16
_MISSING = "other or missing"
_DRAW, _LAST = "draw", ("of", "statistic", "value")
_MEANING = {
    "draw": "name of the draw",
    "of": "column that is added up, or of which a value is chosen",
    "statistic": "what the value is",
    "value": "with noise",
}
_ROUNDING = 1e-12


def row_checks(data: Path, release: StatedRelease, params: Mapping[str, Any]) -> Iterator[Check]:
    """Compare the released table with the published values.

    Parameters
    ----------
    data : path
        The Parquet file or folder.
    release : StatedRelease
    params : mapping
        Its `columns` describe the table.
    """
    yield none_of("counted_domains", _described_otherwise(release, params["columns"]))
    if release.shows == CELL_ROWS:
        yield from domain_checks(data, {str(column["name"]): column for column in params["columns"]})
        yield none_of("rows_from_values", _rows_otherwise(data, release))
    else:
        yield none_of("rows_from_values", _lines_otherwise(data, release))


# --- rows of the cells of a table --------------------------------------------------------------------------------


def _described_otherwise(release: StatedRelease, columns: Any) -> int:
    """Count the released columns that are not described as the statement has them."""
    if release.shows == CELL_ROWS:
        by = {name: release.domains[name] for name in release.draw(release.shown).query.by}
        listed = {column["name"]: column for column in columns}
        wrong = len(set(by) ^ set(listed)) + len(columns) - len(listed)
        return wrong + sum(not _has_domain(listed[name], domain) for name, domain in by.items() if name in listed)
    cells = [{"name": name, "type": "category", "shows": "cell"} for name in _cell_columns(release)]
    first, *last = [
        {"name": name, "type": "number" if name == "value" else "category", "shows": _MEANING[name]}
        for name in (_DRAW, *_LAST)
    ]
    expected = [first, *cells, *last]
    return int(not same(columns, expected))


def _has_domain(listed: Mapping[str, Any], domain: PublicDomain) -> bool:
    keys = {"categories"} if domain.bounds is None else {"bounds", "cells"}
    as_written = set(listed) == {"name", "type", "domain"} and set(listed["domain"]) == {*keys, "has_missing"}
    return as_written and domain_of(listed["domain"], listed["type"]) == domain


def _rows_otherwise(data: Path, release: StatedRelease) -> int:
    """Count the cells whose rows are not as many as their noisy count, at least 0, and the rows in no cell."""
    draw = release.draw(release.shown)
    by = [PublicColumn(name=name, domain=release.domains[name]) for name in draw.query.by]
    sizes = [column.domain.size for column in by]
    found, strangers = np.zeros(len(draw.numbers), dtype=np.int64), 0
    for part in parts_of(data):
        for batch in iter_batches(part, [column.name for column in by], batch_rows=_BATCH_ROWS):
            codes = [codes_of(batch.column(column.name), column) for column in by]
            known = np.all([own >= 0 for own in codes], axis=0)
            cells = np.ravel_multi_index([own[known] for own in codes], sizes)
            found += np.bincount(cells, minlength=found.size)
            strangers += int((~known).sum())
    expected = np.maximum(np.array(draw.numbers, dtype=np.int64), 0)
    return int((found != expected).sum()) + strangers


# --- lines of values ---------------------------------------------------------------------------------------------


def _cell_columns(release: StatedRelease) -> list[str]:
    """Return the columns whose labels the lines have, in the order of the statement."""
    read = {name for draw in release.draws for name in (*draw.query.by, *draw.where)}
    read |= {draw.query.of for draw in release.draws if draw.query.kind == MODE}
    return [name for name in release.domains if name in read]


def _lines_otherwise(data: Path, release: StatedRelease) -> int:
    """Count the columns, and the lines, of the table that are not those of the values, in their order."""
    columns = _cell_columns(release)
    names = [_DRAW, *columns, *_LAST]
    schema = read_schema(data)
    if schema.names != names or not pa.types.is_float64(schema.field("value").type):
        return len(names)
    found = read_rows(data, names).to_pylist()
    expected = [dict.fromkeys(names) | line for line in _lines(release)]
    wrong = abs(len(found) - len(expected))
    return wrong + sum(not same(one, other, tolerance=_ROUNDING) for one, other in zip(found, expected, strict=False))


def _lines(release: StatedRelease) -> Iterator[dict[str, Any]]:
    """Yield the line of each published number, without the columns that are empty in it."""
    labels = {name: labels_of(release.domains[name], _MISSING) for name in _cell_columns(release)}
    for draw in release.draws:
        within = {name: labels[name][code] for name, code in draw.where.items()}
        for cell, number in zip(
            itertools.product(*(labels[name] for name in draw.query.by)), draw.numbers, strict=True
        ):
            place = dict(zip(draw.query.by, cell, strict=True))
            yield {_DRAW: draw.name, **within, **place, **_figure(draw, number, release, labels)}


def _figure(
    draw: PublishedDraw, number: int, release: StatedRelease, labels: Mapping[str, list[str]]
) -> dict[str, Any]:
    """Return the published number of a line."""
    query = draw.query
    if query.kind == COUNT:
        return {"statistic": "count", "value": float(number)}
    if query.kind == MODE:
        return {query.of: labels[query.of][number], "of": query.of, "statistic": "most frequent"}
    domain = release.domains[query.of]
    low, _ = domain.bounds or (0.0, 0.0)
    if query.kind == SUM:
        return {"of": query.of, "statistic": "sum from middle", "value": number * half_cell(domain)}
    edge = low if number == 0 else domain.edge(number - 1)
    share = f"{query.numerator}/{query.denominator}"
    return {"of": query.of, "statistic": f"quantile {share}", "value": edge}


def half_cell(domain: PublicDomain) -> float:
    """Return half the width of a cell of a number, in its unit."""
    low, high = domain.bounds or (0.0, 2.0 * domain.cells)
    return (high - low) / domain.cells / 2
