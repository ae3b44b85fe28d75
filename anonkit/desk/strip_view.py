# SPDX-License-Identifier: Apache-2.0
"""The strip above every station: where the release is, before and after what is decided now.

View of the station Compare: releases by risk and usefulness, and two of them beside the source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anonkit.desk.background_jobs import JobState
from anonkit.desk.decided_release import Decisions, compared_settings, is_decided
from anonkit.desk.release_desk import NEVER_SHOWN, Desk
from anonkit.desk.session_files import EditedPolicy
from anonkit.report.wording import number, percent

_NAMED = 12
"""Lost columns that are named."""
_NOT_RELEASED = "not released"
_MOST_CHARTS = 24
"""Columns whose distributions are drawn: those that moved most."""


def compare_view(desk: Desk) -> dict[str, Any]:
    """Return the releases of a comparison, as a plot and as rows, and two of them side by side."""
    from anonkit.comparing.frontier_plot import HEIGHT, MARKS, MEASURES, WIDTH, drawable, plot, shape

    job = desk.latest("compare")
    points = [] if job is None else list(job.parts)
    document = desk.result("compare")
    measure = "r2" if points and all(point.get("auc") is None for point in points) and "r2" in points[0] else "auc"
    raw = None if document is None else document["raw"].get(measure)
    plotted = drawable(points, measure) if points else []
    methods = list(dict.fromkeys(point["method"] for point in plotted))
    return {
        "target": bool(desk.policy.target),
        "settings": compared_settings(desk.decisions),
        "is_done": document is not None,
        "is_at_work": job is not None and job.state is JobState.AT_WORK,
        "plot": plot(plotted, raw, measure) if plotted else "",
        "width": WIDTH,
        "height": HEIGHT,
        "legend": [(at % len(MARKS), shape(at, 0, 0), name) for at, name in enumerate(methods)],
        "measure": MEASURES[measure],
        "raw": None if raw is None else f"{raw:.3f}",
        "price": None if document is None else document["looking"]["note"],
        "points": [_point(at, point, measure, desk.decisions) for at, point in enumerate(points)],
        "sides": _sides(desk.result("sides")),
    }


def _point(at: int, point: Mapping[str, Any], measure: str, decisions: Decisions) -> dict[str, Any]:
    linked = point["attacks"].get("linkability")
    score, lost = point.get(measure), point["columns_lost"]
    within = (point["models"].get(point["best_model"]) or {}).get("ci", {}).get(measure)
    interval = "" if within is None else f" ({within[0]:.2f} to {within[1]:.2f})"
    return {
        "number": at,
        "label": point["label"],
        "is_decided": is_decided(point, decisions),
        "score": "–" if score is None else f"{score:.3f}{interval}",
        "risk": "–" if not linked else f"{linked['risk']:.3f} ({linked['ci'][0]:.2f} to {linked['ci'][1]:.2f})",
        "lost": "–" if point["refused"] else str(len(lost)),
        "lost_names": lost[:_NAMED],
        "left_out": _share_left_out(point["left_out"]),
        "refused": point["refused"],
    }


def _share_left_out(rows: Mapping[str, Any] | None) -> str:
    """Return the share of rows that are left out: of the table, then of the class that loses most."""
    if not rows or not rows.get("in"):
        return "–"
    worst = max(rows["classes"], key=lambda each: each["left_out"] / max(each["in"], 1), default=None)
    share = percent(rows["left_out"] / rows["in"])
    if worst is None or not worst["left_out"]:
        return share
    return f"{share}; {percent(worst['left_out'] / worst['in'])} of {worst['class']}"


def left_out_words(rows: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return the rows that are left out, by class of the target."""
    if not rows:
        return []
    return [(str(each["class"]), f"{each['left_out']:,} of {each['in']:,}") for each in rows["classes"]]


# --- two releases beside the source ----------------------------------------------------------------------------------


