# SPDX-License-Identifier: Apache-2.0
"""Releases and reports in the terminal's words, and as documents for `--json`. Imported when there is one to show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from anonkit.bundle import DATA, DESCRIPTOR, PAGE, PARAMS, REPORT, Place, Release
from anonkit.cli.boundary import one_line
from anonkit.page import KINDS, number, percent
from anonkit.randomness import SECURE
from anonkit.report import OWNER_BANNER

_FILES = {"data": DATA, "params": PARAMS, "report": REPORT, "page": PAGE, "descriptor": DESCRIPTOR}
_ACTIONS = ("kept", "generalized", "randomized", "synthesized", "dropped")
_LABEL = 12
_WIDTH = 100
_LISTED = 12


def release_text(release: Release, owner_report: Path | None = None) -> str:
    """Return what the owner should know right after a release, or a dry run."""
    report = release.report
    blocks = [_outcome(release), _promise(report), _checks(report), _columns(report), _risk(report), _figures(report)]
    if release.place is not None:
        blocks.append(_block("Files", [str(path) for path in files_of(release.place).values()]))
    return "\n".join(line for block in (*blocks, _owner(release.owner, owner_report)) for line in block)


def release_document(release: Release, owner_report: Path | None = None) -> dict[str, Any]:
    """Return the same as a JSON document."""
    report = release.report
    document = {name: report[name] for name in ("method", "guarantee", "budget", "rows", "columns", "notes", "randomness")}
    return {
        "dry_run": release.place is None,
        "files": None if release.place is None else {role: str(path) for role, path in files_of(release.place).items()},
        "owner_report": None if owner_report is None else str(owner_report),
        **({"k_anonymity": found} if (found := k_anonymity(report)) else {}),
        **document,
        "checks": report["verification"]["checks"],
        "disclosure_risk": report["disclosure_risk"],
        "owner_only": {"banner": OWNER_BANNER, **release.owner},
    }


def report_text(report: Mapping[str, Any]) -> str:
    """Return a privacy report in plain words: the claim, its limits, the key figures."""
    rows = report["rows"]
    head = f"{_title(report)}: {number(rows.get('out'))} rows, made {one_line(str(report['created']))}"
    blocks: list[Sequence[str]] = [[click.style(head, bold=True), ""]]
    blocks += [_promise(report), _unprotected(report), _checks(report), _rows(report), _columns(report), _risk(report)]
    blocks += [_figures(report), _block("Notes", [one_line(note) for note in report["notes"]])]
    return "\n".join(line for block in blocks for line in block)


def files_of(place: Place) -> dict[str, Path]:
    """Return the files of a release by their role."""
    return {role: place.file(suffix) for role, suffix in _FILES.items()}


def k_anonymity(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the k that was asked and reached, in people where people are counted; None for other promises."""
    checks = {check["name"]: check for check in report["verification"]["checks"]}
    check = checks.get("k_anonymity_people") or checks.get("k_anonymity")
    if check is None:
        return None
    return {"requested": check["required"], "achieved": check["observed"], "meets": check["passed"]}


# --- blocks: a label and its lines ---------------------------------------------------------------------------


def _block(label: str, lines: Sequence[str]) -> list[str]:
    """Return lines wrapped to the terminal, a label beside the first; nothing for no lines."""
    width = max(40, min(_WIDTH, _terminal_width())) - _LABEL
    wrapped = [part for line in lines for part in _wrap(line, width)]
    labels = [click.style(label.ljust(_LABEL), bold=True), *([" " * _LABEL] * len(wrapped))]
    return [f"{left}{line}".rstrip() for left, line in zip(labels, wrapped, strict=False)]


