# SPDX-License-Identifier: Apache-2.0
"""The privacy report: one document, as JSON for machines and as one HTML page for the person who signs.

Everything in it is public. What is computed from the source and not covered by the promise belongs in the owner
report, which carries its own banner and is never beside the release. The owner's page of a table's risk before any
release is made here, too.

Templates of the pages are self-contained HTML: everything in it is escaped, nothing in it runs or loads.

A notebook shows a release as a piece of HTML: promise, checks, columns and the first released rows. Its colours are
those of the notebook: text and lines take the colour of the text around them, and what is bad is written on its own
ground, so that the piece is legible in light and dark notebooks, and as plain tables where styles are taken away.
Everything that came with the table is untrusted text; the template escapes it.

Two reports are compared key by key, the promise first (`diff_reports`).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonkit.documents import ReportPart
from anonkit.errors import ReleaseFormatError, on_command_line
from anonkit.promises.guarantee import Check, Guarantee
from anonkit.report.block_words import column_row
from anonkit.report.blocks import spent_on
from anonkit.report.charts import safe_text
from anonkit.report.first_facts import verdict
from anonkit.report.promise_words import words_of
from anonkit.report.wording import check_words, date_text, gathered, heading, number, percent, required_words

if TYPE_CHECKING:
    from jinja2 import Environment


_TEMPLATES = Path(__file__).parent / "templates"


def rendered(name: str, view: Mapping[str, Any]) -> str:
    """Return a page: a template by its name, filled with what it shows.

    The style of all pages comes first and that of the template after it, where it has one; the page's own content
    security policy allows exactly this text.
    """
    sheets = [path for path in (_TEMPLATES / "report.css", _TEMPLATES / f"{name}.css") if path.exists()]
    style = "".join(path.read_text(encoding="utf-8") for path in dict.fromkeys(sheets))
    digest = b64encode(sha256(style.encode()).digest()).decode()
    template = _environment().get_template(f"{name}.html.j2")
    return template.render(**view, style=style, style_hash=f"sha256-{digest}")


def fragment(name: str, view: Mapping[str, Any]) -> str:
    """Return a piece of HTML for another page: a template with its own style, filled with what it shows.

    The style holds for the piece alone: its selectors begin with the class of the piece.
    """
    style = (_TEMPLATES / f"{name}.css").read_text(encoding="utf-8")
    return _environment().get_template(f"{name}.html.j2").render(**view, style=style)


def make_ready() -> None:
    """Compile the templates of a report beforehand, where there is time for it."""
    for name in ("shared", "report"):
        _environment().get_template(f"{name}.html.j2")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )
    environment.filters.update(number=number, percent=percent, heading=heading)
    return environment


def _printable(value: object) -> object:
    return safe_text(value) if type(value) is str else value  # text marked safe was made printable by its maker


FORMAT = "anonkit-report/2"
SECURE = "secure"
"""Word of a report for randomness that nobody can draw again; every other word is of a seed."""
OWNER_FORMAT = "anonkit-owner-report/1"
OWNER_BANNER = "DO NOT PUBLISH: computed from the source table, not covered by the promise of the release."


def build_report(
    *,
    version: str,
    method: Mapping[str, Any],
    promise: Guarantee,
    columns: Sequence[Mapping[str, Any]],
    rows: Mapping[str, Any],
    checks: Sequence[Check],
    randomness: str,
    disclosure_risk: Mapping[str, Any],
    details: Mapping[str, Any],
    dataset: str | None,
    source_name: str | None = None,
    recipients: Sequence[str] = (),
    domains_declared_by: str | None,
    notes: Sequence[str],
) -> dict[str, Any]:
    """Return `report.json` as a document; every key of the contract is present.

    Parameters
    ----------
    source_name : str, optional
        What the source's file or table is called. The key is absent where the dataset has a name.
    recipients : sequence of str
        Whom the table is meant for, as declared; the key is absent where nobody is.
    details : mapping
        Blocks the method adds or fills: `budget`, `utility`, `search`.
    """
    document: dict[str, Any] = {
        "format": FORMAT,
        "anonkit_version": version,
        "created": datetime.now(UTC).replace(microsecond=0).isoformat(),
        "dataset": dataset,
        **({"source_name": source_name} if source_name and not dataset else {}),
        **({"recipients": list(recipients)} if recipients else {}),
        "method": dict(method),
        "guarantee": promise.to_dict(),
        "budget": spent_on((), None, None),
        "columns": [dict(column) for column in columns],
        "rows": dict(rows),
        "disclosure_risk": dict(disclosure_risk),
        "utility": {},
        "verification": {"checks": [check.to_dict() for check in checks]},
        "randomness": randomness,
        "domains_declared_by": domains_declared_by,
        "notes": [on_command_line(note) for note in notes],  # a file is read by people who type commands
    }
    for block, value in details.items():
        document[block] = {**document.get(block, {}), **value} if isinstance(value, Mapping) else value
    return document


def title_of(report: Mapping[str, Any]) -> str:
    """Return the title of a release: its dataset, else the file or table it was made from."""
    return str(report["dataset"] or report.get("source_name") or "unnamed table")


def is_seeded(report: Mapping[str, Any]) -> bool:
    """Return True if the randomness of a release can be reproduced, so that it is for tests and not for release."""
    return bool(report["randomness"] != SECURE)


def build_owner_report(version: str, measures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the owner report as a document, banner first."""
    return {"format": OWNER_FORMAT, "banner": OWNER_BANNER, "anonkit_version": version, **measures}


