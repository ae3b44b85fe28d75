# SPDX-License-Identifier: Apache-2.0
"""The two protocols: a Method turns a source into a draft, an Engine moves and counts rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar, runtime_checkable

from anonkit.documents import ParamsPart
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.promises.guarantee import Guarantee
from anonkit.randomness import Randomness

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from anonkit.domains.coded_columns import CodedColumn
    from anonkit.report.blocks import Budget, Details, JsonObject, ReportColumn

_Counted = TypeVar("_Counted")

BatchMap = Callable[["pa.RecordBatch", int], "pa.RecordBatch"]
"""A pure, picklable function of a batch and the number of its first row.

Where it declares so by an attribute `takes_codes`, an engine may pass it strings of declared columns as dictionaries
or as numbers: what the rules of `anonkit.domains` read from a cell is the same.
"""

BatchCount = Callable[["pa.RecordBatch", int], "NDArray[np.int64]"]
"""A pure, picklable function of a batch and the number of its first row: counts, shape (size,)."""

DrawPiece = Callable[[int], "pa.RecordBatch"]
"""A pure, picklable function of the number of a piece of a table: its rows, the same each time."""

SEARCH_ROWS = 500_000
"""Rows of a table that a method has in memory while it searches, by default."""

COUNT = ""
"""Column of counted combinations that holds their rows or units: a name that no column of a table has."""

OwnTable: TypeAlias = Any
"""A table that the same engine has returned. Each engine takes its own class of them and no other, which a protocol for
all engines cannot say: a type checker would ask every engine to read every other's tables."""

Progress = Callable[[str, float], None]
"""Called with the name of a step and the share done, in [0, 1]."""


def no_progress(step: str, share: float) -> None:
    """Show nothing."""


class Source(Protocol):
    """A table an engine has opened: canonical columns, rows numbered from 0 in the order they were read."""

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def n_rows(self) -> int: ...

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]: ...


@dataclass(frozen=True, kw_only=True)
class ClassSizes:
    """The sizes of the equivalence classes of a table; the classes themselves stay in the engine."""

    rows: int
    classes: int
    smallest: int
    """Rows, or distinct units, in the smallest class; 0 for an empty table."""
    rows_below_k: int
    histogram: tuple[tuple[int, int], ...]
    """(class size, number of such classes), ascending."""


@runtime_checkable
class Engine(Protocol):
    """The few verbs all methods reduce to. Everything privacy-relevant is in the batch functions, not here.

    A `source` is what a verb of this engine returned; no engine reads another's.
    """

    name: ClassVar[str]
    search_rows: int
    """Rows of a table that a method may hold while it searches; larger tables are searched on a keyed sample."""

    def close(self) -> None:
        """Delete every private file."""
        ...

    def scan(self, data: object, policy: Policy) -> Source:
        """Open a table with canonical values: types, one kind of missing, no negative zero."""
        ...

    def hold(self, table: pa.Table) -> Source:
        """Return a table that a method has made; it stays on this machine."""
        ...

    def draw(self, piece: DrawPiece, sizes: Sequence[int], empty: pa.RecordBatch) -> Source:
        """Return a table that is drawn piece by piece when it is read.

        `sizes` are the rows of each piece, `empty` a piece without rows, with all categories.
        """
        ...

    def keep(self, source: OwnTable) -> Source:
        """Return a table whose functions have been applied once, for one that is read again and again."""
        ...

    def encode(self, source: OwnTable, columns: Sequence[str]) -> list[CodedColumn]:
        """Return columns as integer codes with their distinct values."""
        ...

    def count_sets(self, source: OwnTable, sets: Sequence[tuple[str, ...]]) -> list[pa.Table]:
        """Count the rows of every combination, for several sets of columns; each table has the columns and `COUNT`."""
        ...

    def count_people(self, source: OwnTable, columns: Sequence[str], unit: str) -> pa.Table:
        """Count the distinct units of every combination of some columns; in the order of `count_sets`."""
        ...

    def class_sizes(self, source: OwnTable, columns: Sequence[str], k: int, unit: str | None = None) -> ClassSizes:
        """Count the equivalence classes under some columns."""
        ...

    def small_classes(self, source: OwnTable, columns: Sequence[str], k: int, unit: str | None = None) -> pa.Table:
        """Return the equivalence classes smaller than k, in rows or units: their values and `COUNT`, their rows.

        Rows without a unit count for nobody.
        """
        ...

    def map_batches(
        self, source: OwnTable, function: BatchMap, schema: pa.Schema, *, same_rows: bool = False
    ) -> Source:
        """Apply a batch function lazily; it may return fewer rows than it was given, unless they are the same rows."""
        ...

    def add_up(self, source: OwnTable, function: BatchCount, columns: Sequence[str], size: int) -> NDArray[np.int64]:
        """Add up what a function counts in batches of some columns, shape (size,)."""
        ...

    def sample(self, source: OwnTable, n: int, randomness: Randomness) -> Source:
        """Draw n rows without replacement by keyed row number: the same rows on every engine."""
        ...

    def write(
        self,
        source: OwnTable,
        path: Path,
        *,
        metadata: Mapping[str, str],
        randomness: Randomness | None,
        part_rows: int | None = None,
        first: str | None = None,
    ) -> int:
        """Write one Parquet file, rows in secret random order when randomness is given; return the rows written.

        With `first`, a column of truth values, the rows it marks come before all others; either are in random order.

        With `part_rows` the path becomes a sharded Parquet dataset with about so many rows a shard, in the same order.
        """
        ...


