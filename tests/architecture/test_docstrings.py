"""Docstrings state what a thing is or what a test checks: none begins with a question word, with Say or with Tell."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "anonkit"
TESTS = PACKAGE.with_name("tests")
PAPERS = PACKAGE.with_name("recipes") / "papers"

OPENERS = (
    *("Say", "Says", "Tell", "Tells"),
    *("What", "Whether", "How", "Who", "Whose", "Which", "Where"),
    *("Whatever", "Whoever", "Whichever", "Wherever", "However"),
)
"""A function computes, returns or refuses; a class, a module and a value are a noun phrase."""

PRIVATE = {
    "told": "published, disclosed, given",
    "tell": "return, disclose, distinguish",
    "tells": "returns, discloses, distinguishes",
    "stand": "is, represents, means",
    "stands": "is, represents, means",
    "asked": "required, requested, measured",
    "said": "stated, declared",
    "house": "package",
    "houses": "packages",
    "room": "module, package, space",
    "rooms": "modules, packages",
    "second eye": "independent check",
    "whole number": "integer",
    "whole numbers": "integers",
    "texts": "strings",
}
"""Words that this package once used in a sense of its own, and the field's words."""

RIGHT = {
    ("asked", "published/randomized_table.py"): "the literal meaning of a cell of the format",
    ("house", "drafting/identifying/street_addresses.py"): "a number of a house",
    ("tells", "cli/export.py"): "the help of a command",
    ("tells", "cli/report.py"): "the help of a command",
    ("texts", "cli/boundary.py"): "help texts",
    ("texts", "cli/commands.py"): "help texts",
    ("texts", "drafting/profiling.py"): "texts of cells",
}
"""Places where a word is the right one, and the reason."""

RETURNS_LEFT = {"checks": 0, "budget_rules": 0, "elsewhere": 0}
"""Most docstrings of a package that may begin with `Return what` or another question; a limit may fall, not rise."""

_RETURNS = re.compile(r"(?:Return|Returns|Yield|Find|Check) (?:what|whether|how|which|who|whom|whose|where)\b")
_OPENS = re.compile(rf"(?:{'|'.join(OPENERS)})\b")
_ANY = re.compile(rf"\b(?:{'|'.join(PRIVATE)})\b".replace(" ", r"\s+"), re.IGNORECASE)
_DOCSTRING = re.compile(r'^ *r?"""(.+?)"""', re.DOTALL | re.MULTILINE)
_NAMES = re.compile(r"^ *[*\w, ]+ : .*$|^ *\*+\w+$|^.*>>>.*$", re.MULTILINE)
_CODE = re.compile(r"(``?).+?\1", re.DOTALL)


def _docstrings(source: str) -> list[str]:
    """Return the docstrings of a module, its classes and functions, and of fields and constants: they begin a line."""
    return [found[1] for found in _DOCSTRING.finditer(source)]


def _words(docstring: str) -> set[str]:
    """Return the private words of a docstring, but for those in code and in the names of parameters."""
    prose = _CODE.sub("", _NAMES.sub("", docstring))
    return {" ".join(word.lower().split()) for word in _ANY.findall(prose)}


@cache
def _docstrings_below(folder: Path) -> dict[str, list[str]]:
    """Return the docstrings of each file of a folder, but for this one, which has wrong ones as examples."""
    return {
        path.relative_to(folder).as_posix(): _docstrings(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.py"))
        if path != Path(__file__)
    }


@pytest.mark.parametrize("folder", [PACKAGE, PAPERS, TESTS], ids=["package", "papers", "tests"])
def test_no_docstring_begins_with_a_question_word_or_with_say_and_tell(folder: Path) -> None:
    """Some 1,240 of 10,500 docstrings of the package did, and 659 of 8,344 of the tests."""
    docstrings = _docstrings_below(folder)
    found = {name: begun for name, texts in docstrings.items() if (begun := list(filter(_OPENS.match, texts)))}
    assert found == {}, "begin with a verb (Return, Compute, Refuse) or with a noun; of a test, state the property"


def test_no_docstring_answers_a_question() -> None:
    """A predicate returns True if something holds, a mask or a number is called so: `Return whether` was in 209."""
    found = Counter(
        package if (package := name.partition("/")[0]) in RETURNS_LEFT else "elsewhere"
        for name, texts in _docstrings_below(PACKAGE).items()
        for text in texts
        if _RETURNS.match(text)
    )
    over = {package: number for package, number in found.items() if number > RETURNS_LEFT[package]}
    assert over == {}, "begin with the value: Return True if, Return the number of, Return a mask of, Return the"


def test_no_private_word_comes_back() -> None:
    """They were in 1,764 docstrings. A place that is right is named with its reason, and goes when it is gone."""
    found = {
        (word, name) for name, texts in _docstrings_below(PACKAGE).items() for text in texts for word in _words(text)
    }
    assert found - RIGHT.keys() == set(), f"use the words of the field: {PRIVATE}"
    assert RIGHT.keys() - found == set()


def test_every_kind_of_docstring_is_read() -> None:
    """Module, class, field, method and constant; neither code nor the names of parameters; words across a line."""
    source = '''"""What a module does."""
LIMIT = 3
"""How many."""
class A:
    """Who is a whole
    number.

    Where more is told.
    """
    size: int
    """Which size; `told` is code.

    told : int
    """
    def tells(self) -> str:
        r"""Tell."""
        return """Say"""
'''
    texts = _docstrings(source)
    assert [bool(_OPENS.match(text)) for text in texts] == [True, True, True, True, True]
    assert [_words(text) for text in texts] == [set(), set(), {"whole number", "told"}, set(), {"tell"}]
    assert _OPENS.match("Whatever it is.")
    assert not _OPENS.match("Whatsoever it is.")
    assert not _OPENS.match("Return what it is.")
