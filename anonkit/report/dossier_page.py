# SPDX-License-Identifier: Apache-2.0
"""The dossier: one page for the owner, with the source beside the release, which is signed and never published.

Nothing is computed from data here: the page shows the report of the release and what the owner report holds. Like the
public page it runs and loads nothing, and every string that came with a table is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anonkit.errors import ReleaseFormatError
from anonkit.report import markdown
from anonkit.report.block_words import measures, row_counts
from anonkit.report.charts import BarPair, pair_matrix, paired_bar_chart
from anonkit.report.document import OWNER_BANNER, is_seeded, rendered, title_of
from anonkit.report.promise_words import words_of
from anonkit.report.promise_words.class_words import capital
from anonkit.report.wording import date_text, heading, number, one_in, percent

_OWN_SECTIONS = (
    "format", "banner", "anonkit_version", "method", "release", "source_table", "raw_risk", "column_changes",
    "pair_changes",
    "publication", "audit", "joint_view", "source", "data_sha256", "rows_left_out", "prediction_for_all_rows",
)  # fmt: skip
"""Keys of the owner report that have a section of their own."""
_PUBLICATION = (
    ("recipients", "Recipients"),
    ("purpose", "Purpose"),
    ("legal_basis", "Legal basis"),
    ("retain_until", "May be kept until"),
    ("contact", "Questions to"),
)
_FEWEST = 10
"""Rows of a class of the target before it is named."""
_WORST = 5
"""Pairs of columns that are named."""
_MOVED = 5
"""Columns whose distributions moved most that are named."""
_LEAST_MOVED = 0.0005
"""Share of the rows from which on a distribution has moved: less is 0.0 % in print."""
_SIDES = ("from_source", "from_release")
_TOPICS = {
    "means": "Means of groups that are withheld, by column and rule",
    "number_distances": "Distances of the shown numbers from those of the source",
}
_RULES = {
    "classes": "Groups",
    "few": "Fewer than k people have a number",
    "p_percent": "The second largest could tell the largest within 10 % (p-% rule)",
    "dominance": "One person makes up more than 80 % (dominance)",
    "near_end": "All numbers would be known to lie at one end of the interval",
}
"""Figures of the owner on means, in words."""
_DISTANCES = {
    "columns": "Columns of numbers that are compared",
    "il1s": "IL1s: sum of |x − x′| / (√2 s)",
    "il1s_per_cell": "IL1s, mean of a cell",
    "eigenvalues": "Eigenvalues of the correlations: sum of |λ − λ′| / λ",
    "correlations": "Correlations: mean of |r − r′|",
}
_LOST = {"dropped": "Not released.", "randomized": "Released as random answers.", "synthesized": "Drawn from a model."}


def render_dossier(
    report: Mapping[str, Any],
    owner: Mapping[str, Any],
    *,
    name: str | None = None,
    examples: Mapping[str, Any] | None = None,
) -> str:
    """Return the dossier of a release as one self-contained HTML page.

    Parameters
    ----------
    report : mapping
        What `report.json` of the release holds.
    owner : mapping
        The owner report: figures of the source as `build_owner_report` holds them, with `raw_risk`, `column_changes`,
        `publication` and, where there is one, `audit`.
    name : str, optional
        What all files of the release begin with; None for a release in memory.
    examples : mapping, optional
        Example rows (`anonkit.pipeline.source_and_release`); they are on the page alone and in no JSON.

    Returns
    -------
    str
        HTML without scripts and without references to anything outside, under the banner of the owner report.

    Raises
    ------
    ReleaseFormatError
        A block is missing, or not what it should be.

    Privacy
    -------
    Shows figures of the source that no promise covers: for the owner alone.
    """
    from jinja2 import UndefinedError

    try:
        return rendered("dossier", _view(report, owner, name, examples))
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, UndefinedError) as error:
        raise ReleaseFormatError(
            "the report is not one of anonkit", "anonkit validate tells what was changed"
        ) from error


def _view(
    report: Mapping[str, Any], owner: Mapping[str, Any], name: str | None, examples: Mapping[str, Any] | None
) -> dict[str, Any]:
    promise, audit = report["guarantee"], owner.get("audit")
    words, changes = words_of(promise), owner.get("column_changes", ())
    # where source and release are compared pair by pair, the source by itself is in that table
    shown = {*_OWN_SECTIONS, *(["utility_of_source"] if _prediction(owner.get("prediction_for_all_rows")) else [])}
    return {
        "report": report,
        "promise": promise,
        "banner": OWNER_BANNER,
        "title": title_of(report),
        "name": name,
        "source_table": owner.get("source_table"),
        "digest": owner.get("data_sha256"),
        "created": date_text(report["created"]),
        "seeded": is_seeded(report),
        "headline": words.headline(promise),
        "figures": words.figures(report),
        "is_noisy": not report["disclosure_risk"],
        "largest_risk": [] if audit is None else markdown.risk_words(report, audit),
        "position": markdown.ledger_words(report),
        "questions": list(words.questions(report)),
        "risk": _risk(owner.get("raw_risk"), report["disclosure_risk"]),
        "uncounted_risk": words.uncounted_risk(promise),
        "rows": row_counts(report["rows"]),
        "left_out": _left_out(owner.get("rows_left_out")),
        "losses": _losses(changes),
        "prediction": _prediction(owner.get("prediction_for_all_rows")),
        "columns": [_column(change, at) for at, change in enumerate(changes)],
        "pairs": _pairs(owner.get("pair_changes")),
        "actions": {column["action"] for column in report["columns"] if column["role"] != "insensitive"},
        "has_sets": any("|" in str(bar["label"]) for change in changes for bar in change.get("bars", ())),
        "joint": _joint(owner.get("joint_view"), report),
        "audit": audit,
        "attacks": markdown.attack_rows(audit),
        "loss": markdown.loss_rows(audit),
        "publication": _publication(owner.get("publication") or {}),
        "further": [
            (_TOPICS.get(key) or heading(key), _further(key, owner[key]))
            for key in owner
            if key not in shown and owner[key] != {}
        ],
        "examples": None if examples is None else _examples(examples),
    }


# --- risk ------------------------------------------------------------------------------------------------------------


def _risk(raw: Mapping[str, Any] | None, released: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the risk of the source, beside that of the release where groups can be counted in it."""
    if not raw:
        return None
    by_people = raw["counted"] == "people"
    unit = "people" if by_people else "rows"
    both = [_figures_of_risk(raw, raw["k"], unit)]
    if released:
        smallest = released["k_anonymity"]["people" if by_people else "k"]
        both.append(_figures_of_risk(released, smallest, unit))
    labels = (
        "Smallest group of people who look alike" if by_people else "Smallest group of rows that look alike",
        "Alone in their group",
        "Groups",
        "Highest risk of re-identification",
        "Mean risk of re-identification",
        f"At risk (above {percent(raw['prosecutor']['risk_threshold'])})",
    )
    return {
        "names": raw["quasi_identifiers"],
        "by_people": by_people,
        "released": bool(released),
        "lines": [
            {"name": label, "source": values[0], "released": values[1] if len(values) > 1 else None}
            for label, values in zip(labels, zip(*both, strict=True), strict=True)
        ],
    }


