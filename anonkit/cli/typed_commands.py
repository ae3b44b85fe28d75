# SPDX-License-Identifier: Apache-2.0
"""Commands that a reader is shown to type next: each word as a shell takes it, and no secret in any."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from anonkit.redaction import argument_forms

_OF_POLICY = ("decimal",)
"""Options of a source that its drafted policy holds already."""


def typed(*words: object) -> str:
    """Return words as one command line of a POSIX shell."""
    return " ".join(shlex.quote(str(word)) for word in words)


def release_command(policy: object, source: str, how: Mapping[str, Any], options: Sequence[str] = ()) -> str:
    """Return a sentence with the command that releases a source by a policy, ready to type.

    Parameters
    ----------
    policy : path
        Of the policy.
    source : str
        As it was given: a path, a pattern, an address, or `-`.
    how : mapping
        The options for how it is read; None: not given.
    options : sequence of str
        More options of the release.

    Privacy
    -------
    What may hold a secret is a variable of the shell in the command, which the reader sets.
    """
    given = {name: value for name, value in how.items() if value is not None and name not in _OF_POLICY}
    words = ["anonkit", "release", *options, "--policy", shlex.quote(_as_path(str(policy)))]
    unset: list[str] = []
    for name, value in given.items():
        words += [f"--{name.replace('_', '-')}", _word(name, str(value), unset)]
    piped = source == "-"
    words += ["-" if piped else _word("source", _as_path(source), unset), "OUT.parquet"]
    hidden = " and ".join(unset)
    first = f"Read and correct it, set {hidden} to what you gave, then:" if hidden else "Read and correct it, then:"
    if piped:
        first = f"{first[:-1]} with the same rows through the pipe:"
    return f"{first}{chr(10) if options else '  '}{' '.join(words)}"


def _as_path(text: str) -> str:
    """Return a path that no command takes for an option."""
    return f"./{text}" if text.startswith("-") and text != "-" else text


def _word(name: str, value: str, unset: list[str]) -> str:
    """Return a value as a word of a shell; one that is not to be shown, or not to be typed, as a variable."""
    if not argument_forms(value) and value.isprintable():
        return shlex.quote(value)
    variable = f"${name.upper()}"
    unset.append(variable)
    return f'"{variable}"'
