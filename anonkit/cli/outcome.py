# SPDX-License-Identifier: Apache-2.0
"""The outcome of a command, for the boundary to show, and the error of wrong usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anonkit.errors import AnonkitError


class WrongUsage(AnonkitError):  # noqa: N818 - named for what it says, like click's own
    """The command line itself is wrong: an unknown command or option, a missing or malformed argument."""

    exit_code = 2
    code = "USAGE"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a command that could do its work; everything else is an error."""

    text: str
    """For people, on stdout; empty for nothing."""
    document: Mapping[str, Any]
    """For machines, on stdout with `--json`, after the key `ok`."""
    notes: Sequence[str] = ()
    """Further notes, on stderr; no cell values."""
    quiet: bool = False
    """True: `text` and `notes` are not shown; `document` is, when it is requested."""
    even_quiet: Sequence[str] = ()
    """Lines shown on stderr in their place all the same: part of `text`."""
    warnings: Sequence[str] = ()
    """Warnings of lost data, on stderr whether quiet or not; no count of the source, no cell value."""
    owner_lines: Sequence[str] = ()
    """Lines for the owner alone, laid out, on stderr always: the command has settled that somebody reads it there."""
    failure: AnonkitError | None = None
    """Why the result is bad news although the command worked, such as a check that failed."""

    @property
    def exit_code(self) -> int:
        """0, or the exit code of the failure."""
        return 0 if self.failure is None else self.failure.exit_code
