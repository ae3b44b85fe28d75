# SPDX-License-Identifier: Apache-2.0
"""Several tables in a recipe: a table of people and one of their visits, which are released as one flat view.

The declaration is here, and what it makes of a policy; `flat_view` reads and joins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from anonkit.engines.snapshots.addresses import STANDARD_INPUT, ReadAs, source_at
from anonkit.errors import ParameterError, PolicyError, did_you_mean
from anonkit.pipeline.request_form import ReleaseRequest
from anonkit.pipeline.simulated_source import SimulatedSource
from anonkit.policy.column_declarations import Column, ColumnType, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.person_candidates import SURROGATE, PersonRows
from anonkit.policy.side_files import expect, member, optional_text, refuse_unknown, texts

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
