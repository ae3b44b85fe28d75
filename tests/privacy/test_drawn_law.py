"""Drawn rows, enumerated: no neighbours need more than is claimed, two need most of it, and releases follow the law."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from privacy.drawn_law import Cell, DrawnLaw, Outcome, excess, groups_of, least_epsilon, one_more
from privacy.mutation import forget
from scipy.stats import chi2

from anonkit.engines import open_engine
from anonkit.methods.safepub import SafePub
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness
from tests.privacy.test_central_mutants import Mutant, mutate

VALUES = tuple(f"v{at}" for at in range(40))
GROUPS = groups_of(VALUES, [VALUES[:2], VALUES[2:4]])
OWN: Cell = ("v0", "1")
"""The kind of row that comes in the pair of tables."""
FILLED = 30
"""Values with rows of one class, too few to be shown."""


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Clear the caches, so that no test uses results of a mutant."""
    forget()
    yield
    forget()


def policy(has_target: bool) -> Policy:
    """One column with a tree, and perhaps a target."""
    columns = {"a": Column(name="a", categories=VALUES, tree=tuple(GROUPS.items()))}
    if has_target:
        columns["y"] = Column(name="y", role=Role.TARGET, categories=("0", "1"))
    return Policy(columns=columns, without_target=not has_target)


