# SPDX-License-Identifier: Apache-2.0
"""Disclosure risk of a stored table: class sizes, l, t and the risks that follow, counted in SQL.

The methods count with arrays of codes; this module counts the released cells with DuckDB and shares nothing with them,
so that a mistake in one is seen by the other. A missing quasi-identifier is a value like any other; a missing sensitive
cell is one where that is declared.

On a draft that still has the columns, it also counts people with identical sets of rows, and the different values in
every class of what may be the person. The rows of every person are listed by class and compared as lists. Once these
columns have gone, nobody can repeat the count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.checks.class_counts import (
    ColumnValues,
    CountedValues,
    Domain,
    DomainOfValues,
    FactsOfValues,
    PeopleOfClasses,
    PeopleOfValues,
    RowsInUniformClasses,
    RowsOfValues,
    ValuesOfClasses,
    WorstClass,
    published_figures,
)
from anonkit.checks.class_relation import ClassMeasure, ClassRelation, ColumnMeasure, DealtClasses, classes_of, table_of
from anonkit.checks.clear_parts import ClearParts, KnownBeside, KnownOfColumn, clear_measures, clear_parts
from anonkit.checks.counted_as import ReadValues
from anonkit.checks.diversity import UniformClasses, uniform_shares
from anonkit.checks.people import Counts, PeopleCounts, ValueHolders, class_check, value_check
from anonkit.checks.table_scans import combined, scanned
from anonkit.checks.value_confidence import CodingOfValues, ColumnConfidence, ConfidenceOfClasses, ListedValues
from anonkit.promises.guarantee import Check

_DEFAULT_READING = ReadValues()


@dataclass(frozen=True, kw_only=True)
class Disclosure:
    """The result of a recount of a table."""

    rows: int
    classes: int
    k: int
    """Rows in the smallest equivalence class; 0 for an empty table."""
    people: int | None
    """People in the class with the fewest, when people are counted."""
    class_sizes: tuple[tuple[int, int], ...]
    """(rows in the class, number of such classes), ascending."""
    people_sizes: tuple[tuple[int, int], ...] | None = None
    """(people in the class, number of such classes), ascending, when people are counted."""
    sensitive: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Per sensitive attribute: l, entropy_l, t, alpha, beta, recursive_c_<l>: the worst class counts.

    With caps also `confidence` and `confidence_cap`, of the value that is most above its cap; and `strange`, the widths
    and caps that do not follow by the rule.
    """
    uniform: UniformClasses | None = None
    """Records in classes of one target value; None where no target was named."""
    clear: ClearParts | None = None
    """Rows that are alike when target and insensitive columns are known too."""
    by_value: Mapping[str, ColumnConfidence] = field(default_factory=dict)
    """Confidence of each value of the target and of sensitive columns within the classes."""
    counts: PeopleCounts | None = field(default=None, compare=False)
    """The people by class and value, when people are counted."""
    checks: tuple[Check, ...] = field(default=(), compare=False)
    """Checks whether the table can have the stated people."""
    candidates: Mapping[tuple[str, ...], int] = field(default_factory=dict, compare=False)
    """Fewest different values in a class of what may be the person, where these could still be counted."""
    keys: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    """Rows of the rarest combination that is shown of the columns of each key with a k of its own."""
    alike: int | None = field(default=None, compare=False)
    """Fewest people with one whole set of rows, where that was counted; nobody can without the unit column."""

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """(size of the class, number of such classes), ascending: people where people are counted, else rows."""
        return self.class_sizes if self.people_sizes is None else self.people_sizes

    def to_dict(self, threshold: float) -> dict[str, Any]:
        """Return the report's `disclosure_risk` block; records above `threshold` are at risk.

        The release is taken as the population (no outside table), so journalist risk equals prosecutor risk:
        an upper bound. Where people are counted a record is a person in a class: one with rows in two classes is two.
        """
        records = sum(size * classes for size, classes in self.sizes)
        mean = self.classes / records if records else 0.0
        highest = 1 / self.sizes[0][0] if records and self.sizes[0][0] else 0.0
        at_risk = sum(n * c for n, c in self.sizes if n and 1 / n > threshold) / records if records else 0.0
        attacker = {"max": highest, "mean": mean, "share_at_risk": at_risk, "risk_threshold": threshold}
        return {
            "basis": "sample_upper_bound",
            "counted": "rows" if self.people_sizes is None else "people",
            "prosecutor": attacker,
            "journalist": dict(attacker),
            "marketer": {"success_rate": mean},
            "uniques": sum(c for n, c in self.sizes if n == 1),
            "class_sizes": [{"size": n, "classes": c, "records": n * c} for n, c in self.sizes],
            "classes": self.classes,
            "k_anonymity": {"k": self.k, "people": self.people},
            "l_diversity": {
                name: {
                    **{
                        key: figures[key]
                        for key in ("l", "entropy_l", *(k for k in figures if k.startswith("recursive_c_")))
                    },
                    **({"share_of_one_value": self.by_value[name].of_one_value} if name in self.by_value else {}),
                }
                for name, figures in self.sensitive.items()
            },
            "t_closeness": {
                name: {"t": figures["t"], "alpha": figures["alpha"]} for name, figures in self.sensitive.items()
            },
            **({} if self.uniform is None else {"uniform_classes": self.uniform.to_dict()}),
            **({} if self.clear is None else {"with_clear_columns": self.clear.to_dict()}),
            **(
                {"by_value": {name: [each.to_dict() for each in own.values] for name, own in self.by_value.items()}}
                if self.by_value
                else {}
            ),
        }


