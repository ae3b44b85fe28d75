# SPDX-License-Identifier: Apache-2.0
"""Releases and reports summarized for the terminal, and as documents for `--json`; imported on first use."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from anonkit import __version__
from anonkit.bundle.release_names import DATA
from anonkit.bundle.stored_release import Release, class_figures
from anonkit.cli.boundary import one_line
from anonkit.pipeline.owner_files import dossier_name
from anonkit.report.document import OWNER_BANNER, is_seeded
from anonkit.report.owner_words import IN_WORDS, owner_lines
from anonkit.report.wording import (
    bound,
    check_words,
    date_text,
    delta_words,
    gathered,
    number,
    one_in,
    pairs_words,
    people_alike,
    percent,
    required_words,
    shuffle_words,
    words,
)

_ACTIONS = ("kept", "generalized", "randomized", "synthesized", "dropped")
_DOCUMENT = ("method", "guarantee", "budget", "rows", "columns", "utility", "disclosure_risk", "notes", "randomness")
_LABEL = 11
_WIDTH = 100
_LISTED = 12
_SHA256 = 64
_DRY = "Dry run, nothing was written"
_MORE = "--owner shows what was measured on the source table, for its owner alone."


def release_text(release: Release, owner_report: Path | None = None, *, owner: bool = False) -> str:
    """Return what is told right after a release, or after a dry run.

    Parameters
    ----------
    release : Release
        As `anonkit.release` returns it, the owner's measures in it.
    owner_report : Path, optional
        Where those measures were written.
    owner : bool
        Whether they are shown, and of a dry run the figures of a release that nobody was given.

    Privacy
    -------
    Schedulers keep what a command prints. Unless the owner asks, it follows from the files of the release; of a dry
    run, which has none, from the claim.
    """
    block = _owner_block(release.owner if owner else {}, owner_report, dossier_path(release, owner_report))
    told = [*block, *([] if owner else ["", _MORE])]
    report = release.report
    if release.is_plan or (release.is_dry_run and not owner):
        budget = release.to_dict()["budget"]
        return _lines(
            *_head(_where(release), report),
            *_block("Reused", _reused_words(release)),
            *_block("Promise", [_title(report), report["guarantee"]["statement"]]),
            *_block("Budget", _spent(budget)),
            *told,
        )
    files = [] if release.place is None else list(release.place.shown_files().values())
    return _lines(
        *_head(f"{_where(release)}: {_rows_words(report['rows'])}", report),
        *_block("Reused", _reused_words(release)),
        *_block("Promise", [_title(report), report["guarantee"]["statement"]]),
        *_block("Checked", [check_line(check) for check in gathered(report["verification"]["checks"])]),
        *_figures(report),
        *_block("Files", files),
        *told,
    )


def _where(release: Release) -> str:
    if release.place is None:
        return "Dry run, the release is there already" if release.reused else _DRY
    return f"{'Reused' if release.reused else 'Released'} {release.place.shown(DATA)}"


def _reused_words(release: Release) -> list[str]:
    """Return what is said of a release that was there already; nothing of one that was made."""
    if not release.reused:
        return []
    version = release.report["anonkit_version"]
    lines = ["the rows and the request are the same: nothing is drawn, charged or written"]
    return lines if version == __version__ else [*lines, f"made by anonkit {version}; this is {__version__}"]


def report_text(report: Mapping[str, Any]) -> str:
    """Return a privacy report in plain words: the claim, its limits, the key figures."""
    guarantee = report["guarantee"]
    limits = [*guarantee["not_protected"], *(f"Assumed: {text}" for text in guarantee["assumptions"])]
    return _lines(
        *_head(f"Privacy report of {report['dataset'] or 'an unnamed table'}", report),
        *_block("Protected", [_title(report), guarantee["statement"]]),
        *_block(
            "Formally", [guarantee["formal"], f"{guarantee['basis']}; unit of protection: {guarantee['unit'] or '–'}"]
        ),
        *_block("File alone", [text] if (text := shuffle_words(report.get("shuffle"))) else []),
        *_block("Limits", [f"- {text}" for text in limits]),
        *_block("Checked", [check_line(check) for check in gathered(report["verification"]["checks"])]),
        *_block("Rows", [_rows_words(report["rows"])]),
        *_figures(report),
        *_block("Notes", [f"- {note}" for note in report["notes"]]),
        *_block("Made", [f"{date_text(report['created'])}, anonkit {report['anonkit_version']}"]),
    )


def release_document(release: Release, owner_report: Path | None = None, *, owner: bool = False) -> dict[str, Any]:
    """Return the same as a JSON document; parameters as those of `release_text`."""
    document = {
        **release.to_dict(),
        "reused": release.reused,
        "owner_report": None if owner_report is None else str(owner_report),
        **({} if owner_report is None else {"dossier": str(dossier_path(release, owner_report))}),
    }
    if not owner:
        return document
    if release.is_plan:
        return {**document, "owner_only": {"banner": OWNER_BANNER, **release.owner}}
    report = release.report
    return {
        **document,
        **class_figures(report),
        **{name: report[name] for name in _DOCUMENT},
        "checks": report["verification"]["checks"],
        "owner_only": {"banner": OWNER_BANNER, **release.owner},
    }


def notes_of(release: Release, *, owner: bool = False) -> list[str]:
    """Return what deserves attention after a release, with what the owner alone is told if asked."""
    published = [] if release.is_dry_run and not owner else list(release.report["notes"])
    if not owner:
        return published
    of_ledger = release.owner.get("ledger", {}).get("notes", ())
    left_out = release.owner.get("rows_left_out", {})
    of_target = release.owner.get("target", {})
    of_rows = [block["note"] for block in (of_target, left_out) if "note" in block]
    return [*published, *release.owner.get("reading_notes", ()), *of_rows, *of_ledger]


def check_line(check: Mapping[str, Any]) -> str:
    """Return one check as a line."""
    passed = "passed" if check["passed"] else click.style("FAILED", fg="red", bold=True)
    what = check_words(check["name"])[0]
    text = isinstance(check["required"], str) and check["required"] != "inf"
    required = _short(check["required"]) if text else required_words(check)
    return f"{passed}  {one_line(what)}: {_short(check['observed'])} (required: {required})"


def _short(value: object) -> str:
    text = one_line(number(value))
    return f"{text[:12]}…" if len(text) == _SHA256 else text


# --- layout: a label and its lines ---------------------------------------------------------------------------


def _lines(*lines: str) -> str:
    return "\n".join(line.rstrip() for line in lines)


def _block(label: str, lines: Sequence[str]) -> list[str]:
    """Return lines wrapped to the terminal, a label beside the first; nothing for no lines."""
    wrapped = [part for line in lines for part in _wrap(line, _width() - _LABEL)]
    labels = [click.style(label.ljust(_LABEL), bold=True)] + [" " * _LABEL] * len(wrapped)
    return [f"{left}{line}" for left, line in zip(labels, wrapped, strict=False)]


def _width() -> int:
    return max(40, min(_WIDTH, shutil.get_terminal_size((_WIDTH, 24)).columns))


def _wrap(line: str, width: int) -> list[str]:
    if click.unstyle(line) != line:  # a style must not be torn apart
        return [line]
    indent = "  " if line.startswith("- ") else ""
    return textwrap.wrap(one_line(line), width, subsequent_indent=indent, break_on_hyphens=False)


def _head(title: str, report: Mapping[str, Any]) -> list[str]:
    lines = [click.style(one_line(title), bold=True), ""]
    if is_seeded(report):
        warning = "NOT FOR RELEASE: made with a known seed, and every file says so"
        lines.insert(1, click.style(warning, fg="red", bold=True))
    return lines


# --- the parts of a report -----------------------------------------------------------------------------------


def _title(report: Mapping[str, Any]) -> str:
    method, parameters = report["method"], report["guarantee"]["parameters"]
    preset = f", preset {method['preset']}" if method.get("preset") else ""
    settings = ", ".join(
        f"{words(key)} = {bound(parameters[key])}" for key in ("k", "epsilon", "delta") if parameters.get(key)
    )
    return f"{report['guarantee']['kind']}{f', {settings}' if settings else ''}, by {method['name']}{preset}"


def _rows_words(rows: Mapping[str, Any]) -> str:
    read, suppressed, dropped = rows.get("in"), rows.get("suppressed"), rows.get("dropped_missing")
    text = f"{number(rows['out'])} rows" if read is None else f"{number(rows['out'])} of {number(read)} rows"
    if suppressed:
        text += f", {number(suppressed)} suppressed{f' ({percent(suppressed / read)})' if read else ''}"
    text += f", {number(dropped)} left out for missing values" if dropped else ""
    nobody = rows.get("dropped_without_unit")
    return f"{text}, {number(nobody)} left out without a unit" if nobody else text


def _figures(report: Mapping[str, Any]) -> list[str]:
    budget, attacker = report["budget"], report["disclosure_risk"].get("prosecutor")
    by_people = report["disclosure_risk"].get("counted") == "people"
    what = "of telling which person it is" if by_people else "of finding a person's row"
    what += " by one row" if report["guarantee"]["parameters"].get("rows_known") else ""
    chance = "{}: {} at most, {} on average"
    risk = [] if attacker is None else [chance.format(what, one_in(attacker["max"]), one_in(attacker["mean"]))]
    if alike := people_alike(report):
        risk.append(f"of telling which person it is by all its rows: {one_in(1 / alike)} at most")
    if uniform := report["disclosure_risk"].get("uniform_classes"):
        risk.append(
            f"of records in classes of one {one_line(uniform['target'])}: {percent(uniform['share'])} "
            f"({percent(uniform['expected_share'])} if unrelated)"
        )
    return [
        *_block("Columns", _column_lines(report["columns"])),
        *_block("Pairs", _pairs(report)),
        *_block("Risk", risk),
        *_block("Budget", [*_spent(budget), *_large_delta(report)]),
        *_block("Utility", [*_measures(report["utility"]), *_unmeasured(report["utility"])]),
    ]


def _pairs(report: Mapping[str, Any]) -> list[str]:
    """Return what was measured of pairs of columns, where that is said."""
    told = report.get("marginals")
    words_ = "" if told is None else pairs_words(told["columns"], told["pairs"], anchored=told["anchored"])
    return [words_] if words_ else []


def _spent(budget: Mapping[str, Any]) -> list[str]:
    spent = ", ".join(f"{words(key)} = {bound(budget[key])}" for key in ("epsilon", "delta") if budget.get(key))
    return [spent] if spent else []


def _large_delta(report: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a delta for so many rows, where something is."""
    told = delta_words(report["budget"].get("delta") or 0.0, report["rows"].get("out") or 0)
    return [] if told is None else ["".join(told)]


