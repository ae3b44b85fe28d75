"""Private words of the project are in no message, help or page."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BANNED = {
    "handed back": "reused, returned",
    "whoever": "anyone who",
    "told apart": "distinguished",
    "told coarsely": "with coarser values",
    "is told to the owner": "goes to the owner, or: the owner sees it",
    "taken for an identifier": "looks like an identifier",
    "teaches about everybody": "shows about people in general",
    "of noise the": "for noise …",
    "stands in no file": "is in no file",
    "stands in the (?:params|report|files?)": "is in the …",
    "stands beside": "is beside, is shown beside",
    "stands twice": "occurs twice",
    "stands there": "is there",
    "nothing is charged": "no budget is spent",
    "is charged again": "spends budget again",
    "is told": "learns, or: the page says",
    "are told": "are released, are described",
    "told in": "described in",
    "nobody asks": "without a requirement",
    "second eye": "an independent check",
    r"stands? (?:in|on|beside|there|aside|at|first|above|under|behind|whole|apart|between|among)": "is, are",
    "asked for": "requested, required, needed",
    "asked of": "required of",
    "asks for": "requires, needs",
    "nothing is asked": "without a requirement",
    "cannot be told": "is undecided, cannot be distinguished",
    "told from": "distinguished from",
    "told by": "listed by, described by",
    "secure room": "secure facility",
    r"(?<=[.;:]\s)who (?:knows|has|holds|sees|may|can|begins|merges|wants|reads|needs)": "anyone who",
}
"""Phrases that no page for readers has, and their replacements."""
GENERATED = ("docs/reference/python.md", "docs/reference/modules.md", "docs/benchmarks.md")
"""Made from docstrings, or measured by programs: their words are those of the code."""
_STANDS = next(phrase for phrase in BANNED if phrase.startswith("stands? ("))
RIGHT_IN_PROOFS = {"is told", "are told", "told in", "told from", "told by", "stands beside", _STANDS} | {
    phrase for phrase in BANNED if phrase.startswith(("asked", "asks", "nothing is asked"))
}
"""Mathematics: a rule distinguishes outcomes, a draw is beside another, an epsilon is requested."""
RIGHT = {
    ("whoever", "docs/proofs/central.md"),
    ("stands beside", "docs/papers/001-rfka.md"),
    ("told in", "anonkit/report/templates/dossier.html.j2"),
}
"""Places where a phrase is the right one: in the name of a test, of two columns of a table, of a name in the code."""


_BEGIN = r"(?:\b|(?<=\\[nrt]))"  # of a word, also behind an escape: sources are looked at before they are parsed
_ANY = re.compile(_BEGIN + "(?:" + "|".join(phrase.replace(" ", r"\s+") for phrase in BANNED) + ")", re.IGNORECASE)


def _pages() -> Iterator[tuple[str, str]]:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        name = page.relative_to(ROOT).as_posix()
        if name not in GENERATED:
            yield name, re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def _literals(source: str) -> Iterator[str]:
    """Yield the texts of a module that a reader may see: literals and helps of commands, no docstrings of others."""
    tree = ast.parse(source)
    hidden: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            hidden.add(id(node.value))
    for node in ast.walk(tree):
        is_command = isinstance(node, ast.FunctionDef) and any(
            "command" in ast.dump(one) for one in node.decorator_list
        )
        if is_command and isinstance(node, ast.FunctionDef) and isinstance(node.body[0], ast.Expr):
            hidden.discard(id(node.body[0].value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in hidden:
            yield node.value


def _messages() -> Iterator[tuple[str, str]]:
    for module in sorted((ROOT / "anonkit").rglob("*.py")):
        source = module.read_text(encoding="utf-8")
        if _ANY.search(re.sub(r'"\s*f?"', "", source)):  # most modules need not be parsed
            for text in _literals(source):
                yield module.relative_to(ROOT).as_posix(), text
    for template in sorted((ROOT / "anonkit").rglob("*.j2")):
        yield template.relative_to(ROOT).as_posix(), template.read_text(encoding="utf-8")


def _is_right(phrase: str, name: str) -> bool:
    in_proofs = name.startswith("docs/proofs/") and (phrase in RIGHT_IN_PROOFS or "who (" in phrase)
    return in_proofs or (phrase, name) in RIGHT


def _found(phrase: str, texts: Iterable[tuple[str, str]]) -> list[str]:
    pattern = re.compile(rf"\b{phrase}\b".replace(" ", r"\s+"), re.IGNORECASE)
    return [name for name, text in texts if not _is_right(phrase, name) and pattern.search(text)]


@pytest.mark.parametrize("texts", [_pages, _messages], ids=["pages", "messages"])
def test_no_reader_meets_a_private_word(texts: Callable[[], Iterator[tuple[str, str]]]) -> None:
    """README and docs but for code blocks; messages, hints, helps, reports and their templates."""
    read = [(name, text) for name, text in texts() if _ANY.search(text)]
    assert {phrase: found for phrase in BANNED if (found := _found(phrase, read))} == {}, f"say: {BANNED}"


def test_a_banned_phrase_is_found_in_all_of_these() -> None:
    """In a literal, in an f-string, in the help of a command and across a line break; not in other docstrings."""
    source = (
        '@command\ndef f():\n    """Whoever."""\n    return f"told  apart {1}"\n\ndef g():\n    """Handed back."""\n'
    )
    texts = list(_literals(source))
    assert _found("whoever", [("x", text) for text in texts]) == ["x"]
    assert _found("told apart", [("x", text) for text in texts]) == ["x"]
    assert _found("handed back", [("x", text) for text in texts]) == []
