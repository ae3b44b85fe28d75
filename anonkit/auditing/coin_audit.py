# SPDX-License-Identifier: Apache-2.0
"""Lower bounds on the epsilon of rows drawn by coins, by releasing two kinds of made tables over and over.

The method of the release is run with its own parameters, from the choice of a scheme to the rows that are left out, on
tables with and without one row more, made so that the row shows as much as it can:

- for the coins, thousands of classes of alike rows, of a few sizes, each with its row more or without it by a fair coin
  of the audit's own. They can be shown in one way only, so that only the draw of rows is distinguished, and the fewest
  that are shown;
- for the choice, a table of which two schemes show nearly the same, and one row more speaks for the one and against the
  other. Everything that is published but the rows is one answer, so that a figure that leaks is distinguished too.

An answer of the choice is one of a whole release. Those of classes are counted one by one: they are separate answers as
far as each row is drawn by a coin of its own, which is how the method is published. Delta is what it claims.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.auditing.attacks.success_rates import ALPHA, BELOW, REFUTED, REFUTED_ALPHA, WEAK, LossBound
from anonkit.auditing.epsilon_audit import EpsilonBound, epsilon_from_counts, lower_bound
from anonkit.domains.coded_columns import BoolArray, IntArray
from anonkit.engines import open_engine
from anonkit.methods import make_method
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.protocols import Draft, Engine, Method
from anonkit.randomness import Randomness

SECONDS = 15.0
"""Processor time that may be spent, when the number of runs is not given: a convention."""
CLASSES = 2048
"""Classes of alike rows in each table of the first kind: each is a draw, so that few runs are enough. A convention."""
_FEWEST, _MOST = 40, 4000
"""Runs, whatever time they take: conventions."""
_VALUES = 64
"""Values of the column whose level of detail is chosen."""
_MIXED = 12
"""Classes of few rows that fill the table of the second kind, so that its rows that do not count are nearly alike."""
_PILOT = 0.2
"""Share of the runs that chooses the event; the rest bounds its probability. A convention."""
_MOST_ROWS = 1 << 18
"""Rows of a table of the first kind, about; of large classes there are fewer. A bound on memory."""


def toss_again(
    report: Mapping[str, Any], params: Mapping[str, Any], *, runs: int | None = None, seed: int = 0
) -> LossBound:
    """Release made tables by the method of a release and bound its epsilon from below, at its delta.

    Parameters
    ----------
    report, params : mapping
        Of the release. Nothing of its source is read: coins do not see what a row says.
    runs : int, optional
        Releases of tables of the second kind, in [40, inf), and a quarter as many of the first; by default as many as
        some seconds allow.
    seed : int
        Which noise; nothing of it is released.

    Raises
    ------
    ParameterError, PolicyError
        The method is not known, or cannot be run with what the files state.
    """
    scene = Scene.of(report, params)
    with closing(open_engine("local")) as engine:
        draws = Classes.collect(scene, engine, None if runs is None else max(runs, _FEWEST) // 4, seed)
        choices = list(_choices(scene, engine, None if runs is None else max(runs, _FEWEST), seed))
    samples = {
        _SAMPLING: [(draws.shown_of(size, more=True), draws.shown_of(size, more=False)) for size in draws.sizes],
        _CHOSEN: [_answers(choices, known) for known in (_all_but_rows, _all_but_rows_and_how_many)],
    }
    share = sum(map(len, samples.values())) + len(draws.sizes)
    parts = {
        name: [_bounded(*pair, delta=scene.delta, share=share) for pair in pairs] for name, pairs in samples.items()
    }
    parts[_SAMPLING] += [_of_being_shown(*pair, delta=scene.delta, share=share) for pair in samples[_SAMPLING]]
    every = [bound for bounds in parts.values() for bound in bounds]
    best = max(every, key=lambda bound: bound.lower_bound)
    return LossBound(
        claimed=scene.claimed,
        lower_bound=best.lower_bound,
        surest=max(_surest(bound, scene.delta) for bound in every),
        most_measurable=max(
            epsilon_from_counts((bound.frequent[1],) * 2, (0, bound.rare[1]), alpha=ALPHA / share, delta=scene.delta)
            for bound in every
        ),
        delta=scene.delta,
        neighbours="made tables with and without one row (add or remove)",
        how="the method was run again with the parameters of the release, on tables made so that one row shows as "
        "much as it can: thousands of classes of alike rows, and two schemes that are nearly as good as each other; "
        "the error is shared among all that was looked at",
        counts={"runs": len(choices), "tables_of_classes": draws.tables, "classes": draws.more.size},
        columns=tuple(_part(name, scene.claims[name], bounds, scene.delta) for name, bounds in parts.items()),
    )


_SAMPLING, _CHOSEN = "which rows are drawn", "how each column is shown"


def _part(name: str, claimed: float, bounds: list[EpsilonBound], delta: float) -> dict[str, Any]:
    found = max(bound.lower_bound for bound in bounds)
    refuted = max(_surest(bound, delta) for bound in bounds) > claimed
    return {
        "name": name,
        "claimed": claimed,
        "lower_bound": found,
        "verdict": REFUTED if refuted else BELOW if found > 0 else WEAK,
    }


def _bounded(first: IntArray, second: IntArray, *, delta: float, share: int) -> EpsilonBound:
    return lower_bound(first, second, alpha=ALPHA / share, delta=delta, pilot=_PILOT)


def _of_being_shown(first: IntArray, second: IntArray, *, delta: float, share: int) -> EpsilonBound:
    """Bound by the event that a class is shown at all: the strongest where it is rarely shown, and not chosen."""
    frequent, rare = ((int((rows > 0).sum()), rows.size) for rows in (first, second))
    return EpsilonBound(
        lower_bound=epsilon_from_counts(frequent, rare, alpha=ALPHA / share, delta=delta),
        event="the class is shown",
        inputs=(0, 1),
        frequent=frequent,
        rare=rare,
        alpha=ALPHA / share,
    )


def _surest(bound: EpsilonBound, delta: float) -> float:
    return epsilon_from_counts(bound.frequent, bound.rare, alpha=REFUTED_ALPHA * bound.alpha / ALPHA, delta=delta)


@dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """A method, and what its release states of its coins."""

    method: Method
    claimed: float
    delta: float
    k: int
    beta: float
    needed: int
    """Rows of a class that do not count in the choice: with fewer it is shown less often than not."""
    has_target: bool
    has_unit: bool
    claims: Mapping[str, float]
    """Epsilon of each part, by its name."""

    @classmethod
    def of(cls, report: Mapping[str, Any], params: Mapping[str, Any]) -> Scene:
        """Read the files of a release."""
        claimed, draw, choice = report["guarantee"]["parameters"], params["draw"], params["choice"]
        return cls(
            method=make_method(report["method"]["name"], report["method"]["parameters"]),
            claimed=float(claimed["epsilon"]),
            delta=float(claimed["delta"]),
            k=int(claimed["k"]),
            beta=int(draw["sampled"]) / int(draw["sampled_of"]),
            needed=-(-int(claimed["k"]) * int(draw["sampled_of"]) // int(draw["sampled"])),
            has_target=params["target"] is not None,
            has_unit=params["unit"] is not None,
            claims={_SAMPLING: math.ldexp(int(draw["rate"]), -52), _CHOSEN: float(choice["epsilon"])},
        )

    def release(self, engine: Engine, table: pa.Table, columns: Mapping[str, Column], rng: Randomness) -> Draft:
        """Return the output of the method on a table.

        Where people are protected each row is there twice, as two rows of one person.
        """
        if self.has_unit:
            people = np.repeat(np.arange(table.num_rows), 2)
            table = table.take(pa.array(people)).append_column("who", pa.array(people).cast(pa.string()))
            columns = {**columns, "who": Column(name="who", role=Role.UNIT)}
        policy = Policy(columns=columns, without_target="y" not in columns)
        return self.method.release(engine.scan(table, policy), policy, engine=engine, rng=rng)


def _repeated(run: Callable[[int], Any], runs: int | None, seconds: float, most: int) -> Iterator[Any]:
    """Yield so many runs, or as many as some seconds allow: the first ones compile and import, and are not timed."""
    begun, number = time.process_time(), 0
    while number < (most if runs is None else runs):
        yield run(number)
        number += 1
        if number == 4:
            begun = time.process_time()
        if runs is None and number >= _FEWEST and time.process_time() - begun > seconds:
            return


# --- the coins of rows -------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Classes:
    """The published counts of classes of equal rows, each with its additional row or without it."""

    sizes: tuple[int, ...]
    """Rows of a class with its row more."""
    size: IntArray
    """Of each class, one table after the other."""
    more: BoolArray
    """True for each class with its additional row."""
    shown: IntArray
    """Number of its rows that were shown."""
    tables: int

    @classmethod
    def collect(cls, scene: Scene, engine: Engine, runs: int | None, seed: int) -> Classes:
        """Release tables of classes and count what is shown of each."""
        sizes = _sizes(scene)
        n_classes = min(CLASSES, max(_MOST_ROWS // sizes[-1], 40))
        # most have the size at which the claimed coins show most, or that of the fewest that are shown
        size = np.repeat(sizes, (1, 1, 4, 4))[np.arange(n_classes) % 10]
        values = tuple(f"v{at}" for at in range(n_classes))
        columns = {"a": Column(name="a", categories=values)}
        coins = np.random.default_rng([seed, 1])

        def run(number: int) -> tuple[BoolArray, IntArray]:
            more = coins.random(n_classes) < 0.5
            rows = np.repeat(np.arange(n_classes), size - 1 + more)
            table = pa.table({"a": pa.array(values).take(pa.array(rows))})
            draft = scene.release(engine, table, columns, Randomness.seeded(seed).child(f"classes {number}"))
            return more, _shown(draft, values)

        found = list(_repeated(run, runs, SECONDS / 2, _MOST // 4))
        return cls(
            sizes=sizes,
            size=np.tile(size, len(found)),
            more=np.concatenate([more for more, _ in found]),
            shown=np.concatenate([shown for _, shown in found]),
            tables=len(found),
        )

    def shown_of(self, size: int, *, more: bool) -> IntArray:
        """Return the number of rows shown of each class of a size, with its row more or without it."""
        found: IntArray = self.shown[(self.size == size) & (self.more == more)]
        return found


def _sizes(scene: Scene) -> tuple[int, int, int, int]:
    """Return the class sizes to try: one row, too few, just enough, and the most informative if all is true."""
    from scipy.stats import beta, binom

    trials = CLASSES * 50  # about as many as some seconds give

    def expected(size: int) -> float:
        shown = np.arange(scene.k, size + 1) - 1
        frequent, rare = binom.sf(shown, size, scene.beta), binom.sf(shown, size - 1, scene.beta)
        low = beta.ppf(ALPHA, np.maximum(frequent * trials, 0.5), (1 - frequent) * trials + 1) - scene.delta
        high = beta.ppf(1 - ALPHA, rare * trials + 1, np.maximum((1 - rare) * trials, 0.5))
        return float(np.max(np.log(np.maximum(low, 1e-300) / high)))

    best = max(range(max(scene.k, 3) + 1, scene.needed + scene.k + 2), key=expected)
    return (1, max(scene.k // 2, 2), max(scene.k, 3), best)


def _shown(draft: Draft, values: tuple[str, ...]) -> IntArray:
    """Count the rows that are shown of each value."""
    table = pa.Table.from_batches(draft.data.batches(), schema=draft.data.schema)
    if "a" not in table.column_names:
        return np.zeros(len(values), dtype=np.int64)
    places = pc.index_in(table.column("a").combine_chunks(), pa.array(values)).drop_null()
    return np.bincount(places.to_numpy(), minlength=len(values)).astype(np.int64)


# --- the choice of a scheme --------------------------------------------------------------------------------------


def _choices(scene: Scene, engine: Engine, runs: int | None, seed: int) -> Iterator[tuple[bool, Draft, int]]:
    """Yield, table after table, the coin (True: the row was there), the draft, and the number of rows published."""
    tables, columns = _nearly_as_good(scene)

    def run(number: int) -> tuple[bool, Draft, int]:
        more = number % 2 == 1
        draft = scene.release(engine, tables[more], columns, Randomness.seeded(seed).child(f"choice {number}"))
        return more, draft, sum(batch.num_rows for batch in draft.data.batches())

    yield from _repeated(run, runs, SECONDS / 2, _MOST)


def _nearly_as_good(scene: Scene) -> tuple[tuple[pa.Table, pa.Table], dict[str, Column]]:
    """Return two tables, the second with one row more, of which two levels of one column are as good as each other.

    The first two values are one group at the coarser level. The row more has the first value. There it makes the rows
    that count one more at the coarser level, and at the finer level none: too few rows have its value. With a target it
    is the one row of its class that counts in the group, where all others are of the other class, and among those that
    do not count at the finer level nearly all are of its own. So the coarser level gains, or loses, a whole row.
    """
    values = tuple(f"v{at}" for at in range(_VALUES))
    tree = tuple((value, "v0 or v1" if at < 2 else value) for at, value in enumerate(values))
    needed = scene.needed
    half = needed // 2
    if not scene.has_target:
        # no row of v0 or v1 counts at the finer level; of both together the row more is the first that does
        rows = [("v0", "", half), ("v1", "", needed - half), ("v2", "", 3 * needed)]
    else:
        rows = [("v0", "1", half), ("v1", "1", needed - half), ("v1", "0", needed + _VALUES)]
        rows += [(f"v{at}", "1", needed) for at in range(2, 2 + _MIXED)]
    columns = {"a": Column(name="a", categories=values, tree=tree)}
    if scene.has_target:
        columns["y"] = Column(name="y", role=Role.TARGET, categories=("0", "1"))
    counts = np.array([count for _, _, count in rows])
    tables = []
    for more in (0, 1):
        at = pa.array(np.repeat(np.arange(len(rows)), counts + more * (np.arange(len(rows)) == 0)))
        cells = {"a": pa.array([value for value, _, _ in rows]), "y": pa.array([label for _, label, _ in rows])}
        tables.append(pa.table({name: cells[name].take(at) for name in columns}))
    return (tables[0], tables[1]), columns


def _answers(
    choices: list[tuple[bool, Draft, int]], published: Callable[[Draft, int], str]
) -> tuple[IntArray, IntArray]:
    """Return the answers with the row and without it, numbered."""
    answers = [published(draft, rows) for _, draft, rows in choices]
    codes = np.unique(answers, return_inverse=True)[1].astype(np.int64)
    more = np.array([inside for inside, _, _ in choices])
    return codes[more], codes[~more]


def _all_but_rows(draft: Draft, _: int) -> str:
    parts = (draft.params, draft.columns, draft.blocks, draft.data.schema.names)
    return json.dumps(parts, sort_keys=True, default=str)


def _all_but_rows_and_how_many(draft: Draft, rows: int) -> str:
    return f"{rows} {_all_but_rows(draft, rows)}"
