# SPDX-License-Identifier: Apache-2.0
"""The base of methods that randomize rows one by one; a method adds only the mechanism of each column."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from anonkit.parameters import check_number, parameter, settle_numbers
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import PublicDomains, public_domains
from anonkit.promises.guarantee import Guarantee
from anonkit.protocols import Draft, Engine, Progress, Source, no_progress
from anonkit.published.randomized_table import PublishedTable
from anonkit.randomized_response.randomized_draft import draft_randomized, local_promise
from anonkit.randomness import Randomness


class RandomizedMethod(ABC):
    """Promise and release of a method follow from the table of mechanisms that it publishes.

    Privacy
    -------
    The mechanisms are a function of parameters and policy alone, so that the promise is known before any data is read.
    Rows are randomized by the very mechanisms that the promise was computed from.
    """

    progress_steps: ClassVar[tuple[str, ...]] = ("randomizing",)
    """Names of the steps of a release, in order, as progress shows them."""

    @abstractmethod
    def table_of(self, domains: PublicDomains) -> PublishedTable:
        """Return the treatment of each column.

        Raises
        ------
        PolicyError
            The method has no mechanism for a column.
        """

    def published(self, policy: Policy) -> PublishedTable:
        """Return the treatment of each column that a policy declares.

        Raises
        ------
        PolicyError
            A column has no public domain, or the method has no mechanism for it.
        """
        return self.table_of(public_domains(policy))

    def notes_of(self, table: PublishedTable, domains: PublicDomains, n_rows: int) -> list[str]:
        """Return what the owner should read before handing the release out, judged by public facts alone."""
        return []

    @property
    def delta_of_view(self) -> float | None:
        """The delta of what the shuffled file promises to a reader who sees nothing else; None for the default."""
        return None

    @property
    def needs_declared_target(self) -> bool:
        """True when the label leaves unchanged, or is learned from it: then no column is taken for it by its place."""
        return False

    def guarantee(self, policy: Policy) -> Guarantee:
        """State the promise: the losses of the mechanisms."""
        return local_promise(self.published(policy), policy)

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Randomize the table batch by batch."""
        progress("randomizing", 0.0)
        domains = public_domains(policy)
        table = self.table_of(domains)
        notes = self.notes_of(table, domains, source.n_rows)
        return draft_randomized(
            source, policy, engine, rng, table, domains, shuffle_delta=self.delta_of_view, notes=notes
        )


@dataclass(frozen=True, kw_only=True)
class ShuffleDelta(RandomizedMethod):
    """The parameter `shuffle_delta` of methods whose files also gain from the secret shuffle of their rows.

    The shuffled file has a central (epsilon, delta) guarantee beside the local one, against readers who see nothing
    else; delta is fixed here, epsilon follows from it and the number of rows.
    """

    shuffle_delta: float | None = parameter(
        default=None,
        range="(0, 1)",
        help="delta of what the shuffled file promises to a reader who sees nothing else; default 1e-6 or 1/(100 n)",
    )

    def __post_init__(self) -> None:
        settle_numbers(self)
        if self.shuffle_delta is not None:
            check_number("shuffle_delta", self.shuffle_delta, 0, 1, open_low=True, open_high=True)

    @property
    def delta_of_view(self) -> float | None:
        """The given delta of the shuffled view."""
        return self.shuffle_delta