_FEW_COLUMNS = 12
"""Columns up to which their list is unfolded."""
_LONGEST_CELL = 40
"""Letters of a cell that are shown."""


@dataclass(frozen=True, kw_only=True)
class FirstRows:
    """The first rows of a released table."""

    names: Sequence[str]
    """Of the columns that are shown."""
    rows: Sequence[Sequence[object]]
    """Released cells; None is missing."""
    n_columns: int
    """Number of columns of the table."""


def release_fragment(report: Mapping[str, Any], first: FirstRows | None) -> str:
    """Return the view of a release in a notebook.

    Parameters
    ----------
    report : mapping
        What `report.json` holds.
    first : FirstRows, optional
        None where the rows cannot be read.

    Returns
    -------
    str
        HTML without scripts and without references to anything outside.

    Raises
    ------
    ReleaseFormatError
        The report lacks a block, or a block is not what it should be.

    Privacy
    -------
    It shows the public report and released rows, and nothing of the owner's measures.
    """
    return _filled(lambda: {**_claim(report), **_findings(report), "first": _shown(first)})


def dry_run_fragment(report: Mapping[str, Any]) -> str:
    """Return the HTML of a dry run in a notebook: the claim, which was stated before the table was read.

    Raises
    ------
    ReleaseFormatError
        As for `release_fragment`.

    Privacy
    -------
    No figure of the table is in it.
    """
    return _filled(lambda: {**_claim(report), "dry_run": True})


def _filled(view: Callable[[], dict[str, Any]]) -> str:
    from jinja2 import UndefinedError

    try:
        return fragment("notebook", {"dry_run": False, **view()})
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, UndefinedError) as error:
        raise ReleaseFormatError(
            "the report is not one of anonkit", "anonkit validate tells what was changed"
        ) from error


def _claim(report: Mapping[str, Any]) -> dict[str, Any]:
    promise = report["guarantee"]
    preset = report["method"].get("preset")
    return {
        "title": title_of(report),
        "headline": words_of(promise).headline(promise),
        "conditional": bool(promise["parameters"].get("domains_from_data")),
        "statement": promise["statement"],
        "method": f"{report['method']['name']}, preset {preset}" if preset else report["method"]["name"],
        "version": report["anonkit_version"],
        "limits": promise["not_protected"],
        "seeded": is_seeded(report),
    }


def _findings(report: Mapping[str, Any]) -> dict[str, Any]:
    checks = report["verification"]["checks"]
    columns = [column_row(column) for column in report["columns"]]
    return {
        "created": date_text(report["created"]),
        "figures": words_of(report["guarantee"]).figures(report),
        "verdict": verdict(report),
        "checks": [
            {
                "text": check_words(check["name"])[0],
                "observed": number(check["observed"]),
                "required": required_words(check),
                "passed": check["passed"],
            }
            for check in sorted(gathered(checks), key=lambda check: bool(check["passed"]))
        ],
        "n_checks": len(checks),
        "broken": any(not check["passed"] for check in checks),
        "columns": columns,
        "few_columns": len(columns) <= _FEW_COLUMNS,
    }


def _shown(first: FirstRows | None) -> dict[str, Any] | None:
    if first is None:
        return None
    return {
        "names": first.names,
        "rows": [[_cell(cell) for cell in row] for row in first.rows],
        "more": first.n_columns - len(first.names),
    }


