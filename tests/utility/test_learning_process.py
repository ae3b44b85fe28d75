# SPDX-License-Identifier: Apache-2.0
"""The second process for forests: the same results, never needed, gone with the command."""

from __future__ import annotations

import importlib
import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit.utility.learning_process as module
from anonkit import cli
from anonkit.domains.coded_columns import CodedColumn
from anonkit.k_anonymity.search.out_of_sample_predictions import soft_labels
from anonkit.utility.bagged_trees import grow_trees
from anonkit.utility.learning_process import (
    BlockedImports,
    Imports,
    _number,
    _Process,
    _processors,
    _PutOff,
    _Unread,
    done_here,
    has_process,
    learned,
    learning_beside,
)


@pytest.fixture(autouse=True)
def _two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_processors", lambda: 2)


def _shares(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    forest = grow_trees(rows, labels, trees=5, seed=0)
    return forest.predict_proba(rows)


def _process_of(value: int) -> tuple[int, int]:
    return value, os.getpid()


def _imported(names: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
    return tuple(name for name in names if sys.modules.get(name) is not None), os.getpid()


def _needs_pandas(value: int) -> tuple[int, int]:
    import pandas as pd

    return int(pd.Series([value]).sum()), os.getpid()


def _red(value: float) -> tuple[bool, tuple[float, ...], bool, int]:
    import colorsys

    before = "ONE_THIRD" in vars(colorsys)
    hue = colorsys.rgb_to_hsv(value, 0.0, 0.0)
    return before, hue, "ONE_THIRD" in vars(sys.modules["colorsys"]), os.getpid()


def _third(value: float) -> tuple[float, int]:
    import colorsys

    return value * colorsys.ONE_THIRD, os.getpid()


def _votes_on_three_classes(seed: int) -> tuple[np.ndarray, bool, int]:
    draw = np.random.default_rng(0)
    codes = draw.integers(0, 5, 300)
    column = CodedColumn(name="a", codes=codes, values=list(range(5)), ordered=True)
    told = soft_labels([column], np.arange(300), np.minimum(codes, 2), seed)
    return told.sums, "scipy.stats._stats_py" in sys.modules, os.getpid()


def _reads_a_package(name: str) -> tuple[bool, bool, int]:
    import asyncio

    return hasattr(asyncio, name), "asyncio.events" in sys.modules, os.getpid()


def _refuses(value: int) -> None:
    raise ValueError(f"{value} in {os.getpid()}")


def _ends(first: int) -> int:
    if os.getpid() != first:
        os._exit(1)
    return first


def _not_to_be_sent(value: int) -> object:
    return (lambda: value) if value else 0


def _prints(value: int) -> int:
    print("a word that is no answer", flush=True)
    return value


def test_work_is_done_in_another_process_and_without_one_here() -> None:
    """Inside it is another process, outside it is this one."""
    assert learned(_process_of, 3) == (3, os.getpid())
    with learning_beside(Imports(first=())):
        value, process = learned(_process_of, 3)
    assert value == 3
    assert process != os.getpid()
    assert learned(_process_of, value=4) == (4, os.getpid())


@pytest.mark.slow
def test_a_forest_is_the_same_in_either_process() -> None:
    """Bit for bit, and its arrays may be written to."""
    draw = np.random.default_rng(0)
    rows = draw.integers(0, 5, (300, 4)).astype(np.float32)
    labels = (rows[:, 0] > 2).astype(np.int64)
    here = learned(_shares, rows, labels)
    with learning_beside(Imports(first=("sklearn.tree",))):
        there = learned(_shares, rows, labels)
    assert np.array_equal(here, there)
    there += 1.0


def test_tables_go_there_and_back() -> None:
    """A table of the source is sent as it is."""
    table = pa.table({"a": ["x", None, "y"], "b": [1, 2, 3]})
    with learning_beside(Imports(first=())):
        assert learned(pa.concat_tables, [table, table]) == pa.concat_tables([table, table])


def test_an_error_is_raised_here() -> None:
    """Work that fails there is done here, where its error is met; the next work goes there again."""
    with learning_beside(Imports(first=())):
        with pytest.raises(ValueError, match=f"7 in {os.getpid()}"):
            learned(_refuses, 7)
        assert learned(_process_of, 1)[1] != os.getpid()


def test_a_process_that_ends_is_not_needed() -> None:
    """Its work is done here, and all that follows."""
    with learning_beside(Imports(first=())):
        assert learned(_ends, os.getpid()) == os.getpid()
        assert learned(_process_of, 1) == (1, os.getpid())


def test_a_module_that_is_not_there_leaves_the_work_here() -> None:
    """A process that cannot begin is one that has ended."""
    with learning_beside(Imports(first=("no_such_module",))):
        assert learned(_process_of, 1) == (1, os.getpid())


@pytest.mark.slow
def test_a_module_that_is_kept_out_is_not_there() -> None:
    """For any installation: optional users of the module do without it, and other work is done here."""
    with learning_beside(Imports(first=("sklearn.tree",), without=("pandas",))):
        names, process = learned(_imported, ("sklearn", "pandas"))
        assert (names, process != os.getpid()) == (("sklearn",), True)
        assert learned(_needs_pandas, 1) == (1, os.getpid())


@pytest.mark.slow
def test_a_module_that_is_put_off_is_imported_when_a_function_of_it_is_called() -> None:
    """Its functions are the real ones; anyone who wants a number of it has the work done here."""
    with learning_beside(Imports(first=("colorsys",), late=("colorsys",))):
        before, hue, after, process = learned(_red, 0.5)
        assert (before, hue, after, process != os.getpid()) == (False, (0.0, 1.0, 0.5), True, True)
        assert learned(_red, 0.5)[0]
    with learning_beside(Imports(first=("colorsys",), late=("colorsys",))):
        assert learned(_third, 3.0) == (1.0, os.getpid())


def test_a_package_that_is_unread_is_read_when_something_of_it_is_asked_for() -> None:
    """A module of it is imported without it; then it is what it always is, and what it does not have, it has not."""
    imports = Imports(first=("wsgiref.headers", "asyncio"), unread=("wsgiref", "asyncio", "no_such_package"))
    with learning_beside(imports):
        names, process = learned(_imported, ("wsgiref", "wsgiref.headers", "asyncio", "asyncio.events"))
        assert (names, process != os.getpid()) == (("wsgiref", "wsgiref.headers", "asyncio"), True)
        assert learned(_reads_a_package, "sleep") == (True, True, process)
        assert learned(_reads_a_package, "no_such_name") == (False, True, process)


def test_what_later_work_needs_is_imported_once_the_first_answer_is_sent() -> None:
    """The first work does not wait for it, the second finds it."""
    with learning_beside(Imports(first=(), then=("colorsys",))):
        first, second = (learned(_imported, ("colorsys",)) for _ in range(2))
    assert (first[0], second[0], first[1] == second[1] != os.getpid()) == ((), ("colorsys",), True)


def _as_of_a_command(monkeypatch: pytest.MonkeyPatch, method: str) -> Imports:
    """Return what the second process of a release imports."""
    asked: list[Imports] = []
    monkeypatch.setattr(module, "learning_beside", lambda imports, _: asked.append(imports))
    cli._forests_beside(["release", "--method", method, "in.csv", "out.parquet"])
    return asked[0]


@pytest.mark.slow
def test_forests_of_a_command_do_without_what_they_hardly_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees read no other models; boosted trees of several classes call more, and both give the same results here."""
    draw = np.random.default_rng(0)
    rows = draw.integers(0, 5, (300, 4)).astype(np.float32)
    others = ("sklearn.ensemble", "sklearn.linear_model", "scipy.optimize._optimize", "scipy.stats._stats_py")
    with learning_beside(_as_of_a_command(monkeypatch, "rfka")):
        there = learned(_shares, rows, (rows[:, 0] > 2).astype(np.int64))
        names, process = learned(_imported, ("sklearn.tree", *others))
        assert (names, process != os.getpid()) == (("sklearn.tree",), True)
    with learning_beside(_as_of_a_command(monkeypatch, "mondrian")):
        names, process = learned(_imported, others)
        assert (names, process != os.getpid()) == (("sklearn.ensemble",), True)
        sums, imported, process = learned(_votes_on_three_classes, 1)
    assert (imported, process != os.getpid()) == (True, True)
    assert np.array_equal(sums, _votes_on_three_classes(1)[0])
    assert np.array_equal(there, _shares(rows, (rows[:, 0] > 2).astype(np.int64)))


def test_what_is_needed_later_is_made_ready_while_an_answer_is_waited_for() -> None:
    """Once the work is sent and not before; what cannot be imported is left to anyone who needs it."""
    program = (
        "import os, sys, anonkit.utility.learning_process as m; m._processors = lambda: 2\n"
        "def meanwhile():\n"
        "    import colorsys, no_such_module\n"
        "with m.learning_beside(m.Imports(first=()), meanwhile):\n"
        "    print('colorsys' in sys.modules, m.learned(os.getpid) != os.getpid(), 'colorsys' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]


def test_what_cannot_be_sent_is_done_here() -> None:
    """Neither a function of a function nor a result that no pipe carries."""
    with learning_beside(Imports(first=())):
        assert learned(lambda: os.getpid()) == os.getpid()
        assert learned(_not_to_be_sent, 1)() == 1  # type: ignore[operator]


def test_what_is_printed_there_is_no_answer() -> None:
    """Answers have a pipe of their own."""
    with learning_beside(Imports(first=())):
        assert [learned(_prints, 1), learned(_prints, 2)] == [1, 2]


@pytest.mark.slow
def test_many_bytes_stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large table is not held twice."""
    monkeypatch.setattr(module, "MOST", 10_000)
    with learning_beside(Imports(first=())):
        assert learned(_process_of, np.zeros(100))[1] != os.getpid()  # type: ignore[arg-type]
        assert learned(_process_of, np.zeros(2_000))[1] == os.getpid()  # type: ignore[arg-type]


def test_one_processor_has_no_second_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """There it would only take turns."""
    monkeypatch.setattr(module, "_processors", lambda: 1)
    with learning_beside(Imports(first=())):
        assert learned(_process_of, 1) == (1, os.getpid())


def test_the_process_ends_with_the_command_and_outlives_an_interruption() -> None:
    """An interruption is the command's to handle; afterwards nothing is left."""
    with learning_beside(Imports(first=())):
        _, process = learned(_process_of, 1)
        os.kill(process, signal.SIGINT)
        assert learned(_process_of, 2) == (2, process)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_the_process_ends_when_the_command_is_killed() -> None:
    """Its pipe ends, and so does it: it is the last that holds the pipe of errors open."""
    program = (
        "import os, anonkit.utility.learning_process as m; m._processors = lambda: 2\n"
        "with m.learning_beside(m.Imports(first=())):\n"
        "    print(m.learned(os.getpid), flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == -9
    process = int(done.stdout)
    for _ in range(1_000):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{process}/stat").exists() and Path(f"/proc/{process}/stat").read_text().split()[2] == "Z":
            return  # ended; no process has read its exit code
        subprocess.run([sys.executable, "-c", "pass"], check=True)
    raise AssertionError("the process is still there")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rfka", pytest.param("mondrian", marks=pytest.mark.slow)])
def test_a_k_anonymous_release_imports_no_forests_itself(method: str, tmp_path: Path) -> None:
    """The second that it takes passes in the other process, with the same rows as without one."""
    draw = np.random.default_rng(0)
    age, job = draw.integers(20, 60, 400), draw.choice(["a", "b", "c"], 400)
    table = pa.table({"age": age, "job": job, "ill": np.where(age + draw.integers(0, 20, 400) > 50, "yes", "no")})
    pq.write_table(table, tmp_path / "in.parquet")
    released = []
    for beside in (2, 1):
        program = (
            "import sys, anonkit.cli as cli, anonkit.utility.learning_process as m\n"
            f"m._processors = lambda: {beside}\n"
            "try: cli.main()\n"
            "finally: print(not {'sklearn', 'scipy'}.isdisjoint(sys.modules))\n"
        )
        out = tmp_path / f"out{beside}.parquet"
        words = ["release", "--k", "5", "--method", method, "--target", "ill", "--no-ledger", "--quiet", "--seed", "1"]
        words += ["--owner-report", str(tmp_path / f"owner{beside}")]
        done = subprocess.run(
            [sys.executable, "-c", program, *words, "--not-for-release", tmp_path / "in.parquet", out],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.split()[-1] == str(beside == 1)
        assert '"auc"' in (tmp_path / f"owner{beside}" / "owner.report.json").read_text()
        released.append((pq.read_table(out), (tmp_path / f"out{beside}.params.json").read_text()))
    assert released[0] == released[1]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["release", "--k", "5", "a", "b"], True),
        (["release", "--k=5", "a", "b"], True),
        (["release", "--method=mondrian", "a", "b"], True),
        (["release", "--method", "rfka", "a", "b"], True),
        (["release", "--method", "rfka", "--help"], False),
        (["release", "--method", "rr", "--epsilon", "1", "a", "b"], False),
        (["validate", "--k", "b"], False),
    ],
)
def test_only_a_release_that_grows_forests_has_the_process(
    words: list[str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is imported in vain for other commands."""
    from anonkit import cli

    asked: list[object] = []
    monkeypatch.setattr(module, "learning_beside", lambda imports, _: asked.append(imports))
    cli._forests_beside(words)
    assert bool(asked) == expected


# --- one process alone -----------------------------------------------------------------------------------------------


def _unstarted(to: object) -> _Process:
    """The second process with other pipes, and without a process."""
    process = object.__new__(_Process)
    process._asked = threading.Lock()
    process._popen = SimpleNamespace(stdin=to, stdout=to, kill=lambda: None, wait=lambda: 0)  # type: ignore[assignment]
    return process


def test_work_stays_here_where_there_is_no_pipe_or_the_process_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or where the arguments are more bytes than the process shall hold."""
    assert _unstarted(None).answer(len, ["a"], {}) is None
    busy = _unstarted(io.BytesIO())
    busy._asked.acquire()
    assert busy.answer(len, ["a"], {}) is None
    monkeypatch.setattr(module, "MOST", 100)
    assert _unstarted(io.BytesIO()).answer(len, [b"a" * 200], {}) is None


def test_a_process_without_pipes_ends() -> None:
    """As one that could not be started whole."""
    _unstarted(None).end()


def test_a_thread_leaves_the_process_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until its block ends."""
    monkeypatch.setattr(module, "_running", SimpleNamespace(answer=lambda work, args, named: ("there",)))
    with done_here():
        assert has_process()
        assert learned(str, "here") == "here"
    assert learned(str, "here") == "there"


def test_a_process_that_cannot_be_started_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the system has no more of them."""

    def refused(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr(subprocess, "Popen", refused)
    with learning_beside(Imports(first=())):
        assert not has_process()


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[MetaPathFinder], None]:
    """Modules of the test, which a finder finds first; afterwards nothing of them is left."""
    (tmp_path / "late_module.py").write_text("def double(number):\n    return 2 * number\n")
    for name, content in (
        ("plain_package", "NUMBER = 3\n"),
        ("lazy_package", "def __getattr__(n):\n    return n * 2\n"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(content)
        (tmp_path / name / "part.py").write_text("NUMBER = 4\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))

    def found_by(finder: MetaPathFinder) -> None:
        monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])

    return found_by


def test_a_late_module_is_functions_until_one_is_called(modules: Callable[[MetaPathFinder], None]) -> None:
    """Then it is the module, and what was imported of it before means the same."""
    modules(_PutOff(["late_module"]))
    late = importlib.import_module("late_module")
    double = late.double
    assert not hasattr(late, "__path__")
    assert (double(2), double(3), sys.modules["late_module"] is not late) == (4, 6, True)
    assert importlib.import_module("late_module").double is not double
    assert importlib.import_module("colorsys").ONE_THIRD  # other modules are for other finders


def test_an_unread_package_is_read_at_its_first_name(modules: Callable[[MetaPathFinder], None]) -> None:
    """Modules of it are imported without it; what it does not have, it has not."""
    modules(_Unread(["plain_package", "lazy_package", "no_such_package"]))
    plain = importlib.import_module("plain_package.part") and sys.modules["plain_package"]
    assert "NUMBER" not in vars(plain)
    assert not hasattr(plain, "__wrapped__")
    assert "NUMBER" not in vars(plain)
    assert (plain.NUMBER, hasattr(plain, "no_such_name")) == (3, False)
    assert importlib.import_module("lazy_package").name == "namename"
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_package")
    assert importlib.import_module("colorsys").ONE_THIRD


def test_blocked_modules_are_not_there() -> None:
    """Everywhere, or in one thread."""
    with pytest.raises(ModuleNotFoundError, match="no_such"):
        BlockedImports(("no_such",)).find_spec("no_such")
    assert BlockedImports(("no_such",)).find_spec("another") is None
    assert BlockedImports(("no_such",), thread=-1).find_spec("no_such") is None


def test_processors_are_those_of_the_process_or_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that cannot say which has at least one."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3}, raising=False)
    assert _processors() == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert _processors() == 1


def test_a_pipe_that_ends_within_a_message_is_an_error() -> None:
    """Of eight bytes three are there."""
    with pytest.raises(EOFError):
        _number(io.BytesIO(b"abc"))
