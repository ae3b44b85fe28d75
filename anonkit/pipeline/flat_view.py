# SPDX-License-Identifier: Apache-2.0
"""Several tables read and joined into one flat view, in a private file that is deleted at the end of the release.

Every person is there: with one row for each visit, or one row with missing cells. Both tables are read by the engine
row by row; the join is out of core, on the machine that makes the release.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.bundle.private_files import PrivateFolder
from anonkit.drafting.profiling import ColumnProfile, Undeclared, judge_undeclared
from anonkit.engines.local.left_join import JoinCounts, KeyedRows, LeftJoin
from anonkit.engines.reading.settled_tables import declared_table
from anonkit.engines.snapshots.dispatch import Snapshot
from anonkit.errors import PolicyError, SourceError, did_you_mean
from anonkit.pipeline.several_tables import JoinedTable, Orphans, SeveralTables, date_column
from anonkit.policy.column_declarations import Column
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine, Source
from anonkit.redaction import source_names


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenedTable:
    """One of the tables, opened."""

    rows: Source
    columns: Mapping[str, str]
    """Name in the flat view of every column that is no key, by its own name; in order."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FlatView:
    """The joined rows that are released in place of a table, and the facts of the join for the owner."""

    path: Path
    """The private file."""
    names: tuple[str, str]
    """Default name of the dataset, and of the files, for the owner."""
    owner: Mapping[str, Any]
    """Match of the tables: exact counts of the source, for the owner alone."""
    tables: Sequence[OpenedTable]
    reading_notes: Sequence[str] = ()
    """Notes for the owner on how the files were read."""
    grouped: Sequence[str] | None = ()
    """Columns of text files in which a point may separate thousands; None where numbers have a decimal comma."""

    def judged(self, unknown: Sequence[str], engine: Engine) -> Undeclared:
        """Judge columns that nobody declared, each in its own table: a name in ten visits is no less a name.

        Parameters
        ----------
        unknown : sequence of str
            Names in the view.
        """
        taken: dict[str, ColumnProfile] = {}
        profiles: dict[str, ColumnProfile] = {}
        nearly = []
        for opened in self.tables:
            if names := [name for name, flat in opened.columns.items() if flat in unknown]:
                judged = judge_undeclared(opened.rows, names, engine)
                for name, profile in judged.profiles.items():
                    profiles[opened.columns[name]] = replace(profile, name=opened.columns[name])
                taken.update((flat, profiles[flat]) for flat in map(opened.columns.__getitem__, judged.taken))
                nearly += [opened.columns[name] for name in judged.nearly_unique]
        return Undeclared(taken=taken, nearly_unique=tuple(nearly), profiles=profiles)


def flat_view(tables: SeveralTables, policy: Policy, engine: Engine, private: PrivateFolder) -> FlatView:
    """Read several tables, each once, and join them into one view.

    Parameters
    ----------
    policy : Policy
        That of the flat view (`SeveralTables.declared`).
    private : PrivateFolder
        Folder of the view, and of the copies of tables that may change; its maker closes it in the end.

    Raises
    ------
    SourceError
        A table cannot be read, a key is none of its columns, or the names of two columns of the view would be the same.
    PolicyError
        Two people have one key, or rows belong to nobody, where no differential privacy is promised.

    Privacy
    -------
    The view holds raw rows in a folder of mode 0700. Under differential privacy (`Policy.cell_by_cell`) nothing of the
    keys decides between a release and a refusal: rows of one key are one person's, however many they are in the table
    of people, and rows that belong to nobody are left out.
    """
    folder, both = Path(tempfile.mkdtemp(dir=private.path)), (tables.people, tables.visits)
    snapshots = [Snapshot(source=table.source, private=PrivateFolder(folder)) for table in both]
    rows = [
        stays.scan(engine, table.reading_policy(policy, [other.name for other in both if other is not table]))
        for table, stays in zip(both, snapshots, strict=True)
    ]
    opened = _named(tables, rows)
    relative = _relative(tables, policy, opened)
    dates, unread = _days(opened[1].rows, {name: policy.columns[flat] for name, flat in relative.items()}, engine)
    opened[1] = replace(opened[1], rows=dates)
    paths = (folder / "people.parquet", folder / "visits.parquet")
    for table, one, path in zip(both, opened, paths, strict=True):
        keyed = KeyedRows.of(one.rows.schema, table.key, list(one.columns))
        carried = engine.map_batches(one.rows, keyed, keyed.schema, same_rows=True)
        engine.write(carried, path, metadata={}, randomness=None)
    for stays in snapshots:
        stays.refuse_changed()
    spill = folder / "spill"
    spill.mkdir(mode=0o700)
    join = LeftJoin(first=paths[0], second=paths[1], folder=spill)
    counts = join.counts()
    if not policy.cell_by_cell:
        _refuse_unfit(tables, counts)
    fields = [pa.field(tables.unit, pa.string())]
    for one in opened:
        fields += [pa.field(flat, _plain(one.rows.schema.field(name).type)) for name, flat in one.columns.items()]
    view = folder / "view.parquet"
    since = [at for at, name in enumerate(opened[1].columns) if name in relative]
    join.write(view, pa.schema(fields), len(opened[0].columns), since_first=since)
    for path in paths:
        path.unlink()
    named = [source_names(table.source) for table in both]
    return FlatView(
        path=view,
        names=(named[0][0], f"{named[0][1]} with {named[1][1]}"),
        owner={"joined_tables": counts.to_dict(), **({"dates_not_as_declared": unread} if unread else {})},
        tables=opened,
        reading_notes=[note for stays in snapshots for note in stays.notes],
        grouped=_grouped(snapshots, opened, policy),
    )


