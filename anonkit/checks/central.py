# SPDX-License-Identifier: Apache-2.0
"""Releases with central differential privacy read anew: epsilon added up from the published rates, cells looked at.

This adds up the account with code of its own: it shares none with the methods that wrote it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.central_dp import ADD_OR_REMOVE, REPLACE, CentralDP
from anonkit.data_files import iter_batches, read_schema
from anonkit.errors import ReleaseFormatError
from anonkit.guarantee import Check

RATE_UNIT = "2**-52"
_STEP = Fraction(1, 1 << 52)
_MECHANISMS = ("discrete-laplace", "permute-and-flip", "exponential")
_DIGITS = 80
_BATCH_ROWS = 1 << 16


@dataclass(frozen=True, kw_only=True)
class PublishedAccount:
    """The loss that the published rates of a release have."""

    epsilon: float
    rows_per_unit: int
    adjacency: str


def published_account(params: Mapping[str, Any]) -> PublishedAccount:
    """Add up the account of a release.

    A row pays for the draws that stand in no level, for the draws of all levels above the leaf it ends in, and for
    those of that leaf's level marked `ends_path`; the dearest leaf level counts. Each draw costs
    rate * sensitivity * times.

    Raises
    ------
    ReleaseFormatError
        When the account is absent or damaged, or a line states another epsilon than its rate has.
    """
    try:
        lines = [(line, _cost(line)) for line in params["accounting"]]
        path = max(_paths(lines), default=Fraction(0))
        composition = params["composition"]
        adjacency, rows = str(composition["adjacency"]), int(composition["rows_per_unit"])
        loss = path if composition["bootstrap"] is None else _bootstrap_loss(composition["bootstrap"], path)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ReleaseFormatError("the account of the params lacks a key or has one of the wrong kind") from None
    if adjacency not in (ADD_OR_REMOVE, REPLACE) or rows < 1:
        raise ReleaseFormatError("the composition of the params is not one that anonkit writes")
    total = loss * rows * (2 if adjacency == REPLACE else 1)
    return PublishedAccount(epsilon=_not_below(total), rows_per_unit=rows, adjacency=adjacency)


def _levels_without_a_line(params: Mapping[str, Any]) -> int:
    """Count the levels of the published trees at which something was drawn that no line of the account speaks of."""
    try:
        levels = [(line["level"], bool(line["ends_path"])) for line in params["accounting"]]
        found = {one for tree in params["trees"] for one in _drawn_at(tree)}
    except (KeyError, TypeError, IndexError):
        raise ReleaseFormatError("a tree of the params lacks a key or has one of the wrong kind") from None
    if any(level is None for level, _ in levels) and all(level is None for level, _ in levels):
        return 0  # what is drawn belongs to no level: every row pays for all of it
    return len(found - set(levels))


def _drawn_at(tree: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, bool]]:
    """Yield the level of every node, and whether it is a leaf."""
    level = {0: 0}
    for number, node in enumerate(tree):
        yield level[number], "children" not in node
        level |= dict.fromkeys(node.get("children", ()), level[number] + 1)


def _cost(line: Mapping[str, Any]) -> Fraction:
    rate, sensitivity, times = line["rate"], line["sensitivity"], line["times"]
    whole = all(isinstance(one, int) and not isinstance(one, bool) and one >= 1 for one in (rate, sensitivity, times))
    if not whole or line["mechanism"] not in _MECHANISMS or line["rate_unit"] != RATE_UNIT:
        raise ReleaseFormatError("a line of the account has a mechanism, rate, sensitivity or number that cannot be")
    cost: Fraction = rate * sensitivity * times * _STEP
    if not math.isclose(float(cost), float(line["epsilon"]), rel_tol=1e-12):
        raise ReleaseFormatError(
            "a line of the account states another epsilon than its rate has", "the params file was altered"
        )
    return cost


def _paths(lines: Sequence[tuple[Mapping[str, Any], Fraction]]) -> Iterator[Fraction]:
    """Yield what each kind of path pays, one for every level at which it can end."""
    ends = {line["level"] for line, _ in lines if line["ends_path"]}
    if any(line["ends_path"] and line["level"] is None for line, _ in lines):
        raise ReleaseFormatError("a line of the account ends a path at no level")
    for end in ends or {None}:
        yield sum((cost for line, cost in lines if _on_path(line, end)), Fraction(0))


def _on_path(line: Mapping[str, Any], end: int | None) -> bool:
    level = line["level"]
    if line["ends_path"]:
        return bool(level == end)
    return level is None or end is None or int(level) < end


def _bootstrap_loss(bootstrap: Mapping[str, Any], path: Fraction) -> Fraction:
    weights, bits, trees = bootstrap["weights"], int(bootstrap["word_bits"]), int(bootstrap["trees"])
    if sum(weights) != 1 << bits or min(weights) < 0 or trees < 1:
        raise ReleaseFormatError("the bootstrap of the params has weights that cannot be")
    with localcontext() as context:
        context.prec = _DIGITS
        one = (Decimal(path.numerator) / Decimal(path.denominator)).exp()
        mean = sum((Decimal(weight) * one**copies for copies, weight in enumerate(weights)), Decimal(0)) / 2**bits
        return Fraction(trees * mean.ln())


def _not_below(value: Fraction) -> float:
    """Return the smallest float not below a rational; a hair (1e-40) below a float is that float."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value - Fraction(1, 10**40) else math.nextafter(nearest, math.inf)


