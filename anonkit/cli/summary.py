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
from anonkit.report.first_facts import Sentence, first_facts, guessed_target, text_of
from anonkit.report.owner_words import IN_WORDS, owner_lines
from anonkit.report.wording import (
    check_words,
    date_text,
    gathered,
    number,
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
    Schedulers keep what a command prints. Unless the owner asks, it follows from the files of the release. Those of a
    dry run would say the same under k-anonymity; where noise is drawn that nobody pays for, it follows from the claim.
    """
    block = _owner_block(release.owner if owner else {}, owner_report, dossier_path(release, owner_report))
    told = [*block, *([] if owner else ["", _MORE])]
    report = release.report
    if not _has_figures(release, owner=owner):
        report = {**report, "rows": {}, "columns": [], "budget": release.to_dict()["budget"]}
    files = [] if release.place is None else list(release.place.shown_files().values())
    return _lines(
        *_head(_where(release), report),
        *_block("Reused", _reused_words(release)),
        *_topics(report, files),
        *told,
    )


def _has_figures(release: Release, *, owner: bool) -> bool:
    """Tell whether what the report counts is shown: of a dry run where nothing was spent for it, or to its owner."""
    from anonkit.promises.promise_kinds import read_promise

    if release.is_plan:
        return False
    return owner or not release.is_dry_run or read_promise(release.report["guarantee"]).loss() is None


def _where(release: Release) -> str:
    if release.place is None:
        return "Dry run, the release is there already" if release.reused else _DRY
    return f"{'Reused' if release.reused else 'Released'} {release.place.shown(DATA)}"


def _reused_words(release: Release) -> list[str]:
    """Return what is said of a release that was there already; nothing of one that was made."""
    if not release.reused:
        return []
    version = release.report["anonkit_version"]
    lines = ["the same data and settings were released already: nothing new was made, and no budget spent"]
    return lines if version == __version__ else [*lines, f"made by anonkit {version}; this is {__version__}"]


def report_text(report: Mapping[str, Any]) -> str:
    """Return a privacy report in plain words: the claim, its limits, the key figures."""
    guarantee = report["guarantee"]
    limits = [*guarantee["not_protected"], *(f"Assumed: {text}" for text in guarantee["assumptions"])]
    return _lines(
        *_head(f"Privacy report of {report['dataset'] or 'an unnamed table'}", report),
        *_topics(report),
        *_block(
            "Formally", [guarantee["formal"], f"{guarantee['basis']}; unit of protection: {guarantee['unit'] or '–'}"]
        ),
        *_block("File alone", [text] if (text := shuffle_words(report.get("shuffle"))) else []),
        *_block("Limits", [f"- {text}" for text in limits]),
        *_block("Checked", [check_line(check) for check in gathered(report["verification"]["checks"])]),
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
    if (owner or release.is_dry_run) and _has_figures(release, owner=owner):
        report = release.report
        document |= class_figures(report)
        document |= {name: report[name] for name in _DOCUMENT}
        document["checks"] = report["verification"]["checks"]
    return {**document, "owner_only": {"banner": OWNER_BANNER, **release.owner}} if owner else document


def notes_of(release: Release, *, owner: bool = False) -> list[str]:
    """Return what deserves attention after a release, with what the owner alone is told if asked."""
    published = list(release.report["notes"]) if _has_figures(release, owner=owner) or owner else []
    if not owner:
        return published
    of_ledger = release.owner.get("ledger", {}).get("notes", ())
    left_out = release.owner.get("rows_left_out", {})
    of_target = release.owner.get("target", {})
    of_rows = [block["note"] for block in (of_target, left_out) if "note" in block]
    return [*published, *release.owner.get("reading_notes", ()), *of_rows, *of_ledger]


def guess_of(release: Release) -> list[str]:
    """Return what is said of a target that was guessed, also where nothing else is said."""
    sentence = None if not _has_figures(release, owner=False) else guessed_target(release.report)
    return [] if sentence is None else [text_of(sentence)]


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
        return [" ".join(line.split("\n"))]  # nor may a name that has the form of one break the line
    indent = "  " if line.startswith("- ") else ""
    return textwrap.wrap(one_line(line), width, subsequent_indent=indent, break_on_hyphens=False)


def _head(title: str, report: Mapping[str, Any]) -> list[str]:
    lines = [click.style(one_line(title), bold=True), ""]
    if is_seeded(report):
        warning = "NOT FOR RELEASE: made with a known seed, and every file says so"
        lines.insert(1, click.style(warning, fg="red", bold=True))
    return lines


# --- the parts of a report -----------------------------------------------------------------------------------


def _topics(report: Mapping[str, Any], files: Sequence[str] = ()) -> Iterator[str]:
    for topic in first_facts(report, files, typed=True):
        yield from _block(topic.label, [line for sentence in topic.sentences for line in _styled(sentence)])


def _styled(sentence: Sentence) -> list[str]:
    """Return a sentence wrapped to the terminal, in red where it must not be overlooked."""
    lines = _wrap(one_line(text_of(sentence)), _width() - _LABEL)
    return [click.style(line, fg="red") for line in lines] if any(phrase.is_bad for phrase in sentence) else lines


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
