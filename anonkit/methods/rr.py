# SPDX-License-Identifier: Apache-2.0
"""rr: randomized response with one budget for the whole row, label included (local differential privacy)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from anonkit.domains.number_bins import Categories, Grid
from anonkit.parameters import check_choice, check_number, parameter
from anonkit.policy.declaration import TargetUse
from anonkit.policy.public_domains import CategoricalAttribute, PublicAttribute, PublicDomains
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.response_channel import TruthOrBlind
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget
from anonkit.randomized_response.number_response import best_category_response, best_number_response
from anonkit.randomized_response.randomized_draft import (
    ANSWERED_COLUMN,
    LABELS,
    clear_target,
    realised_notes,
)
from anonkit.randomized_response.randomized_method import ShuffleDelta, refuse_designs

ALLOCATIONS = ("sample", "split")


@dataclass(frozen=True, kw_only=True)
class RR(ShuffleDelta):
    """Randomize each row within one epsilon.

    With allocation `sample` a row answers one attribute, drawn at random, and the answer hides the label with it; with
    `split` it answers all of them, each with a share of epsilon. A category is answered by one value or, where that
    is more accurate at this epsilon, by a set of them; numbers go through the best of bins, sets of bins, square wave
    and piecewise mechanism (`anonkit.randomized_response.number_response`). Neither rule looks at data.

    Privacy
    -------
    Local differential privacy per row with the epsilon given, the label included unless it is published in the clear.
    """

    name: ClassVar[str] = "rr"
    paper: ClassVar[str] = (
        "Kairouz, Bonawitz, Ramage: Discrete distribution estimation under local privacy, ICML 2016; sets: Ye and "
        "Barg, IEEE Trans. Inf. Theory 2018; numbers: Li et al., SIGMOD 2020; Wang et al., ICDE 2019"
    )
    summary: ClassVar[str] = "local differential privacy of whole rows, label included, within one epsilon"
    target_use: ClassVar[TargetUse] = TargetUse.AS_DECLARED
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"epsilon": 2.0})
    promise_words: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "kind": "local-dp",
            "statement": "Local differential privacy of a whole row, every attribute and the label included: replacing "
            "a row makes what is shown for it at most e^epsilon times as likely. With allocation sample a row answers "
            "one attribute, together with the label, with all of epsilon; with split the losses of its answers, the "
            "label's too, add up to epsilon. An answer among m values by a set of s of them, s = 1 where it is one "
            "value, costs ln(1 + m p_0 / (s (1 - p_0))), p_0 being the probability of looking at the truth; its "
            "realised loss is never above its share. With label clear nothing bounds the row: its attributes keep "
            "their losses, the label none.",
        }
    )

    epsilon: float = parameter(range="(0, 40]", help="privacy loss of a whole row, the label included")
    allocation: str = parameter(
        default="sample",
        range="one of these",
        help="a row answers one attribute with all of epsilon, or every attribute with a share",
        choices=ALLOCATIONS,
    )
    label: str = parameter(default="randomize", range="one of these", help="what is done to the target", choices=LABELS)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("epsilon", self.epsilon, 0, 40, open_low=True)
        check_choice("allocation", self.allocation, ALLOCATIONS)
        check_choice("label", self.label, LABELS)

    def table_of(self, domains: PublicDomains) -> PublishedTable:
        """Return the treatment of each column."""
        refuse_designs(domains, self.name)
        columns = domains.attributes
        classes = domains.target if self.label == "randomize" else None
        if self.allocation == "split":
            share = self.epsilon / (len(columns) + (classes is not None))
            target = clear_target(domains) if classes is None else _randomized_target(classes, share)
            return PublishedTable(
                target=target, attributes=tuple(_attribute(column, share, None) for column in columns)
            )
        target = (
            clear_target(domains)
            if classes is None
            else PublishedTarget(name=classes.name, domain=classes.domain, mechanism=None)
        )
        hidden = None if classes is None else classes.domain
        return PublishedTable(
            target=target,
            attributes=tuple(_attribute(column, self.epsilon, hidden) for column in columns),
            asked_column=ANSWERED_COLUMN,
        )

    def notes_of(self, table: PublishedTable, domains: PublicDomains, n_rows: int) -> list[str]:
        """Describe the realized epsilon, where rounding cost much of it."""
        clear = self.label == "clear" and domains.target is not None
        return [] if clear else realised_notes(self.epsilon, {"the row": table.record_epsilon})


def _randomized_target(classes: CategoricalAttribute, epsilon: float) -> PublishedTarget:
    mechanism = RandomizedResponse.from_epsilon(classes.domain.size, epsilon)
    return PublishedTarget(name=classes.name, domain=classes.domain, mechanism=mechanism)


def _attribute(column: PublicAttribute, epsilon: float, classes: Categories | None) -> PublishedAttribute:
    """Return the treatment of a column, its answer joint with the class when classes are given."""
    segments = 1 if classes is None else classes.size
    domain: Categories | Grid
    mechanism: TruthOrBlind
    if isinstance(column, CategoricalAttribute):
        domain = column.domain
        mechanism = best_category_response(epsilon, segments=segments, values=domain.size)
    else:
        cells, mechanism = best_number_response(
            epsilon,
            segments=segments,
            has_missing=column.has_missing,
            most=None if column.values is None else column.values.size,
        )
        domain = column.grid(cells)
    return PublishedAttribute(
        name=column.name, domain=domain, mechanism=mechanism, joint_with_target=classes is not None
    )