def central_checks(data: Path, params: Mapping[str, Any], guarantee: Mapping[str, Any]) -> Iterator[Check]:
    """Check a release of a central mechanism: its account against the promise, its cells against the domains.

    Parameters
    ----------
    data : path
        The Parquet file.
    params : mapping
        What `params.json` holds: `accounting`, `composition`, and `columns`, the domain of each released column.
    guarantee : mapping
        The `guarantee` block of the report.

    Raises
    ------
    ReleaseFormatError
        The account is damaged, or the report is.
    """
    if guarantee["kind"] == CentralDP.kind:
        try:
            promise = CentralDP.from_dict(guarantee)
        except (KeyError, TypeError, ValueError):
            raise ReleaseFormatError("the guarantee of the report is damaged") from None
        yield from promise.verify(published_account(params))
        if "trees" in params:
            bare = _levels_without_a_line(params)
            yield Check(name="account_covers_trees", passed=bare == 0, observed=bare, required=0)
    try:
        domains = {str(one["name"]): one for one in params["columns"]}
    except (KeyError, TypeError):
        raise ReleaseFormatError("the params do not list the columns of the release") from None
    for name, count in _strangers(data, domains).items():
        yield Check(name=f"domain:{name}", passed=count == 0, observed=count, required=0)


def _strangers(data: Path, domains: Mapping[str, Mapping[str, Any]]) -> dict[str, int | None]:
    """Count the cells of each column that are outside its published domain; None for a column that is not there."""
    try:
        present = read_schema(data).names
        there = [name for name in domains if name in present]
        counts: dict[str, int | None] = {name: 0 if name in there else None for name in domains}
        for batch in iter_batches(data, there, batch_rows=_BATCH_ROWS):
            for name in there:
                counts[name] = (counts[name] or 0) + _outside(batch.column(name), domains[name])
    except (pa.ArrowException, OSError):
        raise ReleaseFormatError(f"{str(data)!r} is not a readable Parquet file") from None
    except (KeyError, TypeError, ValueError):
        raise ReleaseFormatError("the params describe a column as anonkit does not") from None
    return counts


def _outside(cells: pa.Array, described: Mapping[str, Any]) -> int:
    domain = described["domain"]
    values = cells.dictionary_decode() if isinstance(cells, pa.DictionaryArray) else cells
    absent = np.asarray(values.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    if described["type"] == "category":
        known = _is_one_of(values, domain["categories"])
    elif described["type"] == "count":
        numbers = _numbers(values)
        known = numbers == np.round(numbers)  # noisy counts may be negative
    else:
        numbers, (low, high) = _numbers(values), domain["bounds"]
        places = (np.where(absent, low, numbers) - low) / (high - low) * domain["cells"] - 0.5
        known = (np.abs(places - np.round(places)) < 1e-6) & (places > -0.5) & (places < domain["cells"] - 0.5)
    return int(np.where(absent, not domain["has_missing"], ~known).sum())


def _is_one_of(values: pa.Array, categories: Iterable[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    found = pc.is_in(values.cast(pa.string()), value_set=pa.array(list(categories), pa.string()))
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def _numbers(values: pa.Array) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.asarray(pc.fill_null(values.cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False))
