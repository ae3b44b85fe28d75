# SPDX-License-Identifier: Apache-2.0
"""Refusals and notes on columns that a release shows unchanged: forms of identifiers, row numbers, functions of others.

Both the maker of a release and its validation use this module, each of the cells that it has read by itself: so neither
passes what the other refuses. No promise is decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.domains.coded_columns import CodedColumn, FloatArray, category_value, is_ordered
from anonkit.drafting.identifying.street_addresses import IdentifierKind
from anonkit.drafting.identifying.verdicts import ColumnEvidence, IdentifierVerdict, evidence_of, judged_by_cells
from anonkit.errors import option

ROWS_COMPARED = 20_000
"""Rows in which columns are compared, at most."""

_NUMBERED = IdentifierVerdict(rule="row_numbers", reason="its whole numbers number the rows", kind=IdentifierKind.KEY)
_FEWEST = 10
_FEWEST_NUMBERED = 20  # below, different integers that lie close together are nothing unusual
_GAPS = 1.5  # numbers a row: rows may have been left out after they were numbered
_MOSTLY = 0.98  # of the rows, in which a value follows from another column
_COMMON = 0.9  # share of the commonest value above which it hardly matters
_ROWS_A_VALUE = 5
_IN_LINE = 0.99  # correlation of two measures that are functions of each other


def evidence_of_times(name: str, *, filled: int, distinct: int) -> ColumnEvidence:
    """Return the evidence of dates, moments or times: they need not fit into Python's, and are not spelled."""
    return ColumnEvidence(name=name, filled=filled, distinct=distinct, texts=(), numbers=None, quantity=True)


def evidence_of_values(
    name: str, values: pa.ChunkedArray, *, filled: int, distinct: int, ends: tuple[Any, Any]
) -> ColumnEvidence:
    """Return the evidence of a column by some of its different values, in ascending order.

    Parameters
    ----------
    filled, distinct : int
        Rows with a value, and different values.
    ends : tuple
        Smallest and largest value.
    """
    cells, ordered = _values(values)
    evidence = evidence_of(CodedColumn(name=name, codes=np.zeros(0, dtype=np.int32), values=cells, ordered=ordered))
    numbers = evidence.numbers
    if numbers is not None and ordered:
        numbers = (int(ends[0]), int(ends[1]))
    return replace(evidence, filled=filled, distinct=distinct, numbers=numbers)


def evidence_of_cells(column: pa.ChunkedArray, name: str) -> ColumnEvidence:
    """Return the evidence of a column of a table: numbers or strings, no times and no nested cells."""
    return evidence_of(_coded(column, name))


def functions_among(rows: pa.Table, names: Sequence[str], known: Sequence[str]) -> list[tuple[str, str]]:
    """Return the columns of a table that follow from a known one, each with the first such.

    Times, and cells of several values, are left out.
    """
    spelled = [field.name for field in rows.schema if _is_spelled(field.type)]
    coded = {name: _coded(rows.column(name), name) for name in spelled}
    found: dict[str, str] = {}
    for name in names:
        for of in known:
            if name in coded and of in coded and name not in found and follows_from(coded[name], coded[of]):
                found[name] = of
    return list(found.items())


def _is_spelled(kind: pa.DataType) -> bool:
    return not (pa.types.is_temporal(kind) or pa.types.is_nested(kind))


def _values(column: pa.ChunkedArray) -> tuple[list[Any], bool]:
    """Return different values as a code list holds them, and whether they are ordered: numbers."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    ordered = is_ordered(kind)
    return [category_value(value, ordered) for value in column.to_pylist()], ordered


def _coded(column: pa.ChunkedArray, name: str) -> CodedColumn:
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    encoded = plain.combine_chunks().dictionary_encode()
    values, ordered = _values(pa.chunked_array([encoded.dictionary]))
    codes = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False).astype(np.int32)
    missing = [None] if encoded.null_count else []
    return CodedColumn(name=name, codes=codes, values=[*values, *missing], ordered=ordered)


def found_in(evidence: ColumnEvidence, *, rows_a_row: float = 1.0) -> IdentifierVerdict | None:
    """Return the verdict on cells that must not be released unchanged; None where they may.

    Parameters
    ----------
    evidence : Evidence
    rows_a_row : float
        Rows of the table for each row that was looked at, 1 or more.
    """
    if evidence.numbers is not None and evidence.distinct == evidence.filled >= _FEWEST:
        (low, high), rows = evidence.numbers, rows_a_row * evidence.filled
        if high - low + 1 <= (rows if rows < _FEWEST_NUMBERED else _GAPS * rows):
            return _NUMBERED
    return judged_by_cells(evidence)


def follows_from(column: CodedColumn, known: CodedColumn) -> bool:
    """Return True if a column is, nearly everywhere, a function of another one that is known.

    By the commonest value beside each value of the known column, where these have enough rows; of two measures
    also by their correlation.
    """
    present = np.ones(column.codes.size, dtype=bool)
    for each in (column, known):
        present &= np.ones_like(present) if each.missing is None else each.codes != each.missing
    codes, given = column.codes[present].astype(np.int64), known.codes[present].astype(np.int64)
    if codes.size < _FEWEST or np.bincount(codes).max() > _COMMON * codes.size:
        return False
    if codes.size >= _ROWS_A_VALUE * np.unique(given).size:
        pairs, sizes = np.unique(given * column.size + codes, return_counts=True)
        most = np.zeros(known.size, dtype=np.int64)
        np.maximum.at(most, pairs // column.size, sizes)
        if most.sum() >= _MOSTLY * codes.size:
            return True
    return abs(_correlation(_numbers(column)[codes], _numbers(known)[given])) >= _IN_LINE


def _numbers(column: CodedColumn) -> FloatArray:
    """Return the values of a column of numbers; of others nothing that correlates."""
    values = [value if isinstance(value, int | float) else np.nan for value in column.values]
    return np.array(values, dtype=np.float64)


def _correlation(first: FloatArray, second: FloatArray) -> float:
    if np.isnan(first).any() or np.isnan(second).any() or not (np.ptp(first) and np.ptp(second)):
        return 0.0
    with np.errstate(all="ignore"):  # of the largest and the least doubles it is no number
        return float(np.corrcoef(first, second)[0, 1])


def opening(name: str) -> str:
    """Return the begin of every sentence about a column that a release shows as it is."""
    return f"Column {name!r} is released as it is"


def nearly_unique_note(name: str) -> str:
    """Return the note that a measure which nearly identifies rows is released unchanged."""
    return f"{opening(name)}, and most rows have a value of their own in it: anyone who knows that value finds the row."


def follows_note(name: str, known: str) -> str:
    """Return the note that a column which is released unchanged determines a quasi-identifier."""
    return (
        f"{opening(name)} and goes with {known!r}, a quasi-identifier: anyone who knows the one knows the other, and k "
        "does not count it. Is it a quasi-identifier, too?"
    )


def refused_note(name: str, verdict: IdentifierVerdict) -> str:
    """Return the message that a column's cells must not be released unchanged, unless the owner declares so."""
    return (
        f"{opening(name)}, and {verdict.reason}: leave it out, or say that it may be handed out, "
        f"{option('release_as_is', [name])}."
    )


def allowed_note(name: str, verdict: IdentifierVerdict) -> str:
    """Return the note that a column is released although its cells look like identifiers."""
    return f"{opening(name)} on the owner's word ({option('release_as_is', [name])}), although {verdict.reason}."
