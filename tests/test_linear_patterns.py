"""Regular expressions take time in proportion to the text: a name of 4,000 letters delays nobody.

Every pattern of the package is found in its source, and fed with texts that repeat what it repeats itself, doubled
until a call takes long enough to be measured: twice the text must take less than three times the processor time.
"""

from __future__ import annotations

import ast
import functools
import importlib
import itertools
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from re import _constants as parts  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from anonkit.bundle.sql_names import table_parts
from anonkit.errors import AnonkitError, on_command_line
from anonkit.redaction import argument_forms, is_address, redacted, source_names, table_name

PACKAGE = Path(__file__).parents[1] / "anonkit"
CALLS = ("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer")
LONGEST = 4096
MEASURABLE = 2e-3
"""Seconds that a call has to take before its growth is looked at: 500 ns for each of 4,096 letters."""
REPEATED = 32
"""A repetition that may go on beyond this is taken for one without an end."""

MADE_FROM_NAMES = {
    "bundle/atomic.py": "an escaped name, digits and eight letters: nothing repeats but digits",
    "bundle/object_store.py": "an escaped name, parts of fixed forms and a number",
    "domains/dates_and_times.py": "made of a policy's format: fields of at most nine digits",
    "checks/calendar_labels.py": "made of a policy's format: fields of at most nine digits",
    "drafting/guessed_target.py": "a table of short forms of times in the file itself",
    "engines/snapshots/postgresql_tables.py": "a table of words in the file itself, searched in a server's message",
}
"""Functions that put a pattern together, and the reason why it is linear."""


@dataclass(frozen=True)
class Found:
    """One pattern of the package, and how it is called."""

    where: str
    pattern: re.Pattern[Any]
    calls: frozenset[str]


