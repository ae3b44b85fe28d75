# SPDX-License-Identifier: Apache-2.0
"""Drawn rows that keep the public rules of a policy: what follows is written beside them, what cannot meet is changed.

Columns that follow from others are never counted, so that no epsilon is spent on what is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from anonkit.domains.array_types import IntArray
from anonkit.domains.attribute_domains import Categories, Grid
from anonkit.domains.public_rules import PublicRules
from anonkit.errors import ParameterError, PolicyError
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.policy.constraints import refuse_strange_constraints
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import NumericAttribute, public_attribute
from anonkit.published.kept_rules import KeptRules

Domains = Mapping[str, Categories | Grid]


@dataclass(frozen=True, kw_only=True, eq=False)
class RuledRows:
    """The rules of a policy over the domains in which rows are drawn."""

    rules: PublicRules
    determined: Domains
    """Domains of the columns that follow from others."""
    codes_of: Mapping[str, IntArray]
    """For each of them its code for each code of the column that it follows from."""
    kept: KeptRules
    label: str | None
    """The column of classes, where rows have one when they are drawn."""

    @classmethod
    def of(cls, policy: Policy, drawn: Domains, label: str | None, *, number_last: bool = False) -> RuledRows:
        """Return the rules of a policy.

        Parameters
        ----------
        policy : Policy
        drawn : mapping of str to domain
            The columns that are counted, as they are drawn.
        label : str, optional
            The target.
        number_last : bool
            True where a number to predict is drawn after all other cells: some numbers may then be of no row.

        Raises
        ------
        PolicyError
            A rule names a value that is in no domain, does not say what follows from each value, or the rules leave no
            row possible.
        """
        rules = policy.constraints
        refuse_strange_constraints(rules, policy.columns)
        determined = {name: domain_of_determined(policy, name) for name in rules.determined}
        domains = {**drawn, **determined}
        rules = rules.completed(domains)
        try:
            codes = {name: rule.codes(domains[rule.of], domains[name]) for name, rule in rules.determined.items()}
            kept = KeptRules.of(rules, domains, label)
            kept.check(of_each_class=not (number_last and label is not None and isinstance(domains[label], Grid)))
        except ParameterError as error:
            raise PolicyError(f"policy: constraints: {error.message}", error.hint or "mend the rule") from None
        return cls(rules=rules, determined=determined, codes_of=codes, kept=kept, label=label)

    def complete(self, codes: Mapping[str, IntArray], words: UniformStream) -> dict[str, IntArray]:
        """Return the codes of all columns, changed where values would meet, with those that follow from others."""
        if self.kept.masks:
            first = next(iter(codes.values()))
            classes = first * 0 if self.label is None else codes[self.label]
            codes = self.kept.kept(codes, classes, words)
        return self.with_determined(codes)

    def with_determined(self, codes: Mapping[str, IntArray]) -> dict[str, IntArray]:
        """Return the codes with those of the columns that follow from others."""
        of = self.rules.determined
        return {**codes, **{name: own[codes[of[name].of]] for name, own in self.codes_of.items()}}

    def settled(self) -> RuledRows:
        """Return the same for rows whose values do not meet any more: what follows is all that is left to write."""
        return replace(self, kept=KeptRules(masks=(), may_be={}))

    @property
    def sizes(self) -> dict[str, int]:
        """Number of values of the columns that follow from others, missing included."""
        return {name: domain.size for name, domain in self.determined.items()}

    def to_params(self) -> dict[str, Any]:
        """Return the entry of the rules for the params; empty without rules."""
        return {"constraints": self.rules.to_params()} if self.rules else {}

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of the report on the rules."""
        return tuple(f"Every row keeps the public rule: {words}." for words in self.rules.words)


def domain_of_determined(policy: Policy, name: str) -> Categories | Grid:
    """Return the domain of a column that follows from another; each of its integers is a cell of its own."""
    attribute = public_attribute(policy.column(name), policy.missing)
    if not isinstance(attribute, NumericAttribute):
        return attribute.domain
    return attribute.grid(1 if attribute.values is None else attribute.values.size)


def domains_of_rules(policy: Policy, cells: int, target_cells: int) -> dict[str, Categories | Grid]:
    """Return the domains of the columns that the rules of a policy name and do not determine.

    Parameters
    ----------
    policy : Policy
    cells, target_cells : int
        Of a column of numbers, and of a number to predict.

    Raises
    ------
    PolicyError
        One has no public domain.
    """
    rules = policy.constraints
    refuse_strange_constraints(rules, policy.columns)
    names = {rule.of for rule in rules.follows} | {name for rule in rules.never for name in rule.values}
    found: dict[str, Categories | Grid] = {}
    for name in sorted(names - rules.determined.keys()):
        attribute = public_attribute(policy.column(name), None if name == policy.target else policy.missing)
        own = target_cells if name == policy.target else cells
        found[name] = attribute.grid(own) if isinstance(attribute, NumericAttribute) else attribute.domain
    return found


def check_rules(policy: Policy, cells: int, target_cells: int, *, number_last: bool = False) -> None:
    """Refuse rules by public facts alone, before anything is drawn.

    Raises
    ------
    PolicyError
        See `domains_of_rules` and `RuledRows.of`.
    """
    if policy.constraints:
        domains = domains_of_rules(policy, cells, target_cells)
        RuledRows.of(policy, domains, policy.target if policy.target in domains else None, number_last=number_last)