def _figures_of_risk(risk: Mapping[str, Any], smallest: int | None, unit: str) -> tuple[str, ...]:
    attacker = risk["prosecutor"]
    return (
        _of(smallest, unit),
        _of(risk["uniques"], unit),
        number(risk["classes"]),
        f"{one_in(attacker['max'])}",
        percent(attacker["mean"]),
        f"{percent(attacker['share_at_risk'])} of the {unit}",
    )


def _of(count: int | None, unit: str) -> str:
    one = {"rows": "row", "people": "person"}[unit]
    return f"{number(count)} {one if count == 1 else unit}"


# --- rows and prediction ---------------------------------------------------------------------------------------------


def _left_out(block: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the rows left out by class of the target; a class of few rows is not named."""
    if not block:
        return None
    unit = "people" if block["counted"] == "people" else "rows"
    lines = [
        {
            "name": "missing" if entry["class"] is None else str(entry["class"]),
            "is_named": entry["in"] >= _FEWEST,
            "in": _of(entry["in"], unit),
            "left_out": _of(entry["left_out"], unit),
            "share": percent(entry["share"]),
            "stands_out": entry["stands_out"],
        }
        for entry in block["classes"]
    ]
    return {
        "target": block["target"], "lines": lines, "note": block.get("note"), "rule": capital(block["rule"]),
        "all": (_of(block["in"], unit), _of(block["left_out"], unit), percent(block["share"])),
    }  # fmt: skip


def _prediction(block: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the scores of predictions of the target from the source and from the release, and the difference."""
    if not block or "from_release" not in block or "from_source" not in block:
        return None
    lines = []
    for measure, difference in block["difference"].items():
        sides = [_with_interval(block[side].get(measure), block[side].get("ci", {}).get(measure)) for side in _SIDES]
        lines.append(
            (heading(measure), *sides, _with_interval(difference["value"], difference["ci"]), difference["shows"])
        )
    majority = percent(block["majority"]) if "majority" in block else None
    of_mean = {key: number(score) for key, score in block.get("of_mean", {}).items()}
    return {
        "target": block["target"], "lines": lines, "protocol": block["protocol"], "majority": majority,
        "of_mean": of_mean,
    }  # fmt: skip


def _with_interval(value: float | None, interval: Sequence[float] | None) -> str:
    if not interval:
        return number(value)
    ends = "\u00a0to\u00a0".join(number(end) for end in interval)  # a line ends before the interval, not in it
    return f"{number(value)} ({ends})"


# --- losses ----------------------------------------------------------------------------------------------------------


def _losses(changes: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the columns that are lost, and those of which most rows show another value or range than in the source.

    Both sides are the bars of the column, so nothing is named here that they do not name. Random answers differ on
    purpose, and are left out.
    """
    lost = [
        change["name"]
        for change in changes
        if change["role"] not in ("identifier", "unit") and "after" not in change and change["action"] == "dropped"
    ]
    moved = []
    for change in changes:
        bars = change.get("bars") or ()
        if change["action"] in ("dropped", "randomized") or not bars or any("after" not in bar for bar in bars):
            continue
        steps = [float(bar["after"]) - float(bar["before"]) for bar in bars]
        distance = change.get("distance") or {}
        share = distance["value"] if distance.get("name") == "total variation" else sum(map(abs, steps)) / 2
        if share >= _LEAST_MOVED:
            widest = max(range(len(bars)), key=lambda at: abs(steps[at]))
            moved.append((share, change["name"], bars[widest]))
    if not lost and not moved:
        return None
    moved.sort(key=lambda each: -each[0])
    return {
        "lost": lost,
        "n_moved": number(len(moved)),
        "moved": [
            (name, _bar_label(bar), percent(share), percent(bar["before"]), percent(bar["after"]))
            for share, name, bar in moved[:_MOVED]
        ],
    }


# --- columns ---------------------------------------------------------------------------------------------------------


def _column(change: Mapping[str, Any], at: int) -> dict[str, Any]:
    bars = change.get("bars")
    role, action = change["role"].replace("_", "-"), change["action"]
    return {
        "name": change["name"],
        "head": f"{role}, {action}",
        "facts": list(_facts(change)),
        "chart": None if bars is None else distribution_chart(change, name=f"column-{at}"),
        "how": change.get("how"),
    }


def distribution_chart(change: Mapping[str, Any], *, name: str) -> str:
    """Return the chart of a column that has bars: the open bar of each pair is the source, the solid the release.

    Parameters
    ----------
    change : mapping
        As `BeforeAndAfter.changes` has it.
    name : str
        Prefix of the ids inside, unique in the page.
    """
    bars = change["bars"]
    pairs = [
        BarPair(
            label=_bar_label(bar),
            before=float(bar["before"]),
            after=None if "after" not in bar else float(bar["after"]),
            text=percent(bar["before"]) + (f" → {percent(bar['after'])}" if "after" in bar else ""),
        )
        for bar in bars
    ]
    return paired_bar_chart(
        pairs,
        name=name,
        title=f"Distribution of {change['name']}",
        description=f"{len(pairs)} values or ranges; the open bar is the source, the solid one the release.",
    )


def _bar_label(bar: Mapping[str, Any]) -> str:
    if bar.get("others"):
        return f"{number(bar['others'])} other value{'s' if bar['others'] > 1 else ''}"
    return "missing" if bar["label"] is None else str(bar["label"]) or "empty text"


def _facts(change: Mapping[str, Any]) -> list[str]:
    before, after = change["before"], change.get("after")
    missing = [f"{percent(side['missing'] / side['rows'])} missing" for side in (before,) if side["missing"]]
    values = f"{number(before['values'])} different value{'s' if before['values'] != 1 else ''} in the source"
    out = [", ".join([values + (f", {number(after['values'])} in the release" if after else ""), *missing]) + "."]
    if change["role"] in ("identifier", "unit"):
        return [*out, "Never released, and not shown here."]
    if after is None:
        return [*out, _LOST.get(change["action"], "Not in the release.")]
    if change.get("distance"):
        out.append(_distance_words(change["distance"]))
    if "mean" in change:
        mean, spread = change["mean"], change["spread"]
        out.append(
            f"Mean {_figure(mean['before'])} before, {_figure(mean['after'])} after; standard deviation "
            f"{_figure(spread['before'])} before, {_figure(spread['after'])} after."
        )
    if "coarseness" in change:
        coarse = change["coarseness"]
        out.append(
            f"On average a released value matches {percent(coarse['after'])} of all rows (original values: "
            f"{percent(coarse['before'])}). Higher means coarser."
        )
    if change.get("how") == "spread over the set":
        out.append("Released sets overlap: each released row counts evenly over the values of its set.")
    return out


def _distance_words(distance: Mapping[str, Any]) -> str:
    value = distance["value"]
    if distance["name"] == "total variation":
        return f"The distributions differ by {percent(value)} of the rows (total variation distance)."
    unit = " days" if distance["unit"] == "days" else ""
    deviations = distance.get("in_standard_deviations")
    beside = "" if deviations is None else f", {deviations:.2g} standard deviations of the source"
    return f"The numbers differ by {_figure(value)}{unit} on average (Wasserstein distance{beside})."


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


# --- pairs -----------------------------------------------------------------------------------------------------------


def _pairs(block: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return all pairs as a picture, and those that differ most by name."""
    if not block:
        return None
    names, pairs = block["columns"], block["pairs"]
    sides = [
        {(pair["columns"][0], pair["columns"][1]): float(pair["dependence"][side]) for pair in pairs}
        for side in ("before", "after")
    ]
    worst = sorted(pairs, key=lambda pair: -pair["distance"])[:_WORST]
    return {
        "chart": pair_matrix(
            names, *sides, name="pairs", title="How much every two columns depend on each other",
            description=f"{len(pairs)} pairs: below the diagonal the source, above it the release; darker is more.",
        ),
        "n": number(len(pairs)),
        "mean": _share(block["mean_distance"]),
        "chance": _share(block["by_chance"]),
        "before": _share(block["mean_dependence"]["before"]),
        "after": _share(block["mean_dependence"]["after"]),
        "how": block["how"],
        "worst": [_pair(pair, names) for pair in worst],
    }  # fmt: skip


def _pair(pair: Mapping[str, Any], names: Sequence[str]) -> tuple[list[str], str, str, str]:
    both = pair["dependence"]
    shares = _share(pair["distance"]), _share(both["before"]), _share(both["after"])
    return [names[at] for at in pair["columns"]], *shares


def _share(value: float) -> str:
    return f"{value:.3f}"


# --- further figures -------------------------------------------------------------------------------------------------


def _further(key: str, block: Any) -> dict[str, Any]:
    """Return the figures of a block; those of means with their rules and measures in words."""
    if key == "means":
        there = {rule: words for rule, words in _RULES.items() if all(rule in figures for figures in block.values())}
        rules = {words: {name: figures[rule] for name, figures in block.items()} for rule, words in there.items()}
        return {**_figures(rules), "heads": [*rules]}
    if key == "number_distances":
        return _figures({side: {_DISTANCES[name]: figure for name, figure in of.items()} for side, of in block.items()})
    return _figures(block)


def _figures(block: object) -> dict[str, Any]:
    """Return figures that a method or the engine adds: a table by name where several have the same names."""
    inner = dict(block) if isinstance(block, Mapping) else {"entries": block}
    by_name = {
        key: value
        for key, value in inner.items()
        if isinstance(value, Mapping) and value and all(isinstance(one, int | float) for one in value.values())
    }
    names = list(dict.fromkeys(name for figures in by_name.values() for name in figures))
    rest = {key: value for key, value in inner.items() if key not in by_name}
    return {
        "measures": list(measures(rest)) if rest else [],
        "heads": [heading(key) for key in by_name],
        "lines": [(name, [number(figures.get(name)) for figures in by_name.values()]) for name in names],
    }


# --- joint view, publication, examples -------------------------------------------------------------------------------


def _joint(joint: Mapping[str, Any] | None, report: Mapping[str, Any]) -> list[tuple[str, str]] | None:
    if not joint:
        return None
    unit = "people" if report["disclosure_risk"].get("counted") == "people" else "rows"
    releases = ", ".join(number(release) for release in joint["with_releases"])
    return [
        ("Combined with", f"release {releases} of this dataset in the ledger"),
        ("Smallest group left", _of(joint["k"], unit)),
        ("Alone when combined", _of(joint["rows_alone"], unit)),
        ("In groups below this release's k", _of(joint["rows_below_k"], "rows")),
        ("Groups", number(joint["classes"])),
    ]


def _publication(publication: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    out: list[tuple[str, str | None]] = []
    for key, label in _PUBLICATION:
        value = publication.get(key)
        out.append((label, "; ".join(value) if isinstance(value, list) else value))
    return [(label, text or None) for label, text in out]


def _examples(examples: Mapping[str, Any]) -> dict[str, Any]:
    """Return example rows as cards: both sides of one row where they belong together, else one side each."""
    before, after = examples["before"], examples["after"]
    if not examples["corresponds"]:
        sides = (("Source", before), ("Release", after))
        cards = [
            {"title": f"{side}, row {at}", "out": False, "cells": [(name, cell, None) for name, cell in row.items()]}
            for side, rows in sides
            for at, row in enumerate(rows, 1)
        ]
        return {"corresponds": False, "cards": cards}
    cards = [
        {
            "title": f"Row {at}",
            "out": released is None,
            "cells": [
                (name, cell, (name in released, released.get(name)) if released is not None else (False, None))
                for name, cell in row.items()
            ],
        }
        for at, (row, released) in enumerate(zip(before, after, strict=True), 1)
    ]
    return {"corresponds": True, "cards": cards}
