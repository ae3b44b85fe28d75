# SPDX-License-Identifier: Apache-2.0
"""A second process that imports what forests need while the command reads its table, and then grows them.

Importing scikit-learn takes a second of pure Python, which no second thread can take off a command; a process can. What
it is given to do, the command could do itself: the same functions on the same arguments, with the same result. So it is
never needed: where it cannot be started, has ended, is busy, would have to hold more than `MOST` bytes or fails, the
work is done here. A library call starts none; the command line does, for commands that will grow forests.

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
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import IO, Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

MOST = 64 * 2**20
"""Bytes of arguments, at most: a large table is not in memory twice, and its forests take longer than the import."""
_WIDTH = 8  # bytes of a length on the pipes
_BEGIN = "import sys; sys.path[:] = {path!r}; from {module} import Imports, serve; serve(Imports(**{asked!r}))"


@dataclass(frozen=True, kw_only=True)
class Imports:
    """The packages that the second process imports, and those it defers: half of them are for other models."""

    first: Sequence[str]
    """Modules that the first work needs, imported at once."""
    then: Sequence[str] = ()
    """Modules that later work needs, imported when the first answer has been sent."""
    without: Sequence[str] = ()
    """Modules that are not there for the second process, whatever is installed: what is imported of itself by others,
    which do without it, and takes its time. Work that needs one is done in the first process."""
    late: Sequence[str] = ()
    """Modules that are imported when the first function of them is called. Others import them for functions and
    classes, which hardly any work calls; where one makes anything else of them, the process may fail, and the work is
    done in the first one."""
    unread: Sequence[str] = ()
    """Packages whose modules can be imported without them: they are read at the first use of anything else of them
    for, and mean the same then."""


class _Process:
    """The second process, as the first one sees it."""

    def __init__(self, imports: Imports, meanwhile: Callable[[], None]) -> None:
        # the path is that of this process: modules of the working directory are not imported unless it is here
        program = _BEGIN.format(path=sys.path, module=__name__, asked=asdict(imports))
        self._asked = threading.Lock()
        self._meanwhile: Callable[[], None] | None = meanwhile
        self._popen = subprocess.Popen(  # noqa: S603 - this interpreter, running this module
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def answer(self, work: Callable[..., Any], args: Sequence[Any], named: dict[str, Any]) -> tuple[Any] | None:
        """Return the result of the work, in a tuple; None where it has to be done here."""
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
        if not self._asked.acquire(blocking=False):  # it works for another thread: this one need not wait
            return None
        try:
            _send(to, message, buffers)
            self._use_the_wait()
            found: tuple[Any] | None = _received(back)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            return None
        finally:
            self._asked.release()
        return found

    def _use_the_wait(self) -> None:
        """Do what is needed later: at its first work the process may still be importing what it needs itself."""
        meanwhile, self._meanwhile = self._meanwhile, None
        if meanwhile is not None:
            with suppress(ImportError):  # who needs it meets the error
                meanwhile()

    def end(self) -> None:
        """End it, whatever it is doing."""
        self._popen.kill()
        for pipe in (self._popen.stdin, self._popen.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._popen.wait()


_running: _Process | None = None
_HERE: ContextVar[bool] = ContextVar("here", default=False)
"""True in a thread that leaves the second process to others."""


def _nothing() -> None:
    """Do nothing meanwhile."""


@contextmanager
def learning_beside(imports: Imports, meanwhile: Callable[[], None] = _nothing) -> Iterator[None]:
    """Have a second process for what is `learned` inside, which imports at once.

    Parameters
    ----------
    imports : Imports
        What the work will import; none of it is imported here.
    meanwhile : callable
        What is done here while the first answer is waited for, because it is needed afterwards. An import that fails
        ends it, and nothing else.
    """
    global _running
    process = None
    if _running is None and _processors() > 1 and sys.executable:
        with suppress(OSError):
            process = _Process(imports, meanwhile)
    if process is None:
        yield
        return
    _running = process
    try:
        yield
    finally:
        _running = None
        process.end()


def has_process() -> bool:
    """Return True if there is a second process, so that work for it goes on beside other work of this one."""
    return _running is not None


@contextmanager
def done_here() -> Iterator[None]:
    """Learn in this process until the block ends, as far as this thread is concerned."""
    token = _HERE.set(True)
    try:
        yield
    finally:
        _HERE.reset(token)


def learned(work: Callable[_P, _T], *args: _P.args, **named: _P.kwargs) -> _T:
    """Return the result of work, done in the second process where there is one, else here.

    Parameters
    ----------
    work : callable
        A function of a module, or a partial of one: the same arguments give the same result in any process, and
        nothing else comes of it.
    """
    found = None if _running is None or _HERE.get() else _running.answer(work, args, named)
    if found is None:
        return work(*args, **named)
    (result,) = found
    return result  # type: ignore[no-any-return]


def serve(imports: Imports) -> None:  # pragma: no cover - in the second process, which is killed and leaves no measures
    """Be the second process: import what is to be imported, then work until the first one closes its pipe."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption is the first process's to handle
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(2, 1)  # printed text does not get among the answers
    sys.meta_path[:0] = [BlockedImports(imports.without), _PutOff(imports.late), _Unread(imports.unread)]
    with suppress(OSError, EOFError):
        for module in imports.first:
            import_module(module)
        waiting = imports.then
        while True:
            work, args, named = _received(requests)
            try:
                result = (work(*args, **named),)
            except Exception:  # the first process does it again, and meets the error where it belongs
                result = None
            buffers: list[pickle.PickleBuffer] = []
            _send(answers, pickle.dumps(result, protocol=5, buffer_callback=buffers.append), buffers)
            for module in waiting:
                import_module(module)
            waiting = ()