def measure(
    table: str | Path | pa.Table,
    quasi_identifiers: Sequence[str],
    *,
    sensitive: Sequence[str] = (),
    missing_is_value: Sequence[str] = (),
    unit: str | None = None,
    people: PeopleCounts | None = None,
    recursive: Sequence[int] = (2, 3),
    target: str | None = None,
    listed: Sequence[str] = (),
    beside: KnownBeside | None = None,
    reading: ReadValues = _DEFAULT_READING,
) -> Disclosure:
    """Recount a table.

    Parameters
    ----------
    table : path, or Arrow table
        Parquet file or folder, CSV, TSV or JSON Lines (also compressed) as DuckDB reads them.
    quasi_identifiers : sequence of str
        Columns that make up the equivalence classes; none means that all rows are one class.
    sensitive : sequence of str
        Columns whose diversity inside the classes is measured. Numbers use the ordered distance for t, other
        types the equal distance (Li et al. 2007). A quasi-identifier may be listed; it is constant in each class.
    missing_is_value : sequence of str
        Sensitive columns in which a missing cell is a value like any other. In all others it is none: shares and
        distances are of those who have a value, and a class in which nobody has one has no diversity.
    unit : str, optional
        Column whose distinct values are people; everything is then counted in people. Rows without one are nobody's.
    people : PeopleCounts, optional
        The people of a table whose unit column is gone, as published: `Disclosure.checks` has whether the table
        can have them.
    recursive : sequence of int
        Values of l for which the smallest c of recursive (c, l)-diversity is measured.
    target : str, optional
        Column whose value is compared within each class: `Disclosure.uniform`, in rows also where people are counted.
    listed : sequence of str
        Columns whose values are looked at one by one, in people where they are counted: `Disclosure.by_value`.
    beside : KnownBeside, optional
        What may be known beside the quasi-identifiers: `Disclosure.clear`.
    reading : ReadValues
        What counts as a value of the sensitive columns and those `listed`; by default what the published list says,
        widths from the table.
    """
    reading = reading.reading(sensitive)
    by_people = unit is not None or people is not None
    valued = tuple(dict.fromkeys((*sensitive, *(listed if by_people else ()))))
    clear = () if beside is None else (*beside.sensitive, *(() if beside.target is None else (beside.target,)))
    looked = tuple(dict.fromkeys((*valued, *(() if target is None else (target,)), *listed, *clear)))
    further = (*(() if unit is None else (unit,)), *(() if beside is None else beside.columns))
    with classes_of(table, quasi_identifiers, (*looked, *further)) as classes:
        records = int(classes.rows.sum())
        values = {
            name: ColumnValues(column=name, reading=reading, missing_is_value=name in missing_is_value)
            for name in dict.fromkeys((*valued, *listed))
        }
        wanted: dict[tuple[str, str], ColumnMeasure] = {}
        for name in looked:
            if name in listed:
                wanted["coding", name] = CodingOfValues(values=values[name], by_people=by_people)
            if name in valued and by_people:
                wanted["domain", name] = DomainOfValues(values=values[name])
            elif name in valued:
                wanted["facts", name] = FactsOfValues(values=values[name], records=records)
            if name == target:
                wanted["rows", name] = RowsOfValues(column=name, reading=reading)
            if beside is not None and name in clear:
                wanted["known", name] = KnownOfColumn(column=name, beside=beside)
        of_columns = dict(zip(wanted, classes.of_columns(list(wanted.values())), strict=True))
        known = {name: fact for (kind, name), fact in of_columns.items() if kind == "known"}
        parts = [] if beside is None else clear_measures(beside, known, unit)
        if by_people:
            domains = [of_columns["domain", name] for name in valued]
            codes = {name: of_columns["coding", name] for name in listed}
            found = _by_people(classes, domains, sensitive, codes, unit, people, recursive)
        else:
            worst = [WorstClass(values=values[name], records=records, recursive=tuple(recursive)) for name in valued]
            figures = {
                each.values.column: each.published(of, of_columns["facts", each.values.column])
                for each, of in zip(worst, classes.each(worst), strict=True)
            }
            found = {"sensitive": figures, "by_value": {}}
        uniform = [] if target is None else [RowsInUniformClasses(column=target, reading=reading)]
        by_rows = [
            ConfidenceOfClasses(name=name, coding=of_columns["coding", name].coding)
            for name in listed
            if name not in found["by_value"]
        ]
        results = classes.each([*uniform, *by_rows, *parts])
        rows = classes.rows
        for each in uniform:
            found["uniform"] = uniform_shares(each.column, rows, sum(next(results)), of_columns["rows", each.column])
        for column in by_rows:
            found["by_value"][column.name] = column.published(next(results), records)
        if beside is not None:
            found["clear"] = clear_parts(parts, list(results), beside.k)
    return _with_people(_disclosure(rows, **found), people)


