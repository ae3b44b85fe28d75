# SPDX-License-Identifier: Apache-2.0
"""ERRPH: randomized response with partial hiding on every attribute, local differential privacy by construction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from anonkit.errors import PolicyError, option
from anonkit.parameters import check_choice, check_integer, parameter
from anonkit.policy.declaration import TargetUse
from anonkit.policy.public_domains import CategoricalAttribute, PublicAttribute, PublicDomains
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable
from anonkit.randomized_response.randomized_draft import (
    LABELS,
    realised_notes,
)
from anonkit.randomized_response.randomized_method import AnswerStrength, ShuffleDelta, refuse_unclear_strength


@dataclass(frozen=True, kw_only=True)
class ERRPH(ShuffleDelta, AnswerStrength):
    """Publish each category as itself with probability p_0, else as a category drawn without looking.

    Numbers are published as one of `bins` equal bins of their public bounds. The label is randomized too, unless it is
    published in the clear.

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
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            "paper": {"p_keep": 0.35, "label": "clear"},
            "rrph": {"p_keep": 0.35, "label": "clear", "bins": 2},
        }
    )
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

    @property
    def needs_declared_target(self) -> bool:
        """True where the label is published unchanged."""
        return self.label == "clear"

    def table_of(self, domains: PublicDomains) -> PublishedTable:
        """Return the treatment of each column."""
        return PublishedTable(
            target=self.label_of(domains, self.label),
            attributes=tuple(self._attribute(column) for column in domains.attributes),
        )

    def _attribute(self, column: PublicAttribute) -> PublishedAttribute:
        if isinstance(column, CategoricalAttribute):
            return self.answered(column, column.domain)
        if self.bins is None:
            raise PolicyError(
                f"column {column.name!r} is a number, which randomized response publishes as a bin",
                f"{option('bins', 8)}, or {option('method', 'ppnb')} for numbers",
            )
        return self.answered(column, column.grid(self.bins))

    def notes_of(self, table: PublishedTable, domains: PublicDomains, n_rows: int) -> list[str]:
        """Describe the realized epsilon, where rounding cost much of it."""
        return realised_notes(self.epsilon, table.losses)
