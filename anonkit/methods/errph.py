# SPDX-License-Identifier: Apache-2.0
"""Randomized response with partial hiding (ERRPH) on every attribute: local differential privacy by construction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from anonkit.errors import PolicyError
from anonkit.parameters import check_choice, check_integer, parameter
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.policy.public_domains import CategoricalAttribute, PublicAttribute, PublicDomains, public_domains
from anonkit.promises.pure_local_dp import LocalDP
from anonkit.protocols import Draft, Engine, Progress, Source, no_progress
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget
from anonkit.randomized_response.answer_strength import AnswerStrength, refuse_unclear_strength
from anonkit.randomized_response.randomized_draft import (
    LABELS,
    clear_target,
    draft_randomized,
    local_promise,
    realised_notes,
)
from anonkit.randomized_response.shuffled_view import ShuffleDelta
from anonkit.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class ERRPH(ShuffleDelta, AnswerStrength):
    """Publish each category as itself with probability p_0, else as a category drawn without looking.

    Numbers are published as one of `bins` equal bins of their public bounds. The label is randomized too, unless it is
    asked for in the clear.

    Privacy
    -------
    Local differential privacy per row: the losses of the attributes of a row add up. With a clear label no bound holds
    for the row, only for each attribute alone.
    """

    name: ClassVar[str] = "errph"
    paper: ClassVar[str] = "Zhang & Tang: Chinese Journal of Computers 30(8), 2007, section 3"
    summary: ClassVar[str] = "local differential privacy by randomized response on categories and bins"
    target_use: ClassVar[TargetUse] = TargetUse.AS_DECLARED
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"p_keep": 0.5, "bins": 8})
    promise_words: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "kind": "local-dp",
            "statement": "Local differential privacy of each answer, with a loss of ln(1 + m p_0 / (1 - p_0)) among m "
            "values, missing included, or ln(1 + p_0 / p_j) for the smallest p_j when answer_weights make them uneven; "
            "the largest ratio within a column of a response_matrix. A whole row, the label included, has the sum of "
            "the losses of its answers. A p_j of 0 makes it infinite, and so does label clear.",
        }
    )

    bins: int | None = parameter(
        default=None, range="[2, 4096]", help="publish each number as one of so many equal bins of its bounds"
    )
    label: str = parameter(default="randomize", range="one of these", help="what is done to the target", choices=LABELS)

    def __post_init__(self) -> None:
        ShuffleDelta.__post_init__(self)
        AnswerStrength.__post_init__(self)
        if self.bins is not None:
            check_integer("bins", self.bins, 2, 4096)
        check_choice("label", self.label, LABELS)
        refuse_unclear_strength(self)

    def published(self, policy: Policy) -> PublishedTable:
        """Return what is done to each column.

        Raises
        ------
        PolicyError
            A column has no public domain, or is a number and no bins are given.
        """
        return self._published(public_domains(policy))

    def _published(self, domains: PublicDomains) -> PublishedTable:
        return PublishedTable(
            target=self._target(domains),
            attributes=tuple(self._attribute(column) for column in domains.attributes),
        )

    def _target(self, domains: PublicDomains) -> PublishedTarget | None:
        target = domains.target
        if target is None or self.label == "clear":
            return clear_target(domains)
        mechanism = self.answers_of(target, target.domain)
        return PublishedTarget(name=target.name, domain=target.domain, mechanism=mechanism)

    def _attribute(self, column: PublicAttribute) -> PublishedAttribute:
        if isinstance(column, CategoricalAttribute):
            mechanism = self.answers_of(column, column.domain)
            return PublishedAttribute(name=column.name, domain=column.domain, mechanism=mechanism)
        if self.bins is None:
            raise PolicyError(
                f"column {column.name!r} is a number, which randomized response publishes as a bin",
                "--bins 8, or --method ppnb for numbers",
            )
        grid = column.grid(self.bins)
        return PublishedAttribute(name=column.name, domain=grid, mechanism=self.answers_of(column, grid))

    def guarantee(self, policy: Policy) -> LocalDP:
        """State the promise: the losses of the mechanisms."""
        return local_promise(self.published(policy), policy)

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Randomize the table batch by batch."""
        progress("randomizing", 0.0)
        domains = public_domains(policy)
        table = self._published(domains)
        notes = realised_notes(self.epsilon, table.losses)
        return draft_randomized(
            source, policy, engine, rng, table, domains, shuffle_delta=self.shuffle_delta, notes=notes
        )
