# SPDX-License-Identifier: Apache-2.0
"""The `--junit` file of a command: rewritten whatever happens, so that no older result is taken for this one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from anonkit.cli.files import write_text
from anonkit.cli.outcome import WrongUsage
from anonkit.cli.short_help import ShortHelp
from anonkit.errors import AnonkitError
from anonkit.redaction import redacted

_OPTION = "--junit"
_BEGINS = b"<testsuite"
_LOOKED_AT = 4096
"""Bytes in which a JUnit file states what it is."""


class JunitCommand(ShortHelp):
    """A command whose first argument is validated into the file that `--junit` names.

    An error is in the file before the command line is understood: what was killed, or never began, has failed. What
    went wrong replaces it, and the command itself writes the result.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Begin the file, then read the command line."""
        path = _path(args)
        if path is None or ctx.resilient_parsing:  # a shell that completes words runs nothing
            return super().parse_args(ctx, args)
        _begin(path, "INTERRUPTED", "the validation has not come to its end")
        try:
            return super().parse_args(ctx, list(args))
        except click.ClickException as error:
            _begin(path, "USAGE", redacted(" ".join(error.format_message().split())))
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what it raises is its result."""
        path = ctx.params.get("junit")
        try:
            return super().invoke(ctx)
        except BaseException as error:
            if path is not None:
                with suppress(AnonkitError):  # the file could be written before; what went wrong is shown
                    _write(Path(path), str(ctx.params.get("table")), *_kind_and_message(error))
            raise


def _path(args: Sequence[str]) -> Path | None:
    """Return the file that a command line names, the last one as of every option; it may be wrong otherwise."""
    options = args[: args.index("--")] if "--" in args else args
    named = None
    for at, word in enumerate(options):
        if word.startswith(f"{_OPTION}="):
            named = Path(word.partition("=")[2])
        elif word == _OPTION and at + 1 < len(options):
            named = Path(options[at + 1])
    return named


def _begin(path: Path, code: str, message: str) -> None:
    """Write an error in place of an older result; any other file is left alone, such as a release named by mistake."""
    try:
        with path.open("rb") as file:
            head = file.read(_LOOKED_AT)
    except OSError:  # there is none, or it cannot be written either
        head = b""
    if head and _BEGINS not in head:
        raise WrongUsage(f"{redacted(str(path))!r} is there, and is no JUnit file", f"{_OPTION} results.xml")
    _write(path, "anonkit validate", code, message)


def _write(path: Path, name: str, code: str, message: str) -> None:
    from anonkit.checks.requirements import junit_error

    write_text(path, junit_error(redacted(name), code, message), force=True)


def _kind_and_message(error: BaseException) -> tuple[str, str]:
    """Return word and message of an error; of one that is not anonkit's only what it is, since it may quote cells."""
    if isinstance(error, AnonkitError):
        return error.code, error.for_command_line()[0]
    if isinstance(error, KeyboardInterrupt):
        return "INTERRUPTED", "interrupted"
    return "INTERNAL", type(error).__name__