def _column_lines(columns: Sequence[Mapping[str, Any]]) -> list[str]:
    groups: dict[str, list[str]] = {action: [] for action in _ACTIONS}
    for column in columns:
        groups.setdefault(column["action"], []).append(_column_words(column))
    return [f"{action}: {', '.join(names)}" for action, names in groups.items() if names]


def _column_words(column: Mapping[str, Any]) -> str:
    if column["action"] == "dropped" and column["role"] in ("identifier", "unit"):
        return f"{column['name']} ({column['role']})"
    values = column.get("released_values") if column["action"] == "generalized" else None
    return f"{column['name']} ({number(values)} values)" if values else str(column["name"])


def dossier_path(release: Release, owner_report: Path | None) -> Path | None:
    """Return where the page stands that was written beside an owner report."""
    if owner_report is None:
        return None
    return owner_report.with_name(dossier_name(None if release.place is None else release.place.stem))


def _owner_block(owner: Mapping[str, Any], owner_report: Path | None, dossier: Path | None) -> list[str]:
    files = [] if owner_report is None else [f"to sign: {dossier}", f"in full: {owner_report}"]
    figures = {key: value for key, value in owner.items() if key not in (*IN_WORDS, "utility_of_source")}
    lines = [*_measures(figures), *(one_line(line) for line in owner_lines(owner)), *files]
    if not lines:
        return []
    title = "For the owner only: computed from the source table, not in the release, not to be published"
    return ["", click.style(title, fg="yellow", bold=True), *_indented(lines)]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {part}" for line in lines for part in _wrap(line, _width() - 2)]


