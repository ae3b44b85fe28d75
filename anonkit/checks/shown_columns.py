# SPDX-License-Identifier: Apache-2.0
"""Columns that a release shows: those promised, and those shown unchanged, which must identify nobody.

Of a promised column at least two different values, ranges or groups are in the table. They are counted in SQL; nothing
is shared with the search, which counts with arrays of codes.

None of the columns that a table shows as they are may identify people or number the rows, unless its owner declares so.
Their cells are read by SQL, from the table alone; what they look like is judged by the same module that judges the
source of a release (`anonkit.drafting.identifying.verdicts`), so that neither passes what the other refuses.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from anonkit.checks.sameness import named
from anonkit.checks.table_scans import Lines, SpreadFiles, combined, count_combinations, few_combined, scanned
from anonkit.errors import on_command_line
from anonkit.promises.guarantee import Check

if TYPE_CHECKING:
    from anonkit.drafting.identifying.verdicts import ColumnEvidence


SHOWN_CHECK = "kept_columns"
"""Name of the check."""
_FEWEST_PARTS = 2


def kept_columns(params: Mapping[str, Any], report: Mapping[str, Any]) -> list[str]:
    """Return the columns of which params or report state that they are kept."""
    names = (name for block in (params, report) for name, entry in named(block["columns"]) if entry.get("keep") is True)
    return list(dict.fromkeys(names))


def disputed_columns(params: Mapping[str, Any], report: Mapping[str, Any]) -> list[str]:
    """Return the columns of which params and report do not say alike whether they are kept."""
    blocks = [dict(named(block["columns"])) for block in (params, report)]
    names = kept_columns(params, report)
    return [name for name in names if any(entries.get(name, {}).get("keep") is not True for entries in blocks)]


def kept_column_checks(
    table: str | Path | pa.Table, released: Sequence[str], names: Sequence[str], disputed: Sequence[str] = ()
) -> tuple[Check, ...]:
    """Count the columns to be kept of which the table shows fewer than two values, a missing one among them.

    Parameters
    ----------
    table : path or Arrow table
        As for `anonkit.checks.disclosure.measure`.
    released : sequence of str
        Its columns.
    names : sequence of str
        Columns to be kept.
    disputed : sequence of str
        Those of which the files do not say alike whether they are: they count as not kept.

    Returns
    -------
    tuple of Check
        One, where a column is to be kept.
    """
    if not names:
        return ()
    lost = [
        name for name in names if name in disputed or name not in released or _n_values(table, name) < _FEWEST_PARTS
    ]
    return (Check(name=SHOWN_CHECK, passed=not lost, observed=len(lost), required=0),)


def _n_values(table: str | Path | pa.Table, name: str) -> int:
    """Return the number of different values of a column; 2 means two or more."""
    with combined(table, (name,)) as lines:
        ((n_values,),) = lines.connection.execute(
            f"SELECT count(*) FROM (SELECT DISTINCT {lines.column(name)} FROM {lines.source} LIMIT {_FEWEST_PARTS})"
        ).fetchall()
    return int(n_values)


CLEAR_CHECK = "identifiers_in_clear"
"""Name of the check."""
_BATCH = 100_000
_SPELLED = 50_000
"""Different values of a column that are looked at, evenly spaced in their order where there are more."""


@dataclass(frozen=True, kw_only=True)
class Unchanged:
    """The findings in the columns that a table shows unchanged."""

    checks: tuple[Check, ...] = ()
    """One, where there is such a column."""
    notes: tuple[str, ...] = ()
    """Notes on the findings; no value."""


def columns_in_clear(report: Mapping[str, Any]) -> list[str]:
    """Return the columns that a release shows as they are, by its report.

    Of randomized tables those that the promise lists; of k-anonymous ones all that are kept and are no
    quasi-identifiers. Under central differential privacy no column is shown as it is.
    """
    guarantee = report["guarantee"]
    parameters = guarantee["parameters"]
    if "k" not in parameters or "epsilon" in parameters:
        return [str(name) for name in parameters.get("clear", ())]
    return [
        str(column["name"])
        for column in report["columns"]
        if column["action"] == "kept" and column["role"] != "quasi_identifier"
    ]


def allowed_in_clear(report: Mapping[str, Any]) -> list[str]:
    """Return the columns that are released as they are on the owner's word, by the report."""
    return [str(column["name"]) for column in report["columns"] if column.get("released_as_is") is True]


def opening_of(name: str) -> str:
    """Return the beginning of every note on a column that is released unchanged."""
    from anonkit.drafting.identifying.verdicts import opening

    return opening(name)


