# SPDX-License-Identifier: Apache-2.0
"""The boundary of the command line: results, notes and progress are shown here, and errors become two lines.

An error is a message, a hint and an exit code. Work of more than a second has a line of progress on stderr, on a
terminal alone; notes are shown while work is done.

Privacy
-------
The message of an exception that anonkit did not raise itself may quote cells of the source table, so it is never
shown: only its type, and the line of anonkit's own code it came through. Tracebacks need ANONKIT_DEBUG=1.
"""

from __future__ import annotations

import json
import logging
import os
import re
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NoReturn, TextIO

import click

from anonkit.cli.outcome import Outcome, WrongUsage
from anonkit.errors import UNFINISHED_LOG, AnonkitError, InternalError, facts_of, on_command_line, warnings_unsaid
from anonkit.redaction import argument_forms, redacted

COMPLETE = "_ANONKIT_COMPLETE"
"""Environment variable through which a shell asks for completions."""
DEBUG = "ANONKIT_DEBUG"

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+")
"""Line breaks, terminal control characters, characters that turn the direction of writing."""
_OWN_STYLE = re.compile("(\x1b\\[(?:0|1|2|3[0-7]|9[0-7])m|\n)")
"""Layout of texts of commands: bold, dim and coloured letters, their end, and line breaks."""


class SystemRefusal(AnonkitError):  # noqa: N818 - what it is
    """The operating system refused: no permission, no space, no memory."""

    code = "SYSTEM"
    may_be_retried = True


class Interruption(AnonkitError):  # noqa: N818 - what it is
    """The user, or the system, ended the command."""

    exit_code = 130
    code = "INTERRUPTED"
    may_be_retried = True


def run(command: click.Command, args: Sequence[str], name: str) -> int:
    """Run a command line and return its exit code; results go to stdout, everything else to stderr.

    Parameters
    ----------
    command : click.Command
        The group of all commands.
    args : sequence of str
        Arguments after the program's name.
    name : str
        The program's name in help texts.
    """
    as_json = _wants_json(args)
    display = ShownArguments.of(args)
    _never_fail_on_a_letter()
    result = _work(command, args, name)
    try:
        try:
            _show(result, as_json, display)
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, BrokenPipeError):
                raise
            result = _refusal(error)
            _show(result, as_json, display)
    except BrokenPipeError:  # whoever read the output has seen enough; the work itself is done
        _to_nobody(sys.stdout)
    return result if isinstance(result, int) else result.exit_code


def _work(command: click.Command, args: Sequence[str], name: str) -> Outcome | AnonkitError | int:
    """Run the command line; what goes wrong is a result too."""
    received: list[int] = []
    try:
        with _signals_interrupt(received), _warnings(), _unfinished(quiet=_is_quiet(args)):
            _refuse_unspeakable(args)
            result = _invoke(command, list(args), name)
    except (Exception, KeyboardInterrupt) as error:
        if isinstance(error, BrokenPipeError) and _has_no_reader():  # click has shown it already, as help texts
            return 0
        # compiled libraries turn the interruption into an error of their own
        return _refusal(KeyboardInterrupt() if received else error)
    return result if isinstance(result, Outcome | int) else 0


def _warnings() -> AbstractContextManager[object]:
    return warnings.catch_warnings() if os.environ.get(DEBUG) else warnings_unsaid()


@contextmanager
def _unfinished(*, quiet: bool) -> Iterator[None]:
    """Show what readers say of files that interrupted runs, or others, have left beside a release."""
    log, handler = logging.getLogger(UNFINISHED_LOG), _Unfinished()
    if not quiet:
        log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