def law_of(method: SafePub, *, has_target: bool = True, claimed_k: int | None = None, **more: int) -> DrawnLaw:
    """Return the law of a method by what it promises, and by the sample that it takes."""
    k = claimed_k or method.guarantee(policy(has_target)).k
    units = math.floor(method.epsilon * 2**52)
    width = 1024 * (2 if has_target else 1)
    sampled, _ = method._sampling_words(units - (units // 4 // width) * width)
    return DrawnLaw(GROUPS, has_target=has_target, epsilon=method.epsilon, k=k, sampled=sampled, **more)


def pair(law: DrawnLaw, rows: int, more: int = 0) -> dict[Cell, int]:
    """Return a table in which one row more of `OWN` speaks for the finer level, against the coarser one, and is shown.

    At the finer level its value has few rows, which do not count, and among those nearly all are of its class; at the
    coarser one it counts in a group of the other class. `more` rows of two other values make the levels alike.
    """
    n = law.needed
    first = {OWN: rows, ("v1", "1"): n - rows, ("v1", "0"): n + 60, ("v2", "0"): n // 2, ("v3", "0"): n - n // 2 + more}
    return {**first, **{(value, "1"): n for value in VALUES[4 : 4 + FILLED]}}


def small_tables(law: DrawnLaw) -> Iterator[dict[Cell, int]]:
    """Yield tables of few kinds of rows about as many as a class needs, drawn with a fixed seed."""
    random = np.random.default_rng(4)
    labels = ("0", "1") if law.has_target else (None,)
    cells = [(value, label) for value in VALUES[:5] for label in labels]
    for _ in range(6):
        counts = random.integers(0, 2 * law.needed, len(cells))
        yield {cell: int(count) for cell, count in zip(cells, counts, strict=True)}
    yield {}
    yield dict.fromkeys(cells, law.k)


PROMISES = (
    SafePub(epsilon=1.0, delta=1e-2, k=2),
    SafePub(epsilon=2.0, delta=1e-3, k=2),
    SafePub(epsilon=0.3, delta=1e-2, k=4),
    SafePub(epsilon=4.0, delta=5e-3, k=2, sample=0.3),
)


@pytest.mark.parametrize("has_target", [True, False])
@pytest.mark.parametrize("method", PROMISES, ids=lambda one: f"epsilon {one.epsilon:g}")
def test_no_neighbours_need_more_than_is_claimed(method: SafePub, has_target: bool) -> None:
    """Levels and rows together, in both directions, for a row more of every kind of many small tables."""
    law = law_of(method, has_target=has_target)
    tables = [*small_tables(law), *([pair(law, rows) for rows in (law.k, law.k + 1)] if has_target else [])]
    worst = 0.0
    for rows in tables:
        for cell in [cell for cell in {**rows, OWN if has_target else ("v0", None): 0} if cell[0] in VALUES[:5]]:
            before, after = law.outcomes(rows, cell), law.outcomes(one_more(rows, cell), cell)
            assert sum(after.values()) == pytest.approx(1)
            worst = max(worst, excess(before, after, method.epsilon), excess(after, before, method.epsilon))
    assert worst <= method.delta


@pytest.mark.parametrize(
    ("epsilon", "delta", "rows", "more"), [(1.0, 1e-2, 7, 0), (2.0, 1e-3, 9, 1)], ids=["epsilon 1", "epsilon 2"]
)
def test_two_tables_need_most_of_the_claim(epsilon: float, delta: float, rows: int, more: int) -> None:
    """At the claimed delta seven tenths of epsilon or more, by the choice and the coins together; never all of it."""
    law = law_of(SafePub(epsilon=epsilon, delta=delta, k=2))
    table = pair(law, rows, more)
    needed = least_epsilon(law.outcomes(one_more(table, OWN), OWN), law.outcomes(table, OWN), delta)
    assert 0.7 * epsilon < needed < epsilon


def test_the_choice_alone_needs_most_of_its_quarter() -> None:
    """Without a target a row that counts at one level alone moves that by a row, less the decrease by the groups."""
    law = law_of(PROMISES[1], has_target=False)
    half = law.needed // 2
    rows: dict[Cell, int] = {("v0", None): half, ("v1", None): law.needed - half, ("v2", None): 3 * law.needed}
    before, after = law.choice(rows), law.choice(one_more(rows, ("v0", None)))
    loss = max(abs(math.log(before[level] / after[level])) for level in law.levels)
    assert 0.8 * 0.5 < loss < 0.5


def test_wrong_coins_need_more_than_is_claimed() -> None:
    """With k one too small, or a choice at three times its rate, more than epsilon; at twice, more than a quarter."""
    method = SafePub(epsilon=1.0, delta=0.0097, k=2)
    k = method.guarantee(policy(True)).k
    for law, rows, more in ((law_of(method, claimed_k=k - 1), k - 1, 0), (law_of(method, faster=3), k + 1, 1)):
        table = pair(law, rows, more)
        with_it, without = law.outcomes(one_more(table, OWN), OWN), law.outcomes(table, OWN)
        assert excess(with_it, without, method.epsilon) > method.delta
    twice = law_of(method, faster=2)
    table = pair(twice, k + 1, 1)
    before, after = twice.choice(table), twice.choice(one_more(table, OWN))
    assert max(abs(math.log(before[level] / after[level])) for level in (0, 1)) > 0.25 * method.epsilon


# --- releases follow the law ------------------------------------------------------------------------------------------

FOLLOWED = SafePub(epsilon=8.0, delta=1e-2, k=2)
TIMES = 400


@cache
def _law() -> tuple[DrawnLaw, dict[Cell, int]]:
    law = law_of(FOLLOWED)
    return law, one_more(pair(law, law.needed // 2), OWN)


def _found() -> Counter[Outcome]:
    """Release the pair's table over and over; count the levels and the rows that are shown of the row's class."""
    _, rows = _law()
    cells = list(rows)
    at = pa.array(np.repeat(np.arange(len(cells)), list(rows.values())))
    table = pa.table({"a": pa.array([a for a, _ in cells]).take(at), "y": pa.array([y for _, y in cells]).take(at)})
    found: Counter[Outcome] = Counter()
    with closing(open_engine("local")) as engine:
        for number in range(TIMES):
            source, rng = engine.scan(table, policy(True)), Randomness.seeded(number)
            draft = FOLLOWED.release(source, policy(True), engine=engine, rng=rng)
            shown = pa.Table.from_batches(draft.data.batches(), schema=draft.data.schema)
            params: Any = draft.params
            kept = "a" in shown.column_names and params["recoding"]["columns"][0]["kind"] == "kept"
            level = None if "a" not in shown.column_names else 0 if kept else 1
            label = {None: None, 0: "v0", 1: GROUPS["v0"]}[level]
            own = [row for row in shown.to_pylist() if row["y"] == "1" and row.get("a") == label]
            found[level, len(own)] += 1
    return found


def releases_follow_the_law() -> None:
    """Chi-square over the outcomes that are expected five times, the others together, at one in a thousand."""
    law, rows = _law()
    expected = {outcome: TIMES * chance for outcome, chance in law.outcomes(rows, OWN).items()}
    found = _found()
    common = [outcome for outcome, times in expected.items() if times >= 5]
    pairs = [(found[outcome], expected[outcome]) for outcome in common]
    pairs.append((TIMES - sum(seen for seen, _ in pairs), TIMES - sum(times for _, times in pairs)))
    statistic = sum((seen - times) ** 2 / max(times, 1e-9) for seen, times in pairs)
    assert len({level for level, _ in common}) == 2
    assert statistic < chi2.ppf(0.999, len(pairs) - 1)


def test_releases_follow_the_law() -> None:
    """The law is of the chosen level, and of the number of shown rows of the class that a row belongs to."""
    releases_follow_the_law()


MUTANTS = {
    "the choice is made at twice the rate": Mutant(
        where="anonkit.methods.safepub:_chosen", old="choice.rate", new="2 * choice.rate"),
    "half as many rows more are drawn": Mutant(
        where="anonkit.k_anonymity.generalization_schemes:DrawRows.__call__",
        old="< self.sampled)", new="< 1.5 * self.sampled)"),
    "classes of one row less are shown": Mutant(
        where="anonkit.methods.safepub:SafePub.release", old="small_classes(sampled_rows, draw.schema.names, k)",
        new="small_classes(sampled_rows, draw.schema.names, k - 1)"),
    "rows that do not count are counted": Mutant(
        where="anonkit.k_anonymity.generalization_schemes:_that_count", old="sizes - needed", new="sizes"),
}  # fmt: skip


@pytest.mark.quick_cases("the choice is made at twice the rate")
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_leaves_the_law(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line of the release is changed; what it promises is not."""
    _law()
    with monkeypatch.context() as patch:
        mutate(patch, MUTANTS[name])
        with pytest.raises(AssertionError):
            releases_follow_the_law()
