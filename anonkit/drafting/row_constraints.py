# SPDX-License-Identifier: Apache-2.0
"""Constraints on rows: proposed from a table for a drafted policy, and counted where source rows break them.

Rules that a table seems to keep are comments of the draft: their adoption makes a claim conditional. A rule is proposed
where many people hold every value that it names, so that it discloses none of them.

Counts of the source rows that break each public rule of the policy are for the owner alone: no row is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
import pyarrow as pa

from anonkit.domains.cell_values import codes_of_cells, numbers_of_cells
from anonkit.domains.coded_columns import IntArray
from anonkit.domains.number_bins import Categories, Grid
from anonkit.domains.public_rules import PublicRules
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import NumericAttribute, public_attribute
from anonkit.protocols import COUNT, BatchCount, Engine, Source

FEWEST = 30
"""People on every value that a rule names."""
_MOST_VALUES, _MOST_COLUMNS, _MOST_RULES = 60, 40, 8
_HEAD = (
    "# Rules that every row of the table keeps. Uncomment those that everybody knows without the table, and delete",
    "# the source of each: as long as that is there, the guarantee depends on the rule being public.",
)

Values = tuple[object, ...]
Counts = tuple[Values, Values, IntArray]
"""The values of two columns, and how many rows have each two of them."""


def rule_lines(engine: Engine, source: Source, names: Sequence[str], rows_of_one: int = 1) -> list[str]:
    """Return the commented-out `[[constraints]]` of a draft.

    Parameters
    ----------
    engine, source
        The rows.
    names : sequence of str
        Columns of few values that are released; of many columns the first are looked at.
    rows_of_one : int
        Rows that a person has at most.

    Privacy
    -------
    A draft is the owner's. Of each value that a rule names at least `FEWEST` rows are there.
    """
    looked_at = list(names)[:_MOST_COLUMNS]
    pairs = list(combinations(looked_at, 2))
    tables = dict(zip(pairs, map(_table, engine.count_sets(source, pairs), pairs), strict=True)) if pairs else {}
    fewest = FEWEST * rows_of_one
    found = [*_determined(tables, fewest), *_never(tables, fewest)]
    if not found:
        return []
    return [*_HEAD, *found]


def _table(counted: pa.Table, pair: tuple[str, str]) -> Counts:
    """Return the values of two columns, and how many rows have each two of them, missing ones left out."""
    first, second = (counted.column(name).to_pylist() for name in pair)
    rows = counted.column(COUNT).to_pylist()
    known = [(a, b, n) for a, b, n in zip(first, second, rows, strict=True) if a is not None and b is not None]
    ones, others = sorted({a for a, _, _ in known}, key=str), sorted({b for _, b, _ in known}, key=str)
    if max(len(ones), len(others), 1) > _MOST_VALUES:
        return (), (), np.zeros((0, 0), dtype=np.int64)
    place_of, other_of = {a: at for at, a in enumerate(ones)}, {b: at for at, b in enumerate(others)}
    table = np.zeros((len(ones), len(others)), dtype=np.int64)
    for a, b, n in known:
        table[place_of[a], other_of[b]] += n
    return tuple(ones), tuple(others), table


def _determined(tables: Mapping[tuple[str, str], Counts], fewest: int) -> Iterator[str]:
    """Yield the rules by which one column of strings determines another one; each column follows from one at most."""
    done: set[str] = set()
    for pair in tables:
        for of, to in permutations(pair):
            ones, others, table = tables[pair] if (of, to) == pair else _turned(tables[pair])
            enough = len(others) > 1 and len(ones) >= len(others) and bool((table.sum(axis=1) >= fewest).all())
            are_names = all(isinstance(one, str) for one in ones)
            if not enough or not are_names or of in done or to in done or ((table > 0).sum(axis=1) != 1).any():
                continue
            done.add(to)
            listed = [[one, others[at]] for one, at in zip(ones, table.argmax(axis=1).tolist(), strict=True)]
            inside = (
                f"from = {_text(of)}, to = {_text(to)}, map = {json.dumps(listed, ensure_ascii=False, default=str)}"
            )
            yield from ("#", "# [[constraints]]", f"# determines = {{ {inside} }}", '# source = "data"')


def _never(tables: Mapping[tuple[str, str], Counts], fewest: int) -> Iterator[str]:
    """Yield pairs of values that no row has although many would by chance, those of which most would first."""
    found: list[tuple[float, str]] = []
    for (one, other), (ones, others, table) in tables.items():
        if not table.size or ((table > 0).sum(axis=1) == 1).all() or ((table > 0).sum(axis=0) == 1).all():
            continue  # of these the map says more
        rows, columns = table.sum(axis=1), table.sum(axis=0)
        by_chance = np.outer(rows, columns) / max(int(table.sum()), 1)
        for at, of in np.argwhere((table == 0) & (by_chance >= fewest)).tolist():
            if rows[at] >= fewest and columns[of] >= fewest:
                inside = f"{_text(one)} = {_value(ones[at])}, {_text(other)} = {_value(others[of])}"
                found.append((-float(by_chance[at, of]), inside))
    for _, inside in sorted(found)[:_MOST_RULES]:
        yield from ("#", "# [[constraints]]", f"# never = {{ {inside} }}", '# source = "data"')


def _turned(table: Counts) -> Counts:
    ones, others, counts = table
    return others, ones, counts.T


def _text(text: object) -> str:
    return json.dumps(str(text), ensure_ascii=False)


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, int | float) else _text(value)


AddUp = Callable[[BatchCount, Sequence[str], int], IntArray]


@dataclass(frozen=True, kw_only=True)
class CountBroken:
    """Counts the rows of a batch that break each rule: a function of the batch alone."""

    rules: PublicRules
    domains: Mapping[str, Categories]
    """Of the columns of categories."""
    grids: Mapping[str, Grid]
    """Of the columns of numbers that follow from others, a cell a number."""

    @property
    def names(self) -> list[str]:
        """The columns that the rules name."""
        named = [name for rule in self.rules.follows for name in (rule.of, rule.name)]
        return sorted({*named, *(name for rule in self.rules.never for name in rule.values)})

    def __call__(self, batch: pa.RecordBatch, row: int) -> IntArray:
        """Return the counts, shape (n_rules,)."""
        out = []
        for rule in self.rules.follows:
            own = self.grids.get(rule.name) or self.domains[rule.name]
            expected = rule.codes(self.domains[rule.of], own)[codes_of_cells(batch, rule.of, self.domains[rule.of])]
            out.append(int((expected != codes_of_cells(batch, rule.name, own)).sum()))
        for apart in self.rules.never:
            met = np.ones(batch.num_rows, dtype=bool)
            for name, values in apart.values.items():
                if name in self.domains:
                    met &= apart.mask(name, self.domains[name])[codes_of_cells(batch, name, self.domains[name])]
                else:
                    numbers, (low, high) = numbers_of_cells(batch, name, None), (float(end) for end in values)
                    met &= (numbers >= low) & (numbers <= high)
            out.append(int(met.sum()))
        return np.array(out, dtype=np.int64)


def broken_rules(policy: Policy, add_up: AddUp) -> dict[str, int]:
    """Return the number of source rows that break each rule, rules that no row breaks left out.

    Parameters
    ----------
    policy : Policy
    add_up : callable
        Sums the counts of the batches of the source (`Engine.add_up`, its first argument given).

    Privacy
    -------
    Exact counts of the source, covered by no promise: for the owner alone.
    """
    rules = policy.constraints
    if not rules:
        return {}
    named = [name for rule in rules.follows for name in (rule.of, rule.name)]
    attributes = {
        name: public_attribute(policy.column(name), policy.missing)
        for name in {*named, *(name for rule in rules.never for name in rule.values)}
    }
    numbers = {name: own for name, own in attributes.items() if isinstance(own, NumericAttribute)}
    grids = {
        name: own.grid(own.values.size) for name, own in numbers.items() if own.values and name in rules.determined
    }
    domains = {name: own.domain for name, own in attributes.items() if not isinstance(own, NumericAttribute)}
    count = CountBroken(rules=rules.completed({**domains, **grids}), domains=domains, grids=grids)
    counts = add_up(count, count.names, len(rules.words)).tolist()
    return {words: broken for words, broken in zip(rules.words, counts, strict=True) if broken}
