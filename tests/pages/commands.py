"""Command lines of a shell text, and whether the program would take them, without running anything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import click

from anonkit.cli import anonkit
from anonkit.cli.commands import MethodCommand, read_parameters
from anonkit.methods import METHODS, default_method, make_method

_HERE_DOCUMENT = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n(?:[^\n]*\n)*?[ \t]*\2(?=\n|$)")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_WORDS_BEFORE = ("if", "then", "else", "elif", "do", "while", "until", "!", "time", "exec")
_ENDS = "\n;&|()"


@dataclass
class _Line:
    words: list[str] = field(default_factory=list)
    plain: bool = True


def simple_commands(text: str) -> list[tuple[list[str], bool]]:
    """Return the words of every command of a shell text, those within `$( )` too, and whether it is alone.

    A command is alone where nothing is piped, redirected, substituted or assigned. Quotes are taken off, comments,
    here-documents and redirections left out.
    """
    text = _HERE_DOCUMENT.sub(r" <HERE\3", text)
    return [(line.words, line.plain) for line in _split(text) if line.words]


def _split(text: str) -> Iterator[_Line]:
    line, word, dropped, at = _Line(), None, False, 0
    inner: list[_Line] = []

    def ended() -> None:
        nonlocal word, dropped
        if word is not None:
            if not dropped:
                line.words.append(word)
            word, dropped = None, False

    while at < len(text):
        letter = text[at]
        if letter == "\\":
            if text[at + 1 : at + 2] != "\n":
                word = (word or "") + text[at + 1 : at + 2]
            at += 2
            continue
        if letter in "'\"":
            quoted, at = _quoted(text, at)
            word = (word or "") + quoted
            continue
        if text.startswith("$(", at):
            within, at = _substituted(text, at)
            inner += _split(within)
            word, line.plain = (word or "") + "$1", False
            continue
        if letter == "#" and word is None:
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
            continue
        if letter in "<>":
            if word is not None and word.isdigit():
                word = None
            ended()
            line.plain = False
            while text[at : at + 1] in ("<", ">", "&"):
                at += 1
            while text[at : at + 1] == " ":
                at += 1
            word, dropped = "", True
            continue
        if letter in _ENDS:
            ended()
            if letter in "&|" and line.words:
                line.plain = False
            yield line
            line = _Line(plain=letter in "\n;")
        elif letter.isspace():
            ended()
        else:
            word = (word or "") + letter
        at += 1
    ended()
    yield line
    yield from inner


def _quoted(text: str, at: int) -> tuple[str, int]:
    quote, found, at = text[at], "", at + 1
    while text[at] != quote:
        if quote == '"' and text[at] == "\\" and text[at + 1] in '$`"\\\n':
            at += 1
        found += text[at]
        at += 1
    return found, at + 1


def _substituted(text: str, at: int) -> tuple[str, int]:
    depth, begins = 0, at + 2
    for end in range(at + 1, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if not depth:
            return text[begins:end], end + 1
    return text[begins:], len(text)


def anonkit_arguments(words: Sequence[str]) -> list[str] | None:
    """Return what is after `anonkit` in a command; None where it is another program's."""
    rest = list(words)
    while rest and (rest[0] in _WORDS_BEFORE or _ASSIGNED.match(rest[0])):
        rest.pop(0)
    if rest[:3] in (["python", "-m", "anonkit"], ["python3", "-m", "anonkit"]):
        return rest[3:]
    return rest[1:] if rest[:1] == ["anonkit"] else None


def command_lines(text: str) -> list[list[str]]:
    """Return the arguments of every `anonkit …` of a shell text."""
    found = (anonkit_arguments(words) for words, _ in simple_commands(text))
    return [arguments for arguments in found if arguments is not None]


def read_by_the_program(arguments: Sequence[str]) -> None:
    """Let the program read a command line: command, options, arguments, parameters of the method.

    Raises
    ------
    click.ClickException, anonkit.AnonkitError
        It would not be taken.
    """
    words = [re.sub(r"\$(\w+|\{[^}]*\})", "1", word) for word in arguments]
    try:
        program = anonkit.make_context("anonkit", words[:1] or ["--help"])
        _, command, rest = anonkit.resolve_command(program, words)
        assert command is not None
        context = command.make_context(words[0], rest, parent=program)
    except click.exceptions.Exit:  # --help and --version are read, and end there
        return
    if isinstance(command, MethodCommand):
        own = {one.name for one in command.own_params(context)}
        given = {name: value for name, value in context.params.items() if name not in own}
        named = [name for name, value in given.items() if value is not None]
        method = context.params["method"] or default_method(named, without_target="--no-target" in words)
        values = read_parameters(method, given)
        make_method(method, values, context.params["preset"])
    for name in (context.params.get("methods") or "").split(","):
        assert not name or name in METHODS, f"there is no method {name}"
