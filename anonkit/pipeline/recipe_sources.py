# SPDX-License-Identifier: Apache-2.0
"""Sources that a recipe declares: a simulated table, or a table of people and one of their visits.

`simulate = { … }` names a simulated table, which is drawn at its first use.

Two tables are released as one flat view: what they make of a policy, how they are read, and their join. Every person is
there: with one row for each visit, or one row with missing cells. Both tables are read by the engine row by row; the
join is out of core, on the machine that makes the release, in a private file that is deleted at the end of the release.
"""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.bundle.private_files import PrivateFolder
from anonkit.datasets import (
    bank_customers,
    bank_customers_policy,
    bank_customers_policy_toml,
    simulated_table,
    simulation,
)
from anonkit.drafting.profiling import ColumnProfile, Undeclared, judge_undeclared
from anonkit.engines.local.left_join import JoinCounts, KeyedRows, LeftJoin
from anonkit.engines.reading.declared_tables import declared_table
from anonkit.engines.snapshots.addresses import STANDARD_INPUT, ReadAs, source_at
from anonkit.engines.snapshots.dispatch import Snapshot
from anonkit.errors import ParameterError, PolicyError, SourceError, did_you_mean
from anonkit.pipeline.request_form import ReleaseRequest
from anonkit.policy.column_declarations import Column, ColumnType, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.person_candidates import SURROGATE, PersonRows
from anonkit.policy.side_files import expect, member, optional_text, refuse_unknown, texts
from anonkit.protocols import Engine, Source
from anonkit.redaction import source_names

_CUSTOMER_KEYS = ("rows", "seed")
_SIMULATION_KEYS = ("table", "people", "seed")


@dataclass(frozen=True, kw_only=True)
class SimulatedSource:
    """A simulated table in place of a source."""

    table: str | None
    """Its name; None: bank customers without their numbers."""
    people: int
    seed: int

    @classmethod
    def from_toml(cls, where: str, raw: object, *, named: bool = False) -> SimulatedSource:
        """Read a recipe's entry: `{ table, people, seed }`, or `{ rows, seed }` of bank customers unless `named`.

        Raises
        ------
        PolicyError
            It is no table, has a key that is not known, or one that is no integer.
        ParameterError
            No such table is simulated.
        """
        words: Mapping[str, object] = expect(where, "simulate", raw, dict)
        named = named or bool({"table", "people"} & set(words))
        refuse_unknown(f"{where}, simulate", words, _SIMULATION_KEYS if named else _CUSTOMER_KEYS)
        people = words.get("people", 1_000) if named else words.get("rows", 5_000)
        seed = words.get("seed", 0)
        if type(people) is not int or type(seed) is not int:
            raise PolicyError(
                f"{where}: simulate needs whole numbers", 'simulate = { table = "patients", people = 1000, seed = 1 }'
            )
        name = words.get("table", "") if named else None
        if name is not None:
            simulation(str(name))
        return cls(table=None if name is None else str(name), people=people, seed=seed)

    def draw(self) -> pa.Table:
        """Return its rows."""
        if self.table is None:
            return bank_customers(self.people, self.seed)
        return simulated_table(self.table, self.people, self.seed)

    def policy(self) -> Policy:
        """Return the policy that declares it, or one that says nothing where it has none of its own."""
        if self.table is None:
            return bank_customers_policy()
        declared = simulation(self.table).policy
        return Policy() if declared is None else Policy.from_dict(tomllib.loads(declared()))


def customers_to_show(rows: int) -> tuple[pa.Table, str]:
    """Return simulated bank customers with their numbers, as files hold them, and the policy in TOML."""
    customers = bank_customers(rows, customer_id=True)
    texts = [
        column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in customers.columns
    ]
    return pa.table(texts, names=customers.column_names), bank_customers_policy_toml(customer_id=Role.IDENTIFIER)


COVERED = ("mondrian", "rfka", "dp-nb", "dp-forest", "dp-marginals", "dp-tables")
"""Methods that release several tables."""
_KEYS = ("source", "simulate", "key", "of", "orphans", SURROGATE, *ReadAs.__annotations__)
_BOUNDED = ("dp-nb", "dp-forest", "dp-marginals", "dp-tables")
_MOST = "rows_per_unit"
"""Parameter of these methods that bounds what one person contributes: epsilon is divided by it."""


class Orphans(StrEnum):
    """The rule for rows whose key no person has, or that have no key."""

    REFUSE = "refuse"
    """The tables are refused; not under differential privacy, where a refusal would disclose a row."""
    DROP = "drop"
    """They are left out; only the owner gets their number."""


