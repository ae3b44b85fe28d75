# SPDX-License-Identifier: Apache-2.0
"""The privacy report as a page: `report.json` as words, figures and charts for the person who signs.

Nothing is computed from data here and nothing is judged anew: the page shows what the report states, the worst first.
Everything that came with the table (column names, labels, notes) is untrusted text; the template escapes it.

Legend of the labels of a k-anonymous release: one example of every form that it shows, with its meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from anonkit.errors import ReleaseFormatError
from anonkit.report import markdown
from anonkit.report.block_words import bounded, budget_tables, column_row, measures, population_rows, row_counts
from anonkit.report.charts import Bar, Fill, bar_chart, class_size_bins, histogram, size_ticks
from anonkit.report.document import OWNER_BANNER, is_seeded, rendered, title_of
from anonkit.report.first_facts import first_facts, remaining_notes
from anonkit.report.promise_words import words_of
from anonkit.report.wording import (
    check_words,
    date_text,
    gathered,
    heading,
    number,
    one_in,
    percent,
    required_words,
    shuffle_words,
    value_words,
)

_BETWEEN = re.compile(r"\[([^,]+), ([^,]+)\)")
_NUMBERED = re.compile(r" \([0-9]+\)$")
_MANY = 60
"""Letters of an example; a longer label of the same form gives way to a shorter one."""


def label_legend(columns: Sequence[Mapping[str, Any]]) -> Sequence[tuple[str, str]]:
    """Return the forms of labels that generalized columns show, as pairs of an example and what it means.

    Where a column does not list its labels, all forms that it can have are there, with a and b for values.

    Parameters
    ----------
    columns : sequence of mapping
        Those of `report.json`: `action`, and `values` where the labels are listed.
    """
    values = [
        None if value is None else str(value)
        for column in columns
        if column.get("action") == "generalized"
        for value in column.get("values") or ()
    ]
    examples: dict[str, tuple[str, str]] = {}
    for value in values:
        for form, example, meaning in _forms(value):
            known = examples.get(form)
            if known is None or len(example) < len(known[0]) > _MANY:
                examples[form] = example, meaning
    if any(column.get("action") == "generalized" and column.get("values") is None for column in columns):
        examples = {**_GENERAL, **examples}
    return [examples[form] for form in _ORDER if form in examples]


_GENERAL = {
    "between": ("[a, b)", "from a up to b, without b"),
    "below": ("< a", "below a"),
    "from": (">= b", "b or more"),
    "set": ("a|b", "one of a or b; which one is not shown"),
    "complement": ("not a|b", "any value but a and b"),
    "anything": ("*", "any value: the cell shows nothing"),
}
_ORDER = ("between", "below", "from", "set", "complement", "other", "anything", "missing", "numbered")


def _forms(value: str | None) -> Iterable[tuple[str, str, str]]:
    """Yield the forms of a label: its name, an example, what that means."""
    if value is None or value == "missing":
        yield "missing", "missing" if value else "(empty)", "the source has no value"
        return
    if _NUMBERED.search(value):
        yield "numbered", value, "the number tells apart groups that would have the same label"
    plain = _NUMBERED.sub("", value)
    if plain == "*":
        yield "anything", "*", "any value: the cell shows nothing"
        return
    parts = plain.removeprefix("not ").split("|")
    if plain.startswith("not "):
        yield "complement", plain, f"any value but {_listed(parts, 'and')}"
    elif len(parts) > 1:
        yield "set", plain, f"one of {_listed(parts, 'or')}; which one is not shown"
    for part in parts:
        between = _BETWEEN.fullmatch(part)
        if between:
            yield "between", part, f"from {between[1]} up to {between[2]}, without {between[2]}"
        elif part.startswith("< "):
            yield "below", part, f"below {part[2:]}"
        elif part.startswith(">= "):
            yield "from", part, f"{part[3:]} or more"
        elif part == "other":
            yield "other", part, "a value that is not listed"


def _listed(parts: Sequence[str], word: str) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"


SHOWN_SECRETS = 20
"""Most values of a column whose confidence is shown."""
SHOWN_BARS = 30
"""Columns in the importance chart."""

_FILLS = {"generalized": Fill.HATCHED, "dropped": Fill.OPEN}
_PAIRS = "Share of the pairs of rows of different classes that differ in the column, 0 to 1; to two digits."
_UNITS = {
    "rf-oob": "How many more rows a tree predicts wrongly when the column is shuffled: mean over trees, to two digits.",
    "rf-gini": "Share of the trees' gain that is the column's, 0 to 1; to two digits.",
    "mondrian": "Share of all divisions of the rows that are by the column, 0 to 1.",
    "hamdist": _PAIRS,
    "greedy-hamdist": _PAIRS,
    "mutual-info": "Nats that the column tells of the target; to two digits.",
}
"""Unit of an importance, by its measure, or by the method that has one alone."""
_FILES = (".parquet", ".params.json", ".report.json", ".report.html", ".datapackage.json")
_REPORT_KEYS = (
    "format", "anonkit_version", "created", "dataset", "source_name", "recipients", "method", "guarantee", "budget",
    "columns", "rows", "disclosure_risk", "utility", "verification", "randomness", "domains_declared_by", "notes",
    "shuffle", "draws",
)  # fmt: skip


def render_page(
    report: Mapping[str, Any],
    *,
    name: str | None = None,
    audit: Mapping[str, Any] | None = None,
    older: Mapping[str, Any] | None = None,
) -> str:
    """Return the report as one self-contained HTML page, its first sheet what a reviewer reads first.

    Parameters
    ----------
    report : mapping
        What `report.json` holds, as in `anonkit/report/schemas/report.schema.json`. Blocks and keys the page does not
        know are shown as they are.
    name : str, optional
        Prefix of the names of all files of the release; without it `NAME` is shown.
    audit : mapping, optional
        What `anonkit audit` found, as `Audit.to_dict` gives it. The page is then the owner's, under the banner.
    older : mapping, optional
        The report of an earlier release, to show what changed.

    Returns
    -------
    str
        HTML without scripts and without references to anything outside; its own content security policy forbids both.

    Raises
    ------
    ReleaseFormatError
        The report lacks a block, or a block is not what it should be.

    Privacy
    -------
    Without an audit the page shows public reports and nothing else.
    """
    from jinja2 import UndefinedError

    try:
        return rendered("report", {**_view(report), **_review(report, audit, older, name), "name": name})
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, UndefinedError) as error:
        raise ReleaseFormatError(
            "the report is not one of anonkit", "anonkit validate tells what was changed"
        ) from error


def _view(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the template: the report, and the parts of it that have to be put into words or drawn."""
    checks = [_check(block) for block in report["verification"]["checks"]]
    promise, words = report["guarantee"], words_of(report["guarantee"])
    names = {check["name"] for check in report["verification"]["checks"]}
    return {
        "report": report,
        "title": title_of(report),
        "created": date_text(report["created"]),
        "seeded": is_seeded(report),
        "questions": list(words.questions(report)),
        "uncounted_risk": words.uncounted_risk(promise),
        "needs_public_domains": words.needs_public_domains,
        "unchecked": [check_words(name)[0] for name in words.unchecked(promise, names)],
        "checks": checks,
        "evidence": [_check(block) for block in gathered(report["verification"]["checks"])],
        "broken": [block for block in checks if not block["passed"]],
        "figures": words.figures(report),
        "parameters": _parameters(promise["parameters"]),
        "risk": _risk(report["disclosure_risk"]),
        "columns": [column_row(block) for block in report["columns"]],
        "legend": label_legend(report["columns"]),
        "is_noisy": not report.get("draws")
        and any(block["action"] in ("randomized", "synthesized") for block in report["columns"]),
        "is_recoded": any(block["action"] == "generalized" for block in report["columns"]),
        "target": next((block["name"] for block in report["columns"] if block["role"] == "target"), None),
        "importance": _importance(report["columns"], report["method"], report.get("search", {})),
        "rows": row_counts(report["rows"]),
        "utility": list(measures(report["utility"])),
        "budget": budget_tables(report["budget"], report.get("draws", ())),
        "notes": remaining_notes(report),
        "file_alone": shuffle_words(report.get("shuffle")),
        "further": [(heading(name), list(measures(report[name]))) for name in report if name not in _REPORT_KEYS],
    }


