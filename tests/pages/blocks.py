"""Pages and their code blocks, as a reader meets them: in order, with the file that a block says it is."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]

SHELL, PYTHON = ("sh", "bash", "shell", "console"), ("python", "py")
OUTPUT = ("", "text", "json")
"""Languages of what a command prints, where a block says no file."""

_FENCE = re.compile(r"^(\s*)(`{3,}|~{3,})([^`]*)$")
_LANGUAGE = re.compile(r"^\{?\s*\.?([\w+-]*)")
_TITLE = re.compile(r'\btitle="([^"]+)"')
_NAMED = re.compile(
    r"^(?:#|--)\s*((?:[\w.-]+/)*(?:[\w-][\w.-]*\.[a-z]{2,7}|\.[a-z-]+\.[a-z]{2,7}|Snakefile))(?=[\s;,]|$)"
)
_TYPED = ("anonkit ", "pip ", "make ", "$ ")
"""The beginning of a block without a language that is typed into a shell."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    """Path of the page from the root of the repository."""
    line: int
    """Number of the first line of its text, from 1."""
    language: str
    title: str | None
    text: str
    key: str
    """Its first line; ` #2` follows where that line began another block of the page before."""

    @property
    def file(self) -> str | None:
        """The name of the file that the block says it is: its title, or a comment in its first line."""
        if self.title is not None:
            return self.title if re.fullmatch(r"[\w./-]+", self.title) else None
        named = _NAMED.match(self.text)
        return named[1] if named and self.language not in SHELL else None

    @property
    def is_shell(self) -> bool:
        """Return whether it is typed into a shell."""
        return self.language in SHELL or (not self.language and self.text.startswith(_TYPED))

    @property
    def is_python(self) -> bool:
        """Return whether it is typed into Python."""
        return self.language in PYTHON

    @property
    def where(self) -> str:
        """The place that an editor opens."""
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    """Return every page that readers have: the root's, those of docs and of recipes."""
    found = [*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md"), *(REPOSITORY / "recipes").rglob("*.md")]
    return sorted(path.relative_to(REPOSITORY).as_posix() for path in found)


def text_of(page: str) -> str:
    """Return the text of a page."""
    return (REPOSITORY / page).read_text(encoding="utf-8")


@cache
def blocks_of(page: str) -> tuple[Block, ...]:
    """Return the fenced blocks of a page, whatever they are indented by: lists, admonitions and tabs have some."""
    return blocks_in(text_of(page), page)


def block(page: str, key: str) -> Block:
    """Return the block of a page that begins so."""
    (found,) = [one for one in blocks_of(page) if one.key == key]
    return found


def blocks_in(text: str, page: str) -> tuple[Block, ...]:
    """Return the fenced blocks of a text.

    Raises
    ------
    ValueError
        A fence is not closed.
    """
    found: list[Block] = []
    seen: Counter[str] = Counter()
    lines = iter(enumerate(text.splitlines(), 1))
    for begins, line in lines:
        fence = _FENCE.match(line)
        if fence is None:
            continue
        inside: list[str] = []
        for _, after in lines:
            if re.fullmatch(rf"\s*{fence[2][0]}{{{len(fence[2])},}}\s*", after):
                break
            inside.append(after.removeprefix(fence[1]) if after.startswith(fence[1]) else after.lstrip())
        else:
            raise ValueError(f"{page}:{begins}: this fence is not closed")
        info, content = fence[3].strip(), textwrap.dedent("\n".join(inside)).strip("\n") + "\n"
        first = content.split("\n", 1)[0].strip()
        seen[first] += 1
        language, title = _LANGUAGE.match(info), _TITLE.search(info)
        found.append(
            Block(
                page,
                begins + 1,
                language[1].lower() if language else "",
                title[1] if title else None,
                content,
                first if seen[first] == 1 else f"{first} #{seen[first]}",
            )
        )
    return tuple(found)
