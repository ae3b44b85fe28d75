# SPDX-License-Identifier: Apache-2.0
"""biased-coin: every cell, the label's too, is answered by a response matrix of its own, within one epsilon a row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from anonkit.parameters import check_integer, check_number, parameter
from anonkit.policy.declaration import TargetUse
from anonkit.policy.public_domains import NumericAttribute, PublicDomains
from anonkit.published.channels.response_channel import ResponseMatrix
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget
from anonkit.randomized_response.randomized_method import RandomizedMethod

_WORDS = 1 << 32


@dataclass(frozen=True, kw_only=True)
class BiasedCoin(RandomizedMethod):
    """Answer with the truth, or with one of the neighbours in a ring of values, or with any value.

    Privacy
    -------
    Local differential privacy of a whole row: the columns share epsilon evenly, and their losses add up.
    """

    name: ClassVar[str] = "biased-coin"
    paper: ClassVar[str] = "Warner: Randomized response, JASA 1965"
    summary: ClassVar[str] = "answers near the truth in a ring of values, by a published matrix"
    target_use: ClassVar[TargetUse] = TargetUse.AS_DECLARED
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"epsilon": 4.0})

    epsilon: float = parameter(range="(0, 20]", help="privacy loss of a whole row, the label included")
    bins: int = parameter(default=4, range="[2, 64]", help="equal bins of each number, over its public bounds")

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon, 0, 20, open_low=True)
        check_integer("bins", self.bins, 2, 64)

    def table_of(self, domains: PublicDomains) -> PublishedTable:
        """Return the matrix of each column: the whole statement of a local method."""
        target = domains.target
        share = self.epsilon / (len(domains.attributes) + (target is not None))
        attributes = []
        for column in domains.attributes:
            domain = column.grid(self.bins) if isinstance(column, NumericAttribute) else column.domain
            matrix = _ring(domain.size, share)
            attributes.append(PublishedAttribute(name=column.name, domain=domain, mechanism=matrix))
        label = None
        if target is not None:
            matrix = _ring(target.domain.size, share)
            label = PublishedTarget(name=target.name, domain=target.domain, mechanism=matrix)
        return PublishedTable(target=label, attributes=tuple(attributes))


def _ring(size: int, epsilon: float) -> ResponseMatrix:
    """Return the matrix that gives the truth e^epsilon times the weight of far values, and neighbours its root."""
    ratio = math.exp(epsilon)
    weights = [ratio if not away else math.sqrt(ratio) if away in (1, size - 1) else 1.0 for away in range(size)]
    # rounded up, and the truth takes what is left: so no quotient is above e^epsilon
    words = [math.ceil(_WORDS * weight / sum(weights)) for weight in weights]
    words[0] = _WORDS - sum(words[1:])
    return ResponseMatrix(rows=tuple(tuple(words[(to - true) % size] for to in range(size)) for true in range(size)))
