# SPDX-License-Identifier: Apache-2.0
"""The boundary: every error is two lines or one JSON object, with the exit code of the contract.

The line of progress: on a terminal only, and only for what takes longer than a second.
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from anonkit.cli.boundary import one_line, progress_line, run
from anonkit.cli.outcome import Outcome, WrongUsage
from anonkit.errors import (
    AnonkitError,
    BudgetError,
    EngineError,
    GuaranteeError,
    MissingDependencyError,
    ParameterError,
    PolicyError,
    ReleaseFormatError,
    SourceError,
)


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True

    def wait_for(self, pattern: str) -> None:
        """Wait until something was drawn; the test's own time limit ends a wait in vain."""
        while re.search(pattern, self.getvalue()) is None:
            time.sleep(0.01)


def test_one_line_moves_on_a_terminal() -> None:
    """Every step has its number, how far it is, and its seconds; nothing is left of it."""
    terminal = Terminal()
    with progress_line(False, terminal, delay=0.0, tick=0.01) as progress:
        progress("reading", 0.25)
        terminal.wait_for(r"step 1: reading, 25%, \d+ s")
        progress("checking", 0.5)
        terminal.wait_for(r"step 2: checking, 50%, \d+ s")
    drawn = terminal.getvalue()

    assert "\n" not in drawn
    assert drawn.endswith("\r\x1b[K")


def test_expected_steps_are_counted() -> None:
    """Steps are numbered out of those expected; an unexpected step is one more, and a repeated one keeps its place."""
    terminal = Terminal()
    with progress_line(False, terminal, steps=("reading", "coding", "checking"), delay=0.0, tick=0.01) as progress:
        progress("reading", 0.0)
        terminal.wait_for(r"1 of 3: reading, \d+ s")
        progress("drawing a sample", 0.0)
        terminal.wait_for(r"2 of 4: drawing a sample, \d+ s")
        progress("coding", 0.0)
        terminal.wait_for(r"3 of 4: coding, \d+ s")
        progress("reading", 0.0)
        progress("checking", 0.5)
        terminal.wait_for(r"4 of 4: checking, 50%, \d+ s")


def test_a_step_that_only_said_that_it_began_is_shown() -> None:
    """The clock draws, not the work."""
    terminal = Terminal()
    with progress_line(False, terminal, delay=0.0, tick=0.01) as progress:
        progress("reading", 0.0)
        terminal.wait_for(r"step 1: reading, \d+ s")


@pytest.mark.parametrize(
    ("terminal", "quiet", "delay"), [(io.StringIO(), False, 0.0), (Terminal(), True, 0.0), (Terminal(), False, 60.0)]
)
def test_nothing_is_drawn_elsewhere_or_for_short_work(terminal: io.StringIO, quiet: bool, delay: float) -> None:
    """Neither into a pipe, nor with --quiet, nor before the delay is over."""
    with progress_line(quiet, terminal, delay=delay, tick=0.01) as progress:
        progress("reading", 0.5)
        time.sleep(0.1)

    assert terminal.getvalue() == ""


def test_an_error_passes_through_and_empties_the_line() -> None:
    """The clock stops when the work fails; what is said next begins a line."""
    terminal = Terminal()

    def fail() -> None:
        with progress_line(False, terminal, delay=0.0, tick=0.01) as progress:
            progress("reading", 0.25)
            terminal.wait_for("25%")
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fail()

    assert terminal.getvalue().endswith("\r\x1b[K")


MARKER = "MARKER-of-one-person"


def command_that(work: Callable[[], object]) -> click.Command:
    """Return a command that does something."""
    return click.Command("test", callback=work, params=[click.Option(["--json"], is_flag=True, expose_value=False)])


def raising(error: BaseException) -> click.Command:
    """Return a command that raises."""

    def work() -> object:
        raise error

    return command_that(work)


START = """
import os, signal, sys, warnings
import click
from anonkit.cli.boundary import run
from anonkit.cli.outcome import Outcome
from anonkit.errors import GuaranteeError
"""
END = """
options = [click.Option(["--json"], is_flag=True, expose_value=False)]
sys.exit(run(click.Command("x", callback=work, params=options), sys.argv[1:], "x"))
"""


def process(work: str, *args: str) -> list[str]:
    """Return a process that runs `def work()` as a command."""
    return [sys.executable, "-c", START + work + END, *args]


