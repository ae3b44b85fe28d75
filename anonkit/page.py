# SPDX-License-Identifier: Apache-2.0
"""The privacy report as a page: `report.json` turned into words, figures and charts for the person who signs.

Nothing is computed from data here and nothing is judged anew: the page shows what the report says, the worst first.
Everything that came with the table (column names, labels, notes) is untrusted text; the template escapes it.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonkit.charts import Bar, Fill, bar_chart, class_size_bins, histogram, safe_text, size_ticks
from anonkit.guarantee import CHECKED
from anonkit.randomness import SECURE
from anonkit.wording import bound, check_words, date_text, number, one_in, percent, words

if TYPE_CHECKING:
    from jinja2 import Template

SHOWN_VALUES = 60
"""Released values of a column that the page lists; the report has all."""
SHOWN_BARS = 30
"""Columns in the importance chart."""

_TEMPLATES = Path(__file__).parent / "templates"
_FILLS = {"generalized": Fill.HATCHED, "dropped": Fill.OPEN}
_NO_DETAIL = ("full", "generalized", "dropped", "")
_COLUMN_KEYS = ("name", "role", "sensitive", "action", "reason", "detail", "values", "released_values", "importance")
_REPORT_KEYS = (
    "format", "anonkit_version", "created", "dataset", "method", "guarantee", "budget", "columns", "rows",
    "disclosure_risk", "utility", "verification", "randomness", "domains_declared_by", "notes",
)  # fmt: skip


def render_page(report: Mapping[str, Any]) -> str:
    """Return the report as one self-contained HTML page.

    Parameters
    ----------
    report : mapping
        What `report.json` holds, as in `anonkit/schemas/report.schema.json`. Blocks and keys the page does not know
        are shown as they are.

    Returns
    -------
    str
        HTML without scripts and without references to anything outside; its own content security policy forbids both.

    Privacy
    -------
    The page shows the public report and nothing else; it never sees the source or the owner report.
    """
    checks = [_check(one) for one in report["verification"]["checks"]]
    return _template().render(
        report=report,
        created=date_text(report["created"]),
        seeded=report["randomness"] != SECURE,
        unchecked=_is_unchecked(report),
        checks=checks,
        broken=[one for one in checks if not one["passed"]],
        figures=_figures(report),
        risk=_risk(report["disclosure_risk"], report["guarantee"]["parameters"]),
        columns=[_column(one) for one in report["columns"]],
        importance=_importance(report["columns"]),
        rows=_rows(report["rows"]),
        utility=list(_measures(report["utility"])),
        budget=_budget(report["budget"]),
        further=[(words(name), list(_measures({name: report[name]}))) for name in report if name not in _REPORT_KEYS],
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )
    environment.filters.update(number=number, percent=percent, words=words)
    style = (_TEMPLATES / "report.css").read_text(encoding="utf-8")
    digest = b64encode(sha256(style.encode()).digest()).decode()
    environment.globals.update(style=style, style_hash=f"sha256-{digest}")
    return environment.get_template("report.html.j2")


def _printable(value: Any) -> Any:
    return safe_text(value) if type(value) is str else value  # text marked safe was made printable by its maker


# --- the claim -----------------------------------------------------------------------------------------------


def _check(check: Mapping[str, Any]) -> dict[str, Any]:
    text, relation = check_words(check["name"])
    required = f"{relation} {number(check['required'])}".strip()
    return {"text": text, "observed": number(check["observed"]), "required": required, "passed": check["passed"]}


def _is_unchecked(report: Mapping[str, Any]) -> bool:
    return report["guarantee"]["basis"] == CHECKED and not report["verification"]["checks"]


def _figures(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the few figures that stand beside the claim: (figure, what it is)."""
    kind, parameters = report["guarantee"]["kind"], report["guarantee"]["parameters"]
    if kind == "k-anonymity":
        return _anonymity_figures(report, parameters)
    if kind == "none":
        return []
    epsilon = parameters.get("epsilon", report["budget"]["epsilon"])
    delta = parameters.get("delta", report["budget"]["delta"])
    out = [(f"ε = {bound(epsilon)}", f"privacy loss, at most, per {_short_unit(report)}")]
    if delta:
        out.append((f"δ = {bound(delta)}", "probability that the bound fails, at most"))
    elif isinstance(epsilon, int | float) and epsilon < 700:
        factor = math.exp(epsilon)
        shown = number(math.ceil(factor)) if factor >= 100 else f"{math.ceil(factor * 100) / 100:g}"
        out.append((f"× {shown}", f"most that one {_short_unit(report)} changes the probability of any outcome (e to the ε)"))
    return [*out, (number(report["rows"].get("out")), "rows released")]