def date_column(name: str, column: Column) -> Column:
    """Return a column of days since the first row as the dates that its table has."""
    calendar = column.relative
    kind = None if calendar is None else ColumnType(str(calendar.kind))
    return Column(name=name, type=kind, calendar=calendar, missing=column.missing, accept_outside=column.accept_outside)


@dataclass(frozen=True, kw_only=True)
class JoinedTable:
    """One of the tables, as the recipe declares it."""

    name: str
    source: object
    """A path, or a table in memory."""
    key: tuple[str, ...]
    """Columns by which its rows belong to people, in the order of the other table's."""

    def reading_policy(self, policy: Policy, others: Sequence[str]) -> Policy:
        """Return the policy by which this table is read: its own columns under their own names, keys as strings.

        Parameters
        ----------
        policy : Policy
            For the flat view, where a column of two tables has the name of its table before its own.
        others : sequence of str
            Names of the other tables.
        """
        columns: dict[str, Column] = {}
        for name, column in policy.columns.items():
            owner, dot, short = name.partition(".")
            if dot and owner in others:
                continue
            own = short if dot and owner == self.name else name
            columns[own] = replace(column, name=own) if column.relative is None else date_column(own, column)
        keys = {name: Column(name=name, role=Role.IDENTIFIER, type=ColumnType.TEXT) for name in self.key}
        return replace(policy, columns={**columns, **keys}, optional=frozenset({*columns, *keys}))


@dataclass(frozen=True, kw_only=True)
class SeveralTables:
    """A table with one row a person, and one with any number of rows of each person.

    Privacy
    -------
    The key identifies the person of a row: it is the unit of privacy, and neither it nor anything made of it is
    released.
    """

    people: JoinedTable
    visits: JoinedTable
    orphans: Orphans = Orphans.REFUSE
    surrogate: bool = False
    """True: the rows of one person show one random number of the release."""

    @property
    def sources(self) -> tuple[object, ...]:
        """Sources of the tables."""
        return self.people.source, self.visits.source

    @property
    def unit(self) -> str:
        """Name of the unit column of the flat view, as in reports: the columns of the people's key."""
        return "+".join(self.people.key)

    @classmethod
    def from_dict(cls, raw: object, folder: Path, where: str) -> SeveralTables:
        """Read the `[tables]` of a recipe.

        Raises
        ------
        PolicyError
            A key is not known or lacks, or the tables are not one of people and one that refers to it.
        """
        tables = expect(where, "tables", raw, dict)
        entries = {name: expect(f"{where}, [tables]", name, entry, dict) for name, entry in tables.items()}
        for name, entry in entries.items():
            refuse_unknown(f"{where}, [tables.{name}]", entry, _KEYS)
        roots = [name for name, entry in entries.items() if "of" not in entry]
        children = [name for name in entries if name not in roots]
        if len(roots) != 1 or not children:
            raise PolicyError(
                f"{where}: [tables] needs one table of people, and one whose rows belong to them",
                f'of = "{roots[0] if roots else "people"}" in the table that has several rows of a person',
            )
        if len(children) > 1:
            raise PolicyError(
                f"{where}: [tables] has {len(children)} tables of rows that belong to people, one can be joined",
                "two would make a row of every pair of their rows: release them one by one, or join them beforehand",
            )
        ((root,), (child,)) = roots, children
        if "orphans" in entries[root]:
            raise PolicyError(f"{where}, [tables.{root}]: orphans is for the table that has `of`", f"[tables.{child}]")
        if SURROGATE in entries[child]:
            raise PolicyError(f"{where}, [tables.{child}]: surrogate is for the table of people", f"[tables.{root}]")
        of = optional_text(f"{where}, [tables.{child}]", "of", entries[child])
        if of != root:
            raise PolicyError(f"{where}, [tables.{child}]: of names no table of people", did_you_mean(str(of), [root]))
        read = [_table(name, entries[name], folder, f"{where}, [tables.{name}]") for name in (root, child)]
        if all(entries[name].get("source") == STANDARD_INPUT for name in (root, child)):
            raise PolicyError(f"{where}: standard input is one table", "name a file for the other")
        if len(read[0].key) != len(read[1].key):
            raise PolicyError(f"{where}: the keys of {root!r} and {child!r} have different numbers of columns")
        orphans = entries[child].get("orphans", Orphans.REFUSE)
        return cls(
            people=read[0],
            visits=read[1],
            orphans=member(Orphans, f"{where}, [tables.{child}]", "orphans", orphans),
            surrogate=expect(f"{where}, [tables.{root}]", SURROGATE, entries[root].get(SURROGATE, False), bool),
        )

    def declared(self, policy: Policy, rows: PersonRows) -> Policy:
        """Return the policy of the flat view: the key is the unit, whatever else is declared stays.

        Raises
        ------
        PolicyError
            The policy has another unit, or gives a column of a key another role; or rows of a person shall be linked of
            which one alone is taken to be known.
        """
        if policy.unit not in (None, self.unit):
            raise PolicyError(
                f"column {policy.unit!r} is the unit, and so is the key of [tables.{self.people.name}]",
                f"leave its role out: {self.unit!r} says whose a row is",
            )
        for name in {*self.people.key, self.unit}:
            column = policy.columns.get(name)
            if column is not None and column.role_given and column.role not in (Role.UNIT, Role.IDENTIFIER):
                raise PolicyError(
                    f"column {name!r} is a key, which is never released", "leave it out of the policy, or copy it"
                )
        columns = {name: column for name, column in policy.columns.items() if name not in self.people.key}
        unit = Column(name=self.unit, role=Role.UNIT)
        if self.surrogate and not rows.whole_set:
            raise PolicyError(
                f"[tables.{self.people.name}]: a surrogate links the rows of a person: k has to hold for all of them",
                "whole_person = true, or leave surrogate out",
            )
        rows = replace(rows, surrogate=self.surrogate)
        return replace(policy, columns={self.unit: unit, **columns}, person_rows=rows)

    def refuse_uncovered(self, request: ReleaseRequest) -> None:
        """Refuse what cannot be promised for several tables, before any of them is read.

        Raises
        ------
        ParameterError
            Domains shall be read from the tables.
        PolicyError
            Rows without a person would be refused under differential privacy, or rows of people linked.
        """
        declared = request.declared()
        if declared.relative and declared.cell_by_cell:
            raise PolicyError(
                f"column {declared.relative[0]!r}: days since a person's first row are for k-anonymous methods",
                "declare bounds of the dates, without relative",
            )
        if self.surrogate and declared.cell_by_cell:
            raise PolicyError(
                f"[tables.{self.people.name}]: no row of a release with an epsilon is that of a person",
                "leave surrogate out, or take a k-anonymous method",
            )
        if request.domains_min_people is not None:
            raise ParameterError(
                "domains_from_data is for one table", "declare the domains of the columns of both in the policy"
            )
        if self.orphans is Orphans.REFUSE and request.declared().cell_by_cell:
            raise PolicyError(
                f"[tables.{self.visits.name}]: rows without a person cannot be refused under differential privacy",
                'orphans = "drop": a refusal would tell that there is such a row',
            )


