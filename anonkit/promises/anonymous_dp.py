# SPDX-License-Identifier: Apache-2.0
"""Classes of k and approximate differential privacy at once: true rows, drawn by coins, shown where k are alike.

Two promises that are usually made apart hold for one table. Classes can be counted on it, so that the promise returns
them as `counted_classes`. That no class, and no choice of how rows are shown, depends much on any one row cannot be
counted: it follows from how the rows were drawn, and is what the ledger books. Unlike under the other central promises
a released row *is* somebody's row, generalized, so that it makes sense to look for people in it.

Source: Li, Qardaji, Su, "On sampling, anonymization, and differential privacy: or, k-anonymization meets differential
privacy", ASIACCS 2012; Bild, Kuhn, Prasser, "SafePub: a truthful data anonymization algorithm with strong privacy
guarantees", PoPETs 2018.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from anonkit.errors import ParameterError
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.approximate_dp import ApproximateDP


@dataclass(frozen=True, kw_only=True)
class AnonymousDP(ApproximateDP):
    """Every released row is alike k others or more, and nothing in the release depends much on any one row."""

    kind: ClassVar[str] = "k-anonymous-dp"
    shows_rows: ClassVar[bool] = True

    k: int
    """Fewest released rows that are alike in all columns."""
    quasi_identifiers: tuple[str, ...]
    """Every column that may be shown but the target, sorted."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k < 2:
            raise ParameterError(f"k ({self.k}) must be 2 or more")

    @property
    def counted_classes(self) -> KAnonymity:  # type: ignore[override]
        """The promise that a recount checks on the table: classes of k."""
        return KAnonymity(k=self.k, quasi_identifiers=self.quasi_identifiers, may_be_empty=True)

    def _claim(self) -> str:
        return (
            f"Every released row is true, with coarser values, and at least {self.k} released rows are alike in all "
            f"columns, "
            f"the target among them. {super()._claim()}"
        )

    def formal(self) -> str:
        """Return the promise in the field's terms."""
        return (
            f"{super().formal()} Every non-empty equivalence class of the released table under all of its columns "
            f"holds at least k = {self.k} rows, each of them a row of the source under one full-domain generalization."
        )

    def not_protected(self) -> tuple[str, ...]:
        """Return the disclosures that the promise leaves possible."""
        return (
            *super().not_protected(),
            "Truth: the rows that are shown are true. Anyone who knows from elsewhere that a person is among them "
            "learns what the matching rows say; epsilon limits only what the release shows about whether they are.",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee block of the report."""
        return self._central_block(self.delta, k=self.k, quasi_identifiers=list(self.quasi_identifiers))

    @classmethod
    def from_dict(cls, block: Mapping[str, Any]) -> AnonymousDP:
        """Read the promise back from the guarantee block of a report."""
        parameters = block["parameters"]
        return cls(
            delta=float(parameters["delta"]),
            k=int(parameters["k"]),
            quasi_identifiers=tuple(parameters["quasi_identifiers"]),
            **cls._central_fields(block),
        )