def environment(**changed: str) -> dict[str, str]:
    """Return the environment, without what decides about colours and tracebacks, with changes."""
    plain = {
        name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "ANONKIT_DEBUG")
    }
    return {**plain, **changed}


@pytest.mark.parametrize(
    ("error", "code", "word"),
    [
        (GuaranteeError("x"), 1, "PROMISE"),
        (BudgetError("x"), 1, "BUDGET"),
        (ParameterError("x"), 2, "PARAMETER"),
        (WrongUsage("x"), 2, "USAGE"),
        (PolicyError("x"), 3, "POLICY"),
        (SourceError("x"), 3, "SOURCE"),
        (EngineError("x"), 3, "ENGINE"),
        (ReleaseFormatError("x"), 3, "FORMAT"),
        (MissingDependencyError("x"), 4, "MISSING_EXTRA"),
        (PermissionError(errno.EACCES, "x"), 3, "SYSTEM"),
        (MemoryError(), 3, "SYSTEM"),
        (ValueError("x"), 3, "INTERNAL"),
        (KeyboardInterrupt(), 130, "INTERRUPTED"),
        (click.Abort(), 130, "INTERRUPTED"),
        (click.UsageError("x"), 2, "USAGE"),
    ],
)
def test_every_error_has_its_exit_code_and_word(
    error: BaseException, code: int, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit codes of the contract, and one JSON object with --json, nothing on stderr."""
    assert run(raising(error), [], "test") == code
    plain = capsys.readouterr()
    assert run(raising(error), ["--json"], "test") == code
    captured = capsys.readouterr()
    document = json.loads(captured.out)

    assert plain.out == ""
    assert plain.err.startswith("Error: ")
    assert "Traceback" not in plain.err
    assert len(plain.err.splitlines()) <= 2
    assert captured.err == ""
    assert set(document) == {"ok", "code", "message", "hint", "may_be_retried"}
    assert document["ok"] is False
    assert document["code"] == word


@pytest.fixture
def heard_signals() -> Iterator[None]:
    """As in a terminal: a shell that starts the tests in its background lets them inherit signals that are ignored."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("heard_signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("error", [SystemError("a result with an exception set"), ImportError("x"), SourceError("x")])
def test_an_interruption_that_a_library_made_an_error_of_is_one(
    error: Exception, number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    """A signal that arrives in compiled code comes out as any error: the command was interrupted all the same."""

    @click.command()
    def command() -> None:
        try:
            signal.raise_signal(number)
        except KeyboardInterrupt:
            raise error from None

    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]

    assert run(command, [], "test") == 130
    assert capsys.readouterr().err.startswith("Error: interrupted")
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


@pytest.mark.parametrize(
    "error",
    [
        ValueError(MARKER),
        KeyError(MARKER),
        RuntimeError(MARKER, MARKER),
        OSError(MARKER),
        OSError(errno.EIO, MARKER),
        ArithmeticError(MARKER),
        UnicodeDecodeError("utf-8", MARKER.encode(), 0, 1, MARKER),
    ],
)
def test_the_message_of_a_foreign_error_is_not_shown(
    error: BaseException, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exceptions of other libraries quote cells: their type and our line are shown, their words are not."""
    monkeypatch.delenv("ANONKIT_DEBUG", raising=False)
    for args in ([], ["--json"]):
        assert run(raising(error), args, "test") == 3
        captured = capsys.readouterr()
        assert MARKER not in captured.out + captured.err


def test_an_internal_error_names_the_line_and_the_way_to_the_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The innermost line of anonkit that the exception came through, its type, and the debug variable."""
    from anonkit.bundle.json_documents import to_json

    monkeypatch.delenv("ANONKIT_DEBUG", raising=False)
    assert run(command_that(lambda: to_json({"x": float("nan")})), [], "test") == 3
    error, hint = capsys.readouterr().err.splitlines()

    assert error.startswith("Error: internal error in anonkit.bundle.json_documents:")
    assert error.endswith("(ValueError)")
    assert "ANONKIT_DEBUG=1" in hint


def test_the_traceback_is_there_for_who_asks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """ANONKIT_DEBUG=1 shows it, on stderr only."""
    monkeypatch.setenv("ANONKIT_DEBUG", "1")
    run(raising(ValueError("x")), ["--json"], "test")
    captured = capsys.readouterr()

    assert "Traceback" in captured.err
    assert json.loads(captured.out)["code"] == "INTERNAL"


def test_library_warnings_are_not_shown() -> None:
    """A library's warning may quote a cell, so it is shown in debug mode only."""
    work = process(f"def work(): warnings.warn({MARKER!r})")
    plain = subprocess.run(work, capture_output=True, check=True, env=environment())
    debug = subprocess.run(work, capture_output=True, check=True, env=environment(ANONKIT_DEBUG="1"))

    assert plain.stderr == b""
    assert MARKER.encode() in debug.stderr


def test_library_warnings_are_not_shown_where_a_thread_empties_the_filters() -> None:
    """As scikit-learn's workers do, under whatever warns beside them; a reader that records still gets them."""
    work = process(
        "import threading\n"
        "def work():\n"
        "    thread = threading.Thread(target=warnings.resetwarnings); thread.start(); thread.join()\n"
        f"    warnings.warn({MARKER!r})\n"
        "    with warnings.catch_warnings(record=True) as caught:\n"
        f"        warnings.simplefilter('always'); warnings.warn({MARKER!r})\n"
        "    assert len(caught) == 1\n"
    )
    plain = subprocess.run(work, capture_output=True, check=True, env=environment())
    assert plain.stderr == b""


def test_a_result_can_be_bad_news(capsys: pytest.CaptureFixture[str]) -> None:
    """A failure in the outcome sets the exit code, and is in the JSON beside the result."""
    outcome = Outcome(text="the result", document={"figure": 1}, failure=GuaranteeError("it broke", "mend it"))
    assert run(command_that(lambda: outcome), [], "test") == 1
    captured = capsys.readouterr()
    assert run(command_that(lambda: outcome), ["--json"], "test") == 1

    assert captured.out == "the result\n"
    assert captured.err == "Error: it broke\nHint: mend it\n"
    assert json.loads(capsys.readouterr().out) == {
        "ok": False, "code": "PROMISE", "message": "it broke", "hint": "mend it", "may_be_retried": False, "figure": 1,
    }  # fmt: skip


def test_notes_go_to_stderr_and_quiet_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    """Results on stdout, everything else on stderr; --quiet shows errors only."""
    for quiet, out, err in ((False, "text\n", "Note: mind this\n"), (True, "", "")):
        outcome = Outcome(text="text", document={}, notes=["mind this"], quiet=quiet)
        assert run(command_that(lambda outcome=outcome: outcome), [], "test") == 0  # type: ignore[misc]
        captured = capsys.readouterr()
        assert (captured.out, captured.err) == (out, err)


def test_no_message_breaks_the_line_or_drives_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Column names come from a file: line breaks, escape sequences and reversed writing are taken out of messages."""
    run(raising(PolicyError("column 'a\x1b[31m\nError: fake\u202e' is bad")), [], "test")
    captured = capsys.readouterr().err

    assert len(captured.splitlines()) == 1
    assert "\x1b" not in captured
    assert "\u202e" not in captured
    assert one_line("plain – ünï ✓") == "plain – ünï ✓"


@pytest.mark.quick_cases("changed0-*", "changed1-*")
@pytest.mark.parametrize(("changed", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True)])
def test_colours_are_for_terminals_without_no_color(changed: dict[str, str], coloured: bool) -> None:
    """No escape sequence reaches a pipe; on a terminal NO_COLOR turns them off."""
    pty = pytest.importorskip("pty")
    work = process("def work(): return Outcome(text=click.style('hi', bold=True), document={})")
    piped = subprocess.run(work, capture_output=True, check=True, env=environment(**changed))
    ours, theirs = pty.openpty()
    subprocess.run(work, stdout=theirs, check=True, env=environment(**changed))
    shown = os.read(ours, 1000)
    os.close(ours)
    os.close(theirs)

    assert piped.stdout == b"hi\n"
    assert (b"\x1b" in shown) is coloured


@pytest.mark.quick_cases("GuaranteeError*")
@pytest.mark.parametrize(("failure", "code"), [("None", 0), ("GuaranteeError('x')", 1)])
def test_a_reader_that_leaves_early_is_no_error(failure: str, code: int) -> None:
    """`anonkit … | head -1`: no traceback, and the exit code is about the work, not about the reader."""
    work = process(f"def work(): return Outcome(text='line\\n' * 200_000, document={{}}, failure={failure})")
    with subprocess.Popen(work, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        errors = running.stderr.read()

    assert running.returncode == code
    assert b"Traceback" not in errors
    assert b"BrokenPipe" not in errors


def test_a_pipe_that_breaks_inside_the_work_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Only a reader of the output may leave; a broken pipe to anything else means that the work was not done."""
    assert run(raising(BrokenPipeError(errno.EPIPE, "x")), [], "test") == 3
    assert capsys.readouterr().err.startswith("Error: Broken pipe")


def test_a_result_that_cannot_be_shown_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A result that is no JSON is an internal error, in JSON."""
    outcome = Outcome(text="", document={"figure": float("nan")})
    assert run(command_that(lambda: outcome), ["--json"], "test") == 3
    assert json.loads(capsys.readouterr().out)["code"] == "INTERNAL"


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_clean_up_and_exit_with_130(name: str, tmp_path: Path) -> None:
    """Ctrl-C, the end of a job and the end of a terminal all run the clean-up."""
    mark = tmp_path / "cleaned"
    usual = "signal.default_int_handler" if name == "SIGINT" else "signal.SIG_DFL"
    work = process(
        f"signal.signal(signal.{name}, {usual})  # under nohup or in the background it may be ignored\n"
        "def work():\n"
        "    try:\n"
        f"        os.kill(os.getpid(), signal.{name})\n"
        "        signal.pause()\n"
        "    finally:\n"
        f"        open({str(mark)!r}, 'w').close()\n"
    )
    done = subprocess.run(work, capture_output=True, check=False)

    assert done.returncode == 130
    assert mark.exists()
    assert done.stderr.splitlines()[0] == b"Error: interrupted"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_the_end_of_a_job_does_what_ctrl_c_does(name: str, tmp_path: Path) -> None:
    """Handlers that a library has for Ctrl-C, as Spark's that cancels its jobs, run for the other signals too."""
    mark = tmp_path / "cancelled"
    work = process(
        f"signal.signal(signal.{name}, signal.SIG_DFL)  # under nohup it is ignored\n"
        "def work():\n"
        f"    signal.signal(signal.SIGINT, lambda number, frame: open({str(mark)!r}, 'w').close())\n"
        f"    os.kill(os.getpid(), signal.{name})\n"
        "    signal.pause()\n"
    )
    assert subprocess.run(work, capture_output=True, check=False).returncode == 130
    assert mark.exists()


def test_signals_are_left_as_they_were() -> None:
    """A program that runs the command line inside itself keeps its own handlers."""
    before = signal.getsignal(signal.SIGTERM)
    run(command_that(lambda: 0), [], "test")
    assert signal.getsignal(signal.SIGTERM) is before


def test_letters_the_terminal_does_not_have_are_escaped() -> None:
    """A name in another script does not end the command on a Latin-1 terminal, and JSON stays JSON."""
    work = "def work(): return Outcome(text='名', document={'name': '名'})"
    latin = environment(PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    text = subprocess.run(process(work), capture_output=True, check=True, env=latin)
    document = subprocess.run(process(work, "--json"), capture_output=True, check=True, env=latin)

    assert text.stdout == b"\\u540d\n"
    assert json.loads(document.stdout) == {"ok": True, "name": "名"}


def test_every_error_of_the_library_is_an_anonkit_error_with_a_code_of_the_contract() -> None:
    """No error class has an exit code that the contract does not name."""
    classes = [AnonkitError]
    for one in classes:
        classes += one.__subclasses__()
    assert {one.exit_code for one in classes} <= {1, 2, 3, 4, 130}


HOSTILE = "age\x1b]0;title\x07\x1b[8m\u202egnp\u2066\nError: FORGED\r\x9b2J"


def test_no_name_of_a_column_moves_the_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Names come from others' files: whatever command shows them, no sequence and no line of theirs gets through."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    import anonkit
    from anonkit.cli import anonkit as commands

    table = pa.table(
        {HOSTILE: [str(at % 3) for at in range(60)], "sex\x1b[2J": ["f", "m"] * 30, "n\u202e": [1, 2] * 30}
    )
    source, output = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(table, source)
    policy = tmp_path / "policy.toml"
    for command in (
        ["release", source, output, "--method", "mondrian", "--k", "3", "--owner", "--no-target"],
        ["report", output],
        ["validate", output],
        ["validate", output, "--verbose"],
        ["audit", output, "--original", source],
        ["init", source, "--output", policy],
        ["export", output, tmp_path / "out.csv"],
        ["ledger", tmp_path],
    ):
        run(commands, [str(word) for word in command], "anonkit")
        captured = capfd.readouterr()
        for text in (captured.out, captured.err):
            assert not [sign for sign in "\x1b\x07\x9b\u202e\u2066\r" if sign in text], command
            assert not [line for line in text.splitlines() if line.startswith("Error: FORGED")], command
    assert anonkit.validate(output).passed


@pytest.mark.quick_cases("args0-*")
@pytest.mark.parametrize(("args", "unbuffered"), [(["--help"], ""), (["--version"], "1"), (["release", "--help"], "1")])
def test_a_help_text_without_a_reader_is_no_error(args: list[str], unbuffered: str) -> None:
    """It is shown while the command line is parsed, and not by the boundary."""
    read, written = os.pipe()
    os.close(read)
    work = [sys.executable, "-m", "anonkit", *args]
    done = subprocess.run(
        work, stdout=written, stderr=subprocess.PIPE, check=False, env=environment(PYTHONUNBUFFERED=unbuffered)
    )
    os.close(written)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    "closed",
    ["<&- >&- 2>&-", *(pytest.param(one, marks=pytest.mark.slow) for one in ("<&-", ">&-", "2>&-", ">&2 2>/dev/full"))],
)
def test_closed_streams_take_no_part_in_the_exit_code(closed: str, tmp_path: Path) -> None:
    """No file of the work takes the number of a stream, and a failure has the same code."""
    (tmp_path / "rows.csv").write_text("age,ill\n" + "30,no\n31,yes\n" * 10)
    anonkit = f"{sys.executable} -m anonkit"
    draft = f"{anonkit} init rows.csv --output drafted.toml {closed}"
    work = f"{draft}; a=$?; {anonkit} validate nowhere.parquet {closed}; b=$?; exit $((a * 10 + b))"
    done = subprocess.run(["sh", "-c", work], cwd=tmp_path, capture_output=True, check=False, env=environment())
    assert done.returncode == 3
    assert b"Traceback" not in done.stderr
    assert (tmp_path / "drafted.toml").read_text().startswith("#")


@pytest.mark.parametrize("locale", [{}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}])
def test_names_that_are_no_text_are_refused_in_one_line(locale: dict[str, str], tmp_path: Path) -> None:
    """Arrow and DuckDB open files by text: a name of other bytes, or in a locale without its letters, is refused."""
    name = "größe.csv".encode("utf-8" if locale else "latin-1")
    (Path(os.fsdecode(bytes(tmp_path))) / os.fsdecode(name)).write_text("age\n1\n")
    work = [sys.executable, "-m", "anonkit", "init", name]
    done = subprocess.run(work, cwd=tmp_path, capture_output=True, check=False, env=environment(**locale))
    first, hint = done.stderr.decode("ascii").splitlines()
    assert done.returncode == 3
    assert first.startswith("Error: 'gr") == (b"is not a name in" in done.stderr)
    assert ("PYTHONUTF8=1" in hint) is bool(locale)


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["-f 0", "-n 5"])
def test_limits_of_the_shell_are_named(limit: str, tmp_path: Path) -> None:
    """Neither an internal error nor a table that is damaged."""
    (tmp_path / "rows.csv").write_text("age,ill\n" + "30,no\n31,yes\n" * 10)
    work = (
        f"ulimit {limit}; exec {sys.executable} -m anonkit release --k 2 --no-ledger --target ill rows.csv out.parquet"
    )
    given = environment(PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run(["sh", "-c", work], cwd=tmp_path, capture_output=True, check=False, env=given)
    assert done.returncode == 3
    assert done.stderr.startswith(
        (b"Error: no folder for temporary files", b"Error: Too many open files\nHint: ulimit")
    )
    assert [file.name for file in tmp_path.iterdir()] == ["rows.csv"]