def bounded(method: str, parameters: Mapping[str, Any], rows: PersonRows) -> dict[str, Any]:
    """Return the parameters of a method with the most rows of a person that it counts.

    Raises
    ------
    ParameterError
        The method is not covered; the bound is missing where epsilon depends on it, or is given twice.
    """
    if method not in COVERED:
        raise ParameterError(f"method {method!r} does not release several tables", f"covered: {', '.join(COVERED)}")
    if method not in _BOUNDED:
        return dict(parameters)
    if rows.most is None:
        raise ParameterError(
            f"method {method!r} needs rows_per_person with [tables]",
            "rows_per_person = 3 uses at most three rows of a person, drawn at random; each costs as much of epsilon",
        )
    if parameters.get(_MOST, rows.most) != rows.most:
        raise ParameterError("rows_per_unit and rows_per_person are two numbers", "leave rows_per_unit out")
    return {**parameters, _MOST: rows.most}


def _table(name: str, entry: Mapping[str, Any], folder: Path, where: str) -> JoinedTable:
    if "." in name:
        raise PolicyError(f"{where}: the name of a table must have no dot")
    if ("source" in entry) == ("simulate" in entry):
        raise PolicyError(f"{where} needs either source or simulate", f'source = "{name}.csv"')
    if "key" not in entry:
        raise PolicyError(f"{where} needs a key", 'key = "person_id", or ["hospital", "number"]')
    given = entry["key"]
    key = tuple(texts(where, "key", [given] if isinstance(given, str) else given))
    if not key or len(set(key)) != len(key):
        raise PolicyError(f"{where}: key must name different columns, one at least")
    if "simulate" in entry:
        refuse_unknown(where, entry, ("simulate", "key", "of", "orphans", SURROGATE))
        simulated = SimulatedSource.from_toml(where, entry["simulate"], named=True)
        return JoinedTable(name=name, source=simulated.draw(), key=key)
    place = optional_text(where, "source", entry)
    how = {word: optional_text(where, word, entry) for word in ("query", "sheet", "format", "decimal", "delimiter")}
    how.update({word: entry.get(word) for word in ("header_row", "header", "names", "skip_rows")})
    return JoinedTable(name=name, source=source_at(place, in_folder=folder, **how), key=key)


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