def _relative(tables: SeveralTables, policy: Policy, opened: Sequence[OpenedTable]) -> dict[str, str]:
    """Return the columns of the second table that become days since the first one, by their own names.

    Raises
    ------
    PolicyError
        Dates of the table of people shall become such.
    """
    of_people = [name for name in opened[0].columns.values() if name in policy.relative]
    if of_people:
        raise PolicyError(
            f"column {of_people[0]!r}: [tables.{tables.people.name}] has one row a person, and nothing since the first",
            f"relative = true is for dates of [tables.{tables.visits.name}]",
        )
    return {name: flat for name, flat in opened[1].columns.items() if flat in policy.relative}


def _days(rows: Source, columns: Mapping[str, Column], engine: Engine) -> tuple[Source, Any]:
    """Return rows with dates as numbers of days, and how many cells were none.

    Raises
    ------
    PolicyError, GuaranteeError
        More cells are no dates than the policy accepts.
    """
    if not columns:
        return rows, {}
    policy = Policy(columns={name: date_column(name, column) for name, column in columns.items()})
    dates, counted = declared_table(rows, policy, engine)
    fields = [pa.field(field.name, pa.int64()) if field.name in columns else field for field in dates.schema]
    days = DayNumbers(frozenset(columns), pa.schema(fields))
    return engine.map_batches(dates, days, days.schema, same_rows=True), counted.get("cells_not_as_declared")


@dataclass(frozen=True)
class DayNumbers:
    """Batch function that returns dates and moments as numbers of days."""

    names: frozenset[str]
    schema: pa.Schema

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows; moments count by their day."""
        arrays = [
            array.cast(pa.date32(), safe=False).cast(pa.int32()).cast(pa.int64()) if name in self.names else array
            for name, array in zip(batch.schema.names, batch.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _grouped(snapshots: Sequence[Snapshot], opened: Sequence[OpenedTable], policy: Policy) -> list[str] | None:
    """Return, by their names in the view, the columns in which a point may part thousands."""
    found = [stays.grouped_by(policy) for stays in snapshots]
    if None in found:
        return None
    return [
        one.columns[name]
        for one, names in zip(opened, found, strict=True)
        for name in names or ()
        if name in one.columns
    ]


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type in the view: categories become strings."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _named(tables: SeveralTables, rows: Sequence[Source]) -> list[OpenedTable]:
    """Return the tables with the names of their columns in the flat view: a name of both gets its table's before it."""
    both = (tables.people, tables.visits)
    own = [_columns(table, source.schema.names) for table, source in zip(both, rows, strict=True)]
    twice = {*own[0]} & {*own[1]} | {tables.unit}
    opened = []
    for table, source, names in zip(both, rows, own, strict=True):
        flat = {name: f"{table.name}.{name}" if name in twice else name for name in names}
        opened.append(OpenedTable(rows=source, columns=flat))
    listed = [tables.unit, *opened[0].columns.values(), *opened[1].columns.values()]
    if len(set(listed)) != len(listed):
        name = next(name for name in listed if listed.count(name) > 1)
        raise SourceError(f"two columns of the joined tables would be called {name!r}", "rename one of them")
    return opened


def _columns(table: JoinedTable, names: Sequence[str]) -> list[str]:
    """Return the columns of a table that are no key."""
    for key in table.key:
        if key not in names:
            raise SourceError(f"key {key!r} is no column of [tables.{table.name}]", did_you_mean(key, names))
    return [name for name in names if name not in table.key]


def _refuse_unfit(tables: SeveralTables, counts: JoinCounts) -> None:
    """Refuse keys that do not match; counts may be shown, since no differential privacy is promised."""
    people, visits = tables.people, tables.visits
    if counts.repeated_keys:
        raise PolicyError(
            f"[tables.{people.name}] has {counts.repeated_keys:,} rows whose key an earlier row has",
            "one row a person: whose rows would the visits of two be?",
        )
    lost = counts.orphans + counts.second_without_key
    if lost and tables.orphans is Orphans.REFUSE:
        raise PolicyError(
            f"[tables.{visits.name}] has {counts.orphans:,} rows whose key is not in [tables.{people.name}], and "
            f"{counts.second_without_key:,} without a key",
            'orphans = "drop" leaves them out',
        )
