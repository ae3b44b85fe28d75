# SPDX-License-Identifier: Apache-2.0
"""A table read as its policy declares it: the rules of `anonkit.policy.declared_cells`, applied by an engine."""

from __future__ import annotations

from typing import Any

from anonkit.policy.declaration import Policy
from anonkit.policy.declared_cells import CountCells, UnitCells, declared_cells, settling
from anonkit.protocols import Engine, Source, is_too_large

_COUNTS = ("missing", "outside")


def declared_table(source: Source, policy: Policy, engine: Engine) -> tuple[Source, dict[str, Any]]:
    """Return a table whose cells are what the policy declares, and the counts of the cells that were not.

    Raises
    ------
    PolicyError
        A column with bounds holds truth values, dates or times, by its own type.

    Privacy
    -------
    The counts are those of `unusable_cells`: covered by no promise, for the owner.
    """
    unusable = unusable_cells(source, policy, engine)
    return settled(source, policy, engine), unusable


def settled(source: Source, policy: Policy, engine: Engine) -> Source:
    """Return a table whose cells are what the policy declares; units are the keys by which people are told apart.

    Where differential privacy reads cells itself (`Policy.cell_by_cell`), only numbers whose bounds leave something
    missing are settled here.

    Raises
    ------
    PolicyError
        A column with bounds holds truth values, dates or times, by its own type.
    """
    function = settling(source.schema, policy)
    if function is None:
        return source
    mapped = engine.map_batches(source, function, function.schema, same_rows=True)
    return mapped if policy.cell_by_cell or is_too_large(source, engine) else engine.keep(mapped)


def unusable_cells(source: Source, policy: Policy, engine: Engine) -> dict[str, Any]:
    """Count the cells that are not what the policy declares, and the rows that are nobody's; nothing where all are.

    Parameters
    ----------
    source : Source
        As it was read, before cells were settled.

    Privacy
    -------
    Counted on the source and covered by no promise: for the owner.
    """
    names = set(source.schema.names)
    declared = [declared_cells(column, policy) for name, column in policy.columns.items() if name in names]
    columns = [cells for cells in declared if cells is not None]
    if not columns:
        return {}
    count = CountCells(columns=tuple(columns))
    counts = engine.add_up(source, count, [column.name for column in columns], len(_COUNTS) * len(columns))
    out: dict[str, Any] = {}
    cells = {}
    for column, (missing, outside) in zip(columns, counts.reshape(-1, len(_COUNTS)).tolist(), strict=True):
        if isinstance(column, UnitCells):
            out.update({"rows_without_unit": missing} if missing else {})
            continue
        figures = {name: n for name, n in zip(_COUNTS, (missing, outside), strict=True) if n}
        cells.update({column.name: figures} if figures else {})
    if policy.cell_by_cell and (lost := cells.get(policy.target or "")):
        out["rows_without_class"] = sum(lost.values())
    return {**({"rows_not_used": out} if out else {}), **({"cells_not_as_declared": cells} if cells else {})}
