"""Walks, by running: one release is traced, and every function that is handed a followed value is a stay of its walk.

A walk follows a value, not a line of code: the source, the method, epsilon, or a column of the policy. While the
release runs, the profiler sees every call of a function of the package.

Stay
    A function of the package that is handed the value: an argument of it, or a variable it closes over, *is* the value
    or holds it: in a tuple, list, set or dict, or in a field of an object. Tables are not looked into: a table that was
    made of another is no stay of the other. Comprehensions belong to the function around them. A function that is
    called again and again from one line is one stay; from two lines, two.
Files entered
    Files of the functions that are stays, in the order in which the value came to them.
Climb
    Two stays in a row, between which control went back from the file of the first to the file of a caller that had
    held the value before, which handed it on to another file. A value that is handed from each function to the next,
    down to where it is used, climbs never; one that a function hands to five files in turn climbs four times.
    A climb only *asks* when the function it leads to is one of the value's own, as the schema of a table.
Asked for its domain
    A function outside the file that defines the class of columns reads what the column is declared to hold: its
    categories, bounds or tree, or what missing means in it. Counted are the functions that do, and how often they run.
    Copying, comparing and checking a declaration asks nothing.

The values:

- `policy column` is a column of the policy in every form it takes on the way: what is declared about it, any object or
  dict that names it (its codes, a feature, an axis of the recoding, its entry in the report), and its name itself, up
  to three levels deep. Once as far as the method's own `release`, and once through the whole of `anonkit.release`.
- `source` is what was handed to `anonkit.release`, what an engine's `scan` made of it, and the table that the method is
  given; `method` is the method value; `epsilon` is the number that was requested. They are looked for one level deep.

What a release does not run is not in its walk: a reader who follows the code through all its branches enters more.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
DOMAIN = ("categories", "bounds", "tree", "domain_values", "missing")
"""Attributes of a declared column that define its possible values."""
NOT_ASKING = ("__init__", "__post_init__", "__eq__", "__hash__", "__repr__", "_replace", "__reduce_ex__")
"""Functions that copy, compare or check a declaration."""
GENERATOR, TAKES_MORE, TAKES_KEYWORDS = 0x20, 0x4, 0x8
"""Flags of code objects."""


@dataclass(frozen=True)
class Stay:
    """A function that a value came to, and who handed it."""

    file: str
    function: str
    holder: str
    """File of the nearest caller that held the value; empty where the walk begins."""
    asks: bool
    """True for a function of the value itself."""
    depth: int
    """The number of callers that have the value."""


@dataclass
class Walk:
    """The functions that one value reached."""

    value: str
    stays: list[Stay] = field(default_factory=list)
    askers: dict[str, int] = field(default_factory=dict)
    """Functions that asked the column for its domain, in order, and how often each did."""

    @property
    def files(self) -> list[str]:
        """Files entered, in order."""
        return list(dict.fromkeys(stay.file for stay in self.stays))

    @property
    def top_level_names(self) -> list[str]:
        """Names at the top of the package that contain these files."""
        return list(dict.fromkeys(Path(file).with_suffix("").parts[0] for file in self.files))

    @property
    def climbs(self) -> list[Stay]:
        """The stays to which the value was handed from a file above the one it had come to."""
        pairs = zip(self.stays, self.stays[1:], strict=False)
        return [after for before, after in pairs if after.holder not in (before.file, after.file)]

    @property
    def hands_on(self) -> int:
        """Climbs that lead to more than a question to the value itself."""
        return sum(not stay.asks for stay in self.climbs)


@dataclass
class Follower:
    """Records the walk of one value while the profiler is on."""

    value: str
    package: Path
    is_value: Callable[[Any], bool]
    levels: int = 1
    """The depth to which the arguments of a function are searched for the value."""
    start: CodeType | None = None
    """The walk begins in this function and ends with it; None: it is the whole release."""
    homes: frozenset[str] = frozenset()
    """Files that define the value itself: what is requested of it is no step."""
    walk: Walk = field(init=False)
    _holding: dict[int, str] = field(default_factory=dict, init=False)
    _asking: set[int] = field(default_factory=set, init=False)
    _sites: set[tuple[CodeType, int, CodeType]] = field(default_factory=set, init=False)
    _started: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.walk = Walk(self.value)

    @property
    def is_on(self) -> bool:
        return self.start is None or self._started is not None

    def called(self, frame: FrameType, handed: list[Any]) -> None:
        """See a call of a function of the package with its arguments."""
        if frame.f_code is self.start and self._started is None:
            self._started = id(frame)
        if self.is_on and any(self.holds(value, self.levels) for value in handed):
            self.stays(frame)

    def stays(self, frame: FrameType) -> None:
        """Note that a function holds the value."""
        code = frame.f_code
        if id(frame) in self._holding or code.co_filename in self.homes:
            return
        holders = [self._holding[id(caller)] for caller in _callers(frame) if id(caller) in self._holding]
        here = self._holding[id(frame)] = self._file(code)
        if (site := _site(frame)) in self._sites:
            return
        self._sites.add(site)
        asks = code.co_varnames[:1] == ("self",) and self.is_value(frame.f_locals.get("self"))
        self.walk.stays.append(Stay(here, code.co_qualname, holders[0] if holders else "", asks, len(holders)))

    def asked(self, frame: FrameType) -> None:
        """Note that a function asks the column for its domain."""
        if id(frame) not in self._asking:
            self._asking.add(id(frame))
            asker = f"{self._file(frame.f_code)}:{frame.f_code.co_qualname}"
            self.walk.askers[asker] = self.walk.askers.get(asker, 0) + 1

    def returned(self, frame: FrameType) -> None:
        """See a function of the package end, or a generator pause."""
        self._holding.pop(id(frame), None)
        self._asking.discard(id(frame))
        if self._started == id(frame):
            self._started, self.start = None, _never.__code__

    def holds(self, value: Any, levels: int) -> bool:
        """Return whether a value is the followed one, or contains it."""
        return self.is_value(value) or (levels > 0 and any(self.holds(inner, levels - 1) for inner in _inside(value)))

    def _file(self, code: CodeType) -> str:
        return Path(code.co_filename).relative_to(self.package).as_posix()


def _never() -> None:
    """Stand for a function that does not start again."""


def _callers(frame: FrameType) -> Iterator[FrameType]:
    """Yield the callers of a function, the nearest first."""
    caller = frame.f_back
    while caller is not None:
        yield caller
        caller = caller.f_back


def _site(frame: FrameType) -> tuple[CodeType, int, CodeType]:
    """Return from which line of which function a function was called; a generator is called wherever it is read."""
    if frame.f_code.co_flags & GENERATOR:
        return frame.f_code, 0, frame.f_code
    caller = next(each for each in _callers(frame) if each.f_code.co_name not in COMPREHENSIONS)
    return caller.f_code, caller.f_lineno, frame.f_code


def _inside(value: Any) -> Iterator[Any]:
    """Yield what a value holds one level deep: keys and values, items, fields of the package's own objects."""
    if isinstance(value, tuple | list | set | frozenset):
        yield from value
    elif isinstance(value, dict):
        yield from value.keys()
        yield from value.values()
    elif type(value).__module__.partition(".")[0] == "anonkit" and not hasattr(type(value), "batches"):
        yield from _fields(value)


