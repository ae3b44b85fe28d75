# SPDX-License-Identifier: Apache-2.0
"""The errors anonkit raises: one line that names the column or option and the rule, and one hint.

No message, hint or attribute of these errors ever holds a cell value of the source table: a column is
named, a rule is named, rows are counted. Nor do they hold a secret of an address: what they are given is redacted. The
exit code of the command line is part of the class, and so is whether a scheduler may try again.

A message names an option by `option`: to callers from Python it reads `force=True`, on the command line `--force`.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import ClassVar, Self

from anonkit.redaction import redacted

UNFINISHED_LOG = "anonkit.unfinished"
"""Name of the log in which readers say what interrupted runs, and others, have left beside a release."""
_EITHER = re.compile("\ufdd0([^\ufdd0-\ufdd2]*)\ufdd1([^\ufdd0-\ufdd2]*)\ufdd2")
"""Two wordings of one thing, for Python and for the shell, between noncharacters: those of private use are in names."""
_NOTED = "anonkit: "
"""Prefix of a note that anonkit itself adds to an exception of somebody else."""


def spoken(*, python: str, typed: str) -> str:
    """Return a part of a message or hint that reads differently for callers from Python and on the command line."""
    return f"\ufdd0{python}\ufdd1{typed}\ufdd2"


def option(name: str, value: object = ..., *, typed: str | None = None) -> str:
    """Return an option as a part of a message or hint.

    Parameters
    ----------
    name : str
        The keyword in Python.
    value : object
        Value to set; a string may be a placeholder for what the reader knows, such as "NAME". Without it the option is
        named alone.
    typed : str, optional
        The option of the command line, without dashes, where it is called otherwise.

    >>> in_python(option("force", True)), on_command_line(option("force", True))
    ('force=True', '--force')
    >>> on_command_line(option("quasi_identifiers", ["age", "zip"], typed="qi"))
    '--qi age --qi zip'
    """
    dashed = "--" + (typed or name.rstrip("_").replace("_", "-"))
    if value is ...:
        return spoken(python=name, typed=dashed)
    if value is True:
        return spoken(python=f"{name}=True", typed=dashed)
    entries = value if isinstance(value, list | tuple) else [value]
    words = (entry if isinstance(entry, str) else _number(entry) for entry in entries)
    return spoken(python=f"{name}={_literal(value)}", typed=" ".join(f"{dashed} {_as_word(word)}" for word in words))


def _literal(value: object) -> str:
    """Return a value as Python code."""
    if isinstance(value, str | list | tuple):
        return json.dumps(value, ensure_ascii=False)
    return 'float("inf")' if value == math.inf else _number(value)


def _number(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _as_word(text: str) -> str:
    """Return a string as one word of a shell; a placeholder such as … stays as it is."""
    return text if not text.isascii() else shlex.quote(text)


def in_python(text: str) -> str:
    """Return a text as callers from Python read it."""
    return _EITHER.sub(r"\1", text)


def on_command_line(text: str) -> str:
    """Return a text as it reads on the command line."""
    return _EITHER.sub(r"\2", text)


class AnonkitError(Exception):
    """An action that anonkit refuses or cannot do.

    Parameters
    ----------
    message : str
        One line: what was wrong, with the column or option by name. Never a cell value.
    hint : str, optional
        One line: what to do about it.

    Attributes
    ----------
    message, hint : str
        As callers from Python read them.
    told : tuple of str and str or None
        Both for either kind of reader: what another error may repeat, and `for_command_line` turns into words.
    """

    exit_code: ClassVar[int] = 3
    code: ClassVar[str] = "ERROR"
    may_be_retried: ClassVar[bool] = False
    """True: the same call may succeed later without any change by the caller, since its surroundings failed."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        self.told = (redacted(message), None if hint is None else redacted(hint))
        self.message = in_python(self.told[0])
        self.hint = None if self.told[1] is None else in_python(self.told[1])
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\nHint: {self.hint}"

    def __reduce__(self) -> tuple[type[AnonkitError], tuple[str, str | None]]:
        return type(self), self.told

    def with_fact(self, fact: str) -> Self:
        """Return the same error, with one more fact at the end of its message."""
        message, hint = self.told
        return type(self)(f"{message}; {fact}", hint)

    def for_command_line(self) -> tuple[str, str | None]:
        """Return message and hint as they read on the command line."""
        message, hint = self.told
        return on_command_line(message), None if hint is None else on_command_line(hint)


def with_note(failure: Exception, fact: str) -> Exception:
    """Return a failure that says one more fact: at the end of the message of one of ours, else in a note."""
    if isinstance(failure, AnonkitError):
        return failure.with_fact(fact)
    failure.add_note(f"{_NOTED}{fact}")
    return failure


