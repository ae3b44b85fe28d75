"""The private search for spikes loses what its account says: by enumeration, on replayed releases, and by an audit.

By enumeration: the exact law of the noisy histogram of a small column, and of what is found, over all small tables and
a row more. On whole releases with the outcomes of all draws fixed: neighbours leave the same bytes. By an audit:
Clopper-Pearson limits at alpha 1e-3. Code with one line changed is refused.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.budget_rules.spike_rule import found_among, threshold_of
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import GuaranteeError, InternalError
from anonkit.methods import make_method
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness
from tests.privacy.mutation import Mutant, in_place
from tests.proofs.transcripts import replay

COLUMNS: dict[str, Any] = {
    "gain": {"type": "integer", "bounds": [0, 999]},
    "hours": {"type": "integer", "bounds": [1, 40], "missing": "first"},
    "job": {"categories": ["cook", "nurse"], "missing": "first"},
    "ill": {"role": "target", "categories": ["no", "yes"]},
}
POLICY = Policy.from_dict({"columns": COLUMNS})
PEOPLE = Policy.from_dict({"columns": {"who": {"role": "unit"}, **COLUMNS}})
Row = tuple[Any, ...]
ROWS: list[Row] = [
    (0, 40, "cook", "no"), (12, 40, "nurse", "yes"), (0, 3, "nurse", "no"), (7, 20, "cook", "yes"),
    (0, 40, "nurse", "yes"), (600, 12, "nurse", "no"), (0, 40, "cook", "no"),
] * 8  # fmt: skip
WHO = [f"{who}{time}" for time in range(8) for who in "aabccdd"]
MORE: list[Row] = [(0, 40, "cook", "yes"), (999, None, "nurse", "yes"), (None, None, None, "no")]
METHODS: dict[str, dict[str, Any]] = {
    "dp-nb": {"bins": 4, "epsilon": 20.0},
    "dp-marginals": {"bins": 4, "epsilon": 40.0, "n_rows": 400},
    "dp-tree": {"epsilon": 20.0},
    "dp-forest": {"epsilon": 20.0, "trees": 3, "depth": 3},
}


def table(rows: list[Row], who: list[str] | None = None) -> pa.Table:
    """Rows as a table, with their persons if these are given."""
    kinds = (pa.int64(), pa.int64(), pa.string(), pa.string())
    columns = {
        name: pa.array([row[at] for row in rows], kind)
        for at, (name, kind) in enumerate(zip(COLUMNS, kinds, strict=True))
    }
    return pa.table(columns if who is None else {"who": pa.array(who, pa.string()), **columns})


PAIRS: dict[str, tuple[tuple[pa.Table, pa.Table], Policy, dict[str, Any]]] = {
    "a row at a spike": ((table([*ROWS, MORE[0]]), table(ROWS)), POLICY, {}),
    "the only row": ((table([MORE[1]]), table([])), POLICY, {}),
    "a row replaced": ((table([*ROWS, MORE[0]]), table([*ROWS, MORE[2]])), POLICY, {"adjacency": "replace"}),
    "a person more": (
        (table([*ROWS, *MORE], [*WHO, *"eee"]), table(ROWS, WHO)), PEOPLE, {"rows_per_unit": 2}),
}  # fmt: skip


# --- candidates and their exact law -----------------------------------------------------------------------------------


RATE = int(math.log(2) * 2**52)
"""Noise that halves with each step, so that five steps of it are most of it."""


def test_over_all_small_tables_no_histogram_and_no_spikes_tell_more_than_the_rate() -> None:
    """Two candidates and the rest: the law of the noisy counts, and of which values are found of them."""
    outcomes = np.array(list(itertools.product(range(-14, 19), repeat=3)), dtype=np.int64)
    found = [found_among((0, 9), noisy, min(threshold_of(noisy, 2**52 * 8), 3)) for noisy in outcomes.tolist()]
    laws: dict[tuple[int, ...], tuple[np.ndarray, dict[tuple[int, ...], float]]] = {}
    for rows in itertools.product(range(4), repeat=3):
        chance = np.exp2(-np.abs(outcomes - np.array(rows)).sum(axis=1).astype(np.float64)) / 27
        law: dict[tuple[int, ...], float] = defaultdict(float)
        for own, each in zip(found, chance.tolist(), strict=True):
            law[own] += each
        laws[rows] = chance, law
    worst = 0.0
    for rows, (chance, law) in laws.items():
        assert chance.sum() == pytest.approx(1, abs=1e-3)
        for at in range(3):
            more = tuple(count + (place == at) for place, count in enumerate(rows))
            if more in laws:
                other, found_of = laws[more]
                assert np.abs(np.log(chance / other)).max() <= math.log(2) + 1e-12
                worst = max(worst, *(abs(math.log(law[own] / found_of[own])) for own in law))
    assert 0.3 < worst <= math.log(2) + 1e-9
    assert len(set(found)) == 4


# --- whole releases with the outcomes of all draws fixed --------------------------------------------------------------


def refuse_more_than_the_claim(method: str, pair: str, seed: int) -> tuple[str, ...]:
    """Fail if something leaves that was not drawn, or draws disclose more than claimed; return what was found."""
    tables, policy, options = PAIRS[pair]
    replayed = replay(tables, seed, method=method, policy=policy, **METHODS[method], **options)
    first, second = replayed.leaves
    assert first == second, "what leaves must follow from the outcomes of the draws"
    release = replayed.releases[0]
    claim = float(release.report["guarantee"]["parameters"]["epsilon"])
    assert replayed.loss <= claim + 1e-9
    assert replayed.charge <= claim + 1e-9
    assert [one["name"] for one in release.params["spikes"]] == ["gain", "hours"]
    return tuple(note for note in release.report["notes"] if note.startswith("Values of "))


@pytest.mark.parametrize(("method", "pair"), [*zip(METHODS, PAIRS, strict=True)])
def test_the_search_leaves_through_its_draws_alone(method: str, pair: str) -> None:
    """Neighbours, one with a row at a spike, are the same bytes; the exact loss is within epsilon."""
    refuse_more_than_the_claim(method, pair, seed=len(pair))


MUTANTS: dict[str, Mutant] = {
    "candidates are counted without noise": Mutant(
        where="dp_trees.release.private_searches:noisy_histogram",
        old="noisy_counts(counts, rate, words)", new="counts",
        refused_by="bytes"),
    "what is found depends on exact counts": Mutant(
        where="dp_trees.release.private_searches:SpikeMethod.released_after_search",
        old="one.found) for one in histograms if one.found}",
        new="one.values.bounds[:1]) for one in histograms if exact[0] % 2}",
        refused_by="spikes"),
    "the search is not in the account": Mutant(
        where="dp_trees.release.private_searches:SpikeMethod._with_search",
        old="[one.draw for one in histograms]", new="[]", refused_by="account_lines"),
    "nothing is taken off for the search": Mutant(
        where="dp_trees.release.private_searches:SpikeMethod.after_spikes",
        old="sum(draw_units(draw) for draw in draws)", new="0", refused_by="epsilon"),
    "a row is in the cells of two candidates": Mutant(
        where="dp_trees.release.private_searches:candidate_counts", old="np.bincount(codes, minlength=size)",
        new="np.bincount(np.append(codes, codes), minlength=size)", refused_by="totals"),
}  # fmt: skip
LOUDER = Mutant(
    where="dp_trees.release.private_searches:noisy_histogram",
    old="counts, rate, words",
    new="counts, 4 * rate, words",
    refused_by="audit",
)  # fmt: skip
"""Noise at a multiple of its rate."""


@pytest.mark.parametrize("name", MUTANTS)
def test_a_search_that_tells_more_is_refused(name: str) -> None:
    """By the release itself, by bytes that differ, or by the exact loss."""
    with in_place(MUTANTS[name]), pytest.raises((AssertionError, GuaranteeError, InternalError)):
        refuse_more_than_the_claim("dp-nb", "a row at a spike", seed=1)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_outcome_of_many_tells_more_than_the_claim_after_a_search() -> None:
    """Every method and pair, outcomes of three seeds: some find spikes, and some find none."""
    notes = [
        refuse_more_than_the_claim(method, pair, seed) for method in METHODS for pair in PAIRS for seed in range(3)
    ]
    assert any(notes)
    assert not all(notes)


# --- audits -----------------------------------------------------------------------------------------------------------


def _samples(rate: float, runs: int) -> list[np.ndarray]:
    """Noisy counts of the first candidate, with what was found, of many searches with and without a row."""
    engine, made, samples = LocalEngine(), make_method("dp-nb", {"epsilon": 20.0, "bins": 4}), []
    few = Policy.from_dict({"columns": {"gain": COLUMNS["gain"], "ill": COLUMNS["ill"]}})
    for seed, rows in enumerate(([MORE[0]], [])):
        source, shown = engine.scan(table(list(rows)).select(["gain", "ill"]), few), []
        for run in range(runs):
            draft = made.release(source, few, engine=engine, rng=Randomness.seeded(seed).child(f"run {run}"))
            histogram: Any = draft.params["spikes"]
            shown.append(min(max(histogram[0]["counts"][0], -4), 5))
        samples.append(np.array(shown))
    return samples


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_audit_of_the_search_finds_its_share_and_no_more() -> None:
    """A table of one row at a candidate, and one of none; with noise at four times the rate it finds more."""
    share = 20.0 / 25
    first, second = _samples(share, 3_000)
    bound = lower_bound(first, second).lower_bound
    assert 0.4 * share < bound <= share
    with in_place(LOUDER):
        first, second = _samples(share, 1_500)
    assert lower_bound(first, second).lower_bound > share