def _fields(value: Any) -> list[Any]:
    """Return the fields of an object that have been set: in its `__init__` some have not."""
    try:
        held: dict[str, Any] = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return []
    names = [each.name for each in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else list(held)
    return [held[name] for name in names if name in held]


def _handed(frame: FrameType) -> list[Any]:
    """Return the arguments of a call, and what the function closes over."""
    code = frame.f_code
    more = bool(code.co_flags & TAKES_MORE) + bool(code.co_flags & TAKES_KEYWORDS)
    names = (*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + more], *code.co_freevars)
    values = frame.f_locals
    return [values[name] for name in names if name in values and name != "__class__"]


# --- what is followed ------------------------------------------------------------------------------------------------


class Tables:
    """Recognises the source: what was handed to `release`, what `scan` made of it, what the method is given."""

    def __init__(self, source: Any) -> None:
        self.first = source
        self._held: list[Any] = [source]

    def __call__(self, value: Any) -> bool:
        return any(value is held for held in self._held)

    def add(self, table: Any) -> None:
        """Follow one more table."""
        if not self(table):
            self._held.append(table)


def named(name: str) -> Callable[[Any], bool]:
    """Return what recognises the name of a column."""
    return lambda value: type(value) is str and value == name


# --- the run ---------------------------------------------------------------------------------------------------------


@dataclass
class Tracer:
    """Runs a release and shows the followers all its calls."""

    package: Path
    followers: list[Follower]
    tables: Tables
    method: CodeType
    """The method's `release`: the table that it is given is followed."""

    def run(self, function: Callable[[], Any]) -> Any:
        """Call a function under the profiler."""
        root = f"{self.package}/"

        def seen(frame: FrameType, event: str, result: Any) -> None:
            code = frame.f_code
            if event not in ("call", "return") or not code.co_filename.startswith(root):
                return
            if code.co_name in COMPREHENSIONS:
                return
            if event == "call":
                if code is self.method:
                    self.tables.add(frame.f_locals["source"])
                handed = _handed(frame)
                for follower in self.followers:
                    follower.called(frame, handed)
                return
            if code.co_name == "scan" and result is not None and any(map(self.tables, _handed(frame))):
                self.tables.add(result)
            for follower in self.followers:
                follower.returned(frame)

        sys.setprofile(seen)
        try:
            return function()
        finally:
            sys.setprofile(None)


@dataclass
class ColumnReads:
    """Notes who asks columns for their domains: the lookup of attributes of their class is replaced while it is on."""

    column: type
    package: Path
    followers: dict[str, list[Follower]]
    """The followers of each column, by its name."""
    homes: frozenset[str]
    """Files of the declaration itself, which answers others: of a column, and of the policy that holds it."""

    def __enter__(self) -> ColumnReads:
        def read(column: Any, attribute: str) -> Any:
            if attribute in DOMAIN:
                for follower in self.followers.get(object.__getattribute__(column, "name"), []):
                    asker = self._asker(sys._getframe(1))
                    if asker is not None and follower.is_on:
                        follower.asked(asker)
            return object.__getattribute__(column, attribute)

        self.column.__getattribute__ = read  # type: ignore[method-assign, assignment]
        return self

    def __exit__(self, *error: object) -> None:
        del self.column.__getattribute__

    def _asker(self, frame: FrameType) -> FrameType | None:
        """Return the function of the package that reads; None when a declaration is copied, compared or checked."""
        for each in (frame, *_callers(frame)):
            name, file = each.f_code.co_name, each.f_code.co_filename
            if name in NOT_ASKING:
                return None
            if file not in {*self.homes, "<string>"} and name not in COMPREHENSIONS:
                return each if file.startswith(f"{self.package}/") else None
        return None