@runtime_checkable
class CountsBeside(Protocol):
    """An engine whose rows are counted elsewhere, so that it can count while this machine searches."""

    def later(self, count: Callable[[], _Counted]) -> Callable[[], _Counted]:
        """Return a function that gives the result of a count; see `counted_later`."""
        ...

    def searching(self) -> AbstractContextManager[None]:
        """Return a context in which this machine searches; see `counting_beside`."""
        ...


def counted_later(engine: Engine, count: Callable[[], _Counted]) -> Callable[[], _Counted]:
    """Return a getter of the result of a count that is needed in any case, but not now.

    An engine that counts elsewhere makes it while this machine searches; on any other, and where nothing is searched,
    it is made at the first call of the getter. What it raises is raised then.

    Parameters
    ----------
    count : callable
        Asks verbs of this engine, about tables that do not change, and nothing of anybody else.
    """
    return engine.later(count) if isinstance(engine, CountsBeside) else cache(count)


def counting_beside(engine: Engine) -> AbstractContextManager[None]:
    """Return a context in which this machine searches rows that it holds; counts that are wanted later are made beside.

    At its end they are all made. When it ends by an error or an interrupt they are cancelled, and made anew when
    somebody asks.
    """
    return engine.searching() if isinstance(engine, CountsBeside) else nullcontext()


def is_too_large(source: Source, engine: Engine) -> bool:
    """Return True if a table has more rows than a method may hold: then they are counted where they are."""
    return source.n_rows > engine.search_rows


def sample_size(engine: Engine, n_rows: int) -> int | None:
    """Return the number of a table's rows that a method searches; None when it is all, however many it may hold."""
    return engine.search_rows if n_rows > engine.search_rows else None


def sample_to_search(source: Source, engine: Engine, randomness: Randomness) -> Source:
    """Draw as many rows of a table as a method may hold, by their keyed row numbers; a smaller table is all of it."""
    return engine.sample(source, engine.search_rows, randomness)


class Recodes(Protocol):
    """A recoding as it was applied to a table, for rows of this table and for others like them."""

    def apply(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], NDArray[np.bool_]]:
        """Return the released quasi-identifier columns, and which rows have a value that is not covered."""
        ...


class StatementOfDraws(Protocol):
    """The draws of noise that a release makes of its rows, as its owner accounts for them."""

    def to_params(self) -> dict[str, Any]:
        """Return the keys of the params that list the draws."""
        ...

    @property
    def budget(self) -> Budget:
        """The report's `budget` block: the loss of the draws."""
        ...


@dataclass(frozen=True, kw_only=True)
class NoDraws(ParamsPart):
    """The statement of a release without noise: it adds no key to the params."""

    @property
    def budget(self) -> Budget:
        """Nothing is spent."""
        return {}


def _no_details() -> Details:
    return {}


@dataclass(frozen=True, kw_only=True)
class Draft:
    """The draft of a release that a method hands to the pipeline: nothing is on disk yet."""

    data: Source
    """The perturbed rows, in source order, with the columns of the unit; written in secret order unless
    `in_order`."""
    published: JsonObject
    """Content of `params.json` for consumers but for the statement: public by design."""
    columns: Sequence[ReportColumn]
    """The report's `columns` block."""
    statement: StatementOfDraws = NoDraws()
    """Every draw of noise. The account in the params and the budget in the report are made from it alone."""
    rows: JsonObject = field(default_factory=dict)
    """The report's `rows` block without `out`: rows read and suppressed, when the promise allows publishing them."""
    details: Details = field(default_factory=_no_details)
    """Blocks the method adds to the report (`utility`, `search`)."""
    owner: JsonObject = field(default_factory=dict)
    """Measures computed from the source that the promise does not cover: for the owner's eyes only."""
    notes: Sequence[str] = ()
    """Notes for the owner before the release is handed out; no cell values."""
    in_order: bool = False
    """True when the rows are written in their order: it is public, as that of a tidy table is."""
    first: str | None = None
    """Column of truth values in `data`: the rows it marks are written before all others, and it is not released. No
    search has seen their labels."""
    labels_seen: bool = False
    """True when the labels of all rows had a part in how they are released: then no rows are left to score it on."""
    applied: Recodes | None = None
    """Recoding of the source's rows, where that is not all in `params`: for the owner's measures."""
    beside: Callable[[Sequence[tuple[str, str]]], Source] | None = field(default=None, compare=False)
    """Given pairs of a quasi-identifier and a free name: the rows of `data` with its original cells under that name."""
    shown_before: frozenset[str] = frozenset()
    """Columns that the earlier release shows, of a batch: they stay, though every row may show the same of one."""

    @cached_property
    def params(self) -> JsonObject:
        """Content of `params.json`: the statement is before the columns of the release."""
        keys = list(self.published)
        at = keys.index("columns") if "columns" in keys else 0
        before, after = ({key: self.published[key] for key in part} for part in (keys[:at], keys[at:]))
        return {**before, **self.statement.to_params(), **after}

    @property
    def blocks(self) -> Details:
        """Blocks of the report: those of the method, and the budget."""
        return {**self.details, "budget": self.statement.budget}


@runtime_checkable
class Method(Protocol):
    """One way to publish a table: a frozen, keyword-only dataclass of its parameters with two verbs."""

    name: ClassVar[str]
    paper: ClassVar[str]
    """Publication of the method."""
    summary: ClassVar[str]
    """One line for `anonkit methods`."""
    target_use: ClassVar[TargetUse]
    """Use of the target when no column is declared one."""

    def guarantee(self, policy: Policy) -> Guarantee:
        """State the promise. There is no data argument, by design."""
        ...

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Perturb the table."""
        ...