def _review(
    report: Mapping[str, Any],
    audit: Mapping[str, Any] | None,
    older: Mapping[str, Any] | None,
    name: str | None,
) -> dict[str, Any]:
    """Return the first sheet, and the sections of an audit and of an earlier release."""
    files = [f"{name or 'NAME'}{suffix}" for suffix in _FILES]
    changed = markdown.difference(report, older)
    return {
        "owner": OWNER_BANNER if audit is not None else None,
        "topics": [
            {"label": topic.label, "sentences": markdown.risk_words(report, audit)} if topic.label == "Risk" else topic
            for topic in first_facts(report, files)
        ],
        "position": markdown.ledger_words(report),
        "change": markdown.change_words(report, changed),
        "attacks": markdown.attack_rows(audit),
        "loss": markdown.loss_rows(audit),
        "audit": audit,
        "difference": changed,
    }


# --- the claim -----------------------------------------------------------------------------------------------


def _check(check: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "text": check_words(check["name"])[0],
        "observed": number(check["observed"]),
        "required": required_words(check),
        "passed": check["passed"],
    }


def _parameters(parameters: Mapping[str, Any]) -> list[tuple[str, str, Sequence[str]]]:
    """Return the promise as (parameter, text, names); names instead of a text where it is a list of columns."""
    out: list[tuple[str, str, Sequence[str]]] = []
    for key, value in parameters.items():
        if (
            isinstance(value, Sequence)
            and not isinstance(value, str)
            and all(isinstance(element, str) for element in value)
        ):
            out.append((heading(key), "" if value else "none", value))
        elif value is not None:
            out.append((heading(key), bounded(key, value), ()))
    return out


# --- disclosure risk -----------------------------------------------------------------------------------------


