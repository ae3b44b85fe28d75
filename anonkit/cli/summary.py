# SPDX-License-Identifier: Apache-2.0
"""Releases and reports summarized for the terminal, and as documents for `--json`; imported on first use."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anonkit import __version__
from anonkit.bundle.release_place import DATA
from anonkit.bundle.stored_release import Release, class_figures
from anonkit.cli.boundary import one_line
from anonkit.cli.outcome import Outcome
from anonkit.engines.reading.number_columns import mixed_notes
from anonkit.pipeline.dossier import dossier_name
from anonkit.report.block_words import LOST_CELLS, lost_cells
from anonkit.report.document import OWNER_BANNER, is_seeded
from anonkit.report.first_facts import (
    Sentence,
    Topic,
    first_facts,
    guessed_target,
    remaining_notes,
    shortened,
    text_of,
)
from anonkit.report.foreseen_words import IN_WORDS, account_sentences, foreseen_sentences, owner_lines
from anonkit.report.wording import (
    NO_ROW,
    check_words,
    date_text,
    gathered,
    number,
    required_words,
    shuffle_words,
    words,
)

if TYPE_CHECKING:
    from anonkit.cli.options import OwnerAsReader
    from anonkit.pipeline.release_space import Foresees

_ACTIONS = ("kept", "generalized", "averaged", "numbered", "randomized", "synthesized", "dropped")
_DOCUMENT = ("method", "guarantee", "budget", "rows", "columns", "utility", "disclosure_risk", "notes", "randomness")
_LABEL = 11
_WIDTH = 100
_LISTED = 12
_SHA256 = 64
_DRY = "Dry run, nothing was written"
_SCREEN = 25
"""Lines on stdout after a release, at most, where no sentence must not be overlooked."""
_OWNER_LINES = 12
OWNER_HEADING = "For you only (do not paste or log)"
_SEEN = "seen in your private table: choosing ε, bounds or bins by it is not covered by the promise"
_ALL = "--owner with --json, or --owner-report DIR, has all"
_MORE = "To see what was lost compared with your table, add --owner (do not share that output)."


def release_outcome(
    release: Release, reader: OwnerAsReader, owner_report: Path | None = None, *, quiet: bool
) -> Outcome:
    """Return the outcome of a command that made a release, or a dry run.

    Parameters
    ----------
    release : Release
        As `anonkit.release` returns it, the owner's measures in it.
    reader : OwnerAsReader
        Whether the owner reads what is shown.
    owner_report : Path, optional
        Where those measures were written.
    quiet : bool
        Only what must not be overlooked is shown.

    Privacy
    -------
    Schedulers keep what a command prints. Text, document and notes follow from the files of the release, or from the
    claim where noise is drawn without a charge. Warnings list, under k-anonymity alone, the columns with cells
    that were not used unchanged. The owner's lines are apart from all of that.
    """
    is_read = reader.reads(quiet=quiet)
    is_plan = release.is_plan and not reader.is_declared  # nothing was counted for it
    return Outcome(
        text=release_text(release, owner_report, owner=reader.is_declared, more=is_plan or not is_read),
        document=release_document(release, owner_report, owner=reader.is_declared),
        notes=notes_of(release, owner=reader.is_declared),
        owner_lines=owner_block(release) if is_read else [],
        warnings=[] if is_read else public_warnings(release),
        quiet=quiet,
        even_quiet=guess_of(release),
    )


def foresees(*, dry_run: bool, utility: bool = True) -> Foresees | None:
    """Return the forecast of a plan under noise, from a release of simulated rows; None for a real release."""
    if not dry_run:
        return None
    from anonkit.comparing.foreseen_release import foreseen_release

    return partial(foreseen_release, utility=utility)


def release_text(release: Release, owner_report: Path | None = None, *, owner: bool = False, more: bool = True) -> str:
    """Return the text on stdout after a release, one screen at most, or after a dry run, in full.

    Parameters
    ----------
    release : Release
    owner_report : Path, optional
        Where the owner's measures were written.
    owner : bool
        Of a dry run under noise: whether the figures of a release that nobody was given are shown.
    more : bool
        Whether the option is named that shows the owner's measures.
    """
    report = release.report
    if not _has_figures(release, owner=owner):
        report = {**report, "rows": {}, "columns": [], "budget": release.to_dict()["budget"]}
    files = [] if release.place is None else list(release.place.shown_files().values())
    dossier = (
        [] if owner_report is None else [f"to sign: {dossier_path(release, owner_report)}; in full: {owner_report}"]
    )
    before = [*_head(_where(release), report), *_block("Reused", _reused_words(release))]
    after = _block("For you", [*dossier, *([_MORE] if more else [])])
    if release.is_plan:
        after = [*_topics(_plan(report)), *after]
    for topics in shortened(first_facts(report, files, typed=True)):
        lines = [*before, *_topics(topics), *after]
        if release.is_dry_run or len(lines) <= _SCREEN:  # before a release everything is of use to who decides
            break
    return _lines(*lines)


def _plan(report: Mapping[str, Any]) -> list[Topic]:
    """Return the topics of a plan under noise beside its promise: the entry to be booked, and the forecast."""
    topics = {"Account": list(account_sentences(report)), "Foreseen": list(foreseen_sentences(report))}
    return [Topic(label=label, sentences=sentences) for label, sentences in topics.items() if sentences]


def _has_figures(release: Release, *, owner: bool) -> bool:
    """Return True if the report's counts are shown: of a dry run where nothing was spent for it, or to its owner."""
    if release.is_plan:
        return False
    return owner or not release.is_dry_run or not _promises_noise(release)


