# SPDX-License-Identifier: Apache-2.0
"""joint-histogram: one noisy contingency table of all columns, a second one of the target, and rows of the first."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from anonkit.dp_trees.stated.stated_method import StatedMethod
from anonkit.parameters import check_integer, check_number, parameter
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.published.statements.noise_statement import CellRows, Count, Statement


@dataclass(frozen=True, kw_only=True)
class JointHistogram(StatedMethod):
    """Count every combination of values with noise, and release as many rows of each as its noisy count says.

    Privacy
    -------
    Central differential privacy: a row is in one cell of each of the two tables, and their shares of epsilon add up.
    """

    name: ClassVar[str] = "joint-histogram"
    paper: ClassVar[str] = "Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity, TCC 2006"
    summary: ClassVar[str] = "rows of one noisy contingency table of all columns"
    target_use: ClassVar[TargetUse] = TargetUse.AS_DECLARED

    bins: int = parameter(default=4, range="[2, 64]", help="equal bins of each number, over its public bounds")
    totals: float = parameter(default=0.1, range="[0.01, 0.5]", help="share of epsilon for the rows of each class")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("bins", self.bins, 2, 64)
        check_number("totals", self.totals, 0.01, 0.5)

    def statement(self, policy: Policy) -> Statement:
        """Return two draws: the table that rows are made of, and the rows of each class."""
        columns = self.columns(policy, cells=self.bins)
        share = Fraction(self.totals)
        every = Count(by=tuple(column.name for column in columns))
        by_class = Count(by=() if policy.target is None else (policy.target,))
        return self.stated(
            columns,
            (
                self.draw("cells", every, columns, share=1 - share),
                self.draw("classes", by_class, columns, share=share),
            ),
            CellRows(of="cells"),
        )
