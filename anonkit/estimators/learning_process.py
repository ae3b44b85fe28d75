# SPDX-License-Identifier: Apache-2.0
"""A second process that imports what forests need while the command reads its table, and then grows them.

Importing scikit-learn takes a second of pure Python, which no second thread can take off a command; a process can. What
it is given to do, the command could do itself: the same functions on the same arguments, with the same result. So it is
never needed: where it cannot be started, has ended, is asked for more than `MOST` bytes or fails, the work is done
here. A library call starts none; the command line does, for commands that will grow forests.

Privacy
-------
Rows of the source go to it through pipes that no other process holds, and nowhere else: it writes no file, says
nothing, and ends with the command.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import IO, Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

MOST = 64 * 2**20
"""Bytes of arguments, at most: a large table is not held twice, and its forests take longer than the import."""
_WIDTH = 8  # bytes of a length on the pipes
_BEGIN = "import sys; sys.path[:] = {path!r}; from {module} import serve; serve({modules!r}, {without!r}, {late!r})"


class _Process:
    """The second process, as the first one sees it."""

    def __init__(
        self, modules: Sequence[str], without: Sequence[str], late: Sequence[str], meanwhile: Sequence[str]
    ) -> None:
        # the path is that of this process: what stands in the working directory is not imported unless it is here
        asked = {"modules": tuple(modules), "without": tuple(without), "late": tuple(late)}
        program = _BEGIN.format(path=sys.path, module=__name__, **asked)
        self._asked = threading.Lock()
        self._meanwhile = tuple(meanwhile)
        self._popen = subprocess.Popen(  # noqa: S603 - this interpreter, running this module
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def answer(self, work: Callable[..., Any], args: Sequence[Any], named: dict[str, Any]) -> tuple[Any] | None:
        """Return what the work gives, in a tuple; None where it has to be done here."""
        to, back = self._popen.stdin, self._popen.stdout
        if to is None or back is None:
            return None
        buffers: list[pickle.PickleBuffer] = []
        try:
            message = pickle.dumps((work, args, named), protocol=5, buffer_callback=buffers.append)
        except (pickle.PicklingError, AttributeError, TypeError):
            return None
        if len(message) + sum(buffer.raw().nbytes for buffer in buffers) > MOST:
            return None
        with self._asked:
            try:
                _send(to, message, buffers)
                self._import_meanwhile()
                found: tuple[Any] | None = _received(back)
            except (OSError, EOFError, ValueError, pickle.UnpicklingError):
                return None
        return found

    def _import_meanwhile(self) -> None:
        """Import what is needed later: at its first work the process may still be importing what it needs itself."""
        modules, self._meanwhile = self._meanwhile, ()
        with suppress(ImportError):  # who needs it meets the error
            for module in modules:
                import_module(module)

    def end(self) -> None:
        """End it, whatever it is doing."""
        self._popen.kill()
        for pipe in (self._popen.stdin, self._popen.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._popen.wait()


_running: _Process | None = None


@contextmanager
def learning_beside(
    modules: Sequence[str], *, without: Sequence[str] = (), late: Sequence[str] = (), meanwhile: Sequence[str] = ()
) -> Iterator[None]:
    """Have a second process for what is `learned` inside, which imports these modules at once.

    Parameters
    ----------
    modules : sequence of str
        What the work will import; none of them is imported here.
    without : sequence of str
        Modules that are not there for the second process, whatever is installed: what is imported of itself by others,
        which do without it, and takes its time. Work that needs one is done here.
    late : sequence of str
        Modules that the second process imports when the first function of them is called. Others import them for
        functions alone, which hardly any work calls; where one makes anything else of them, the process may fail,
        and the work is done here.
    meanwhile : sequence of str
        What is imported here while the first answer is waited for, because it is needed afterwards.
    """
    global _running
    process = None
    if _running is None and _processors() > 1 and sys.executable:
        with suppress(OSError):
            process = _Process(modules, without, late, meanwhile)
    if process is None:
        yield
        return
    _running = process
    try:
        yield
    finally:
        _running = None
        process.end()


def learned(work: Callable[_P, _T], *args: _P.args, **named: _P.kwargs) -> _T:
    """Return what work gives, done in the second process where there is one, else here.

    Parameters
    ----------
    work : callable
        A function of a module, or a partial of one: the same arguments give the same result in any process, and
        nothing else comes of it.
    """
    found = None if _running is None else _running.answer(work, args, named)
    if found is None:
        return work(*args, **named)
    (result,) = found
    return result  # type: ignore[no-any-return]


def serve(modules: Sequence[str], without: Sequence[str], late: Sequence[str]) -> None:
    """Be the second process: import modules without others, then work until the first one closes its pipe."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption is the first process's to handle
    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(2, 1)  # whatever prints does not stand among the answers
    sys.meta_path[:0] = [_KeptOut(without), _PutOff(late)]
    with suppress(OSError, EOFError):
        for module in modules:
            import_module(module)
        while True:
            work, args, named = _received(asked)
            try:
                result = (work(*args, **named),)
            except Exception:  # the first process does it again, and meets the error where it belongs
                result = None
            buffers: list[pickle.PickleBuffer] = []
            _send(answers, pickle.dumps(result, protocol=5, buffer_callback=buffers.append), buffers)


class _KeptOut(MetaPathFinder):
    """Finds no module of these names, as if they were not installed."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = frozenset(names)

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname in self.names:  # an entry of None among the modules is no module either, but some look there first
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


class _PutOff(MetaPathFinder, Loader):
    """Finds modules of these names that are nothing but functions: the first that is called imports the real module."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = set(names)
        self._importing = threading.RLock()  # work has threads, and what is imported may ask for a name itself

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in self.names else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Functions(spec.name, self)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: there is nothing in it yet."""

    def real(self, name: str) -> ModuleType:
        """Return the real module, which from now on is the one of its name."""
        with self._importing:
            if name in self.names:
                self.names.remove(name)
                del sys.modules[name]
            return import_module(name)


class _Functions(ModuleType):
    """A module of functions that are not there yet."""

    def __init__(self, name: str, finder: _PutOff) -> None:
        super().__init__(name)
        self._finder = finder

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):  # what Python asks a module for
            raise AttributeError(name)

        def function(*args: Any, **named: Any) -> Any:
            return getattr(self._finder.real(self.__name__), name)(*args, **named)

        setattr(self, name, function)
        return function


def _processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _send(pipe: IO[bytes], message: bytes, buffers: Sequence[pickle.PickleBuffer]) -> None:
    """Write a message and the arrays that it speaks of, which are not copied."""
    parts = [memoryview(message), *(buffer.raw() for buffer in buffers)]
    for number in (len(parts), *(part.nbytes for part in parts)):
        pipe.write(number.to_bytes(_WIDTH, "big"))
    for part in parts:
        pipe.write(part)
    pipe.flush()


def _received(pipe: IO[bytes]) -> Any:
    """Read one message; its arrays may be written to."""
    sizes = [_number(pipe) for _ in range(_number(pipe))]
    message, *arrays = [_bytes(pipe, size) for size in sizes]
    return pickle.loads(message, buffers=arrays)  # noqa: S301 - from a process that runs our code


def _number(pipe: IO[bytes]) -> int:
    return int.from_bytes(_bytes(pipe, _WIDTH), "big")


def _bytes(pipe: IO[bytes], size: int) -> bytearray:
    """Read so many bytes; the pipe's end is an error."""
    held = bytearray(size)
    view, at = memoryview(held), 0
    while at < size:
        read = pipe.readinto(view[at:])  # type: ignore[attr-defined]
        if not read:
            raise EOFError
        at += read
    return held