def facts_of(failure: BaseException) -> list[str]:
    """Return the notes that `with_note` added to a failure that is none of ours; notes of others may quote cells."""
    notes = (note for note in getattr(failure, "__notes__", ()) if isinstance(note, str))
    return [note.removeprefix(_NOTED) for note in notes if note.startswith(_NOTED)]


class PolicyError(AnonkitError, ValueError):
    """The policy contradicts itself, the table, or the method."""

    code = "POLICY"


class ChoiceError(PolicyError):
    """The table leaves a choice that only its owner can make. Nothing was written."""

    exit_code = 2
    code = "CHOICE"


class ParameterError(AnonkitError, ValueError):
    """A parameter of a method is outside its range."""

    exit_code = 2
    code = "PARAMETER"


class SourceError(AnonkitError, ValueError):
    """The source table cannot be read as a table."""

    code = "SOURCE"
    may_be_retried = True


class GuaranteeError(AnonkitError, RuntimeError):
    """The promise cannot be kept, or was found broken on the output. Nothing was written."""

    exit_code = 1
    code = "PROMISE"


class BudgetError(GuaranteeError):
    """The release would spend more privacy loss budget than its dataset has left. Nothing was written."""

    code = "BUDGET"


class DatasetError(GuaranteeError):
    """The table looks like a dataset of the ledger, and no option declares whether it is. Nothing was written."""

    code = "DATASET"


class EngineError(AnonkitError, RuntimeError):
    """The engine failed while moving or counting rows."""

    code = "ENGINE"
    may_be_retried = True


class LedgerError(AnonkitError, RuntimeError):
    """The ledger cannot be read or written, or does not allow the request."""

    code = "LEDGER"
    may_be_retried = True


class ReleaseFormatError(AnonkitError, ValueError):
    """A file of a release is missing, damaged, or of another format version."""

    code = "FORMAT"
    may_be_retried = True


@contextmanager
def refusing_damage(message: str, *, contradictions: bool = False) -> Iterator[None]:
    """Refuse with one sentence the errors that a damaged file of a release causes in the code that reads it.

    Parameters
    ----------
    message : str
        Which part is damaged, in one line. Nothing of the file's content is in the message.
    contradictions : bool
        Whether parameters that are out of range, which are read without an error but cannot be those of a release, are
        refused as damage too; else they keep their own words.

    Raises
    ------
    ReleaseFormatError
        A key is missing, or holds something of the wrong kind.
    """
    try:
        yield
    except AnonkitError as error:
        if contradictions and isinstance(error, ParameterError):
            raise ReleaseFormatError(f"the params contradict themselves: {error.told[0]}") from None
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise ReleaseFormatError(message) from None


class InternalError(AnonkitError):
    """A defect of anonkit, or of a library under it."""

    code = "INTERNAL"

    @classmethod
    def of(cls, error: BaseException) -> InternalError:
        """Name the type of an exception and the innermost line of anonkit it came through; its text may quote cells."""
        return cls(
            f"internal error in {_place(error)} ({type(error).__name__})",
            "please report this line; ANONKIT_DEBUG=1 shows the traceback, which may quote cells of the table",
        )


def _place(error: BaseException) -> str:
    """Return the innermost line of anonkit's own code that an exception came through."""
    place, trace = "anonkit", error.__traceback__
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        if module.split(".")[0] == "anonkit":
            place = f"{module}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


class UncheckedError(AnonkitError, RuntimeError):
    """Something that is promised could not be checked; it is not known to hold."""

    code = "UNCHECKED"


class MissingDependencyError(AnonkitError, ImportError):
    """An optional part is not installed."""

    exit_code = 4
    code = "MISSING_EXTRA"

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)

    @classmethod
    def of_extra(cls, what: str, extra: str) -> MissingDependencyError:
        """Name the extra that brings `what`."""
        return cls(f"{what} is not installed", f"pip install 'anonkit[{extra}]'")


@contextmanager
def warnings_unsaid() -> Iterator[None]:
    """Let no warning of a library be shown while this lasts, in any thread.

    A filter alone does not do: scikit-learn empties the list of filters in its worker threads, and what another
    thread warns of in between would be shown. So nothing shows it, either. Who records warnings inside
    (`warnings.catch_warnings(record=True)`) gets them.

    Privacy
    -------
    Libraries warn in their own words, which may quote cells.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.showwarning = _unsaid
        yield  # what shows warnings is put back with the filters


def _unsaid(*_: object, **__: object) -> None:
    """Show nothing."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `did you mean 'x'?`, or the known names when nothing is close.

    Only for names that are public by nature (columns, options, methods), never for cell values.
    """
    names = [str(candidate) for candidate in known]
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    listed = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"known: {listed}"
