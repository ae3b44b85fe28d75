# SPDX-License-Identifier: Apache-2.0
"""quantile-table: private quantiles of every number, the commonest value of every category, and no rows of people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar

from anonkit.dp_trees.stated.stated_method import StatedMethod
from anonkit.errors import ParameterError
from anonkit.parameters import check_integer, parameter
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.published.statements.noise_statement import Count, ModeScore, Query, RankScore, Statement, ValueLines


@dataclass(frozen=True, kw_only=True)
class QuantileTable(StatedMethod):
    """Publish the number of rows, quantiles of every number, and the most frequent value of every category.

    Privacy
    -------
    Central differential privacy: all figures are of all rows, and share epsilon evenly.
    """

    name: ClassVar[str] = "quantile-table"
    paper: ClassVar[str] = "Smith: Privacy-preserving statistical estimation with optimal convergence rates, STOC 2011"
    summary: ClassVar[str] = "private quantiles of numbers and most frequent values, no rows"
    target_use: ClassVar[TargetUse] = TargetUse.AS_DECLARED
    publishes_rows: ClassVar[bool] = False
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"epsilon": 2.0, "quantiles": 2})

    quantiles: int = parameter(default=4, range="[2, 100]", help="parts of equal size between the quantiles")
    places: int = parameter(default=100, range="[2, 10000]", help="cells of each number, at whose edges quantiles are")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("quantiles", self.quantiles, 2, 100)
        check_integer("places", self.places, 2, 10_000)

    def statement(self, policy: Policy) -> Statement:
        """Return one draw for each figure."""
        columns = self.columns(policy, cells=self.places)
        figures: list[tuple[str, Query]] = [("rows", Count())]
        for column in columns:
            if column.is_number:
                for part in range(1, self.quantiles):
                    rank = RankScore(of=column.name, numerator=part, denominator=self.quantiles)
                    figures.append((f"{column.name}, {part} of {self.quantiles}", rank))
            else:
                figures.append((f"{column.name}, most frequent", ModeScore(of=column.name)))
        if len(figures) > 1000:
            raise ParameterError(f"{len(figures):,} figures leave too little of epsilon for each", "fewer quantiles")
        share = Fraction(1, len(figures))
        draws = tuple(self.draw(name, query, columns, share=share) for name, query in figures)
        return self.stated(columns, draws, ValueLines())