def _cell(value: object) -> str | None:
    """Return a released cell as text of bounded length; None where it is missing."""
    if value is None:
        return None
    text = f"{len(value)} bytes" if isinstance(value, bytes) else str(value)
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1]}…"


@dataclass(frozen=True, kw_only=True)
class RiskTable:
    """One table of figures, as text."""

    heading: str
    names: Sequence[str]
    """Of the columns."""
    rows: Sequence[Sequence[str]]
    """As many cells each as there are names."""


def risk_page(title: str, tables: Sequence[RiskTable]) -> str:
    """Return the figures of `anonkit risk` as one page without scripts or outside references.

    Privacy
    -------
    For the owner: the page carries the banner that says so.
    """
    return rendered("risk", {"title": title, "banner": OWNER_BANNER, "tables": tables})


_SKIPPED = ("created", "format", "anonkit_version", "disclosure_risk.class_sizes", "verification", "ledger")
"""Parts that differ between any two releases, or that say the same as others."""
_STRONGER = {"k": 1, "l_diversity": 1, "entropy_l_diversity": 1, "t_closeness": -1, "alpha_k_anonymity": -1}
_STRONGER |= {"epsilon": -1, "delta": -1}
"""Parameters of a promise, and whether more (1) or less (-1) of them protects better."""


@dataclass(frozen=True, kw_only=True)
class ReportDifference(ReportPart):
    """One figure or text that differs."""

    key: str
    """Path of the figure in `report.json`, keys joined by dots."""
    before: Any
    """None where the older report has nothing."""
    after: Any


@dataclass(frozen=True, kw_only=True)
class ReportDiff(ReportPart, keys=("promise=verdict", "differences")):
    """Two reports side by side."""

    verdict: str
    """Comparison of the promises: same, stronger, weaker, or not comparable."""
    differences: tuple[ReportDifference, ...]


def diff_reports(newer: Mapping[str, Any], older: Mapping[str, Any]) -> ReportDiff:
    """Compare two reports.

    Parameters
    ----------
    newer, older : mapping
        What `report.json` of each holds.

    Raises
    ------
    ReleaseFormatError
        One of them is no report.
    """
    try:
        verdict = _verdict(newer["guarantee"], older["guarantee"])
        after, before = dict(_leaves(_keyed(newer))), dict(_leaves(_keyed(older)))
    except (KeyError, TypeError, AttributeError):
        raise ReleaseFormatError("one of the reports is damaged", "anonkit validate tells what was changed") from None
    keys = [key for key in [*after, *(key for key in before if key not in after)] if after.get(key) != before.get(key)]
    differences = [ReportDifference(key=key, before=before.get(key), after=after.get(key)) for key in keys]
    return ReportDiff(verdict=verdict, differences=tuple(sorted(differences, key=lambda path: _rank(path.key))))


def _verdict(newer: Mapping[str, Any], older: Mapping[str, Any]) -> str:
    """Compare two promises of one kind over the same columns; others are not compared."""
    if newer["kind"] != older["kind"]:
        return f"not comparable: {older['kind']} before, {newer['kind']} now"
    new, old = newer["parameters"], older["parameters"]
    same = ("quasi_identifiers", "sensitive", "unit")
    if any(new.get(key) != old.get(key) for key in same) or newer.get("adjacency") != older.get("adjacency"):
        return "not comparable: other columns or another unit are protected"
    steps = set()
    for key, sign in _STRONGER.items():
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        if before is None or after is None:
            steps.add(1 if before is None else -1)
        else:
            steps.add(sign if float(after) > float(before) else -sign)
    if not steps:
        return "the same promise"
    return {frozenset({1}): "a stronger promise", frozenset({-1}): "a weaker promise"}.get(
        frozenset(steps), "not comparable: stronger in one parameter, weaker in another"
    )


def _keyed(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the report with its columns by name."""
    return {**report, "columns": {column["name"]: column for column in report["columns"]}}


def _leaves(value: object, key: str = "") -> Iterator[tuple[str, Any]]:
    if any(key == skipped or key.startswith(f"{skipped}.") for skipped in _SKIPPED):
        return
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        yield key, ", ".join(map(str, value))
    else:
        yield key, value


def _rank(key: str) -> int:
    order = ("guarantee.kind", "guarantee.parameters", "guarantee", "rows", "columns", "disclosure_risk", "utility")
    return next((at for at, prefix in enumerate(order) if key.startswith(prefix)), len(order))