def _risk(risk: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the disclosure risks with their chart, or None where class sizes mean nothing."""
    if not risk:
        return None
    threshold = risk["prosecutor"]["risk_threshold"]
    counted = risk.get("counted", "rows")
    records = "people" if counted == "people" else "released records"
    bins = class_size_bins([(bin_["size"], bin_["classes"]) for bin_ in risk["class_sizes"]])
    total = sum(bin_.records for bin_ in bins)
    table = [
        {
            "size": number(bin_.low) if bin_.low == bin_.high else f"{number(bin_.low)}–{number(bin_.high)}",
            "classes": number(bin_.classes),
            "records": number(bin_.records),
            "share": percent(bin_.records / total),
            "risk": one_in(1 / bin_.low) if bin_.classes else "–",
            "at_risk": bin_.classes > 0 and 1 / bin_.low > threshold,
        }
        for bin_ in bins
    ]
    bars = [
        Bar(
            label=f"Classes of {row['size']} {counted}",
            value=float(bin_.records),
            text=str(row["share"]),
            fill=Fill.HATCHED if row["at_risk"] else Fill.SOLID,
        )
        for bin_, row in zip(bins, table, strict=True)
        if total
    ]
    chart = histogram(
        bars,
        size_ticks(bins),
        name="sizes",
        title=f"{records.capitalize()} by the size of their equivalence class",
        description=f"{len(bars)} columns, smallest classes first; the table below has the same figures.",
        axis=f"{counted} in the equivalence class",
        legend={Fill.HATCHED: f"risk above {percent(threshold)}"} if any(row["at_risk"] for row in table) else None,
    )
    return {
        **risk,
        "counted": counted,
        "threshold": threshold,
        "chart": chart if bars else None,
        "bins": table,
        "sensitive": _sensitive(risk),
        "population_rows": population_rows(risk.get("population")),
        "parts": _clear_rows(risk.get("with_clear_columns")),
        "by_value": [(name, *_value_rows(values)) for name, values in risk.get("by_value", {}).items()],
    }


def _clear_rows(block: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the number of equal rows if other columns are known too, a row for each kind of columns."""
    parts = [] if block is None else [block, block.get("sensitive")]
    return [
        {
            "columns": part["columns"],
            "k": number(part["k"]),
            "alone": percent(part["share_alone"]),
            "below": percent(part["share_below_k"]),
        }
        for part in parts
        if part and part["columns"]
    ]


def _value_rows(values: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, str]], int]:
    """Return the confidence of the first values in the classes, and how many more there are."""
    rows = [
        {
            "value": value_words(each["value"]),
            "base": percent(each["base_rate"]),
            "highest": percent(each["highest_confidence"]),
            "lift": f"{each['lift']:.3g}",
            "half": percent(each["share_above_half"]),
            "nine": percent(each["share_above_nine_tenths"]),
        }
        for each in values[:SHOWN_SECRETS]
    ]
    return rows, max(len(values) - SHOWN_SECRETS, 0)


def _sensitive(risk: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the confidence of every sensitive attribute in the classes, with a requirement or without."""
    return [
        {
            "name": name,
            "l": number(diversity.get("l")),
            "entropy_l": number(diversity.get("entropy_l")),
            "t": number(close.get("t")),
            "alpha": percent(close.get("alpha")),
            "recursive": [
                (key.removeprefix("recursive_c_"), number(c))
                for key, c in diversity.items()
                if key.startswith("recursive_c_")
            ],
            "homogeneous": diversity.get("l") == 1,
            "valueless": diversity.get("l") == 0,
        }
        for name, diversity in risk["l_diversity"].items()
        for close in (risk["t_closeness"].get(name, {}),)
    ]


# --- columns -------------------------------------------------------------------------------------------------


def _importance(
    columns: Sequence[Mapping[str, Any]], method: Mapping[str, Any], search: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the importance chart, or None when the method has no importances."""
    ranked = [column for column in columns if isinstance(column.get("importance"), int | float)]
    if not ranked:
        return None
    ranked.sort(key=lambda column: -column["importance"])
    shown = ranked[:SHOWN_BARS]
    legend: dict[Fill, str] = {}
    for action in dict.fromkeys(column["action"] for column in shown):
        fill = _FILLS.get(action, Fill.SOLID)
        legend[fill] = f"{legend[fill]}, {action}" if fill in legend else action
    bars = [
        Bar(
            label=column["name"],
            value=float(column["importance"]),
            text=number(round(float(column["importance"]), 4)),
            fill=_FILLS.get(column["action"], Fill.SOLID),
        )
        for column in shown
    ]
    chart = bar_chart(
        bars,
        name="importance",
        title="Importance of the columns for the target",
        description=f"{len(bars)} bars, the most important column first; the table below has the same figures.",
        legend=legend,
    )
    table = [
        {"name": column["name"], "importance": number(column["importance"]), "action": column["action"]}
        for column in ranked
    ]
    measure = method["parameters"].get("importance", method["name"])
    unit = _UNITS.get("mondrian" if search.get("name") == "boxes" else measure)
    return {"chart": chart, "table": table, "more": len(ranked) - len(shown), "unit": unit}
