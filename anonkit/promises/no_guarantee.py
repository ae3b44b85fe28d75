# SPDX-License-Identifier: Apache-2.0
"""The absence of a promise, stated plainly: the value for methods without a proof of privacy.

Some published methods have no bound, such as geometric perturbation with random multipliers, or a stop rule that looks
at exact counts. anonkit offers them for comparison, and writes over everything they make that nothing is promised.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from anonkit.promises.guarantee import BY_CONSTRUCTION, PrivacyLoss, guarantee_block
from anonkit.promises.neighbouring_tables import REPLACE, Neighbours


@dataclass(frozen=True, kw_only=True)
class NoGuarantee:
    """No formal protection: the release states so, and why."""

    kind: ClassVar[str] = "none"
    cell_by_cell: ClassVar[bool] = True
    redraw_costs: ClassVar[bool] = True
    shows_rows: ClassVar[bool] = True

    reason: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    conditional: tuple[str, ...] = ()
    """Columns whose domain was read from the table."""

    def loss(self) -> PrivacyLoss:
        """Return an infinite loss: whoever set a budget for a dataset meant to bound it."""
        return PrivacyLoss(epsilon=math.inf, neighbours=Neighbours(adjacency=REPLACE))

    @property
    def counted_classes(self) -> None:
        """Nothing is promised that could be counted."""
        return None

    def statement(self) -> str:
        """Return that nothing is promised."""
        return f"This release carries no formal privacy guarantee. {self.reason}"

    def formal(self) -> str:
        """Return that nothing is promised."""
        return "No formal guarantee."

    def not_protected(self) -> tuple[str, ...]:
        """Return the disclosures that are possible: all."""
        return ("Everything: treat the release like the source table.",)

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee block of the report."""
        return guarantee_block(
            self,
            parameters={**self.parameters, "reason": self.reason, "domains_from_data": list(self.conditional)},
            unit=None,
            adjacency=None,
            assumptions=self.assumptions,
            basis=BY_CONSTRUCTION,
        )

    @classmethod
    def from_dict(cls, block: Mapping[str, Any]) -> NoGuarantee:
        """Read the statement back from the guarantee block of a report."""
        parameters = dict(block["parameters"])
        return cls(
            reason=str(parameters.pop("reason")),
            conditional=tuple(parameters.pop("domains_from_data")),
            parameters=parameters,
            assumptions=tuple(block["assumptions"]),
        )