def _where(release: Release) -> str:
    if release.place is None:
        return "Dry run, the release is there already" if release.reused else _DRY
    return f"{'Reused' if release.reused else 'Released'} {release.place.shown(DATA)}"


def _reused_words(release: Release) -> list[str]:
    """Return notes on a release that existed already; none on one that was made."""
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
        *_topics(first_facts(report, typed=True)),
        *_block(
            "Formally", [guarantee["formal"], f"{guarantee['basis']}; unit of protection: {guarantee['unit'] or '–'}"]
        ),
        *_block("File alone", [text] if (text := shuffle_words(report.get("shuffle"))) else []),
        *_block("Limits", [f"- {text}" for text in limits]),
        *_block("Checked", [check_line(check) for check in gathered(report["verification"]["checks"])]),
        *_block("Notes", [f"- {note}" for note in remaining_notes(report)]),
        *_block("Made", [f"{date_text(report['created'])}, anonkit {report['anonkit_version']}"]),
    )


def release_document(release: Release, owner_report: Path | None = None, *, owner: bool = False) -> dict[str, Any]:
    """Return the same as a JSON document; parameters as those of `release_text`."""
    document = {
        **release.to_dict(),
        "reused": release.reused,
        "warnings": public_warnings(release),
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
    """Return the notes of the report of a release; of a dry run under noise if its owner asks."""
    return remaining_notes(release.report) if _has_figures(release, owner=owner) else []


def public_warnings(release: Release) -> list[str]:
    """Return that no row is released, and which columns have cells that were not used unchanged.

    Privacy
    -------
    The number of released rows is in the report. Nothing is stated of the cells under a promise of noise.
    """
    if _promises_noise(release):
        is_empty = not release.is_dry_run and release.report["rows"].get("out") == 0
        return [NO_ROW] if is_empty else []
    return list(lost_cells(release.owner, counted=False))


def owner_block(release: Release) -> list[str]:
    """Return the lines for the owner alone, the most costly first: at most as many lines as fit; none without measures.

    Privacy
    -------
    Computed from the source, in no file of the release. It is shown where no log is kept, or to who asks for it.
    """
    owner = release.owner
    ledger, target = owner.get("ledger", {}), owner.get("target", {})
    mixed = mixed_notes(owner.get("cells_among_numbers", {}))
    words = [
        *ledger.get("notes", ()),
        *lost_cells(owner, counted=True),
        *(note for note in owner.get("reading_notes", ()) if note not in mixed),
        *(block["note"] for block in (target, owner.get("rows_left_out", {})) if "note" in block),
        *owner_lines(owner),
    ]
    shown = (*LOST_CELLS, "utility_of_source", *IN_WORDS)
    figures = _measures({key: value for key, value in owner.items() if key not in shown})
    lines = _indented([one_line(line) for line in (*words, *figures)])
    if not lines:
        return []
    heading = [click.style(OWNER_HEADING, fg="yellow", bold=True)]
    heading += _indented([_SEEN] if _promises_noise(release) else [])
    space = _OWNER_LINES - len(heading)
    if len(lines) > space:
        lines = [*lines[: space - 1], f"  … {number(len(lines) - space + 1)} more lines: {_ALL}"]
    return [*heading, *lines]


def _promises_noise(release: Release) -> bool:
    from anonkit.promises.promise_kinds import read_promise

    return read_promise(release.report["guarantee"]).loss() is not None


def guess_of(release: Release) -> list[str]:
    """Return notes on a target that was guessed, also where nothing else is shown."""
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


def _topics(topics: Sequence[Topic]) -> Iterator[str]:
    for topic in topics:
        yield from _block(topic.label, [line for sentence in topic.sentences for line in _styled(sentence)])


def _styled(sentence: Sentence) -> list[str]:
    """Return a sentence wrapped to the terminal, in red where it must not be overlooked."""
    lines = _wrap(one_line(text_of(sentence)), _width() - _LABEL)
    return [click.style(line, fg="red") for line in lines] if any(phrase.is_bad for phrase in sentence) else lines


def dossier_path(release: Release, owner_report: Path | None) -> Path | None:
    """Return the path of the page that was written beside an owner report."""
    if owner_report is None:
        return None
    return owner_report.with_name(dossier_name(None if release.place is None else release.place.stem))


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {part}" for line in lines for part in _wrap(line, _width() - 2)]


def _measures(block: Mapping[str, Any], within: str = "") -> Iterator[str]:
    """Yield the figures of a block, related ones in one line; strings and long lists stay in the files."""
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
    """Yield the measures that were not taken: a word is in the place of their figures."""
    yield from (one_line(f"{words(str(key))}: {value}") for key, value in utility.items() if isinstance(value, str))


def _figure(value: object, interval: Sequence[float] | None) -> str:
    """Return a figure with the ends of its 95 % interval, where it has one."""
    return number(value) if interval is None else f"{number(value)} ({'–'.join(number(end) for end in interval)})"


def _is_figure(value: object) -> bool:
    if isinstance(value, list | tuple):
        return 0 < len(value) <= _LISTED and all(isinstance(entry, int | float) for entry in value)
    return isinstance(value, int | float)
