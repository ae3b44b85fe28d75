"""Spikes are cells of a table, and public rules change published rows: neither is a draw, and neither adds to epsilon.

By enumeration: each number is in one cell whatever other rows hold; neighbours released with the same outcomes of all
draws are the same bytes; over all small tables no released rows disclose more than epsilon. By an audit:
Clopper-Pearson limits at alpha 1e-3 over many releases. Each of them refuses code with one line changed.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.domains.number_bins import Categories, Grid
from anonkit.domains.rounding_grid import WholeValues
from anonkit.dp_trees.release.synthetic_rows import PieceSampler, RuledRows
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import GuaranteeError, InternalError
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.mechanisms.noisy_histograms import rows_by_class
from anonkit.methods import make_method
from anonkit.methods.dp_nb import DPNB, ClassRows
from anonkit.policy.declaration import Policy
from anonkit.published.noisy_tables import NoisyTable, NoisyTables
from anonkit.randomness import Randomness
from tests.privacy.mutation import Mutant, in_place
from tests.proofs.transcripts import replay

RULES = [
    {"determines": {"from": "job", "to": "pay", "map": [["cook", 1], ["nurse", 2]]}},
    {"never": {"gain": [50, 99], "job": "cook"}},
    {"never": {"gain": [0, 0], "ill": "yes"}},
]
COLUMNS: dict[str, Any] = {
    "gain": {"type": "integer", "bounds": [0, 99], "spikes": [0, 99]},
    "job": {"categories": ["cook", "nurse"], "missing": "first"},
    "pay": {"type": "integer", "bounds": [0, 3]},
    "ill": {"role": "target", "categories": ["no", "yes"]},
}
POLICY = Policy.from_dict({"columns": COLUMNS, "constraints": RULES})
PEOPLE = Policy.from_dict({"columns": {"who": {"role": "unit"}, **COLUMNS}, "constraints": RULES})

Row = tuple[Any, ...]
ROWS: list[Row] = [
    (0, "cook", 1, "no"), (12, "nurse", 2, "yes"), (99, "nurse", 2, "no"), (7, "cook", 1, "yes"),
    (40, "nurse", 2, "yes"), (60, "nurse", 2, "no"), (3, "cook", 1, "no"),
]  # fmt: skip
MORE: list[Row] = [(99, "cook", 3, "yes"), (0, "nurse", 1, "yes"), (None, None, None, "no")]
"""Rows that come: at a spike and against the rules, against all three of them, and without a cell."""


def table(rows: list[Row], who: list[str] | None = None) -> pa.Table:
    """Rows as a table, with their persons if these are given."""
    kinds = (pa.int64(), pa.string(), pa.int64(), pa.string())
    columns = {
        name: pa.array([row[at] for row in rows], kind)
        for at, (name, kind) in enumerate(zip(COLUMNS, kinds, strict=True))
    }
    return pa.table(columns if who is None else {"who": pa.array(who, pa.string()), **columns})


PAIRS: dict[str, tuple[tuple[pa.Table, pa.Table], Policy, dict[str, Any]]] = {
    "a row at a spike and against the rules": ((table([*ROWS, MORE[0]]), table(ROWS)), POLICY, {}),
    "the only row": ((table([MORE[1]]), table([])), POLICY, {}),
    "a row without cells": ((table([*ROWS, MORE[2]]), table(ROWS)), POLICY, {}),
    "a row replaced": ((table([*ROWS, MORE[0]]), table([*ROWS, MORE[1]])), POLICY, {"adjacency": "replace"}),
    "a person more": (
        (table([*ROWS, *MORE], [*"aabccdd", *"eee"]), table(ROWS, [*"aabccdd"])), PEOPLE, {"rows_per_unit": 2}),
}  # fmt: skip
METHODS: dict[str, dict[str, Any]] = {
    "dp-nb": {"bins": 4, "epsilon": 1.0},
    "dp-marginals": {"bins": 4, "epsilon": 40.0, "n_rows": 400},
    "dp-tree": {"epsilon": 1.0},
    "dp-forest": {"epsilon": 6.0, "trees": 3, "depth": 3},
}


# --- spikes: the cells of a table -------------------------------------------------------------------------------------


def _grids(largest: int) -> list[Grid]:
    """All grids of the integers from 0, with every set of spikes and every number of bins."""
    found = []
    for high in range(1, largest + 1):
        for size in range(high + 2):
            for spikes in itertools.combinations(range(high + 1), size):
                values = WholeValues.within(0, high, 1, spikes)
                found += [
                    Grid.over((0, high), bins, has_missing=missing, values=values)
                    for bins, missing in itertools.product(range(1, high + 2), (False, True))
                ]
    return found


def test_each_number_is_in_one_cell_whatever_other_rows_hold() -> None:
    """Of all grids of up to five integers: so a row adds 1 to one count, S = 1, however many spikes there are.

    A spike is alone in its cell. Numbers are whole ones, others, and some beyond the bounds; with missing too.
    """
    for grid in _grids(4):
        beyond = [-1.0, grid.upper + 7, *([math.nan] if grid.has_missing else [])]
        numbers = [*np.arange(0, grid.upper + 0.5, 0.5).tolist(), *beyond]
        alone = [int(grid.encode(np.array([number]))[0]) for number in numbers]
        assert grid.encode(np.array(numbers)).tolist() == alone
        assert 0 <= min(alone) <= max(alone) < grid.size
        assert grid.values is not None
        for spike in grid.values.spikes:
            (own,) = grid.encode(np.array([float(spike)])).tolist()
            whole = [value for value in range(int(grid.upper) + 1) if alone[numbers.index(float(value))] == own]
            assert whole == [spike]
            assert grid.midpoints()[own] == spike


# --- whole releases with the outcomes of all draws fixed --------------------------------------------------------------


def refuse_more_than_the_claim(method: str, pair: str, seed: int) -> float:
    """Fail if something leaves that was not drawn, or draws disclose more than claimed; return the worst share."""
    tables, policy, options = PAIRS[pair]
    found = replay(tables, seed, method=method, policy=policy, **METHODS[method], **options)
    first, second = found.leaves
    assert first == second, "what leaves must follow from the outcomes of the draws"
    assert "constraints" in found.releases[0].params
    claim = float(found.releases[0].report["guarantee"]["parameters"]["epsilon"])
    assert found.loss <= claim + 1e-9
    assert found.charge <= claim + 1e-9
    return found.charge / claim


@pytest.mark.parametrize(("method", "pair"), [*zip(METHODS, PAIRS, strict=False)])
def test_spikes_and_rules_leave_through_draws_alone(method: str, pair: str) -> None:
    """Neighbours, one with a row at a spike that breaks rules, are the same bytes; the exact loss is within epsilon."""
    refuse_more_than_the_claim(method, pair, seed=len(pair))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("method", METHODS)
def test_no_outcome_of_many_tells_more_than_the_claim_under_rules(method: str) -> None:
    """Every pair, outcomes of three seeds; and the dearest outcome costs a good part of the claim."""
    worst = [refuse_more_than_the_claim(method, pair, seed) for pair, seed in itertools.product(PAIRS, range(3))]
    assert max(worst) > 0.3


# --- the exact law of released rows -----------------------------------------------------------------------------------

SMALL = Policy.from_dict(
    {
        "columns": {
            "n": {"type": "integer", "bounds": [0, 3], "spikes": [0], "missing": "first"},
            "sex": {"categories": ["f", "m"], "missing": "first"},
            "y": {"role": "target", "categories": ["a"]},
        },
        "constraints": [{"never": {"n": [0, 0], "sex": "f"}}],
    }
)
KINDS = tuple(itertools.product(range(3), range(2)))
"""Every row of the small domain: the cell of its number (0, 1, or 2 to 3), and its sex."""
OUTCOMES = np.array(list(itertools.product(range(3), repeat=6)), dtype=np.int64)
"""Noisy tables that are looked at: rows, three cells, two sexes."""

Shown = tuple[tuple[int, str], ...]


def _counts(rows: tuple[tuple[int, int], ...]) -> np.ndarray:
    return np.array(
        [
            len(rows),
            *(sum(n == at for n, _ in rows) for at in range(3)),
            *(sum(s == at for _, s in rows) for at in range(2)),
        ]
    )


def _rows_shown(noisy: np.ndarray, rates: tuple[int, ...], *, ruled: bool = True) -> Shown:
    """Draw the rows of noisy tables with fixed secret words, as dp-nb does."""
    schema = DPNB(epsilon=2.0, bins=2).schema(SMALL)
    parts = [noisy[1:4], noisy[4:6]]
    tables = NoisyTables(
        target="y", classes=schema.classes, class_counts=noisy[:1], class_rate=rates[0],
        tables=tuple(
            NoisyTable(name=attribute.name, domain=attribute.domain, counts=part[np.newaxis], rate=rate)
            for attribute, part, rate in zip(schema.attributes, parts, rates[1:], strict=True)
        ),
    )  # fmt: skip
    key = Randomness.seeded(7)
    domains: dict[str, Categories | Grid] = {"y": schema.classes, **{one.name: one.domain for one in schema.attributes}}
    piece = PieceSampler(
        rows=ClassRows(tables), numbers=rows_by_class(tables, UniformStream(key)), domains=domains, policy=SMALL,
        randomness=key, ruled=RuledRows.of(SMALL, domains, "y") if ruled else None,
    )  # fmt: skip
    batch = piece(0)
    return tuple(zip(batch.column("n").to_pylist(), batch.column("sex").to_pylist(), strict=True))


def _largest_loss(shown: Callable[[np.ndarray, tuple[tuple[int, int], ...]], list[Shown]]) -> float:
    """Return the largest log ratio of the chance of any released rows, over all tables of two rows and a row more."""
    rates = tuple(draw.rate for draw in DPNB(epsilon=2.0, bins=2).account(SMALL).draws)
    scale = np.repeat(rates, [1, 3, 2]) / 2**52
    laws: dict[tuple[tuple[int, int], ...], dict[Shown, float]] = {}
    for size in range(4):
        for rows in itertools.combinations_with_replacement(KINDS, size):
            # P(z) of discrete Laplace noise, up to a factor that is the same for all tables
            chance = np.exp(-np.abs(OUTCOMES - _counts(rows)) @ scale)
            law: dict[Shown, float] = defaultdict(float)
            for own, each in zip(shown(OUTCOMES, rows), chance.tolist(), strict=True):
                law[own] += each
            laws[rows] = law
    worst = 0.0
    for rows, law in laws.items():
        for more in KINDS if len(rows) < 3 else ():
            other = laws[tuple(sorted((*rows, more)))]
            for own in law.keys() | other.keys():
                first, second = law.get(own, 0.0), other.get(own, 0.0)
                worst = max(worst, abs(math.log(first / second)) if first and second else math.inf)
    return worst


@pytest.mark.slow
def test_over_all_small_tables_no_released_rows_tell_more_than_epsilon() -> None:
    """The rows of each outcome are drawn once, by fixed secret words: their law under a table adds up its outcomes.

    The largest log ratio is within epsilon and near it. Rows that are changed only where the table breaks the rule
    disclose everything: the enumeration can fail.
    """
    rates = tuple(draw.rate for draw in DPNB(epsilon=2.0, bins=2).account(SMALL).draws)
    kept = [_rows_shown(noisy, rates) for noisy in OUTCOMES]
    left = [_rows_shown(noisy, rates, ruled=False) for noisy in OUTCOMES]
    assert not any((0, "f") in rows for rows in kept)
    assert sum((0, "f") in rows for rows in left) > 50
    assert 0.5 * 2.0 < _largest_loss(lambda outcomes, rows: kept) <= 2.0 + 1e-9
    assert _largest_loss(lambda outcomes, rows: kept if (0, 0) in rows else left) == math.inf


# --- audits -----------------------------------------------------------------------------------------------------------

FEW: dict[str, Any] = {**COLUMNS, "gain": {**COLUMNS["gain"], "missing": "first"}}
AUDITED = Policy.from_dict({"columns": FEW, "constraints": RULES})
RUNS = 1_500
AUDITED_AS: dict[str, dict[str, Any]] = {
    "dp-nb": {"bins": 2}, "dp-marginals": {"bins": 2}, "dp-tree": {}, "dp-forest": {"trees": 1},
}  # fmt: skip


def _samples(method: str, runs: int = RUNS) -> list[np.ndarray]:
    """Counts in the rows of many releases: those at each spike, and all; with and without a row."""
    engine, made = LocalEngine(), make_method(method, {"epsilon": 2.0, **AUDITED_AS[method]})
    samples = []
    for seed, rows in enumerate(([MORE[0]], [])):
        source, rng, shown = engine.scan(table(list(rows)), AUDITED), Randomness.seeded(seed), []
        for run in range(runs):
            draft = made.release(source, AUDITED, engine=engine, rng=rng.child(f"run {run}"))
            cells = [cell for batch in draft.data.batches(["gain"]) for cell in batch.column("gain").to_pylist()]
            shown.append(f"{min(len(cells), 6)} {min(cells.count(0), 3)} {min(cells.count(99), 3)}")
        samples.append(np.array(shown))
    return samples


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("method", METHODS)
def test_an_audit_of_rows_under_rules_and_spikes_finds_no_more_than_the_claim(method: str) -> None:
    """A table of one row, at a spike and against the rules, and one of none."""
    first, second = _samples(method)
    assert lower_bound(first, second).lower_bound <= 2.0


# --- all of it can fail -----------------------------------------------------------------------------------------------

MUTANTS: dict[str, Mutant] = {
    "a row at a spike is in its cell and in the one above": Mutant(
        where="methods.dp_nb:count", old="np.bincount(cells, minlength",
        new="np.bincount(np.append(cells, cells[codes == 0] + 1), minlength", refused_by="totals"),
    "the exact rows at a spike are published": Mutant(
        where="methods.dp_nb:DPNB.release", old="rng.child(\"rows\"), self.method_entry)",
        new="rng.child(\"rows\"), {**self.method_entry, \"parameters\": {**self.method_entry[\"parameters\"], "
        "\"bins\": 4 + int(by_attribute[0][:, -2].sum() > 1)}})", refused_by="bytes"),
    "rows at a spike are used where there are two": Mutant(
        where="dp_trees.release.coded_rows:_coded", old="used = labels != UNKNOWN if keep is None",
        new="used = (labels != UNKNOWN) & ((codes[0] != codes[0].max()) | ((codes[0] == codes[0].max()).sum() > 1)) "
        "if keep is None", refused_by="loss"),
}  # fmt: skip
LOUDER = Mutant(
    where="methods.dp_nb:DPNB.release", old="by_attribute, rest, strict",
    new="by_attribute, [8 * one for one in rest], strict",
    refused_by="audit",
)  # fmt: skip
"""Noise at a multiple of its rate."""


@pytest.mark.parametrize("name", MUTANTS)
def test_a_release_that_tells_more_of_a_spike_is_refused(name: str) -> None:
    """By the release itself, by bytes that differ, or by the exact loss."""
    with in_place(MUTANTS[name]), pytest.raises((AssertionError, GuaranteeError, InternalError)):
        refuse_more_than_the_claim("dp-nb", "a row at a spike and against the rules", seed=1)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_audit_finds_noise_at_eight_times_its_rate() -> None:
    """Of the same tables with the same number of releases."""
    with in_place(LOUDER):
        first, second = _samples("dp-nb")
    assert lower_bound(first, second).lower_bound > 2.0
