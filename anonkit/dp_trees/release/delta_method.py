# SPDX-License-Identifier: Apache-2.0
"""Central methods that may be given a delta: domains found privately, and the promise of epsilon and delta."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self, cast

from anonkit.domains.found_domains import FoundDomains
from anonkit.domains.public_rules import PublicRules
from anonkit.dp_trees.release.declared_schema import CentralMethod
from anonkit.dp_trees.release.private_domains import FINDING_SHARE, DomainSearch, undeclared_columns
from anonkit.errors import PolicyError
from anonkit.mechanisms.accounting import Accounting, units_of
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.parameters import check_number, parameter
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import public_assumptions
from anonkit.promises.approximate_dp import ApproximateDP
from anonkit.promises.guarantee import REPLACE
from anonkit.protocols import Draft, Engine, Source
from anonkit.randomness import Randomness

PUBLIC_COLUMNS = ("That the table has these columns, with their names and their types, is public knowledge.",)
"""Conditions of a promise whose domains were found privately."""


@dataclass(frozen=True, kw_only=True)
class DeltaMethod(CentralMethod):
    """A method that may be given a delta, and spends it where that means less noise.

    Privacy
    -------
    With delta 0, the default, epsilon is pure, and nothing else happens than in a method without the parameter.
    """

    delta: float = parameter(
        default=0.0,
        range="[0, 0.01]",
        help="probability that epsilon does not cover, far below one in the number of rows; 0: none, pure epsilon",
        silent=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("delta", self.delta, 0, 0.01, hint="far below one in the number of rows, such as 1e-9; 0 for none")

    def with_found_domains(self, policy: Policy, source: Source, engine: Engine, rng: Randomness) -> Policy:
        """Return the policy with domains found in the table, for a part of epsilon and of delta; or as it was.

        Nothing is looked at without a delta, or where every column has a public domain. See
        `anonkit.dp_trees.release.private_domains`. Where nothing can be released, `found_domains.undecided` says why.
        """
        if self.with_domains_to_find(policy) is policy:
            return policy
        search = DomainSearch(
            source,
            engine,
            self.used_rows(source, policy, engine, rng),
            row_units=units_of(Fraction(self.epsilon) * FINDING_SHARE / self.changed_rows),
            delta=Fraction(self.delta) / 2,
            rows_per_unit=self.rows_per_unit,
            replaced=self.neighbours == REPLACE,
            words=UniformStream(rng.child("domains")),
        )
        return search.found(policy)

    def with_domains_to_find(self, policy: Policy) -> Policy:
        """Return the policy with the columns whose domains would be found, without a look at any cell; or as it was."""
        undeclared = undeclared_columns(policy)
        if not self.delta or not undeclared:
            return policy
        self.check_unit(policy)
        self._refuse_rules_of(policy, undeclared)
        return replace(policy, found_domains=FoundDomains(names=tuple(undeclared), is_plan=True))

    def _refuse_rules_of(self, policy: Policy, undeclared: Collection[str]) -> None:
        """Refuse rules before the search, which is a draw: what it found would decide whether they fit.

        Raises
        ------
        PolicyError
            A rule names a column whose domain is searched; or see `check_rules`.
        """
        rules = policy.constraints if self.keeps_rules else PublicRules()
        named = [name for rule in rules.follows for name in (rule.of, rule.name)]
        named += [name for rule in rules.never for name in rule.values]
        for name in named:
            if name in undeclared:
                raise PolicyError(
                    f"policy: constraints: column {name!r} is in a rule: declare its categories or bounds",
                    "a domain that noise finds in the table may have none of the values of the rule",
                )
        self.check_rules(policy)

    def epsilon_left(self, policy: Policy) -> Fraction:
        """Return the epsilon, for the unit of privacy, that the search for domains leaves."""
        found = policy.found_domains
        spent = Fraction(0) if found is None else found.row_epsilon * self.changed_rows
        return Fraction(self.epsilon) - spent

    def delta_left(self, policy: Policy) -> Fraction:
        """Return the delta that the search for domains leaves: the other half."""
        return Fraction(self.delta) / (1 if policy.found_domains is None else 2)

    def without_search(self, policy: Policy) -> tuple[Self, Policy]:
        """Return the method with what is left of epsilon and delta, and the policy as if all domains were declared.

        For methods that plan and draw as ever with what is left, whether their own draws spend the delta or are pure;
        `charged` adds what the search cost.
        """
        whole = self.epsilon_left(policy)
        epsilon = float(whole)
        epsilon = epsilon if Fraction(epsilon) <= whole else math.nextafter(epsilon, 0)
        left = replace(self, epsilon=epsilon, delta=float(self.delta_left(policy)))
        return left, replace(policy, found_domains=None)

    def charged(self, draft: Draft, found: FoundDomains) -> Draft:
        """Return the draft of the method that `without_search` gave, with the search in its statement."""
        accounting = cast(Accounting, draft.statement)
        statement = accounting.after_search(found.lines, float(self.epsilon), float(self.delta))
        return replace(draft, published={**draft.published, **self.method_entry}, statement=statement)

    def approximate_promise(self, policy: Policy, *bounds: str) -> ApproximateDP:
        """Return the promise of the given epsilon and delta."""
        return ApproximateDP(
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            adjacency=self.neighbours,
            unit=policy.unit,
            rows_per_unit=self.rows_per_unit,
            assumptions=(
                *public_assumptions(policy),
                *bounds,
                *(() if policy.found_domains is None else PUBLIC_COLUMNS),
            ),
            conditional=policy.conditional_columns,
            identifiers_from_data=policy.identifiers_from_data,
        )
