# SPDX-License-Identifier: Apache-2.0
"""PPNB: randomized response on categories, transformed response on numeric columns, both inverted by naive Bayes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from anonkit.methods.trr import NumberNoise, reconstruction_notes
from anonkit.parameters import check_choice, parameter
from anonkit.policy.declaration import TargetUse
from anonkit.policy.public_domains import NumericAttribute, PublicAttribute, PublicDomains
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable
from anonkit.randomized_response.randomized_draft import (
    LABELS,
    realised_notes,
)
from anonkit.randomized_response.randomized_method import (
    AnswerStrength,
    ShuffleDelta,
    refuse_design,
    refuse_unclear_strength,
)


@dataclass(frozen=True, kw_only=True)
class PPNB(ShuffleDelta, AnswerStrength, NumberNoise):
    """Publish categories by ERRPH and numbers by TRR; `anonkit reconstruct` learns a naive Bayes model from it.

    Privacy
    -------
    Each category alone is protected by its epsilon. Numbers have no formal bound, and the label is published unchanged
    unless `label` says randomize: a whole row is therefore not protected by any bound. Method `rr` protects whole rows.
    """

    name: ClassVar[str] = "ppnb"
    paper: ClassVar[str] = "Zhang & Tang: Chinese Journal of Computers 30(8), 2007"
    summary: ClassVar[str] = "the published method: ERRPH on categories, TRR on numbers, clear label; for naive Bayes"
    target_use: ClassVar[TargetUse] = TargetUse.REQUIRED
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"p_keep": 0.5})
    promise_words: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "kind": "local-dp",
            "statement": "Each category alone: local differential privacy with a loss of ln(1 + m p_0 / (1 - p_0)) "
            "among m values, or ln(1 + p_0 / p_j) for the smallest p_j. Nothing bounds a whole row: numbers have no "
            "finite epsilon, and the label is published unchanged unless label says randomize.",
        }
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({"paper": {"p_keep": 0.35, "center": False}})

    label: str = parameter(default="clear", range="one of these", help="what is done to the target", choices=LABELS)

    def __post_init__(self) -> None:
        ShuffleDelta.__post_init__(self)
        AnswerStrength.__post_init__(self)
        NumberNoise.__post_init__(self)
        check_choice("label", self.label, LABELS)
        refuse_unclear_strength(self)

    @property
    def needs_declared_target(self) -> bool:
        """True: the label is published unchanged, or a model is learned of it."""
        return True

    def table_of(self, domains: PublicDomains) -> PublishedTable:
        """Return the treatment of each column."""
        return PublishedTable(
            target=self.label_of(domains, self.label),
            attributes=tuple(self._attribute(column) for column in domains.attributes),
        )

    def _attribute(self, column: PublicAttribute) -> PublishedAttribute:
        if isinstance(column, NumericAttribute):
            refuse_design(column, self.name)
            return self.transformed(column, self.channel(2))
        return self.answered(column, column.domain)

    def notes_of(self, table: PublishedTable, domains: PublicDomains, n_rows: int) -> list[str]:
        """Warn about numbers that cannot be reconstructed, and describe the realized epsilon."""
        return [*reconstruction_notes(table, domains, n_rows), *realised_notes(self.epsilon, table.losses)]
