# SPDX-License-Identifier: Apache-2.0
"""The main facts of a report as Markdown, for the pages of pipeline tools and build servers.

Tables are those of GitHub Flavored Markdown. Whatever came with the table (column names, labels, notes) is untrusted
text: every sign that Markdown or HTML gives a meaning is escaped, so that it makes no markup. (Tools that turn a bare
address into a link do that to any string.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from anonkit.errors import ReleaseFormatError
from anonkit.report import review
from anonkit.report.charts import safe_text
from anonkit.report.document import is_seeded, title_of
from anonkit.report.first_facts import first_facts, remaining_notes, text_of, verdict
from anonkit.report.promise_words import words_of
from anonkit.report.promise_words.phrases import capital
from anonkit.report.tabulation import column_row, row_counts
from anonkit.report.wording import check_words, date_text, gathered, number, required_words, shuffle_words

_SIGNS = re.compile(
    r"""
    (?! (?<=\w)-(?=\w) | (?<=\w)[.:](?=\s|$) | (?<=\d)\.(?=\d) )  # a hyphen, the end of a clause, a decimal point
    [!-/:-@\[-`{-~]
    """,
    re.VERBOSE | re.ASCII,
)
"""ASCII punctuation but for where it can mean nothing: any of it may be escaped by a backslash."""
_PLAIN = frozenset(",;'()%=?/")
"""Punctuation that means nothing without a sign that is escaped; the source is read too, and reads better without."""
_BREAKS = re.compile(r"\s+")
_NUMBERED = re.compile(r"\A(\d+)([.)])")
"""Begin of a numbered list."""
_ELSEWHERE = ("Promise",)
"""Topics of the first facts that have their own place."""
_SHOWN_COLUMNS = 60
_LONGEST = 40
"""Letters of what a check found, or required, that are shown whole: cells of a table are not wrapped everywhere."""
_BEGINNING = 12
"""Letters that are shown of what is longer."""


def report_markdown(report: Mapping[str, Any]) -> str:
    """Return the main facts of a report as Markdown: the promise, its checks and limits, columns, risk, utility.

    Parameters
    ----------
    report : mapping
        What `out.report.json` holds.

    Raises
    ------
    ReleaseFormatError
        The report lacks a block, or a block is not what it should be.

    Privacy
    -------
    It shows the public report and nothing else, so that it may be shown where a pipeline's users read it.
    """
    try:
        return "\n".join(_lines(report)) + "\n"
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise ReleaseFormatError(
            "the report is not one of anonkit", "anonkit validate tells what was changed"
        ) from error


def validation_markdown(checks: Iterable[Mapping[str, Any]]) -> str:
    """Return checks as a Markdown table, those that failed first.

    Parameters
    ----------
    checks : iterable of mapping
        As `Check.to_dict` gives them.
    """
    return "\n".join(_checks(checks)) + "\n"


def escaped(text: object) -> str:
    """Return a text as one line of Markdown that shows it and does nothing."""
    line = safe_text(_BREAKS.sub(" ", str(text))).strip()
    line = _SIGNS.sub(lambda sign: sign[0] if sign[0] in _PLAIN else f"\\{sign[0]}", line)
    return _NUMBERED.sub(r"\1\\\2", line)


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    promise, checks = report["guarantee"], report["verification"]["checks"]
    words = words_of(promise)
    yield f"### {escaped(words.headline(promise).text)}: {escaped(title_of(report))}"
    yield ""
    yield _verdict(report)
    yield ""
    yield escaped(promise["statement"])
    yield ""
    yield from (f"- **{escaped(what)}:** {escaped(text)}" for what, text in _facts(report))
    if file_alone := shuffle_words(report.get("shuffle")):
        yield from ("", escaped(file_alone))
    yield from ("", "#### Checks made on the released table", "")
    yield from _checks(checks)
    yield from ("", "#### What is not protected", "")
    yield from _list(promise["not_protected"])
    if promise["assumptions"]:
        yield from ("", "#### What is assumed", "")
        yield from _list(promise["assumptions"])
    yield from ("", "#### Columns", "")
    yield from _columns(report["columns"])
    if notes := remaining_notes(report):
        yield from ("", "#### Notes", "")
        yield from _list(notes)


def _verdict(report: Mapping[str, Any]) -> str:
    """Return True if the promise holds, the worst first."""
    found, said = verdict(report), []
    if is_seeded(report):
        said.append("**Not for release.** Its randomness comes from a known seed: it was made for tests.")
    said.append(f"**{escaped(found.stressed.removeprefix('✓ '))}**{_after(found.rest)}")
    return "\n\n".join(said)


def _after(text: str) -> str:
    return f" {escaped(text)}" if text.strip() else ""


def _facts(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the first facts of a report, as (what, text)."""
    method, promise = report["method"], report["guarantee"]
    preset = f", preset {method['preset']}" if method.get("preset") else ""
    figures = {capital(what): figure for figure, what in words_of(promise).figures(report)}
    yield from figures.items()
    yield "Method", f"{method['name']}{preset}"
    yield "Made", f"{date_text(report['created'])}, by anonkit {report['anonkit_version']}"
    for topic in first_facts(report):
        if topic.label not in _ELSEWHERE:
            yield topic.label, " ".join(map(text_of, topic.sentences))
    yield "Ledger", review.ledger_words(report)
    yield from (fact for fact in row_counts(report["rows"]) if fact[0] not in figures)


def _checks(checks: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    yield "|  | Check | Found | Required |"
    yield "| --- | --- | --- | --- |"
    for check in sorted(gathered(checks), key=lambda check: bool(check["passed"])):
        cells = (check_words(check["name"])[0], _short(_found(check)), _short(required_words(check)))
        yield f"| {'passed' if check['passed'] else '**FAILED**'} | {' | '.join(map(escaped, cells))} |"


def _found(check: Mapping[str, Any]) -> str:
    """Return what a check found; a truth value beside a required count is one."""
    found, required = check["observed"], check["required"]
    is_count = isinstance(found, bool) and isinstance(required, int) and not isinstance(required, bool)
    return number(int(found) if is_count else found)


def _short(text: str) -> str:
    """Return a finding as a cell shows it; a hash widens no table, and is in full in the files."""
    return text if len(text) <= _LONGEST else f"{text[:_BEGINNING]}…"


def _columns(columns: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    rows = [column_row(column) for column in columns]
    shown = [
        (row["name"], row["role"], row["action"], "–" if row["count"] is None else number(row["count"]))
        for row in rows[:_SHOWN_COLUMNS]
    ]
    yield from _table(("Column", "Role", "Treatment", "Values"), shown)
    if len(rows) > _SHOWN_COLUMNS:
        yield from ("", f"and {len(rows) - _SHOWN_COLUMNS} more columns")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    yield from (f"| {' | '.join(escaped(cell) for cell in row)} |" for row in rows)


def _list(texts: Sequence[str]) -> Iterator[str]:
    yield from (f"- {escaped(text)}" for text in texts)
    if not texts:
        yield "- none stated"
