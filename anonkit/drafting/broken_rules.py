# SPDX-License-Identifier: Apache-2.0
"""Counts of the source rows that break each public rule of the policy: for the owner alone, no row is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from anonkit.domains.coded_columns import IntArray
from anonkit.domains.domain_codes import codes_of_cells, numbers_of_cells
from anonkit.domains.number_bins import Categories, Grid
from anonkit.domains.public_rules import PublicRules
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import NumericAttribute, public_attribute
from anonkit.protocols import BatchCount

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
