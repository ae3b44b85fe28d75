# SPDX-License-Identifier: Apache-2.0
"""Source and release side by side, for the owner: each column before and after, and example rows.

Of a column there are its distributions and how far they differ. A value of the source is named only where it is public
(declared, or released) or at least `FEWEST` rows share it; the others are one bar. Ends of ranges are round numbers and
never a cell.

Example rows are shown on request, and kept in no file of a release. Rows of a release are in secret order, so that no
file identifies one. Of a k-anonymous release the published recoding is applied to some rows of the source anew. Under a
promise of noise no released row is looked for: rows of either table are side by side, and none are shown as belonging
together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.checks.number_cells import EqualCells, multiples_of
from anonkit.errors import AnonkitError
from anonkit.k_anonymity.recoded_rows import as_published
from anonkit.k_anonymity.recoded_shares import RecodedShares, recoded_shares
from anonkit.ledger.intersection_check import SourceRows, shown_rows
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness

FEWEST = 10
"""Rows that share a value before it is named."""
MOST_BARS = 9
"""Bars of a column at most; values beyond are one bar more."""
_FINE = 4 * MOST_BARS
"""Cells of a number from which on it does not matter to a bar where they end."""
_FloatArray = NDArray[np.float64]
_NUMBER = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
_EPOCH = date(1970, 1, 1)
_DAY = 86_400


@dataclass(frozen=True, kw_only=True, eq=False)
class BeforeAndAfter:
    """A source and its release, side by side.

    Privacy
    -------
    Holds source rows: for the owner alone.
    """

    source: pa.Table
    """Cells as the policy declares them."""
    released: pa.Table
    params: Mapping[str, Any]
    """Content of `params.json`."""
    policy: Policy
    """With a role for every column."""

    def changes(self, columns: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the changes of every column.

        Parameters
        ----------
        columns : sequence of mapping
            The `columns` block of the report.
        """
        return [self._change(column) for column in columns if column["name"] in self.source.column_names]

    @cached_property
    def _recoding(self) -> Any:
        """The recoding that the release was made with, read once: its boxes are labelled for all columns together."""
        return as_published(self.params["recoding"])

    def _change(self, column: Mapping[str, Any]) -> dict[str, Any]:
        name = column["name"]
        before = whole_column(self.source, name)
        head = {"name": name, "role": column["role"], "action": column["action"], "before": _facts(before)}
        if column["role"] in (Role.IDENTIFIER, Role.UNIT):
            return head  # what names a person is counted, and never shown
        after = self._answers(name)
        if after is None:
            return {**head, **_bars(before, None, self._public(name, before, None))}
        if is_number(after) and is_text(before):
            before = parsed_numbers(before)  # a number that was read cell by cell
        facts = {**head, "after": _facts(after)}
        if "recoding" in self.params and is_text(after):
            shares = recoded_shares(self._recoding, name, before, after, most=MOST_BARS)
            if shares is not None:
                return {**facts, **_recoded(shares, before)}
        return {**facts, **_bars(before, after, self._public(name, before, after), self._cell_ends(name, after))}

    def _cell_ends(self, name: str, after: pa.Array) -> _FloatArray | None:
        """Return the ends of the cells whose middles are the release's numbers, shape (n_cells - 1,).

        None where numbers are released otherwise, or in cells so small that any ranges show them as they are.
        """
        for entry in (*self.params.get("columns", ()), *self.params.get("attributes", ())):
            domain = entry.get("domain") if entry["name"] == name else None
            if not domain or not domain.get("bounds") or not is_number(after) or pa.types.is_temporal(after.type):
                continue
            if not 1 < int(domain.get("cells", 0)) < _FINE:
                continue  # none where a recoding leaves numbers as they are
            low, high = (float(bound) for bound in domain["bounds"])
            multiples = multiples_of(domain, (low, high))
            grid = EqualCells(low=low, high=high, cells=int(domain["cells"]), multiples=multiples)
            ends, middles = grid.edges, grid.middles
            shown = np.unique(filled_numbers(after))[:_FINE]  # more of them than there are middles inform as much
            away = np.abs(shown[:, None] - middles).min(axis=1)
            if shown.size and (away <= 1e-9 * (ends[-1] - ends[0])).all():
                return ends[1:-1]
        return None

    def _answers(self, name: str) -> pa.Array | None:
        """Return a released column, where each row answers one attribute the rows that answer this one."""
        if name not in self.released.column_names:
            return None
        column = self.params.get("asked_column")
        attributes = [attribute["name"] for attribute in self.params.get("attributes", ())]
        if column is None or name not in attributes:
            return whole_column(self.released, name)
        return whole_column(
            self.released.filter(pc.equal(plain_cells(whole_column(self.released, column)), name)), name
        )

    def _public(self, name: str, before: pa.Array, after: pa.Array | None) -> frozenset[str]:
        """Return the values that may be named: declared, released, or shared by enough rows."""
        counts = _counts(before)
        common = {value for value, n_rows in counts.items() if value is not None and n_rows >= FEWEST}
        released = set() if after is None else {value for value in _counts(after) if value is not None}
        return frozenset({*(self.policy.column(name).domain_values or ()), *common, *released})


