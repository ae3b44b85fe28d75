# SPDX-License-Identifier: Apache-2.0
"""The common part of promises by noise: their conditions, and the unit and limits of the central ones.

They hold by construction, on the assumption that what was declared is public. So each states its conditions
first, and none has anything that could be counted on the released table.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from anonkit.promises.guarantee import (
    BY_CONSTRUCTION,
    LOOKED_AT,
    Guarantee,
    PrivacyLoss,
    conditional_words,
    guarantee_block,
)
from anonkit.promises.neighbouring_tables import ADD_OR_REMOVE, REPLACE, Neighbours

POPULATION = "General patterns: what the table shows about people in general can be inferred about each person too."
OWNER_BESIDES = "What the owner does with the table besides: only the files of the release are covered."
HOLDS_FOR_ALL = "This holds for all files of the release together, whatever else an attacker knows."
LARGE_LOSS = "A large privacy loss: what the release shows can depend on single rows visibly."


def after_a_look(promise: Guarantee) -> Guarantee:
    """Return a promise that says that its choices followed from the table; one of classes is about it anyway."""
    if promise.loss() is None:
        return promise
    rests_on = (*promise.to_dict()["assumptions"], LOOKED_AT)
    return replace(promise, assumptions=rests_on)  # type: ignore[type-var]


@dataclass(frozen=True, kw_only=True)
class NoisePromise(Guarantee):
    """A promise about how a release was drawn, whatever the table: no cell of it is read in the light of others."""

    cell_by_cell: ClassVar[bool] = True

    assumptions: tuple[str, ...] = ()
    conditional: tuple[str, ...] = ()
    """Columns whose domain was read from the table: the promise holds only if it is public all the same."""
    identifiers_from_data: tuple[str, ...] = ()
    """Columns that were left out because their cells look like identifiers: as above."""

    @property
    def counted_classes(self) -> None:
        """Noise cannot be counted on a table: what was drawn is accounted for in the params instead."""
        return None

    def statement(self) -> str:
        """Return the promise in plain words."""
        return conditional_words(self.conditional, self.identifiers_from_data) + self._claim()

    @abstractmethod
    def _claim(self) -> str:
        """Return the claim, which follows the conditions of the promise."""

    def _block(
        self, parameters: Mapping[str, Any], *, unit: str = "one row", adjacency: str = REPLACE
    ) -> dict[str, Any]:
        """Return the guarantee block of the report, with what the promise rests on."""
        conditions = {
            "domains_from_data": list(self.conditional),
            "identifiers_from_data": list(self.identifiers_from_data),
        }
        return guarantee_block(
            self,
            parameters={**parameters, **conditions},
            unit=unit,
            adjacency=adjacency,
            assumptions=self.assumptions,
            basis=BY_CONSTRUCTION,
        )

    @staticmethod
    def _rests_on(block: Mapping[str, Any]) -> dict[str, Any]:
        """Read back what the promise rests on; older reports name no identifiers."""
        parameters = block["parameters"]
        return {
            "assumptions": tuple(block["assumptions"]),
            "conditional": tuple(parameters["domains_from_data"]),
            "identifiers_from_data": tuple(parameters.get("identifiers_from_data", ())),
        }


@dataclass(frozen=True, kw_only=True)
class CentralNoisePromise(NoisePromise):
    """A promise of an owner who sees the whole table: about neighbouring tables, and the release as a whole."""

    redraw_costs: ClassVar[bool] = False
    shows_rows: ClassVar[bool] = False

    epsilon: float
    """Privacy loss of the unit of privacy, realised, in (0, inf)."""
    adjacency: str = ADD_OR_REMOVE
    """Neighbour relation of tables: `ADD_OR_REMOVE` or `REPLACE`."""
    unit: str | None = None
    """Name of the column whose values are the people protected; None when single rows are."""
    rows_per_unit: int = 1
    """Most rows of one unit that were used; the others were left out before anything was counted."""

    def _loss_of_neighbours(self, delta: float = 0.0) -> PrivacyLoss:
        """Return the loss with whom it is about; a cap on the rows of a person was enforced where there is a unit."""
        return PrivacyLoss(
            epsilon=self.epsilon,
            delta=delta,
            neighbours=Neighbours(adjacency=self.adjacency, unit=self.unit),
            cap=None if self.unit is None else self.rows_per_unit,
        )

    @property
    def _change(self) -> str:
        whose = "one row" if self.unit is None else f"all rows of one value of {self.unit!r}"
        return f"{'Replacing' if self.adjacency == REPLACE else 'Adding or removing'} {whose}"

    @property
    def _neighbours(self) -> str:
        return Neighbours(adjacency=self.adjacency, unit=self.unit).changed

    def _central_block(self, delta: float, **more: Any) -> dict[str, Any]:
        """Return the guarantee block of the report; further entries come before the conditions."""
        parameters = {"epsilon": self.epsilon, "delta": delta, "unit_column": self.unit}
        return self._block(
            {**parameters, "rows_per_unit": self.rows_per_unit, **more},
            unit="one row" if self.unit is None else f"one value of column {self.unit!r}",
            adjacency=self.adjacency,
        )

    @classmethod
    def _central_fields(cls, block: Mapping[str, Any]) -> dict[str, Any]:
        """Read back what every central promise states."""
        parameters = block["parameters"]
        return {
            "epsilon": float(parameters["epsilon"]),
            "adjacency": str(block["adjacency"]),
            "unit": parameters["unit_column"],
            "rows_per_unit": int(parameters["rows_per_unit"]),
            **cls._rests_on(block),
        }