def _measures(block: Mapping[str, Any], within: str = "") -> Iterator[str]:
    """Yield the figures of a block, those that belong together in one line; texts and long lists stay in the files."""
    ends = block.get("ci")
    intervals = ends if isinstance(ends, Mapping) and set(ends) <= set(block) else {}
    figures = {words(str(key)): _figure(value, intervals.get(key)) for key, value in block.items() if _is_figure(value)}
    if within and figures:
        yield one_line(f"{within}: {', '.join(f'{name} {value}' for name, value in figures.items())}")
    else:
        yield from (one_line(f"{name}: {value}") for name, value in figures.items())
    for key, value in block.items():
        if isinstance(value, Mapping) and value is not intervals:
            yield from _measures(value, f"{within}, {words(str(key))}" if within else words(str(key)))


def _unmeasured(utility: Mapping[str, Any]) -> Iterator[str]:
    """Say which measures were not taken: a word stands in the place of their figures."""
    yield from (one_line(f"{words(str(key))}: {value}") for key, value in utility.items() if isinstance(value, str))


def _figure(value: object, interval: Sequence[float] | None) -> str:
    """Return a figure with the ends of its 95 % interval, where it has one."""
    return number(value) if interval is None else f"{number(value)} ({'–'.join(number(end) for end in interval)})"


def _is_figure(value: object) -> bool:
    if isinstance(value, list | tuple):
        return 0 < len(value) <= _LISTED and all(isinstance(entry, int | float) for entry in value)
    return isinstance(value, int | float)