class _Unfinished(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        show_note(record.getMessage())


def _refuse_unspeakable(args: Sequence[str]) -> None:
    """Refuse names that are no text, by their bytes or in this locale: Arrow and DuckDB open files by their text."""
    for name in (*args, os.getcwd()):
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            is_locale = sys.getfilesystemencoding().lower() not in ("utf-8", "utf8")
            raise SystemRefusal(
                f"{name!r} is not a name in {'the encoding of this locale' if is_locale else 'UTF-8'}",
                "PYTHONUTF8=1 reads names as UTF-8" if is_locale else "give the file, or its folder, another name",
            )


def _invoke(command: click.Command, args: list[str], name: str) -> object:
    instruction = os.environ.get(COMPLETE)
    if instruction:
        from click.shell_completion import shell_complete

        return shell_complete(command, {}, name, COMPLETE, instruction)
    try:
        with command.make_context(name, args) as context:
            return command.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code


# --- showing -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShownArguments:
    """The substitutes for arguments with secrets: the second guard, after that of every error."""

    forms: Mapping[str, str] = field(repr=False)
    """Forms in which an argument with a secret may be quoted, and the substitute of each."""

    @classmethod
    def of(cls, args: Sequence[str]) -> ShownArguments:
        """Find the arguments that are addresses with secrets."""
        return cls({form: hidden for arg in args for form, hidden in argument_forms(arg).items()})

    def text(self, text: str) -> str:
        """Return a text without secrets, its options as this command line has them."""
        text = on_command_line(text)
        for form, hidden in self.forms.items():
            text = text.replace(form, hidden)
        return redacted(text)

    def document(self, value: Any) -> Any:
        """Return a document without secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.document(entry) for key, entry in value.items()}
        return [self.document(entry) for entry in value] if isinstance(value, list | tuple) else value


def _show(result: Outcome | AnonkitError | int, as_json: bool, display: ShownArguments) -> None:
    if isinstance(result, AnonkitError):
        _show_refusal(result, as_json, display)
    elif isinstance(result, Outcome):
        _show_outcome(result, as_json, display)
    sys.stdout.flush()


def _show_outcome(outcome: Outcome, as_json: bool, display: ShownArguments) -> None:
    failure = outcome.failure
    if as_json:
        document = {"ok": failure is None, **({} if failure is None else _as_document(failure)), **outcome.document}
        _print_json(display.document(document))
        _show_owner_lines(outcome.owner_lines, display)
        return
    if outcome.quiet:
        for line in outcome.even_quiet:
            _print_on_stderr(one_line(display.text(line)))
    else:
        if outcome.text:
            click.echo(laid_out(display.text(outcome.text)), color=_color())
        for note in outcome.notes:
            show_note(display.text(note))
    for warning in outcome.warnings:
        label = click.style("Warning:", fg="yellow", bold=True)
        _print_on_stderr(f"{label} {one_line(display.text(warning))}")
    _show_owner_lines(outcome.owner_lines, display)
    if failure is not None:
        _show_refusal(failure, as_json, display)


def _has_no_reader() -> bool:
    """Return True if the reader of the results has gone."""
    try:
        sys.stdout.flush()  # fails again where something is kept for a reader
        stream = sys.stdout.fileno()
    except BrokenPipeError:
        return True
    except (OSError, ValueError):  # it is no file
        return False
    if not hasattr(select, "poll"):  # Windows
        return False
    looked_at = select.poll()
    looked_at.register(stream, 0)
    return any(event & select.POLLERR for _, event in looked_at.poll(0))


def _to_nobody(stream: TextIO) -> None:
    """Let what is still written to a stream go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _print_on_stderr(text: str) -> None:
    """Show lines on stderr; where it takes none, the work and its exit code count all the same."""
    try:
        click.echo(text, err=True, color=_color())
    except OSError:
        _to_nobody(sys.stderr)


def _show_owner_lines(lines: Sequence[str], display: ShownArguments) -> None:
    if lines:
        _print_on_stderr(laid_out(display.text("\n".join(lines))))


def show_note(text: str) -> None:
    """Show a note on stderr."""
    _print_on_stderr(f"Note: {one_line(text)}")


def _show_refusal(refusal: AnonkitError, as_json: bool, display: ShownArguments) -> None:
    message, hint = refusal.for_command_line()
    refusal = type(refusal)(display.text(message), None if hint is None else display.text(hint))
    if as_json:
        _print_json({"ok": False, **_as_document(refusal)})
        return
    _print_on_stderr(f"{click.style('Error:', fg='red', bold=True)} {one_line(refusal.message)}")
    if refusal.hint:
        _print_on_stderr(f"{click.style('Hint:', bold=True)} {one_line(refusal.hint)}")


def _as_document(refusal: AnonkitError) -> dict[str, Any]:
    message, hint = refusal.for_command_line()
    return {"code": refusal.code, "message": message, "hint": hint, "may_be_retried": refusal.may_be_retried}


def _print_json(document: Mapping[str, Any]) -> None:
    click.echo(json.dumps(document, indent=2, allow_nan=False))  # ASCII: valid in every terminal's encoding


def one_line(text: str) -> str:
    """Return a text without line breaks or terminal control sequences, such as a file's column names may carry."""
    return _CONTROL.sub(" ", text)


def laid_out(text: str) -> str:
    """Return a text of several lines without control sequences but for its own bold and coloured letters."""
    parts = _OWN_STYLE.split(text)
    return "".join(part if at % 2 else one_line(part) for at, part in enumerate(parts))


def _color() -> bool | None:
    """Colours only on a terminal (None: click looks), and never when NO_COLOR is set."""
    return False if os.environ.get("NO_COLOR") else None


def _wants_json(args: Sequence[str]) -> bool:
    return "--json" in _options(args)


def _is_quiet(args: Sequence[str]) -> bool:
    return any(option in ("-q", "--quiet") for option in _options(args))


def _options(args: Sequence[str]) -> Sequence[str]:
    return args[: args.index("--")] if "--" in args else args


def _never_fail_on_a_letter() -> None:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


# --- errors --------------------------------------------------------------------------------------------------


def _refusal(error: BaseException) -> AnonkitError:
    """Turn any exception into one that may be shown."""
    if isinstance(error, AnonkitError):
        return error
    if isinstance(error, KeyboardInterrupt | EOFError | click.Abort):
        return Interruption("interrupted", "no file was left half-written")
    if isinstance(error, click.ClickException):
        return _wrong_usage(error)
    _show_traceback(error)
    refusal = _unforeseen(error)
    for fact in facts_of(error):
        refusal = refusal.with_fact(fact)
    return refusal


def _unforeseen(error: BaseException) -> AnonkitError:
    """Return the error to show for an exception that has no words of its own."""
    if isinstance(error, MemoryError):
        return SystemRefusal("there is not enough memory", "close other programs, or release fewer columns")
    if isinstance(error, OSError) and error.errno is not None and error.errno in _known_errors():
        where = f": {os.fspath(error.filename)!r}" if isinstance(error.filename, str | os.PathLike) else ""
        return SystemRefusal(f"{os.strerror(error.errno)}{where}", _of_limit(error.errno))
    return InternalError.of(error)


def _wrong_usage(error: click.ClickException) -> WrongUsage:
    context = getattr(error, "ctx", None)
    help_command = f"{context.command_path if context else 'anonkit'} --help"
    if isinstance(error, click.NoSuchOption):
        hint = f"did you mean {error.possibilities[0]}?" if error.possibilities else help_command
        return WrongUsage(f"no such option: {error.option_name}", hint)
    return WrongUsage(" ".join(error.format_message().split()), help_command)


def _show_traceback(error: BaseException) -> None:
    if os.environ.get(DEBUG):
        import traceback

        click.echo("".join(traceback.format_exception(error)), err=True)


def _of_limit(number: int) -> str | None:
    """Return the hint for an error of the system that a limit of the shell leads to."""
    import errno

    limits = {
        errno.EAGAIN: "ulimit -u and ulimit -v say how many threads, and how much memory, there may be",
        errno.EMFILE: "ulimit -n says how many files may be open",
        errno.EFBIG: "ulimit -f says how large files may be",
    }
    return limits.get(number)


def _known_errors() -> Mapping[int, str]:
    import errno

    return errno.errorcode


# --- signals -------------------------------------------------------------------------------------------------


@contextmanager
def _signals_interrupt(received: list[int]) -> Iterator[None]:
    """Let the end of a job or a terminal clean up like Ctrl-C does; `received` gets the signals that came."""
    previous: dict[int, Any] = {}

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        received.append(number)
        # what Ctrl-C does at this moment: where Spark works, its handler cancels jobs, which may wait for ever
        as_ctrl_c = signal.getsignal(signal.SIGINT)
        as_ctrl_c = previous.get(signal.SIGINT) if as_ctrl_c is interrupt else as_ctrl_c
        if callable(as_ctrl_c):
            as_ctrl_c(signal.SIGINT, frame)
        raise KeyboardInterrupt

    for name, usual in (
        ("SIGINT", signal.default_int_handler),
        ("SIGTERM", signal.SIG_DFL),
        ("SIGHUP", signal.SIG_DFL),
    ):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is usual:
            try:
                previous[number] = signal.signal(number, interrupt)
            except ValueError:  # not the main thread: signals are somebody else's business
                break
    try:
        yield
    finally:
        for number, handler in previous.items():
            if signal.getsignal(number) is interrupt:
                signal.signal(number, handler)


_CLEARED = "\r\x1b[K"
"""Sequence that empties the line of a terminal, and goes back to its begin."""


@contextmanager
def progress_line(
    quiet: bool, stream: TextIO | None = None, *, steps: Sequence[str] = (), delay: float = 1.0, tick: float = 0.2
) -> Iterator[Callable[[str, float], None]]:
    """Show one line with the step that is done, and for how long, until the block ends; then it is gone.

    Parameters
    ----------
    quiet : bool
        Show nothing.
    stream : text stream, optional
        Where to draw; stderr by default. Nothing is drawn unless it is a terminal.
    steps : sequence of str
        Names of the steps that are expected, in order: then the line says which of how many it is.
    delay : float
        Seconds before the line appears.
    tick : float
        Seconds between two looks at the clock.
    """
    stream = sys.stderr if stream is None else stream
    line = _ProgressLine(stream, delay, steps)
    if quiet or not stream.isatty():
        yield line.note
        return
    ended = threading.Event()

    def draw() -> None:
        while not ended.wait(tick):
            line.draw()

    clock = threading.Thread(target=draw, daemon=True)
    clock.start()
    try:
        yield line.note
    finally:
        ended.set()
        clock.join()
        line.end()


@contextmanager
def notes_at_once(quiet: bool) -> Iterator[None]:
    """Show notes before their event, such as a new draw, on stderr until the block ends.

    Parameters
    ----------
    quiet : bool
        Show nothing.
    """
    log, handler = logging.getLogger("anonkit"), logging.NullHandler() if quiet else _Notes()
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


class _Notes(logging.Handler):
    """Shows each message as a note."""

    def emit(self, record: logging.LogRecord) -> None:
        """Show a message, but for those that the boundary shows."""
        if record.name != UNFINISHED_LOG:
            show_note(record.getMessage())


class _ProgressLine:
    """The step that is being done. A clock draws, since a step may report only at its begin."""

    def __init__(self, stream: TextIO, delay: float, steps: Sequence[str]) -> None:
        self._stream, self._steps = stream, list(steps)
        self._first = time.monotonic() + delay
        self._step: str | None = None
        self._number = 0
        self._share = 0.0
        self._begin = 0.0
        self._is_shown = False

    def note(self, step: str, share: float) -> None:
        """Take note of how far a step is; a `Progress`."""
        if step != self._step:
            self._begin, self._number = time.monotonic(), self._number + 1
            self._expect(step)
        self._step, self._share = step, share

    def _expect(self, step: str) -> None:
        """Find the place of a step among those that are expected; one that nobody expected is one more."""
        if not self._steps:
            return
        if step not in self._steps:
            self._steps.insert(self._number - 1, step)
        self._number = self._steps.index(step) + 1

    def draw(self) -> None:
        """Draw the line of the current step."""
        now = time.monotonic()
        if self._step is None or now < self._first:
            return
        share = f", {self._share:.0%}" if self._share else ""  # a step that does not say how far it is has none
        place = f"{self._number} of {len(self._steps)}" if self._steps else f"step {self._number}"
        self._stream.write(f"{_CLEARED}{place}: {self._step}{share}, {now - self._begin:.0f} s")
        self._stream.flush()
        self._is_shown = True

    def end(self) -> None:
        """Empty the line."""
        if self._is_shown:
            self._stream.write(_CLEARED)
            self._stream.flush()
