# SPDX-License-Identifier: Apache-2.0
"""The strip above every station: where the release is, before and after what is decided now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anonkit.desk.background_jobs import JobState
from anonkit.desk.decided_release import is_decided
from anonkit.desk.edited_policy import EditedPolicy
from anonkit.desk.release_desk import NEVER_SHOWN, Desk
from anonkit.report.wording import number

_NOT_MEASURED = "not measured"


def strip_view(desk: Desk) -> list[tuple[str, str, str]]:
    """Return name, figure and what is to be known of it: before, and after the release as it is decided now."""
    decisions, risk, rehearsal = desk.decisions, desk.result("risk"), desk.result("rehearse")
    report = {} if rehearsal is None else rehearsal["report"]
    k, epsilon = decisions.parameters.get("k"), decisions.parameters.get("epsilon")
    counts = desk.class_counts
    k_now = _pending(desk, "risk") if counts is None else number(counts["k"])
    k_after = "–" if k is None else number(k)
    spent = spending(report, epsilon, desk.policy.bookkeeping.budget)
    return [
        ("k", f"{'not counted' if desk.is_simulated else k_now} → {k_after}", "people alike, now → required"),
        ("People found", f"{_found_before(desk, risk)} → {_found_after(desk, report)}", "expected, before → after"),
        ("Usefulness", _usefulness(desk, rehearsal), "of models trained on the release"),
        ("Columns kept", _kept(desk, report), "of those of the table"),
        ("ε spent", "none" if spent is None else spent.words, "before + this release, of the budget of the dataset"),
    ]


def _pending(desk: Desk, kind: str) -> str:
    job = desk.latest(kind)
    if job is None:
        return "not counted"
    return "pending" if job.state is JobState.AT_WORK else str(job.state)


def _found_before(desk: Desk, risk: Mapping[str, Any] | None) -> str:
    if desk.is_simulated:
        return "not counted"
    if risk is None:
        return _pending(desk, "risk")
    expected = expected_before(risk)
    return f"{risk['classes'] if expected is None else expected:,.0f}"


def expected_before(risk: Mapping[str, Any]) -> float | None:
    """Return the expected number of people of a table found in the population; None where nothing is known of it.

    In a file of the population each person is found by chance among those who are alike. It is a bound from above where
    the file lacks people of the table.
    """
    population = risk["population"]
    if population["basis"] == "file":
        return float(population["file"].get("marketer", 0.0)) * int(risk["people"])
    individual = population["individual"]
    return None if individual is None else float(individual["sum"])


def _found_after(desk: Desk, report: Mapping[str, Any]) -> str:
    if desk.decisions.has_epsilon:
        return "not by rows"
    if not report:
        return _pending(desk, "rehearse")
    risk = report.get("disclosure_risk", {})
    population = risk.get("population")
    if population is not None and "individual" in population["estimates"]:
        return f"{population['estimates']['individual']['sum']:,.0f}"
    share = risk.get("marketer", {}).get("success_rate")
    if population is not None and population["basis"] == "file":
        share = population["estimates"].get("marketer", 0.0)
    return "–" if share is None else f"{share * report['rows']['out']:,.0f}"


def _usefulness(desk: Desk, rehearsal: Mapping[str, Any] | None) -> str:
    """Return what was computed last: of the dry run, of the comparison, or of what was decided before."""
    if rehearsal is not None:
        predicted = _predicted(rehearsal["report"])
        return _compared(desk) or predicted if predicted == _NOT_MEASURED else predicted
    job = desk.jobs.of_kind("rehearse")
    if job is not None and job.state is JobState.AT_WORK:
        return "pending"
    compared = _compared(desk)
    if compared:
        return compared
    if job is None or not job.result:
        return "not computed" if job is None else str(job.state)
    return f"{_predicted(job.result['report'])}, before the last change"


def _compared(desk: Desk) -> str:
    """Return the usefulness of what is decided in the comparison; empty where it was not compared."""
    job, decisions = desk.latest("compare"), desk.decisions
    for point in () if job is None else job.parts:
        if is_decided(point, decisions):
            for measure in ("auc", "r2"):
                if point.get(measure) is not None:
                    of = "simulated rows" if decisions.is_private else "a sample"
                    return f"{measure.upper()} {point[measure]:.3f}, on {of}"
    return ""


def _predicted(report: Mapping[str, Any]) -> str:
    foreseen = report.get("foreseen") or {}
    prediction = foreseen.get("prediction")
    if prediction is not None:
        return f"{prediction['measure'].upper()} {prediction['released']:.3f}, on simulated rows"
    told = (report.get("utility") or {}).get("prediction_of_target") or {}
    if isinstance(told, str):  # why it was not measured
        return _NOT_MEASURED
    for measure in ("auc", "r2"):
        if told.get(measure) is not None:
            low, high = told.get("ci", {}).get(measure, (None, None))
            within = "" if low is None else f" ({low:.2f} to {high:.2f})"
            return f"{measure.upper()} {told[measure]:.3f}{within}"
    return "nothing is predicted"


def _kept(desk: Desk, report: Mapping[str, Any]) -> str:
    columns = report.get("columns") or (report.get("foreseen") or {}).get("columns")
    if not columns:
        declared = EditedPolicy.read(desk.policy_text).columns().values()
        released = sum(spec.get("role") not in NEVER_SHOWN for spec in declared)
        return f"≤ {released} of {len(declared)}" if declared else "–"
    return f"{sum(column['action'] != 'dropped' for column in columns)} of {len(columns)}"


@dataclass(frozen=True, kw_only=True)
class ReleaseCost:
    """Cost of a release, with the earlier ones of its dataset, out of which budget."""

    epsilon: float
    together: float | None
    """With the earlier releases, between the neighbours that lose most; None: the ledger does not say."""
    budget: float | None

    @property
    def words(self) -> str:
        """In a few words."""
        together = self.epsilon if self.together is None else self.together
        before = together - self.epsilon
        told = f"{before:g} + {self.epsilon:g}" if before > 0 else f"{self.epsilon:g}"
        return told if self.budget is None else f"{told} of {self.budget:g}"


def spending(report: Mapping[str, Any], epsilon: float | None, budget: float | None) -> ReleaseCost | None:
    """Return what a release costs; None for one without noise.

    Parameters
    ----------
    report : mapping
        Of a release or a rehearsal of it; empty: there is none yet.
    epsilon : float, optional
        What is decided.
    budget : float, optional
        What the policy declares; the ledger's holds where the report names it.
    """
    if epsilon is None:
        return None
    ledger = report.get("ledger") or {}
    totals = [float(total["epsilon"]) for total in ledger.get("totals") or () if total["epsilon"] is not None]
    given = ledger.get("epsilon_budget", budget)
    return ReleaseCost(
        epsilon=epsilon,
        together=max(totals) if totals else None,
        budget=float(given) if isinstance(given, int | float) else None,
    )
