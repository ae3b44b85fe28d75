# SPDX-License-Identifier: Apache-2.0
"""dp-tables: published counts, sums, means and quantiles with intervals, with central differential privacy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar

from anonkit.dp_trees.aggregate_requests import HINT, Request, requests_of
from anonkit.dp_trees.aggregate_tables import (
    AggregatePlan,
    cell_sums,
    column_entries,
    described_columns,
    planned,
    tidy_table,
)
from anonkit.dp_trees.release.declared_schema import CentralMethod, bins_parameter
from anonkit.errors import ParameterError
from anonkit.mechanisms.accounting import Accounting, units_of
from anonkit.mechanisms.exact_samplers import UniformStream, noisy_counts
from anonkit.parameters import check_integer, parameter
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.policy.public_domains import conditions_of, without_whole_types
from anonkit.promises.noise_promises import CentralDP
from anonkit.protocols import Draft, Engine, Progress, Source, no_progress
from anonkit.published.aggregates import Aggregates, Measurement, figures
from anonkit.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class DPTables(CentralMethod):
    """Publish the requested tables, each figure with noise and an interval.

    Counts of up to three columns, and sums, means and quantiles of a number by up to three, are measured in one pass;
    discrete Laplace noise is added once to each measurement. The table that is released has a line for every group of
    the public domains, those that nobody is in too.

    Privacy
    -------
    Central differential privacy with at most the epsilon given, delta 0: a row adds at most a public number to each
    measurement, and the measurements' shares of epsilon add up. All else is computed from them.
    """

    name: ClassVar[str] = "dp-tables"
    paper: ClassVar[str] = (
        "Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity, TCC 2006; noise of whole numbers after "
        "Canonne, Kamath, Steinke 2020"
    )
    summary: ClassVar[str] = "differentially private counts, sums, means and quantiles, with intervals"
    target_use: ClassVar[TargetUse] = TargetUse.AS_DECLARED
    publishes_rows: ClassVar[bool] = False
    promise_words: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "kind": "central-dp",
            "statement": "Central differential privacy with at most the epsilon given, delta 0: adding or removing "
            "one row changes the probability of any result by at most a factor of e^epsilon (replacing one row, with "
            "adjacency replace; all rows of a unit, with a unit column). The measurements share epsilon in proportion "
            "to the square root of their numbers of groups, times the weights that the owner gives.",
        }
    )

    aggregate: tuple[str, ...] = parameter(
        default=(),
        range=f"lines {HINT}",
        help="a table to publish, once for each; without any the counts of every column by itself",
    )
    bins: int = bins_parameter(16)
    points: int = parameter(
        default=128, range="[8, 4096]", help="places at most, over its public bounds, of a number with quantiles"
    )
    confidence: int = parameter(
        default=95, range="[50, 99]", help="percent: how often at least an interval holds the true figure"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("bins", self.bins, 2, 1024)
        check_integer("points", self.points, 8, 4096)
        check_integer("confidence", self.confidence, 50, 99)
        if not isinstance(self.aggregate, list | tuple) or not all(isinstance(line, str) for line in self.aggregate):
            raise ParameterError("aggregate must be a list of texts", HINT)
        # in the one form, so that params, report and request say the same of the same tables
        object.__setattr__(self, "aggregate", tuple(request.text for request in requests_of(self.aggregate)))

    @property
    def draws_rows(self) -> bool:
        """Nothing is drawn from the tables."""
        return False

    @cached_property
    def _requests(self) -> tuple[Request, ...]:
        return requests_of(self.aggregate)

    def plan(self, policy: Policy) -> AggregatePlan:
        """Return the measurements, from public facts alone."""
        return planned(self._requests, policy, bins=self.bins, points=self.points)

    def account(self, policy: Policy) -> Accounting:
        """Return every draw of the release, before any data is seen."""
        self.check_unit(policy)
        return self._account_of(self.plan(policy))

    def _account_of(self, plan: AggregatePlan) -> Accounting:
        return Accounting(
            draws=plan.draws(units_of(self.epsilon) // self.changed_rows),
            rows_per_unit=self.rows_per_unit,
            adjacency=self.neighbours,
        )

    def guarantee(self, policy: Policy) -> CentralDP:
        """State the promise: the composition of the planned draws, never above the given epsilon.

        Types of the source are public where a table reads the column, and no assumption of other columns.
        """
        unread = set(policy.columns) - set(self.plan(policy).names)
        return self.promise(without_whole_types(policy, unread), self.account(policy).epsilon)

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Add up in one pass, add noise, and write the figures with their intervals."""
        progress("counting", 0.0)
        self.check_unit(policy)
        plan = self.plan(policy)
        accounting = self._account_of(plan)
        sums = cell_sums(source, engine, plan, self.used_rows(source, policy, engine, rng))
        words = UniformStream(rng.child("noise"))
        aggregates = Aggregates(
            columns=plan.columns,
            numbers=plan.numbers,
            measurements=tuple(
                Measurement(
                    kind=each.kind,
                    by=each.by,
                    of=None if each.of is None else each.of.name,
                    grid=each.grid,
                    rate=draw.rate,
                    values=noisy_counts(true, draw.rate, words),
                )
                for each, draw, true in zip(plan.measurements, accounting.draws, sums, strict=True)
            ),
            tables=plan.tables,
            confidence=self.confidence / 100,
        )
        return self._draft(aggregates, accounting, policy, engine)

    def _draft(self, aggregates: Aggregates, accounting: Accounting, policy: Policy, engine: Engine) -> Draft:
        """Return the draft of noisy measurements. No true sum is in it."""
        added_up = [column.name for column in aggregates.numbers]
        return Draft(
            data=engine.hold(tidy_table(aggregates, list(figures(aggregates)))),
            in_order=True,
            published={
                **self.method_entry,
                **aggregates.to_params(),
                "columns": described_columns(aggregates),
                **({"conditions": list(conditions_of(policy))} if policy.is_conditional else {}),
            },
            statement=accounting,
            columns=column_entries(policy, aggregates, added_up),
        )