def _called(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of = node.func.value
            if isinstance(of, ast.Name) and of.id == "re" and node.func.attr in ("compile", *CALLS):
                yield node


@functools.cache
def _found() -> tuple[list[Found], set[str]]:
    """Return every pattern that can be known from outside, and the files that put one together inside a function."""
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    all_text = "\n".join(sources.values())
    found, inside = [], set()
    for path, text in sources.items():
        if not any(f"re.{name}(" in text for name in ("compile", *CALLS)):
            continue
        tree = ast.parse(text)
        names = {
            id(node.value): target.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in _called(tree):
            assert isinstance(call.func, ast.Attribute)
            at = path.relative_to(PACKAGE).as_posix()
            flags = [*(call.args[1:2] if call.func.attr == "compile" else ()), *_flags(call)]
            given = _evaluated([call.args[0], *flags], path)
            if given is None:
                inside.add(at)
                continue
            name = names.get(id(call))
            used = {call.func.attr} if call.func.attr != "compile" else _uses(name, text) or _uses(name, all_text)
            used = used or {"match", "fullmatch"}  # through other hands
            pattern = given[0] if isinstance(given[0], re.Pattern) else re.compile(*given[:2])
            found.append(Found(f"{at}:{call.lineno} {name or ''}", pattern, frozenset(used)))
    return found, inside


def _evaluated(expressions: list[ast.expr], path: Path) -> list[Any] | None:
    """Return what expressions say at the top of a module; it is imported where they name something of it."""
    code = [compile(ast.Expression(one), str(path), "eval") for one in expressions]
    for known in ({"re": re}, None):
        try:
            return [eval(one, _namespace(path) if known is None else known) for one in code]
        except NameError:
            continue
    return None


def _flags(call: ast.Call) -> list[ast.expr]:
    last = call.args[-1] if len(call.args) > 2 else None
    named = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    return named + ([last] if isinstance(last, ast.Attribute) else [])


def _namespace(path: Path) -> dict[str, Any]:
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    try:
        return {**vars(importlib.import_module(name)), "re": re}
    except ImportError:  # an extra that is not installed: what the pattern needs is seldom from there
        return {"re": re}


def _uses(name: str | None, text: str) -> set[str]:
    """Return how a named pattern is called in a text."""
    return set(re.findall(rf"\b{name}\.({'|'.join(CALLS)})\b", text)) if name else set()


# --- texts that make a pattern go back ------------------------------------------------------------------------------


def _letters(item: Any) -> list[str]:
    """Return a few letters that one item of a pattern takes."""
    kind, value = item
    if kind is parts.LITERAL:
        return [chr(value)]
    if kind is parts.RANGE:
        return [chr(value[0]), chr(value[1])]
    if kind is parts.CATEGORY:
        return {
            parts.CATEGORY_DIGIT: ["0"],
            parts.CATEGORY_SPACE: [" ", "\t"],
            parts.CATEGORY_WORD: ["a", "0", "_"],
        }.get(value, ["!"])
    if kind is parts.ANY:
        return ["x", " "]
    if kind is parts.NOT_LITERAL:
        return ["x"] if value != ord("x") else ["y"]
    return []


def _alphabet(tree: Any) -> list[str]:
    """Return letters that a pattern distinguishes, in its order, without doubles."""
    found: dict[str, None] = {}
    for kind, value in tree:
        if kind is parts.IN:
            found.update(dict.fromkeys(letter for item in value for letter in _letters(item)))
        elif kind in (parts.MAX_REPEAT, parts.MIN_REPEAT, parts.POSSESSIVE_REPEAT):
            found.update(dict.fromkeys(_alphabet(value[2])))
        elif kind is parts.SUBPATTERN:
            found.update(dict.fromkeys(_alphabet(value[3])))
        elif kind is parts.BRANCH:
            for one in value[1]:
                found.update(dict.fromkeys(_alphabet(one)))
        elif kind in (parts.ASSERT, parts.ASSERT_NOT):
            found.update(dict.fromkeys(_alphabet(value[1])))
        elif kind is parts.ATOMIC_GROUP:
            found.update(dict.fromkeys(_alphabet(value)))
        else:
            found.update(dict.fromkeys(_letters((kind, value))))
    return list(found)


def _sample(tree: Any) -> str:
    """Return a short text that a part of a pattern takes, as far as its letters say."""
    text = ""
    for kind, value in tree:
        if kind is parts.IN:
            letters = [letter for item in value for letter in _letters(item)]
            negated = value[0][0] is parts.NEGATE
            text += next((c for c in "xa0 " if c not in letters), "") if negated else (letters or [""])[0]
        elif kind in (parts.MAX_REPEAT, parts.MIN_REPEAT, parts.POSSESSIVE_REPEAT):
            text += _sample(value[2]) * max(1, min(value[0], 20))
        elif kind is parts.SUBPATTERN:
            text += _sample(value[3])
        elif kind is parts.BRANCH:
            text += _sample(value[1][0])
        elif kind is parts.ATOMIC_GROUP:
            text += _sample(value)
        elif kind not in (parts.ASSERT, parts.ASSERT_NOT, parts.AT, parts.GROUPREF):
            text += (_letters((kind, value)) or [""])[0]
    return text


def _repeats(tree: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield what is before each repetition without an end, and what it repeats."""
    for at, (kind, value) in enumerate(tree):
        ahead = before + _sample(list(tree)[:at])
        if kind in (parts.MAX_REPEAT, parts.MIN_REPEAT, parts.POSSESSIVE_REPEAT):
            if value[1] is parts.MAXREPEAT or value[1] > REPEATED:
                yield ahead, _sample(value[2])
            yield from _repeats(value[2], ahead)
        elif kind is parts.SUBPATTERN:
            yield from _repeats(value[3], ahead)
        elif kind is parts.BRANCH:
            for one in value[1]:
                yield from _repeats(one, ahead)
        elif kind is parts.ATOMIC_GROUP:
            yield from _repeats(value, ahead)
        elif kind in (parts.ASSERT, parts.ASSERT_NOT):
            yield from _repeats(value[1], ahead)


def _attacks(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """Yield what is first, what is repeated, and what is last; nothing of a pattern of bounded length."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    tree = parser.parse(source, pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags)
    repeats = list(dict.fromkeys(_repeats(tree)))
    if not repeats:
        return
    letters = _alphabet(tree)[:10]
    units = dict.fromkeys([*(unit for _, unit in repeats), _sample(tree), *letters])
    pairs = ("".join(two) for two in itertools.permutations(letters[:6], 2))
    heads = dict.fromkeys(["", *(head for head, _ in repeats[:4])])
    for head in heads:
        for unit in filter(None, dict.fromkeys([*units, *pairs])):
            yield head, unit, "\x00"


def _seconds(call: Callable[[Any], object], text: Any, times: int) -> float:
    best = float("inf")
    for _ in range(times):
        begun = time.process_time()
        call(text)
        best = min(best, time.process_time() - begun)
    return best


def grows_faster_than_the_text(call: Callable[[Any], object], text_of: Callable[[int], Any]) -> bool:
    """Return whether twice the text takes three times the time or more, once a call takes measurably long."""
    length = 12
    while length <= LONGEST:
        if _seconds(call, text_of(length), 1) > MEASURABLE:
            ratios = []
            for _ in range(5):  # another process may have taken the caches: only what is so each time is so
                half, whole = (_seconds(call, text_of(at), 3) for at in (length // 2, length))
                ratios.append(whole / max(half, 1e-7))
                if min(ratios) < 3:
                    break
            if min(ratios) >= 3:
                return True
        length *= 2
    return False


def test_no_pattern_is_overlooked() -> None:
    """A pattern that is made inside a function is known by its file; all others are tried."""
    found, inside = _found()
    assert len(found) > 90
    assert inside == set(MADE_FROM_NAMES)


def test_twice_the_text_takes_less_than_three_times_the_time() -> None:
    """Of every pattern, in every way in which it is called."""
    slow = []
    for one in _found()[0]:
        is_bytes = isinstance(one.pattern.pattern, bytes)
        for head, unit, tail in _attacks(one.pattern):
            text_of = functools.partial(_text_of, head, unit, tail, is_bytes)
            for name in sorted(one.calls):
                call = _call_of(one.pattern, name, is_bytes)
                if grows_faster_than_the_text(call, text_of):
                    slow.append((one.where, name, head, unit))
                    break
            else:
                continue
            break
    assert slow == []


def _text_of(head: str, unit: str, tail: str, is_bytes: bool, length: int) -> Any:
    text = head + unit * (length // len(unit)) + tail
    return text.encode("latin-1", "replace") if is_bytes else text


def _call_of(pattern: re.Pattern[Any], name: str, is_bytes: bool) -> Callable[[Any], object]:
    if name in ("sub", "subn"):
        return functools.partial(getattr(pattern, name), b"" if is_bytes else "")
    if name == "finditer":
        return pattern.findall
    return getattr(pattern, name)  # type: ignore[no-any-return]


TEXTS = [
    "a", "a:", "ab:/c ", "ab://c@", "@", "://", "=", "password", "password=", "pass", "a.", "-", "passwordtoken",
    "a:/", "ab:/c?x=1&", "'", '"', '""', '"a".', "%", "\ufdd0a\ufdd1b\ufdd2", "\ufdd0", "key=a;", "account_", "x=",
]  # fmt: skip
FUNCTIONS: dict[str, Callable[[str], object]] = {
    "redacted": redacted,
    "argument_forms": argument_forms,
    "source_names": source_names,
    "table_name": table_name,
    "is_address": is_address,
    "on_command_line": on_command_line,
    "table_parts": lambda text: _quietly(lambda: table_parts(text, folds=True)),
}


def _quietly(work: Callable[[], object]) -> None:
    try:
        work()
    except AnonkitError:
        return


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("head", ["", "=", "ab:/", "ab://u:", "password="])
def test_what_is_done_with_what_patterns_find_is_linear_too(name: str, head: str) -> None:
    """Functions that go over a text with several patterns, as every message does."""
    slow = []
    for unit in TEXTS:
        for tail in ("", "@=", " "):
            if grows_faster_than_the_text(
                FUNCTIONS[name], lambda length, unit=unit, tail=tail: head + unit * (length // len(unit)) + tail
            ):
                slow.append((unit, tail))
                break
    assert slow == []
