# SPDX-License-Identifier: Apache-2.0
"""Central differential privacy as a promise: the protection that a release by a trusted owner gives, and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from anonkit.promises.cautious_figures import times_words
from anonkit.promises.guarantee import BY_CONSTRUCTION, PrivacyLoss, conditional_words, guarantee_block

ADD_OR_REMOVE = "add or remove one record"
REPLACE = "replace one record"


def changed_rows(rows_per_unit: int, adjacency: str) -> int:
    """Return most rows that come or go between neighbours: a replaced row goes, and another comes."""
    return rows_per_unit * (2 if adjacency == REPLACE else 1)


@dataclass(frozen=True, kw_only=True)
class CentralDP:
    """Nothing in the release depends much on any one row, or person: pure epsilon, delta 0."""

    kind: ClassVar[str] = "central-dp"
    cell_by_cell: ClassVar[bool] = True
    redraw_costs: ClassVar[bool] = False
    shows_rows: ClassVar[bool] = False

    epsilon: float
    """Privacy loss of the unit of privacy, realised, in (0, inf)."""
    adjacency: str = ADD_OR_REMOVE
    """Which tables are neighbours: `ADD_OR_REMOVE` or `REPLACE`."""
    unit: str | None = None
    """Name of the column whose values are the people protected; None when single rows are."""
    rows_per_unit: int = 1
    """Most rows of one unit that were used; the others were left out before anything was counted."""
    published_claim: str | None = None
    """What the paper of the method claims, where that is not what holds."""
    assumptions: tuple[str, ...] = ()
    conditional: tuple[str, ...] = ()
    """Columns whose domain was read from the table: the promise holds only if it is public all the same."""
    identifiers_from_data: tuple[str, ...] = ()
    """Columns that were left out because their cells look like identifiers: as above."""

    def loss(self) -> PrivacyLoss:
        """Return the loss of one unit of privacy; releases of one dataset add up."""
        return PrivacyLoss(epsilon=self.epsilon)

    @property
    def counted_classes(self) -> None:
        """Noise cannot be counted: the account of the params is added up instead."""
        return None

    @property
    def _whose(self) -> str:
        return "one row" if self.unit is None else f"all rows of one value of {self.unit!r}"

    def statement(self) -> str:
        """Say the promise in plain words."""
        return conditional_words(self.conditional, self.identifiers_from_data) + self._claim()

    def _claim(self) -> str:
        times = times_words(self.epsilon)
        change = "held other values" if self.adjacency == REPLACE else "not been in the table"
        text = (
            f"Whatever this release shows, it would have shown with a similar probability had {self._whose} {change}: "
            f"no outcome becomes more than {times} times as likely or as unlikely by it. This holds for all files of "
            "the release together and whatever else is known."
        )
        return text if self.published_claim is None else f"{text} {self.published_claim}"

    def formal(self) -> str:
        """Say the promise as the field does."""
        unit = "one record" if self.unit is None else f"all records of one value of {self.unit!r}"
        neighbours = f"{unit} {'replaced' if self.adjacency == REPLACE else 'added or removed'}"
        return (
            f"The release M is epsilon-differentially private with epsilon = {self.epsilon:.12g} and delta = 0: for "
            f"all tables D, D' over the declared domains, D' being D with {neighbours}, and all sets S of outputs, "
            "Pr[M(D) in S] <= exp(epsilon) Pr[M(D') in S]."
        )

    def not_protected(self) -> tuple[str, ...]:
        """Say what an attacker may still learn."""
        out = []
        if self.epsilon > 5:
            out.append("A large privacy loss: what the release shows can depend on single rows visibly.")
        if self.unit is None:
            out.append("Rows are protected, not people: who has several rows loses the stated privacy once a row.")
        else:
            out.append(f"Groups: several values of {self.unit!r} together, such as a family, lose it once each.")
        return (
            *out,
            "Patterns of the population: what the table teaches about everybody is also learned about each person.",
            "Repetition: every further release of the same rows adds its own loss.",
            "What the owner does with the table besides: only the files of the release are covered.",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee block of the report."""
        return guarantee_block(
            self,
            parameters={
                "epsilon": self.epsilon,
                "delta": 0,
                "unit_column": self.unit,
                "rows_per_unit": self.rows_per_unit,
                "published_claim": self.published_claim,
                "domains_from_data": list(self.conditional),
                "identifiers_from_data": list(self.identifiers_from_data),
            },
            unit="one row" if self.unit is None else f"one value of column {self.unit!r}",
            adjacency=self.adjacency,
            assumptions=self.assumptions,
            basis=BY_CONSTRUCTION,
        )

    @classmethod
    def from_dict(cls, block: Mapping[str, Any]) -> CentralDP:
        """Read the promise back from the guarantee block of a report."""
        parameters = block["parameters"]
        return cls(
            epsilon=float(parameters["epsilon"]),
            adjacency=str(block["adjacency"]),
            unit=parameters["unit_column"],
            rows_per_unit=int(parameters["rows_per_unit"]),
            published_claim=parameters["published_claim"],
            assumptions=tuple(block["assumptions"]),
            conditional=tuple(parameters["domains_from_data"]),
            identifiers_from_data=tuple(parameters.get("identifiers_from_data", ())),
        )