# --- a column as bars ------------------------------------------------------------------------------------------------


def _recoded(shares: RecodedShares, before: pa.Array) -> dict[str, Any]:
    n_source, n_released = (
        sum(getattr(bar, rows) for bar in shares.bars) or 1.0 for rows in ("source_rows", "released_rows")
    )
    source = np.array([bar.source_rows for bar in shares.bars]) / n_source
    released = np.array([bar.released_rows for bar in shares.bars]) / n_released
    bars = [
        {
            "label": bar.label,
            **({"others": bar.others} if bar.others else {}),
            "before": float(first),
            "after": float(second),
        }
        for bar, first, second in zip(shares.bars, source, released, strict=True)
    ]
    return {
        "bars": bars if shares.is_spread else _folded(bars, {str(bar["label"]) for bar in bars}),
        "how": "spread over the set" if shares.is_spread else "released values",
        "distance": _total_variation(source, released),
        "coarseness": {"before": _own_coarseness(before), "after": shares.coarseness},
    }


def _bars(
    before: pa.Array, after: pa.Array | None, public: frozenset[str], cell_ends: _FloatArray | None = None
) -> dict[str, Any]:
    if is_number(before) and (after is None or is_number(after)):
        return _ranges(before, after, cell_ends)
    return _values(_counts(before), None if after is None else _counts(after), public)


def _values(
    before: Mapping[str | None, int], after: Mapping[str | None, int] | None, public: frozenset[str]
) -> dict[str, Any]:
    """Return one bar for each value that may be named, the commonest first, and one for all others."""
    names = sorted({*before, *(after or ())}, key=lambda name: (-before.get(name, 0), str(name)))
    source = _shares(before, names)
    released = None if after is None else _shares(after, names)
    bars = [
        {"label": name, "before": float(source[at]), **({} if released is None else {"after": float(released[at])})}
        for at, name in enumerate(names)
    ]
    out: dict[str, Any] = {"bars": _folded(bars, public), "how": "values"}
    return out if released is None else {**out, "distance": _total_variation(source, released)}


def _folded(bars: Sequence[Mapping[str, Any]], public: frozenset[str] | set[str]) -> list[dict[str, Any]]:
    """Return the first bars that may be named, and all others as one."""
    named = [at for at, bar in enumerate(bars) if bar["label"] is None or str(bar["label"]) in public]
    shown = named if len(named) == len(bars) <= MOST_BARS + 1 else named[:MOST_BARS]
    rest = [bar for at, bar in enumerate(bars) if at not in set(shown)]
    out = [dict(bars[at]) for at in shown]
    if rest:
        sums = {key: math.fsum(bar[key] for bar in rest) for key in ("before", "after") if key in rest[0]}
        out.append({"label": "", "others": len(rest), **sums})
    return out


def _ranges(before: pa.Array, after: pa.Array | None, cell_ends: _FloatArray | None) -> dict[str, Any]:
    """Return ranges between round numbers as bars, and how far the numbers moved.

    Where a release shows cells, ranges end where cells do: a cell that another range cuts would count on one side with
    all of its rows. Ranges of integers are named by their first and last integer, wherever between two of them they
    end.
    """
    source, is_date = filled_numbers(before), pa.types.is_temporal(before.type)
    released = None if after is None else filled_numbers(after)
    whole = pa.types.is_integer(before.type) or _all_integers(source)
    if cell_ends is None:
        starts = round_edges(source, whole=is_date or whole)
    else:
        whole = whole and not is_date and (released is None or _all_integers(released))
        starts = _some_of(np.unique(np.ceil(cell_ends)) if whole else cell_ends, source)
    # a number that is released in place of a whole one is seldom whole: the range it is nearest to counts
    edges = starts - 0.5 if whole and not is_date else starts
    first = _shares_of_ranges(source, edges, len(before))
    second = None if after is None or released is None else _shares_of_ranges(released, edges, len(after))
    labels: list[str | None] = [*_range_labels(starts, is_date=is_date, whole=whole), None]
    bars = [
        {"label": label, "before": float(first[at]), **({} if second is None else {"after": float(second[at])})}
        for at, label in enumerate(labels)
        if label is not None or first[at] or (second is not None and second[at])
    ]
    out: dict[str, Any] = {"bars": bars, "how": "ranges"}
    if released is None:
        return out
    figures = {} if is_date else {"mean": _pair(np.mean, source, released), "spread": _pair(np.std, source, released)}
    return {**out, **figures, **_moved(source, released, is_date=is_date)}