def _sides(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return two candidates beside the source, column by column, and example rows; the most distorted column first."""
    if found is None:
        return None
    from anonkit.report.dossier_page import distribution_chart  # a fifth of a second that no first page waits for

    first, second = found["candidates"]
    other = {change["name"]: change for change in second["changes"]}
    columns = []
    for change in first["changes"]:
        both = (change, other.get(change["name"], {}))
        columns.append({"name": change["name"], "sides": [_distortion(side) for side in both], "both": both})
    columns.sort(key=lambda column: -max(side["moved"] for side in column["sides"]))
    for at, column in enumerate(columns):
        for letter, side, shown in zip("ab", column["both"], column["sides"], strict=True):
            has_chart = at < _MOST_CHARTS and side.get("bars")
            shown["chart"] = distribution_chart(side, name=f"{letter}{at}") if has_chart else ""
    return {
        "labels": (first["label"], second["label"]),
        "rows": found["rows"],
        "out": [candidate["rows"].get("out") for candidate in (first, second)],
        "columns": columns,
        "left_out": [left_out_words(candidate["left_out"]) for candidate in (first, second)],
        "examples": _examples(found["candidates"]),
    }


def _distortion(change: Mapping[str, Any]) -> dict[str, Any]:
    """Return the change of a column, and the distance that its distribution moved, in five steps for a colour."""
    distance = change.get("distance")
    action = str(change.get("action", "–"))
    if action == "dropped" or not change:
        return {"words": "left out", "step": 4, "moved": 1.0}
    if not distance:
        return {"words": action, "step": 0, "moved": 0.0}
    value = distance.get("in_standard_deviations")
    value = distance["value"] if value is None else value
    return {"words": f"{action}, moved by {value:.2f}", "step": min(4, int(8 * value)), "moved": float(value)}


def _examples(candidates: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return rows of the source, and below each what either release shows of it: both were given the same rows."""
    examples = [candidate["examples"] for candidate in candidates]
    if any(not each or not each["before"] for each in examples):
        return None
    before = examples[0]["before"]
    names = list(before[0])
    rows = []
    for at, row in enumerate(before):
        lines = [{"head": "source", "cells": [(_cell(row[name]), False) for name in names]}]
        for letter, each in zip("AB", examples, strict=True):
            then = each["after"][at] if at < len(each["after"]) else None
            lines.append({"head": letter, "cells": _after(names, row, then, corresponds=each["corresponds"])})
        rows.append(lines)
    return {"names": names, "rows": rows, "unrelated": [not each["corresponds"] for each in examples]}


def _after(
    names: Sequence[str], row: Mapping[str, Any], then: Mapping[str, Any] | None, *, corresponds: bool
) -> list[tuple[str, bool]]:
    """Return the released cells of a row, each with True where it differs."""
    if then is None:
        return [("left out", True) for _ in names]
    shown = ((name, then[name]) if name in then else (name, _NOT_RELEASED) for name in names)
    return [(_cell(value), corresponds and row[name] != value) for name, value in shown]


def _cell(value: object) -> str:
    return "–" if value is None else str(value)


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
        ("Columns kept", _released_columns(desk, report), "of those of the table"),
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
    """Return the latest measure of usefulness: of the dry run, the comparison, or the earlier decision."""
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
    measured = (report.get("utility") or {}).get("prediction_of_target") or {}
    if isinstance(measured, str):  # why it was not measured
        return _NOT_MEASURED
    for measure in ("auc", "r2"):
        if measured.get(measure) is not None:
            low, high = measured.get("ci", {}).get(measure, (None, None))
            within = "" if low is None else f" ({low:.2f} to {high:.2f})"
            return f"{measure.upper()} {measured[measure]:.3f}{within}"
    return "nothing is predicted"


def _released_columns(desk: Desk, report: Mapping[str, Any]) -> str:
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
        spent = f"{before:g} + {self.epsilon:g}" if before > 0 else f"{self.epsilon:g}"
        return spent if self.budget is None else f"{spent} of {self.budget:g}"


def spending(report: Mapping[str, Any], epsilon: float | None, budget: float | None) -> ReleaseCost | None:
    """Return the cost of a release; None for one without noise.

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