class BlockedImports(MetaPathFinder):
    """Finds no module of these names, as if they were not installed."""

    def __init__(self, names: Sequence[str], *, thread: int | None = None) -> None:
        self.names = frozenset(names)
        self.thread = thread  # where they are refused; None: everywhere

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """Refuse these names; others are for other finders."""
        here = self.thread in (None, threading.get_ident())
        if (
            here and fullname in self.names
        ):  # an entry of None among the modules is no module either, but some look there first
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
        if name.startswith("__"):  # attributes that Python itself reads of a module
            raise AttributeError(name)

        def function(*args: Any, **named: Any) -> Any:
            return getattr(self._finder.real(self.__name__), name)(*args, **named)

        setattr(self, name, function)
        return function


class _Unread(MetaPathFinder, Loader):
    """Finds packages of these names, whose own file is read at the first use of a name that is not there."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = frozenset(names)
        self._loaders: dict[str, Loader] = {}
        self._reading = threading.RLock()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname in self.names else None
        if spec is None or spec.loader is None:
            return None
        self._loaders[fullname], spec.loader = spec.loader, self
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Package(spec.name, self)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: its modules are found by its path, which is set."""

    def read(self, package: ModuleType) -> None:
        """Read the package's own file, once; who asks meanwhile waits, but for what the file itself imports."""
        with self._reading:
            loader = self._loaders.pop(package.__name__, None)
            if loader is not None:
                loader.exec_module(package)


class _Package(ModuleType):
    """A package whose own file has not been read yet."""

    def __init__(self, name: str, finder: _Unread) -> None:
        super().__init__(name)
        self._finder = finder

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":  # attributes that Python itself reads of a package
            raise AttributeError(name)
        self._finder.read(self)
        found, own = vars(self), vars(self).get("__getattr__")
        if name not in found and own is not None:
            return own(name)
        try:
            return found[name]
        except KeyError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name) from None


def _processors() -> int:
    """Return the number of processors that this process may use."""
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
    content = bytearray(size)
    view, at = memoryview(content), 0
    while at < size:
        read = pipe.readinto(view[at:])  # type: ignore[attr-defined]
        if not read:
            raise EOFError
        at += read
    return content
