# SPDX-License-Identifier: Apache-2.0
"""SafePub: true rows that are k-anonymous and differentially private at once (Bild, Kuhn, Prasser 2018)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from anonkit.budget_rules.model_queries import SchemeScore
from anonkit.domains.cell_values import refuse_kinds
from anonkit.domains.coded_columns import IntArray
from anonkit.errors import ParameterError, PolicyError
from anonkit.k_anonymity.generalization_schemes import (
    CodePublic,
    DrawRows,
    LeaveOut,
    PublicLevels,
    Scheme,
    ShownAsReleased,
    one_row_of_each,
    schemes_of,
    scores_of,
)
from anonkit.mechanisms.accounting import draw_units, rate_within, sensitivity_of, units_of
from anonkit.mechanisms.exact_samplers import UniformStream, permute_and_flip
from anonkit.mechanisms.privacy_amplification import WORD_BITS, RowDraw, SampledAccounting, best_sample, class_size
from anonkit.parameters import check_integer, check_number, parameter, settle_numbers
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.policy.public_domains import (
    NumericAttribute,
    PublicDomains,
    conditions_of,
    numeric_target,
    public_assumptions,
    public_domains,
)
from anonkit.promises.approximate_dp import AnonymousDP
from anonkit.protocols import COUNT, Draft, Engine, Progress, Source, no_progress
from anonkit.published.recoding import GlobalRecoding, Grouping
from anonkit.published.statements.noise_statement import PERMUTE_AND_FLIP, Draw
from anonkit.randomness import Randomness
from anonkit.report.blocks import Action, ReportColumn, column_entry

FORMAT = "anonkit-drawn-rows-1"
SCHEMES = 5000
"""Schemes among which one is chosen, at most."""
LEAST_EPSILON = 0.01
SEARCH_SHARE = Fraction(1, 4)
"""Share of epsilon that the choice costs; the rest is for the draw of the rows."""


@dataclass(frozen=True, kw_only=True)
class SafePub:
    """Draw rows by coins, show them at one level of detail a column, and leave out all of which fewer than k are alike.

    The levels follow from the policy; which of them are used is a private choice. k is raised as far as epsilon and
    delta need it, and the share of rows that is drawn follows from them, so that groups of few rows are shown.

    Privacy
    -------
    (epsilon, delta)-differential privacy for one row more or less (one person, with a unit column: one row of each is
    used), and k alike rows in the released table, in all columns together. The rows are true ones.
    """

    name: ClassVar[str] = "safepub"
    paper: ClassVar[str] = (
        "Bild, Kuhn, Prasser: SafePub: a truthful data anonymization algorithm with strong privacy guarantees, PoPETs "
        "2018, after Li, Qardaji, Su 2012"
    )
    summary: ClassVar[str] = "true rows, k-anonymous and differentially private: sampled, generalized, suppressed"
    target_use: ClassVar[TargetUse] = TargetUse.OPTIONAL
    promise_words: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "kind": "k-anonymous-dp",
            "statement": "Every released row is true, with coarser values, and k or more released rows are alike in "
            "all "
            "columns. Adding or removing one row changes the probability of any result by at most a factor of "
            "e^epsilon, plus delta. A quarter of epsilon chooses how rows are shown, the rest is for drawing them.",
        }
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"epsilon": 4.0, "delta": 1e-3, "k": 5})
    progress_steps: ClassVar[tuple[str, ...]] = ("counting", "drawing")

    epsilon: float = parameter(
        range="(0, 20]", help="privacy loss of the whole release, for the unit of privacy; at least 0.01"
    )
    delta: float = parameter(
        default=1e-9,
        range="(0, 0.01]",
        help="probability that epsilon does not cover, far below one in the number of rows",
    )
    k: int = parameter(
        default=10, range="[2, 1000]", help="fewest alike rows that are shown; raised as epsilon and delta need it"
    )
    sample: float | None = parameter(
        default=None,
        range="(0, 1)",
        help="probability with which each row is drawn; by default as small classes of the table need it",
    )

    def __post_init__(self) -> None:
        settle_numbers(self)
        check_number("epsilon", self.epsilon, 0, 20, open_low=True)
        if self.epsilon < LEAST_EPSILON:
            raise ParameterError(
                f"an epsilon of {self.epsilon:g} is too small for this method, which takes {LEAST_EPSILON:g} and more",
                "below, a class would need tens of thousands of rows to be shown",
            )
        check_number("delta", self.delta, 0, 0.01, open_low=True, hint="far below one in the number of rows: 1e-9")
        check_integer("k", self.k, 2, 1000)
        if self.sample is not None:
            check_number("sample", self.sample, 0, 1, open_low=True, open_high=True)

    # --- what follows from the parameters alone ------------------------------------------------------------------

    def _choice(self, has_target: bool) -> Draw:
        """Return the private choice of a scheme."""
        query = SchemeScore(has_target=has_target)
        return Draw(
            name="how each column is shown",
            law=PERMUTE_AND_FLIP,
            rate=rate_within(units_of(Fraction(self.epsilon) * SEARCH_SHARE), sensitivity_of(query)),
            query=query,
        )

    def _units(self, choice: Draw) -> int:
        """Return the remaining epsilon for the rows, in units of 2**-52."""
        return units_of(Fraction(self.epsilon)) - draw_units(choice)

    def _sampling_words(self, units: int) -> tuple[int, int]:
        """Return the words of 2**32 that draw a row, and k: functions of the parameters alone.

        Raises
        ------
        ParameterError
            The sample is larger than epsilon allows.
        """
        if self.sample is None:
            sampled = best_sample(units, self.delta, self.k)
        else:
            sampled = max(int(self.sample * (1 << WORD_BITS)), 1)
        return sampled, class_size(sampled, units, self.delta, self.k)

    def guarantee(self, policy: Policy) -> AnonymousDP:
        """State the promise: the given epsilon and delta, and the k that they need.

        Raises
        ------
        PolicyError
            A column has no public domain, or the target is a number to predict.
        """
        domains = _domains(policy)
        _, k = self._sampling_words(self._units(self._choice(domains.target is not None)))
        return AnonymousDP(
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            k=k,
            quasi_identifiers=tuple(attribute.name for attribute in domains.attributes),
            unit=policy.unit,
            assumptions=public_assumptions(policy),
            conditional=policy.conditional_columns,
            identifiers_from_data=policy.identifiers_from_data,
        )

    # --- the release ---------------------------------------------------------------------------------------------

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Choose how rows are shown, draw them, and leave out those of which fewer than k are alike.

        Where no k drawn rows are alike the release has no rows, which is an outcome of the draws like any other.
        """
        progress("counting", 0.0)
        domains = _domains(policy)
        refuse_kinds(source.schema, domains.bounds)
        if policy.unit is not None:
            key = rng.child("rows of people").key("rows of people")
            source = engine.map_batches(source, one_row_of_each(engine, source, policy.unit, key), source.schema)
        levels = [PublicLevels.of(own, policy.column(own.name).ladder) for own in domains.attributes]
        choice = self._choice(domains.target is not None)
        units = self._units(choice)
        sampled, k = self._sampling_words(units)
        scheme = _chosen(source, levels, domains, engine, choice, -(-(k << WORD_BITS) // sampled), rng)
        progress("drawing", 0.0)
        draw = DrawRows(
            levels=levels,
            scheme=scheme,
            target=domains.target,
            key=rng.child("draw").key("rows"),
            sampled=sampled,
        )
        sampled_rows = engine.keep(engine.map_batches(source, draw, draw.schema))
        small = engine.small_classes(sampled_rows, draw.schema.names, k)
        data = engine.map_batches(sampled_rows, LeaveOut(small), draw.schema) if small.num_rows else sampled_rows
        recoding = GlobalRecoding(
            columns=tuple(
                own.recoding(level) for own, level in zip(levels, scheme, strict=True) if level < own.n_levels
            )
        )
        return Draft(
            data=data,
            labels_seen=domains.target is not None,
            published={
                "format": FORMAT,
                "target": policy.target,
                "unit": policy.unit,
                "missing_values": list(policy.missing_values),
                "columns": _described(policy, domains),
                **({"conditions": list(conditions_of(policy))} if policy.is_conditional else {}),
                "recoding": recoding.to_dict(),
            },
            statement=SampledAccounting(
                choice=choice,
                draw=RowDraw(sampled=sampled, k=k, rate=units),
                epsilon=float(self.epsilon),
                delta=float(self.delta),
            ),
            columns=_column_entries(policy, domains, recoding),
            applied=ShownAsReleased(levels=levels, scheme=scheme),
        )


def _domains(policy: Policy) -> PublicDomains:
    """Return the public domains of a policy; a target is classes.

    Raises
    ------
    PolicyError
        A column has no public domain, or the target is a number to predict.
    """
    if numeric_target(policy) is not None:
        raise PolicyError(
            f"column {policy.target!r} is a number to predict, and true numbers are hardly ever alike",
            "declare it a quasi_identifier, to be released in bins, and name no target",
        )
    return public_domains(policy)


def _chosen(
    source: Source,
    levels: Sequence[PublicLevels],
    domains: PublicDomains,
    engine: Engine,
    choice: Draw,
    needed: int,
    rng: Randomness,
) -> Scheme:
    """Choose a scheme by permute-and-flip on scores of the exact table.

    Parameters
    ----------
    needed : int
        Rows of a class that do not count: about as many as are needed for it to be shown.
    """
    code = CodePublic(levels=levels, target=domains.target)
    coded = engine.map_batches(source, code, code.schema)
    (table,) = engine.count_sets(coded, [tuple(code.schema.names)])
    columns: list[IntArray] = [np.asarray(table.column(name).to_numpy(), dtype=np.int64) for name in code.schema.names]
    counts = np.asarray(table.column(COUNT).to_numpy(), dtype=np.int64)
    schemes = schemes_of(levels, SCHEMES, may_show_nothing=domains.target is not None)
    codes = np.stack(columns[:-1])
    scores = scores_of(schemes, levels, codes, None if domains.target is None else columns[-1], counts, needed)
    place = permute_and_flip(scores[np.newaxis], choice.rate, UniformStream(rng.child("choice")))
    return schemes[int(place[0])]


def _described(policy: Policy, domains: PublicDomains) -> list[dict[str, Any]]:
    """Return the columns that may be shown, with their public domains."""
    described: list[dict[str, Any]] = []
    for attribute in domains.attributes:
        role = str(policy.column(attribute.name).role)
        if isinstance(attribute, NumericAttribute):
            domain: dict[str, Any] = {"bounds": list(attribute.bounds), "has_missing": attribute.has_missing}
            described.append({"name": attribute.name, "role": role, "type": "double", "domain": domain})
        else:
            described.append(
                {"name": attribute.name, "role": role, "type": "string", "domain": attribute.domain.to_params()}
            )
    if domains.target is not None:
        domain = domains.target.domain.to_params()
        described.append({"name": domains.target.name, "role": "target", "type": "string", "domain": domain})
    return described


def _column_entries(policy: Policy, domains: PublicDomains, recoding: GlobalRecoding) -> list[ReportColumn]:
    """Return the treatment of each column of the source."""
    shown = {column.name: column for column in recoding.columns}
    used = {attribute.name for attribute in domains.attributes}
    entries: list[ReportColumn] = []
    for name, column in policy.columns.items():
        entry = column_entry(name, str(column.role), "kept", is_sensitive=column.is_sensitive)
        if column.role is Role.TARGET:
            entries.append({**entry, "detail": "full"})
        elif name not in used:
            entries.append({**entry, "action": "dropped", "reason": "not released: only what is declared public is"})
        elif name not in shown:
            entries.append({**entry, "action": "dropped", "reason": "the scheme that was chosen does not show it"})
        else:
            entries.append({**entry, **_detail_of(shown[name])})
    return entries


def _detail_of(column: Any) -> Any:
    if not isinstance(column, Grouping):
        return {"action": "kept", "detail": "full"}
    action: Action = "generalized"
    values = list(dict.fromkeys(column.labels))
    return {"action": action, "detail": "generalized", "released_values": len(values), "values": values}
