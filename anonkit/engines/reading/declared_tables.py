# SPDX-License-Identifier: Apache-2.0
"""Tables as their policy declares them: strings listed as missing, and the types, domains and keys of columns.

An engine applies the rules of `anonkit.policy.declared_cells` to a table that was opened.

Strings that a policy lists as missing are so in tables with types of their own too: Parquet, JSON Lines, frames, Spark.
CSV and TSV are read so by their own reader. Elsewhere a cell is missing when its text, as a text file would have it, is
listed: the number -9 by "-9", a day by "9999-12-31". The default, the empty text, is for CSV and TSV alone: they have
no other form of a missing cell, and in the other formats an empty string is a value. Each cell is judged by itself.

A text column with listed strings, and nothing else that is no number, is one of numbers then, by the rule and the types
of text files. Under differential privacy no column changes its type.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.cell_values import NO_CATEGORY, category_codes
from anonkit.engines.reading.column_encoding import canonical_array
from anonkit.engines.reading.number_columns import (
    CountGroups,
    CountNumbers,
    mixed_notes,
    text_columns,
    text_columns_of_groups,
)
from anonkit.engines.reading.text_cells import Parse, TextCells
from anonkit.errors import EngineError, GuaranteeError, PolicyError
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.declared_cells import (
    CalendarCells,
    CountCells,
    DeclaredCells,
    PlaceCells,
    UnitCells,
    declared_cells,
    place_cells,
    settling,
)
from anonkit.policy.person_candidates import Candidate, WithKeys
from anonkit.policy.public_domains import refuse_rounded
from anonkit.protocols import BatchCount, Engine, Source, is_too_large

AddUp = Callable[[BatchCount, Sequence[str], int], NDArray[np.int64]]
"""Adds up a count over some columns of a table: function, columns, number of counts."""


def listed_texts(policy: Policy) -> tuple[str, ...]:
    """Return the strings that mean missing in every format: those of the policy, none by default."""
    return () if policy.missing_values == Policy.missing_values else policy.missing_values


def listed_missing(schema: pa.Schema, policy: Policy, add_up: AddUp) -> HideListed | None:
    """Return the function that makes listed strings missing in the batches of a table; None where none is listed.

    Parameters
    ----------
    schema : pyarrow.Schema
        Names and canonical types.
    add_up : callable
        Reads the text columns nobody declared once, to find which become numbers; not called under differential
        privacy.
    """
    listed = listed_texts(policy)
    if not listed:
        return None
    bounded = frozenset(name for name in schema.names if policy.column(name).bounds is not None)
    names = [] if policy.cell_by_cell else text_columns(schema, policy)
    kinds: dict[str, pa.DataType] = {}
    if names:
        count = _CountFits(columns={name: policy.column(name) for name in names}, listed=listed)
        counts = add_up(count, names, count.size)
        kinds = count.kinds(counts)
    return HideListed(
        listed=listed,
        bounded=bounded,
        columns={name: policy.column(name) for name in kinds},
        schema=pa.schema([field.with_type(kinds.get(field.name, field.type)) for field in schema]),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class HideListed:
    """Makes listed strings missing, and types the columns that are numbers then: a function of the batch alone."""

    listed: tuple[str, ...]
    bounded: frozenset[str]
    """Columns with declared bounds, in which an infinite number is beyond a bound and no string."""
    columns: dict[str, Column]
    """The columns whose type changes, as they are declared."""
    schema: pa.Schema

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows with listed cells missing."""
        arrays = [self._column(field, batch.column(field.name)) for field in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _column(self, field: pa.Field, array: pa.Array) -> pa.Array:
        hidden = without_listed(array, self.listed, finite=field.name in self.bounded)
        if field.name not in self.columns:
            return hidden
        parse = dict(_parsers(self.columns[field.name]))[field.type]
        typed = parse(hidden)
        if typed is None:
            raise EngineError(f"column {field.name!r} has changed while the table was read")
        return typed


def without_listed(array: pa.Array, listed: Sequence[str], *, finite: bool = False) -> pa.Array:
    """Return a column of any canonical type with the cells missing whose string is listed.

    Parameters
    ----------
    finite : bool
        True when an infinite number has no string.
    """
    if isinstance(array, pa.DictionaryArray):
        texts = without_listed(array.dictionary, listed)
        if texts.null_count == array.dictionary.null_count:
            return array
        return canonical_array("", pa.DictionaryArray.from_arrays(array.indices, texts), array.type)
    if pa.types.is_string(array.type):
        observed = pc.is_in(array, value_set=pa.array(listed, pa.string()))
    else:
        observed = pa.array(category_codes(array, listed, texts_alone=True) != NO_CATEGORY)
        if finite and pa.types.is_floating(array.type):
            observed = pc.and_(observed, pc.fill_null(pc.is_finite(array), False))
    return pc.if_else(observed, pa.scalar(None, array.type), array)


def _parsers(column: Column) -> Sequence[tuple[pa.DataType, Parse]]:
    """Return the types a text column may have, narrowest first; made where it is used, since it cannot be pickled."""
    return TextCells.of(column, cell_by_cell=False).parsers


@dataclass(frozen=True, kw_only=True)
class _CountFits:
    """Counts the listed cells of text columns, and the batches that do not fit each type a column may have."""

    columns: dict[str, Column]
    listed: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of counts."""
        return sum(1 + len(_parsers(column)) for column in self.columns.values())

    def __call__(self, batch: pa.RecordBatch, row: int) -> NDArray[np.int64]:
        """Return the counts of each column, shape (size,)."""
        counts: list[int] = []
        for name, column in self.columns.items():
            texts = batch.column(name)
            hidden = without_listed(texts, self.listed)
            counts.append(hidden.null_count - texts.null_count)
            filled = hidden.drop_null()
            counts += [int(len(filled) > 0 and parse(filled) is None) for _, parse in _parsers(column)]
        return np.array(counts, np.int64)

    def kinds(self, counts: NDArray[np.int64]) -> dict[str, pa.DataType]:
        """Return, of the summed counts, the columns that held listed cells and that another type fits."""
        out, at = {}, 0
        for name, column in self.columns.items():
            parsers = _parsers(column)
            n_listed, misfits = counts[at], counts[at + 1 : at + 1 + len(parsers)]
            at += 1 + len(parsers)
            fitting = [kind for (kind, _), n in zip(parsers, misfits, strict=True) if not n]
            if n_listed and fitting and not pa.types.is_string(fitting[0]):
                out[name] = fitting[0]
        return out


_COUNTS = ("missing", "outside")


def declared_table(
    source: Source,
    policy: Policy,
    engine: Engine,
    *,
    taken: Collection[str] = (),
    grouped: Collection[str] | None = (),
) -> tuple[Source, dict[str, Any]]:
    """Return a table whose cells are what the policy declares, and the counts of the cells that were not.

    A unit that is made of several columns, and candidates for the person, get columns of their keys.

    Parameters
    ----------
    taken : collection of str
        Columns that were left out because their cells look like identifiers: see `unusable_cells`.
    grouped : collection of str, optional
        Columns of a text file in which a point may separate thousands; None where none does.

    Raises
    ------
    PolicyError
        A column with bounds holds truth values, dates or times, by its own type; or cells outside what is declared,
        where they are refused.
    GuaranteeError
        Under k-anonymity more of a column's cells are outside what is declared than is accepted. Where differential
        privacy reads cells itself, a column of floats is declared to hold people or integers which floats do not
        distinguish.

    Privacy
    -------
    The counts are those of `unusable_cells`: covered by no promise, for the owner.
    """
    if policy.cell_by_cell:
        refuse_rounded(source.schema, policy)
    source = with_keys(with_unit(source, policy, engine), policy.candidates, engine)
    counted = _counted(source, policy, engine, taken, in_texts=grouped is not None)
    _refuse_unread(policy, counted)
    both = sorted({*(grouped or ()), *counted.grouped})
    noted = {"points_between_figures": both} if both else {}
    return settled(source, policy, engine), {**counted.unusable, **noted}


def _refuse_unread(policy: Policy, counted: _Counted) -> None:
    """Refuse undeclared cells: any of them, where the policy declares so, or more than it accepts.

    Where differential privacy reads cells itself nothing is refused: a refusal would disclose them.
    """
    if policy.cell_by_cell:
        return
    unusable = counted.unusable
    for name, n_strange in counted.strange.items():
        raise PolicyError(
            f"column {name!r} has {n_strange} cells that are no coordinates in degrees",
            'a latitude is a number from -90 to 90, a longitude one from -180 to 180; outside = "missing" beside them '
            "in the policy makes such places missing",
        )
    for name, counts in unusable.get("cells_not_as_declared", {}).items():
        column = policy.column(name)
        n_outside = counts.get("outside", 0)
        if column.place is not None:
            for place in place_cells(policy, column.place.columns):
                if place.name == name and place.refuses and n_outside and column.outside is not None:
                    raise PolicyError(
                        f"place {name!r} has {n_outside} pairs of coordinates beyond its box",
                        'correct the table, or say outside = "missing"',
                    )
        cells = declared_cells(column, policy)
        if isinstance(cells, CalendarCells) and cells.refuses and n_outside:
            raise PolicyError(
                f"column {name!r} has {n_outside} cells that are no {cells.calendar.kind} as it is declared",
                'correct the policy or the table, or say outside = "missing"',
            )
        if column.outside is None:
            _refuse_many(column, n_outside, counted.n_rows - counts.get("missing", 0))


def _refuse_many(column: Column, n_outside: int, n_cells: int) -> None:
    """Refuse a column of which more cells are outside what is declared than are accepted."""
    if not n_outside or n_outside / n_cells <= column.accepted_outside:
        return
    what, of = ("place", "pairs of coordinates") if column.place is not None else ("column", "cells")
    why, remedy, clamps = "outside its declared bounds", "correct the bounds", True
    if column.domain_values is not None:
        rule = "tree" if column.categories is None else "categories"
        why, remedy, clamps = f"outside its declared {rule}", f"correct or complete the {rule}", False
    elif column.place is not None:
        why, remedy = "beyond its box", "correct the box"
    elif column.bounds is None and column.calendar is not None:
        why, clamps = f"that are no {column.calendar.kind} as it is declared", column.calendar.limits is not None
        remedy = 'declare their format, as in format = "%d.%m.%Y"' + (", or correct the bounds" if clamps else "")
    words = 'outside = "clamp" or "missing"' if clamps else 'outside = "missing"'
    raise GuaranteeError(
        f"{what} {column.name!r} has {n_outside} of {n_cells} {of} {why}, more than the "
        f"{100 * column.accepted_outside:g} % that are accepted",
        f"{remedy}; or say {words} in the policy where all of them are to be read so, or accept_outside, another share",
    )


def with_unit(source: Source, policy: Policy, engine: Engine) -> Source:
    """Return a table with the unit that is made of several of its columns; any other table is returned as it is."""
    unit = None if policy.unit is None else policy.column(policy.unit)
    if unit is None or not unit.together or unit.name in source.schema.names:
        return source
    return with_keys(source, (Candidate(columns=unit.together, key=unit.name),), engine)


def with_keys(source: Source, candidates: Sequence[Candidate], engine: Engine) -> Source:
    """Return a table with a column of keys for each candidate for the person."""
    if not candidates:
        return source
    keys = WithKeys(candidates=tuple(candidates))
    return engine.map_batches(source, keys, keys.schema(source.schema), same_rows=True)


def settled(source: Source, policy: Policy, engine: Engine) -> Source:
    """Return a table whose cells are what the policy declares; units are the keys by which people are distinguished.

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
    return mapped if policy.cell_by_cell or is_too_large(mapped, engine) else engine.keep(mapped)


@dataclass(frozen=True, kw_only=True)
class _CountBoth:
    """Counts in one pass the rows, the cells against their declaration or no coordinate, and the forms of numbers."""

    cells: CountCells
    places: Sequence[PlaceCells]
    numbers: CountNumbers
    groups: CountGroups
    takes_codes: ClassVar[bool] = True

    def __call__(self, batch: pa.RecordBatch, row: int) -> NDArray[np.int64]:
        strange = [count for place in self.places for count in place.strange(batch)]
        rows = np.array([batch.num_rows, *self.cells(batch, row), *strange], np.int64)
        return np.concatenate([rows, self.groups(batch, row), self.numbers(batch, row)])


def unusable_cells(source: Source, policy: Policy, engine: Engine, *, taken: Collection[str] = ()) -> dict[str, Any]:
    """Count the cells that are not what the policy declares, and the rows that are nobody's; nothing where all are.

    Where columns are typed by all their cells, also the cells that make a column of numbers one of categories.

    Parameters
    ----------
    source : Source
        As it was read, before cells were settled.
    taken : collection of str
        Columns that were left out because their cells look like identifiers, none of them declared.

    Privacy
    -------
    Counted on the source and covered by no promise: for the owner.
    """
    return _counted(source, policy, engine, taken, in_texts=False).unusable


@dataclass(frozen=True, kw_only=True)
class _Counted:
    """The cells of a table that are not as declared."""

    unusable: dict[str, Any]
    """As `unusable_cells` returns them."""
    strange: Mapping[str, int]
    """Cells that are no coordinates by column, where they refuse the table."""
    n_rows: int
    grouped: Sequence[str] = ()
    """Columns of strings in which a point may separate thousands."""


def _counted(source: Source, policy: Policy, engine: Engine, taken: Collection[str], *, in_texts: bool) -> _Counted:
    """Count what is not as declared.

    Every batch is counted by itself, and what one row holds changes nothing in another.
    """
    schema = source.schema
    names = set(schema.names)
    declared = [declared_cells(column, policy) for name, column in policy.columns.items() if name in names]
    places = place_cells(policy, names)
    columns = [*(cells for cells in declared if cells is not None), *places]
    hidden = {name for name in policy.names(Role.IDENTIFIER) if name not in taken}
    texts = [] if policy.cell_by_cell else [n for n in text_columns(schema, policy) if n not in hidden]
    groups = CountGroups(names=text_columns_of_groups(schema, policy) if in_texts else ())
    if not columns and not texts and not groups.names:
        return _Counted(unusable={}, strange={}, n_rows=0)
    refusing = [place for place in places if place.refuses]
    cells, numbers = CountCells(columns=tuple(columns)), CountNumbers(names=tuple(texts))
    n_cells, coordinates = len(_COUNTS) * len(columns), [name for place in refusing for name in place.place.columns]
    n_places = n_cells + len(coordinates)
    n_before = n_places + groups.size
    n_rows, *others = engine.add_up(
        source,
        _CountBoth(cells=cells, places=refusing, numbers=numbers, groups=groups),
        list(dict.fromkeys([*cells.names, *texts, *groups.names])),
        1 + n_before + numbers.size,
    ).tolist()
    counts = np.array(others, np.int64)
    mixed, in_form = numbers.mixed(counts[n_before:]), numbers.in_another_form(counts[n_before:])
    strange = zip(coordinates, counts[n_cells:n_places].tolist(), strict=True)
    unusable = {
        **_not_as_declared(columns, counts[:n_cells], policy, n_rows),
        **({"cells_among_numbers": mixed, "reading_notes": mixed_notes(mixed)} if mixed else {}),
        **({"cells_in_another_form": in_form} if in_form else {}),
    }
    return _Counted(
        unusable=unusable,
        strange={name: count for name, count in strange if count},
        n_rows=n_rows,
        grouped=groups.found(counts[n_places:n_before]),
    )


def _not_as_declared(
    columns: Sequence[DeclaredCells | PlaceCells], counts: NDArray[np.int64], policy: Policy, n_rows: int
) -> dict[str, Any]:
    out: dict[str, Any] = {}
    cells = {}
    for column, (missing, outside) in zip(columns, counts.reshape(-1, len(_COUNTS)).tolist(), strict=True):
        if isinstance(column, UnitCells):
            out.update({"rows_without_unit": missing} if missing else {})
            continue
        figures = {name: n for name, n in zip(_COUNTS, (missing, outside), strict=True) if n}
        if 2 * outside > n_rows - missing:  # the column is hardly of use so
            figures["filled"] = n_rows - missing
        cells.update({column.name: figures} if figures else {})
    if policy.cell_by_cell and (lost := cells.get(policy.target or "")):
        out["rows_without_class"] = sum(lost.get(name, 0) for name in _COUNTS)
    return {**({"rows_not_used": out} if out else {}), **({"cells_not_as_declared": cells} if cells else {})}