def _wrap(line: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(line, width, subsequent_indent="  " if line.startswith("- ") else "", break_on_hyphens=False) or [""]


def _terminal_width() -> int:
    import shutil

    return shutil.get_terminal_size((_WIDTH, 24)).columns


def _title(report: Mapping[str, Any]) -> str:
    method, preset = report["method"]["name"], report["method"].get("preset")
    kind = report["guarantee"]["kind"]
    return f"{KINDS.get(kind, kind)} by {method}{f' (preset {preset})' if preset else ''}"


def _outcome(release: Release) -> list[str]:
    rows = release.report["rows"]
    where = "Dry run, nothing was written" if release.place is None else f"Released {release.place.file(DATA)}"
    head = f"{where}: {_rows_words(rows)}"
    lines = [click.style(head, bold=True), ""]
    if release.report["randomness"] != SECURE:
        warning = "NOT FOR RELEASE: made with a known seed; every file says so"
        lines[1:1] = [click.style(warning, fg="red", bold=True)]
    return lines


def _rows_words(rows: Mapping[str, Any]) -> str:
    read, out, suppressed = rows.get("in"), rows.get("out"), rows.get("suppressed")
    words = f"{number(out)} rows" if read is None else f"{number(out)} of {number(read)} rows"
    if suppressed:
        share = f" ({percent(suppressed / read)})" if read else ""
        words += f", {number(suppressed)} suppressed{share}"
    dropped = rows.get("dropped_missing")
    return f"{words}, {number(dropped)} left out for missing values" if dropped else words


def _promise(report: Mapping[str, Any]) -> list[str]:
    return _block("Promise", [f"{_title(report)}, {report['guarantee']['basis']}", report["guarantee"]["statement"]])


def _unprotected(report: Mapping[str, Any]) -> list[str]:
    guarantee = report["guarantee"]
    assumed = [f"- Assumed: {text}" for text in guarantee["assumptions"]]
    return _block("Limits", [*(f"- {one_line(text)}" for text in guarantee["not_protected"]), *map(one_line, assumed)])


def _rows(report: Mapping[str, Any]) -> list[str]:
    return _block("Rows", [_rows_words(report["rows"])])


def _checks(report: Mapping[str, Any]) -> list[str]:
    return _block("Checked", [check_words(check) for check in report["verification"]["checks"]])


def check_words(check: Mapping[str, Any]) -> str:
    """Return one check as a line."""
    passed = "passed" if check["passed"] else click.style("FAILED", fg="red", bold=True)
    return f"{passed}  {one_line(check['name'])}: {_short(check['observed'])}, asked {_short(check['required'])}"


def _short(value: Any) -> str:
    text = one_line(number(value))
    return f"{text[:12]}…" if len(text) == 64 else text  # a SHA-256


def _columns(report: Mapping[str, Any]) -> list[str]:
    groups: dict[str, list[str]] = {action: [] for action in _ACTIONS}
    for column in report["columns"]:
        groups.setdefault(column["action"], []).append(_column_words(column))
    return _block("Columns", [f"{action}: {', '.join(names)}" for action, names in groups.items() if names])


def _column_words(column: Mapping[str, Any]) -> str:
    name, values = one_line(column["name"]), column.get("released_values")
    if column["action"] == "dropped" and column["role"] in ("identifier", "unit"):
        return f"{name} ({column['role']})"
    return f"{name} ({number(values)} values)" if values and column["action"] == "generalized" else name


def _risk(report: Mapping[str, Any]) -> list[str]:
    attacker = report["disclosure_risk"].get("prosecutor")
    if not attacker:
        return []
    words = f"an attacker who knows a person is in the table finds the row with a chance of {percent(attacker['max'])} at most"
    return _block("Risk", [f"{words}, {percent(attacker['mean'])} on average"])


def _figures(report: Mapping[str, Any]) -> list[str]:
    budget = report.get("budget") or {}
    spent = [f"{name} = {number(budget[name])}" for name in ("epsilon", "delta") if budget.get(name) is not None]
    return [*_block("Budget", [", ".join(spent)] if spent else []), *_block("Utility", list(_measures(report["utility"])))]


def _owner(owner: Mapping[str, Any], owner_report: Path | None) -> list[str]:
    lines = list(_measures(owner))
    if owner_report is not None:
        lines.append(f"all of them: {owner_report}")
    if not lines:
        return []
    title = "For the owner only (computed from the source table, not in the release, do not publish)"
    return ["", click.style(title, fg="yellow", bold=True), *(f"  {line}" for line in lines)]


def _measures(block: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Return figures as lines; long lists are only counted, they are in the files."""
    for name, value in block.items():
        label = f"{prefix}{one_line(str(name)).replace('_', ' ')}"
        if isinstance(value, Mapping):
            yield from _measures(value, f"{label}, ")
        elif isinstance(value, Sequence) and not isinstance(value, str):
            plain = len(value) <= _LISTED and not any(isinstance(one, Mapping | list | tuple) for one in value)
            if value:
                yield f"{label}: {one_line(number(value))}" if plain else f"{label}: {len(value)} entries"
        elif value is not None:
            yield f"{label}: {one_line(number(value))}"