def rarest_of_keys(
    table: str | Path | pa.Table, keys: Iterable[tuple[str, ...]], released: Sequence[str]
) -> dict[tuple[str, ...], int]:
    """Return the rows of the rarest combination of the columns of each key; those not released disclose nothing.

    Parameters
    ----------
    keys : iterable of tuple of str
        Columns of each.
    released : sequence of str
        Columns of the table.
    """
    return {key: measure(table, [name for name in key if name in released]).k for key in keys}


def _with_people(found: Disclosure, people: PeopleCounts | None) -> Disclosure:
    """Return the result with the people of parts of the classes: as published, or as they are to be published."""
    if found.clear is None or found.counts is None:
        return found
    if people is None:
        return replace(found, counts=replace(found.counts, parts=found.clear.of_people))
    clear, check = found.clear.with_published_people(people.parts, int(people.classes.sum()))
    return replace(found, clear=clear, checks=(*found.checks, check))


def _by_people(
    classes: ClassRelation,
    domains: Sequence[Domain],
    sensitive: Sequence[str],
    listed: Mapping[str, ListedValues],
    unit: str | None,
    people: PeopleCounts | None,
    recursive: Sequence[int],
) -> dict[str, Any]:
    """Return the figures of every class and of every value in it, from rows and people.

    Parameters
    ----------
    domains : sequence of Domain
        Of sensitive columns, and of those whose values are looked at one by one, each counted before the next one is.
    """
    rows, checks, everybody = classes.rows, [], classes.rows
    counted = classes.each([ValuesOfClasses(values=domain.of, unit=unit) for domain in domains])
    of_values: list[tuple[Counts, int]] = []
    if people is not None:
        checks.append(class_check(people, rows))
        everybody = people.classes if checks[0].passed else rows
    else:
        assert unit is not None  # noqa: S101 - people are published, or counted here
        (groups,) = classes.each([PeopleOfClasses(unit=unit)])
        everybody = np.concatenate([np.zeros(0, dtype=np.int64), *groups])
        persons = PeopleOfValues(values=tuple(domain.of for domain in domains), unit=unit)
        of_values = persons.published(classes.each_person(persons, unit), domains) if domains else []
    diversity: dict[str, dict[str, float]] = {}
    holders: dict[str, ValueHolders] = {}
    by_value: dict[str, ColumnConfidence] = {}
    for at, (domain, groups) in enumerate(zip(domains, counted, strict=True)):
        own, name, whose = CountedValues.joined(groups, domain), domain.name, None
        if people is not None:
            checks.append(value_check(people, name, own.rows()))
            if checks[0].passed and checks[-1].passed:
                holders[name] = people.sensitive[name]
        else:
            holders[name] = own.published_holders(everybody, domain, *of_values[at])
        if name in holders:
            whose = (holders[name], everybody)
        if name in sensitive:
            as_counted = domain.counted(int(rows.sum()), whose)
            worst = own.worst(domain, as_counted, recursive, whose)
            diversity[name] = published_figures([worst] if rows.size else [], as_counted.strange)
        if name in holders and name in listed:
            by_value[name] = listed[name].confidence(own.rows(), everybody, holders[name])
    return {
        "everybody": everybody,
        "sensitive": diversity,
        "by_value": by_value,
        "counts": people or PeopleCounts(classes=everybody, sensitive=holders),
        "checks": tuple(checks),
    }