def _anonymity_figures(report: Mapping[str, Any], parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    risk, rows = report["disclosure_risk"], report["rows"]
    out = [(f"k = {number(parameters['k'])}", "asked for")]
    out += [(f"l = {number(parameters['l_diversity'])}", "asked for")] if "l_diversity" in parameters else []
    out += [(f"t = {number(parameters['t_closeness'])}", "asked for")] if "t_closeness" in parameters else []
    if risk:
        out.append((number(risk["k_anonymity"]["k"]), "rows in the smallest class found"))
        out.append((one_in(risk["prosecutor"]["max"]), "highest risk of re-identification"))
    out.append((number(rows.get("out")), "rows released"))
    return out


def _short_unit(report: Mapping[str, Any]) -> str:
    return (report["guarantee"]["unit"] or "record").removeprefix("one ")


# --- disclosure risk -----------------------------------------------------------------------------------------


def _risk(risk: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the disclosure risks with their chart, or None where class sizes mean nothing."""
    if not risk:
        return None
    threshold = risk["prosecutor"]["risk_threshold"]
    bins = class_size_bins([(one["size"], one["classes"]) for one in risk["class_sizes"]])
    records = sum(one.records for one in bins)
    table = [
        {
            "size": number(one.low) if one.low == one.high else f"{number(one.low)}–{number(one.high)}",
            "classes": number(one.classes),
            "records": number(one.records),
            "share": percent(one.records / records),
            "risk": one_in(1 / one.low),
            "at_risk": 1 / one.low > threshold,
        }
        for one in bins
    ]
    bars = [
        Bar(
            label=f"Classes of {row['size']} rows",
            value=float(one.records),
            text=str(row["share"]),
            fill=Fill.HATCHED if row["at_risk"] else Fill.SOLID,
        )
        for one, row in zip(bins, table, strict=True)
        if records
    ]
    chart = histogram(
        bars,
        size_ticks(bins),
        name="sizes",
        title="Released records by the size of their equivalence class",
        description=f"{len(bars)} columns from the smallest class to the largest; the table below has the same figures.",
        axis="rows in the equivalence class",
        legend={Fill.HATCHED: f"risk above {percent(threshold)}"} if any(row["at_risk"] for row in table) else None,
    )
    return {**risk, "threshold": threshold, "chart": chart if bars else None, "bins": table, "sensitive": _sensitive(risk, asked)}


def _sensitive(risk: Mapping[str, Any], asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what the classes tell about every sensitive attribute, asked for or not."""
    return [
        {
            "name": name,
            "l": number(found.get("l")),
            "entropy_l": number(found.get("entropy_l")),
            "t": number(close.get("t")),
            "alpha": percent(close.get("alpha")),
            "recursive": [
                (key.removeprefix("recursive_c_"), number(c)) for key, c in found.items() if key.startswith("recursive_c_")
            ],
            "homogeneous": found.get("l") == 1,
            "asked": [key for key in ("l_diversity", "entropy_l_diversity", "t_closeness") if key in asked],
        }
        for name, found in risk["l_diversity"].items()
        for close in (risk["t_closeness"].get(name, {}),)
    ]


# --- columns, rows, measures ---------------------------------------------------------------------------------


def _column(column: Mapping[str, Any]) -> dict[str, Any]:
    role = words(column["role"]).replace("quasi identifier", "quasi-identifier")
    values = column.get("values")
    detail = column.get("detail")
    return {
        "name": column["name"],
        "role": f"{role}, sensitive" if column.get("sensitive") and role != "sensitive" else role,
        "action": column["action"],
        "reason": column.get("reason"),
        "detail": None if detail is None or detail in _NO_DETAIL else number(detail),
        "facts": [(words(key), _bounded(key, one)) for key, one in column.items() if key not in _COLUMN_KEYS],
        "count": column.get("released_values", None if values is None else len(values)),
        "values": None if values is None else ["missing" if one is None else number(one) for one in values[:SHOWN_VALUES]],
        "more": 0 if values is None else max(len(values) - SHOWN_VALUES, 0),
    }


def _bounded(key: str, value: Any) -> str:
    return bound(value) if key in ("epsilon", "delta") else number(value)


def _importance(columns: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the importance chart, or None when the method tells no importances."""
    told = [one for one in columns if isinstance(one.get("importance"), int | float)]
    if not told:
        return None
    told.sort(key=lambda one: -one["importance"])
    shown = told[:SHOWN_BARS]
    legend: dict[Fill, str] = {}
    for action in dict.fromkeys(one["action"] for one in shown):
        fill = _FILLS.get(action, Fill.SOLID)
        legend[fill] = f"{legend[fill]}, {action}" if fill in legend else action
    bars = [
        Bar(
            label=one["name"],
            value=float(one["importance"]),
            text=number(round(float(one["importance"]), 4)),
            fill=_FILLS.get(one["action"], Fill.SOLID),
        )
        for one in shown
    ]
    chart = bar_chart(
        bars,
        name="importance",
        title="Importance of the columns for the target",
        description=f"{len(bars)} bars, the most important column first; the table below has the same figures.",
        legend=legend,
    )
    table = [{"name": one["name"], "importance": number(one["importance"]), "action": one["action"]} for one in told]
    return {"chart": chart, "table": table, "more": len(told) - len(shown)}


def _rows(rows: Mapping[str, Any]) -> list[tuple[str, str]]:
    out = []
    for key, value in rows.items():
        text = percent(value) if key.endswith("_fraction") else number(value)
        if key == "suppressed" and value is not None and rows.get("in"):
            text += f" ({percent(value / rows['in'])} of those read)"
        out.append((words(key), text))
    return out


def _measures(block: Mapping[str, Any], within: str = "", note: str = "") -> Iterator[dict[str, str]]:
    """Yield one row a measure, however deep it lies; texts beside figures are notes to them."""
    for key, value in block.items():
        name = f"{within}: {words(key)}" if within else words(key)
        if isinstance(value, Mapping):
            texts = {k: v for k, v in value.items() if isinstance(v, str) and k != "value"}
            rest = {k: v for k, v in value.items() if k not in texts}
            notes = "; ".join([*filter(None, [note]), *(f"{words(k)}: {v}" for k, v in texts.items())])
            if "value" in rest:
                yield _measure(name, rest, notes)
            elif rest:
                yield from _measures(rest, name, notes)
            else:
                yield from (_measure(f"{name}: {words(k)}", {"value": v}, note) for k, v in texts.items())
        elif isinstance(value, Sequence) and value and all(isinstance(one, Mapping) for one in value):
            yield from _measures({str(one.get("name", at)): one for at, one in enumerate(value, 1)}, name, note)
        else:
            yield _measure(name, {"value": value}, note)


def _measure(name: str, told: Mapping[str, Any], note: str) -> dict[str, str]:
    more = [f"{words(k)}: {number(v)}" for k, v in told.items() if k not in ("value", "ci", "baseline")]
    interval = told.get("ci")
    return {
        "name": name,
        "value": number(told["value"]),
        "interval": "" if interval is None else "–".join(number(end) for end in interval),
        "baseline": "" if told.get("baseline") is None else number(told["baseline"]),
        "note": "; ".join([*filter(None, [note]), *more]),
    }


def _budget(budget: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the privacy loss budget and how it was divided, or None when none was spent."""
    if all(not value for value in budget.values()):
        return None
    tables = [("per_level", "Budget by level"), ("per_attribute", "Budget by attribute")]
    facts = {key: value for key, value in budget.items() if key not in dict(tables) and value is not None}
    return {
        "facts": [(words(key), _bounded(key, value)) for key, value in facts.items()],
        "tables": [(caption, *_records(budget[key])) for key, caption in tables if budget.get(key)],
    }


def _records(items: Sequence[Any]) -> tuple[list[str], list[list[str]]]:
    """Return a list of records as headers and rows of text; a bare value is a record with one field."""
    records = [one if isinstance(one, Mapping) else {"epsilon": one} for one in items]
    keys = list(dict.fromkeys(key for one in records for key in one))
    return [words(key) for key in keys], [[_bounded(key, one.get(key)) for key in keys] for one in records]