def _moved(source: _FloatArray, released: _FloatArray, *, is_date: bool) -> dict[str, Any]:
    """Return the Wasserstein distance: the mean way that the numbers of one table are from those of the other."""
    if not source.size or not released.size:
        return {}
    every = np.sort(np.concatenate([source, released]))
    steps = np.diff(every)
    shares = [np.searchsorted(np.sort(table), every[:-1], side="right") / table.size for table in (source, released)]
    distance, spread = float((np.abs(shares[0] - shares[1]) * steps).sum()), float(np.std(source))
    return {
        "distance": {
            "name": "Wasserstein distance",
            "value": distance,
            "unit": "days" if is_date else "in the column's own unit",
            "in_standard_deviations": distance / spread if spread > 0 else None,
        }
    }


def _total_variation(source: _FloatArray, released: _FloatArray) -> dict[str, Any]:
    return {
        "name": "total variation",
        "value": float(np.abs(source - released).sum() / 2),
        "unit": "share of the rows",
    }


# --- cells -----------------------------------------------------------------------------------------------------------


def whole_column(table: pa.Table, name: str) -> pa.Array:
    """Return a column as one array."""
    column = table.column(name)
    return pa.concat_arrays(column.unify_dictionaries().chunks) if column.num_chunks else pa.array([], column.type)


def plain_cells(array: pa.Array) -> pa.Array:
    """Return the cells themselves where they are stored as places in a dictionary."""
    return array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array


def parsed_numbers(texts: pa.Array) -> pa.Array:
    """Return strings as numbers; what is none is missing."""
    plain = pc.utf8_trim_whitespace(plain_cells(texts))
    return pc.if_else(pc.match_substring_regex(plain, _NUMBER), plain, None).cast(pa.float64())


def is_text(array: pa.Array) -> bool:
    """Return True if the cells are strings."""
    kind = plain_cells(array).type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_number(array: pa.Array) -> bool:
    """Return True if the cells are numbers, dates or times."""
    kind = array.type
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return bool(numeric or pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def filled_numbers(array: pa.Array) -> _FloatArray:
    """Return the cells that are there as floats, dates and times as days since 1970, shape (n_filled,)."""
    kind = array.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        seconds = array.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
        numbers = seconds.drop_null().to_numpy(zero_copy_only=False) / _DAY
    else:
        numbers = array.cast(pa.float64(), safe=False).drop_null().to_numpy(zero_copy_only=False)
    floats: _FloatArray = numbers.astype(np.float64)
    return floats[np.isfinite(floats)]


def _counts(array: pa.Array) -> dict[str | None, int]:
    """Return the rows of every value as text; None is missing."""
    out: dict[str | None, int] = {}
    for entry in pc.value_counts(plain_cells(array)).to_pylist():
        value = entry["values"]
        key = None if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        out[key] = out.get(key, 0) + int(entry["counts"])
    return out


def _facts(array: pa.Array) -> dict[str, int]:
    plain = plain_cells(array)
    missing = plain.is_null(nan_is_null=True) if pa.types.is_floating(plain.type) else plain.is_null()
    return {
        "rows": len(array),
        "missing": int(pc.sum(missing).as_py() or 0),
        "values": int(pc.count_distinct(plain.filter(pc.invert(missing))).as_py()),
    }


def _own_coarseness(before: pa.Array) -> float:
    counts = np.array(list(_counts(before).values()), dtype=np.float64)
    return float(((counts / counts.sum()) ** 2).sum()) if counts.size else 1.0


def _shares(counts: Mapping[str | None, int], names: Sequence[str | None]) -> _FloatArray:
    return np.array([counts.get(name, 0) for name in names], dtype=np.float64) / max(sum(counts.values()), 1)


def _pair(figure: Any, source: _FloatArray, released: _FloatArray) -> dict[str, float | None]:
    return {
        "before": float(figure(source)) if source.size else None,
        "after": float(figure(released)) if released.size else None,
    }


# --- ranges between round numbers ------------------------------------------------------------------------------------


def round_edges(numbers: _FloatArray, *, whole: bool) -> _FloatArray:
    """Return round numbers that divide all but the outermost hundredths of a column evenly, shape (n_edges,)."""
    if not numbers.size:
        return np.zeros(1)
    low, high = np.quantile(numbers, [0.01, 0.99])
    step = _round_step((high - low) / (MOST_BARS - 2))
    step = max(step, 1.0) if whole else step
    first = math.floor(low / step) + 1
    last = max(math.floor(high / step), first)
    return np.arange(first, min(last, first + MOST_BARS - 2) + 1) * step


def _all_integers(numbers: _FloatArray) -> bool:
    return bool((numbers == np.round(numbers)).all())


def _some_of(ends: _FloatArray, numbers: _FloatArray) -> _FloatArray:
    """Return ends of cells between which all but the outermost hundredths of a column lie, shape (n_edges,)."""
    low, high = np.quantile(numbers, [0.01, 0.99]) if numbers.size else (-math.inf, math.inf)
    inside = ends[(ends > low) & (ends <= high)]
    return inside[:: math.ceil(inside.size / (MOST_BARS - 1))] if inside.size else ends[:1]


def _round_step(width: float) -> float:
    """Return the smallest of 1, 2, 2.5 and 5 times a power of ten that is no smaller than a width."""
    if not width > 0 or not math.isfinite(width):
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= width * (1 - 1e-9))