def _disclosure(rows: Counts, everybody: Counts | None = None, **more: Any) -> Disclosure:
    """Return the disclosure by the rows, and the people, of every class; `more` has the other fields."""
    return Disclosure(
        rows=int(rows.sum()),
        classes=rows.size,
        k=int(rows.min(initial=rows.max(initial=0))),
        people=None if everybody is None else int(everybody.min(initial=everybody.max(initial=0))),
        class_sizes=_histogram(rows),
        people_sizes=None if everybody is None else _histogram(everybody),
        **more,
    )


def _histogram(sizes: Counts) -> tuple[tuple[int, int], ...]:
    values, classes = np.unique(sizes, return_counts=True)
    return tuple(zip(values.tolist(), classes.tolist(), strict=True))


def fewest_values(table: str | Path | pa.Table, quasi_identifiers: Sequence[str], key: str) -> int:
    """Return the fewest different values of a column in a class; a missing one counts nothing, an empty table has 0.

    Parameters
    ----------
    table : path or Arrow table
        As for `anonkit.checks.disclosure.measure`.
    quasi_identifiers : sequence of str
        Columns that make up the classes, missing being a value like any other; with none, all rows are one class.
    key : str
        Column whose different values are counted.
    """
    with combined(table, (*quasi_identifiers, key)) as lines:
        names = [lines.column(name) for name in quasi_identifiers]
        classes = f" GROUP BY {', '.join(names)}" if names else ""
        pairs = ", ".join(dict.fromkeys([*names, lines.column(key)]))
        ((fewest,),) = lines.connection.execute(
            f"SELECT min(n) FROM (SELECT count({lines.column(key)}) AS n FROM "
            f"(SELECT DISTINCT {pairs} FROM {lines.source}){classes})"
        ).fetchall()
    return int(fewest or 0)


def fewest_alike(table: str | Path | pa.Table, quasi_identifiers: Sequence[str], unit: str) -> int:
    """Return the fewest people who have one whole set of rows; 0 for a table without rows, or with rows of nobody.

    Two people have one set when every combination of the quasi-identifiers occurs equally often in their rows. Missing
    is a value like any other.

    Parameters
    ----------
    table : path or Arrow table
        As for `anonkit.checks.disclosure.measure`.
    quasi_identifiers : sequence of str
        Columns whose combinations are counted; with none, only the numbers of rows.
    unit : str
        Column whose distinct values are people.
    """
    with classes_of(table, quasi_identifiers, (unit,)) as classes:
        found = pa.concat_tables([_SETS.empty_table(), *classes.each_person(WholeSets(unit=unit), unit)])
    with scanned(found) as (connection, source):
        (fewest, nobodys) = connection.execute(
            "SELECT min(people), coalesce(sum(nobodys), 0) FROM (SELECT sum(people) AS people, sum(nobodys) AS nobodys "
            f"FROM {source} GROUP BY rows)"
        ).fetchall()[0]
    return 0 if nobodys or fewest is None else int(fewest)


_SETS = pa.schema([("rows", pa.string()), ("people", pa.int64()), ("nobodys", pa.int64())])


@dataclass(frozen=True, kw_only=True)
class WholeSets(ClassMeasure):
    """Lists the whole set of rows of each of some people."""

    unit: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Column that it looks at."""
        return (self.unit,)

    def __call__(self, people: DealtClasses) -> pa.Table:
        """Return the sets, `rows` as a string: how many `people` have each, and how many of them are `nobodys` rows."""
        lines = people.lines
        return table_of(
            lines.connection,
            f"WITH counted AS (SELECT {lines.column(self.unit)} AS person, class, {lines.rows()} AS n "
            f"FROM {lines.source} GROUP BY ALL), "
            "sets AS (SELECT person, string_agg(class || ' ' || n, ',' ORDER BY class) AS rows FROM counted "
            "GROUP BY person) "
            "SELECT rows, count(*)::BIGINT AS people, count(*) FILTER (person IS NULL)::BIGINT AS nobodys FROM sets "
            "GROUP BY rows",
        )