def look_at_unchanged(
    table: str | Path | pa.Table, names: Sequence[str], *, allowed: Collection[str] = (), known: Sequence[str] = ()
) -> Unchanged:
    """Look at columns that a table shows as they are.

    Parameters
    ----------
    table : path or Arrow table
    names : sequence of str
        These columns; no other is read, but those of `known`.
    allowed : collection of str
        Those that are released as they are on the owner's word.
    known : sequence of str
        Quasi-identifiers that are shown as they are, too: of which others may be functions.
    """
    from anonkit.drafting.identifying.verdicts import (
        allowed_note,
        follows_note,
        found_in,
        is_nearly_unique,
        nearly_unique_note,
        refused_note,
    )

    if not names:
        return Unchanged()
    notes, refused, compared = [], 0, []
    for name in names:
        evidence, rows_a_row = _evidence(table, name)
        verdict = found_in(evidence, rows_a_row=rows_a_row)
        if verdict is None:
            compared.append(name)
            notes += [nearly_unique_note(name)] if is_nearly_unique(evidence) else []
        elif name in allowed:
            notes.append(allowed_note(name, verdict))
        else:
            refused += 1
            notes.append(refused_note(name, verdict))
    notes += [follows_note(name, of) for name, of in _following(table, compared, known)]
    check = Check(name=CLEAR_CHECK, passed=not refused, observed=refused, required=0)
    return Unchanged(checks=(check,), notes=tuple(map(on_command_line, notes)))


def _evidence(table: str | Path | pa.Table, name: str) -> tuple[ColumnEvidence, float]:
    """Return the facts on the cells of a column, and the rows of the table for each row that was looked at."""
    with few_combined(table, [name]) as lines:
        if isinstance(lines, SpreadFiles):
            return _of_one_file(lines, name)
        return _counted(lines, name), 1.0


def _of_one_file(spread: SpreadFiles, name: str) -> tuple[ColumnEvidence, float]:
    """Return the same of one file of many, which a worker counts: the rows of a release are in random order."""
    files = [file for run in spread.runs for file in run]
    (content,) = spread.workers.each(partial(count_combinations, columns=(name,), few=sys.maxsize), [files[:1]])
    cells = pq.read_table(BytesIO(content or b""))
    value, weight = cells.column_names
    with scanned(cells) as (connection, source):
        lines = Lines(connection=connection, source=source, names={name: value}, weight=weight)
        return _counted(lines, name), float(len(files))


def _counted(lines: Lines, name: str) -> ColumnEvidence:
    """Return the facts on the cells of a column: some of its values, and the numbers of values and of rows."""
    from anonkit.drafting.identifying.verdicts import evidence_of_times, evidence_of_values

    column = lines.column(name)
    there = f"(SELECT {column} AS v, {lines.rows()} AS n FROM {lines.source} WHERE {column} IS NOT NULL GROUP BY 1)"
    kind = _table(lines, f"SELECT {column} AS v FROM {lines.source} LIMIT 0").schema.field("v").type
    ends = "NULL, NULL" if pa.types.is_temporal(kind) else "min(v), max(v)"
    ((distinct, filled, low, high),) = lines.connection.execute(
        f"SELECT count(*), coalesce(sum(n), 0)::BIGINT, {ends} FROM {there}"
    ).fetchall()
    if pa.types.is_temporal(kind):
        return evidence_of_times(name, filled=filled, distinct=distinct)
    every = max(1, -(-distinct // _SPELLED))
    spaced = f"SELECT v, row_number() OVER (ORDER BY v) AS place FROM {there}"
    values = _table(lines, f"SELECT v FROM ({spaced}) WHERE (place - 1) % {every} = 0 ORDER BY place").column("v")
    return evidence_of_values(name, values, filled=filled, distinct=distinct, ends=(low, high))


def _following(table: str | Path | pa.Table, names: Sequence[str], known: Sequence[str]) -> list[tuple[str, str]]:
    """Return the columns that are functions of a known one, each with the first such."""
    from anonkit.drafting.identifying.verdicts import ROWS_COMPARED, functions_among

    if not names or not known:
        return []
    both = list(dict.fromkeys((*names, *known)))
    with combined(table, both) as lines:
        rows = _table(
            lines,
            f"SELECT {', '.join(map(lines.column, both))} FROM {lines.source} USING SAMPLE "
            f"reservoir({ROWS_COMPARED} ROWS) REPEATABLE (0)",
        ).rename_columns(both)
    return functions_among(rows, names, known)


def _table(lines: Any, sql: str) -> pa.Table:
    table: pa.Table = lines.connection.sql(sql).to_arrow_reader(_BATCH).read_all()
    return table
