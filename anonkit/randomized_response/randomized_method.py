# SPDX-License-Identifier: Apache-2.0
"""The base of methods that randomize rows one by one; a method adds only the mechanism of each column.

Randomization strength of a category column: the parameters of Zhang & Tang, or a policy's own design.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anonkit.domains.number_bins import Categories, Grid
from anonkit.errors import ParameterError, PolicyError, option
from anonkit.parameters import check_number, parameter, settle_numbers
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import PublicAttribute, PublicDomains, public_domains
from anonkit.promises.guarantee import Guarantee
from anonkit.protocols import Draft, Engine, Progress, Source, no_progress
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.response_channel import Channel, ResponseMatrix
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget
from anonkit.randomized_response.randomized_draft import clear_target, draft_randomized, local_promise
from anonkit.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class AnswerStrength:
    """The probability of a true answer about a category; the parameters shared by the methods after Zhang & Tang.

    One of three statements of the same strength, for a column of m categories with equal blind weights:
    `p_keep` = p_0; `epsilon` = ln(1 + m p_0 / (1 - p_0)); `p_truth` = p_0 + (1 - p_0) / m (Warner's model for m = 2).

    Raises
    ------
    ParameterError
        A parameter is outside its range.

    Privacy
    -------
    `epsilon` is the loss of one attribute. The losses of a record's attributes add up, so a record that answers about
    every column has their sum.
    """

    p_keep: float | None = parameter(
        default=None, range="(0, 1)", help="p_0: probability of the truth in each category; the paper has 0.35 to 0.6"
    )
    epsilon: float | None = parameter(
        default=None, range="(0, 40]", help="privacy loss of each attribute, instead of p_keep"
    )
    p_truth: float | None = parameter(
        default=None,
        range="(0, 1)",
        help="probability that an answer is the true one (Warner's model), instead of p_keep; above 1 / categories",
    )

    def __post_init__(self) -> None:
        settle_numbers(self)
        for name in ("p_keep", "p_truth"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), 0, 1, open_low=True, open_high=True)
        if self.epsilon is not None:
            check_number("epsilon", self.epsilon, 0, 40, open_low=True)

    def channel(self, n_categories: int) -> RandomizedResponse:
        """Return the randomized response on so many categories.

        Raises
        ------
        ParameterError
            `p_truth` is not above what a blind guess among the categories reaches.
        """
        if self.epsilon is not None:
            return RandomizedResponse.from_epsilon(n_categories, self.epsilon)
        if self.p_truth is not None:
            return RandomizedResponse.with_truth(n_categories, self.p_truth)
        assert self.p_keep is not None  # noqa: S101 - `refuse_unclear_strength` came first
        return RandomizedResponse.equal(n_categories, self.p_keep)

    def answers_of(self, column: PublicAttribute, domain: Categories | Grid) -> Channel:
        """Return the channel of a column: evenly blind answers, unless the policy designs them.

        Parameters
        ----------
        column : PublicAttribute
        domain : Categories or Grid
            What is answered: its categories, or the cells of its bounds.

        Raises
        ------
        PolicyError
            The design does not fit the domain, costs more than epsilon, or leaves nothing to reconstruct.
        """
        design = column.answers
        if design is None:
            try:
                return self.channel(domain.size)
            except ParameterError as error:
                raise PolicyError(f"column {column.name!r}: {error.told[0]}", error.told[1]) from None
        design.check_size(domain.size, domain.has_missing)
        if design.weights is None:
            return _own_matrix(column.name, design.matrix or (), self.epsilon)
        if self.p_truth is not None:
            raise PolicyError(
                f"column {column.name!r}: with answer_weights the chance of the true answer differs by category",
                f"{option('p_keep')} or {option('epsilon')} instead of {option('p_truth')}",
            )
        try:
            return RandomizedResponse.weighted(design.weights, p_keep=self.p_keep, epsilon=self.epsilon)
        except ParameterError as error:
            raise PolicyError(f"column {column.name!r}: {error.told[0]}", error.told[1]) from None

    def answered(self, column: PublicAttribute, domain: Categories | Grid) -> PublishedAttribute:
        """Return a column with the answers about it; parameters and errors as those of `answers_of`."""
        return PublishedAttribute(name=column.name, domain=domain, mechanism=self.answers_of(column, domain))

    def label_of(self, domains: PublicDomains, label: str) -> PublishedTarget | None:
        """Return the treatment of the target, randomized or clear as `label` states; None without one."""
        target = domains.target
        if target is None or label == "clear":
            return clear_target(domains)
        mechanism = self.answers_of(target, target.domain)
        return PublishedTarget(name=target.name, domain=target.domain, mechanism=mechanism)


def _own_matrix(name: str, matrix: Sequence[Sequence[float]], epsilon: float | None) -> ResponseMatrix:
    mechanism = ResponseMatrix.from_probabilities(matrix)
    if np.linalg.matrix_rank(mechanism.response_matrix()) < mechanism.n_inputs:
        raise PolicyError(
            f"column {name!r}: response_matrix has no inverse, so nobody could reconstruct shares",
            "no row may be a mixture of the others; for two categories the rows must differ",
        )
    if epsilon is not None and mechanism.epsilon > epsilon:
        raise PolicyError(
            f"column {name!r}: response_matrix has a privacy loss of {mechanism.epsilon:.4g}, more than epsilon",
            "raise epsilon, or make the rows more alike",
        )
    return mechanism


def refuse_designs(domains: PublicDomains, method: str) -> None:
    """Refuse designed answers in a policy for a method that draws its own; see `refuse_design`."""
    for column in (*domains.attributes, *([] if domains.target is None else [domains.target])):
        refuse_design(column, method)


def refuse_design(column: PublicAttribute, method: str) -> None:
    """Refuse designed answers for a column whose answers the method draws its own way.

    Raises
    ------
    PolicyError
        It has `answer_weights` or `response_matrix`.
    """
    if column.answers is not None:
        raise PolicyError(
            f"column {column.name!r}: {column.answers.key} does not go with how {method!r} answers for it",
            f"categories by {option('method', 'errph')} or ppnb, bins by errph; or leave the key out",
        )


def refuse_unclear_strength(model: AnswerStrength) -> None:
    """Refuse parameters that give the probability of a true answer not at all, or more than once."""
    given = [name for name in ("p_keep", "epsilon", "p_truth") if getattr(model, name) is not None]
    if len(given) != 1:
        problem = "none of p_keep, epsilon, p_truth is given" if not given else f"{' and '.join(given)} are given"
        raise ParameterError(f"{problem}: one of them is needed", option("p_keep", 0.5))


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
        """Return the owner's notes on the release, judged by public facts alone."""
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