def _shares_of_ranges(numbers: _FloatArray, edges: _FloatArray, n_rows: int) -> _FloatArray:
    """Return the share of the rows below the first edge, between the edges, from the last on, and without a number."""
    counts = np.bincount(np.searchsorted(edges, numbers, side="right"), minlength=edges.size + 1)
    return np.append(counts, n_rows - numbers.size) / max(n_rows, 1)


def _range_labels(starts: _FloatArray, *, is_date: bool, whole: bool) -> list[str]:
    """Return ranges in words: those of integers by their first and last, others to a hundredth of the least."""
    digits = _digits_of_a_hundredth(starts)
    texts = [_day(start) if is_date else f"{round(start, digits):,.10g}" for start in starts.tolist()]
    last = f"{texts[-1]} or {'later' if is_date else 'more'}"
    between = [f"{low} to below {high}" for low, high in pairwise(texts)]
    if whole and not is_date:
        ends = [(low, high - 1) for low, high in pairwise(starts.tolist())]
        between = [f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}" for low, high in ends]
    return [f"{'before' if is_date else 'below'} {texts[0]}", *between, last]


def _digits_of_a_hundredth(starts: _FloatArray) -> int:
    """Return the number of digits after the point that the ends of ranges need, to a hundredth of the least."""
    least = float(np.diff(starts).min(initial=math.inf))
    return max(0, 2 - math.floor(math.log10(least))) if 0 < least < math.inf else 10


def _day(days: float) -> str:
    return (_EPOCH + timedelta(days=days)).isoformat()


_LONGEST = 200
"""Letters of a cell that are shown."""


def example_rows(
    rows: SourceRows, released: pa.Table, params: Mapping[str, Any], randomness: Randomness, n: int
) -> dict[str, Any]:
    """Draw some rows of a source, with their released form where it is known.

    Parameters
    ----------
    rows : SourceRows
        As they were read, with a role for every column.
    released : Table
        Rows of the release.
    params : mapping
        What `params.json` holds.
    n : int
        How many, 1 or more.

    Returns
    -------
    dict
        `corresponds`, true where before and after are the same row; `before` and `after`, lists of rows by column
        name, null in `after` for a row that was left out.

    Privacy
    -------
    Cells of the source, without those of identifiers and the unit: for the owner alone.
    """
    hidden = (Role.IDENTIFIER, Role.UNIT)
    table, engine = rows.table, rows.engine
    names = [name for name in table.schema.names if rows.policy.column(name).role not in hidden]
    batches = list(engine.sample(table, n, randomness).batches())
    before = _cells(pa.Table.from_batches(batches, schema=table.schema).select(names))
    if "recoding" not in params:
        sample = released.take(pa.array(randomness.child("released").permutation(released.num_rows)[:n]))
        return {"corresponds": False, "before": before, "after": _cells(sample)}
    try:
        shown = shown_rows(table, engine, params)
    except (AnonkitError, KeyError):
        return {"corresponds": False, "before": before, "after": []}
    after: list[dict[str, str | None] | None] = []
    for batch in batches:
        cells, is_in = shown.of(batch)
        recoded = dict(zip(shown.types, cells, strict=False))
        columns = {name: recoded[name] if name in recoded else batch.column(name) for name in released.column_names}
        shown_cells = _cells(pa.table(columns))
        after += [row if present else None for row, present in zip(shown_cells, is_in.tolist(), strict=True)]
    return {"corresponds": True, "before": before, "after": after}


def _cells(table: pa.Table) -> list[dict[str, str | None]]:
    """Return rows as strings; None is missing."""
    return [{name: _text(value) for name, value in row.items()} for row in table.to_pylist()]


def _text(value: object) -> str | None:
    if value is None:
        return None
    text = (
        str(value).lower() if isinstance(value, bool) else f"{value:.10g}" if isinstance(value, float) else str(value)
    )
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
