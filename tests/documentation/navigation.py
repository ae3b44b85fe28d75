# SPDX-License-Identifier: Apache-2.0
"""The navigation of the site, read from the pages that list others: docs/README.md and the README of a folder.

A heading of the second level of docs/README.md is a section, one of the third a group in it, and every link to a page
is an entry, of the last section that has it. A link to the README of a folder brings the folder: its pages in the order
of that README, its headings as groups. Pages that nobody listed yet follow in the section of their folder, so that a
new page is never lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from posixpath import dirname, join, normpath
from typing import Any

INDEX = "README.md"
SECTIONS = {
    "tutorials": "Tutorials",
    "how-to": "How-to",
    "methods": "Methods",
    "papers": "Papers",
    "proofs": "Proofs",
    "reference": "Reference",
}
"""Folder -> section of its pages that no page lists; pages of other folders follow in the last section but one."""
ELSEWHERE = "Explanation"

_FENCE = re.compile(r"^\s*(```|~~~)")
_LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")


@dataclass
class Section:
    """A heading with the pages below it, groups among them."""

    title: str
    entries: list[str | Section] = field(default_factory=list)

    def as_nav(self) -> dict[str, Any]:
        """Return what MkDocs reads as a section."""
        return {self.title: [one if isinstance(one, str) else one.as_nav() for one in self.entries]}

    def pages(self) -> Iterator[str]:
        """Yield every page below, in order."""
        for one in self.entries:
            if isinstance(one, str):
                yield one
            else:
                yield from one.pages()


def outside_fences(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the lines of a page, and whether each is text, not a line of a code block."""
    fence = None
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if fence is None and mark:
            fence = mark[1]
            yield line, False
        elif fence is not None:
            if mark and mark[1] == fence:
                fence = None
            yield line, False
        else:
            yield line, True


def links_of(line: str) -> list[str]:
    """Return where the links of a line lead, without anchors and addresses."""
    return [target for target, _ in _LINK.findall(line) if "://" not in target and not target.startswith("mailto:")]


def listed(docs: Path, page: str, level: int) -> list[Section]:
    """Return the headings of `level` of a page with the pages of docs that are linked below each, itself left out.

    Text before the first heading is under the empty title. Deeper headings are sections within.
    """
    found = [Section("")]
    stack = {level: found[0]}
    for line, is_text in outside_fences((docs / page).read_text(encoding="utf-8")):
        if not is_text:
            continue
        heading = re.match(r"^(#+)\s+(.*?)\s*$", line)
        if heading and len(heading[1]) >= level:
            depth, section = len(heading[1]), Section(heading[2])
            stack = {key: value for key, value in stack.items() if key < depth} | {depth: section}
            above = [key for key in stack if key < depth]
            (stack[max(above)].entries if above else found).append(section)
            continue
        for target in links_of(line):
            linked = normpath(join(dirname(page), target))
            is_page = linked.endswith(".md") and not linked.startswith("..") and (docs / linked).is_file()
            if is_page and linked != page:
                stack[max(stack)].entries.append(linked)
    return found


def _folder(docs: Path, folder: str) -> list[str | Section]:
    """Return the pages of a folder as its README lists them, the README first."""
    index = f"{folder}/{INDEX}"
    entries: list[str | Section] = [index]
    for section in listed(docs, index, 2):
        section.entries = [one for one in section.entries if isinstance(one, Section) or dirname(one) == folder]
        entries += [section] if section.title else section.entries
    return entries


def _once(entries: list[str | Section], seen: set[str]) -> list[str | Section]:
    """Return the entries without pages that came before, and without groups that are empty then."""
    kept: list[str | Section] = []
    for one in entries:
        if isinstance(one, Section):
            one.entries = _once(one.entries, seen)
            if one.entries:
                kept.append(one)
        elif one not in seen:
            seen.add(one)
            kept.append(one)
    return kept


def _expanded(docs: Path, entries: list[str | Section]) -> list[str | Section]:
    whole: list[str | Section] = []
    for one in entries:
        if isinstance(one, Section):
            whole.append(Section(one.title, _expanded(docs, one.entries)))
        elif PurePosixPath(one).name == INDEX and dirname(one):
            whole += _folder(docs, dirname(one))
        else:
            whole.append(one)
    return whole


def sections(docs: Path) -> list[Section]:
    """Return the sections of the site, in order; every page of docs is in one of them, and in one place only."""
    first, *rest = listed(docs, INDEX, 2)
    if rest:
        rest[0].entries = [INDEX, *first.entries, *rest[0].entries]
    seen: set[str] = set()
    found = [Section(one.title, _once(_expanded(docs, one.entries), seen)) for one in reversed(rest)][::-1]
    for path in sorted(docs.rglob("*.md")):
        page = path.relative_to(docs).as_posix()
        if page not in seen:
            folder = PurePosixPath(page).parts[0] if "/" in page else ""
            title = SECTIONS.get(folder, ELSEWHERE)
            section = next((one for one in found if one.title == title), None)
            if section is None:
                section = Section(title)
                found.append(section)
            section.entries.append(page)
            seen.add(page)
    return [one for one in found if one.entries]
