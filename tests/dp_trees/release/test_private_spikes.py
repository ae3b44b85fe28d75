"""The search for spikes: which columns, at what price, and how their rows are counted."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.budget_rules.model_queries import TABLE
from anonkit.budget_rules.spike_rule import SPIKES_SHARE, candidates_of
from anonkit.domains.rounding_grid import WholeValues
from anonkit.dp_trees.questions import CodedBatch
from anonkit.dp_trees.release import private_searches
from anonkit.dp_trees.release.private_searches import SpikeHistogram, SpikeMethod, candidate_counts, noisy_histogram
from anonkit.errors import ParameterError
from anonkit.mechanisms.accounting import draw_units
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.methods import make_method
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import NumericAttribute, public_attribute
from anonkit.published.noisy_tables import LAPLACE
from anonkit.published.statements.noise_statement import Draw
from anonkit.randomness import Randomness

GAIN: dict[str, Any] = {"type": "integer", "bounds": [0, 999]}
COLUMNS: dict[str, Any] = {
    "gain": GAIN,
    "hours": {"type": "integer", "bounds": [1, 40]},
    "named": {**GAIN, "spikes": [0]},
    "few": {"type": "integer", "bounds": [0, 15]},
    "real": {"bounds": [0, 999]},
    "job": {"categories": ["cook", "nurse"]},
    "ill": {"role": "target", "categories": ["no", "yes"]},
}
RULE = [{"never": {"hours": 40, "job": "cook"}}]


def policy(*constraints: dict[str, Any], **more: Any) -> Policy:
    """The columns, with rules."""
    return Policy.from_dict({"columns": {**COLUMNS, **more}, "constraints": list(constraints)})


def method(name: str = "dp-nb", **given: Any) -> SpikeMethod:
    """A method that looks for spikes."""
    made = make_method(name, {"epsilon": 1.0, **given})
    assert isinstance(made, SpikeMethod)
    return made


def searched(made: SpikeMethod, *constraints: dict[str, Any]) -> list[str]:
    """The columns that are searched."""
    return [column.name for column in made.searched_columns(policy(*constraints))]


def test_integers_of_many_values_are_searched_and_no_others() -> None:
    """None of which the policy names spikes, none in a rule, and none with a delta or where it is not wanted."""
    assert searched(method()) == ["gain", "hours"]
    assert searched(method(), *RULE) == ["gain"]
    assert searched(method(bins=100)) == ["gain"]
    assert searched(method(delta=1e-6)) == searched(method(spikes="declared")) == []
    with pytest.raises(ParameterError, match="spikes"):
        method(spikes="all")


@given(st.floats(0.01, 20), st.integers(1, 3), st.sampled_from(["add-or-remove", "replace"]))
def test_the_search_and_what_is_left_come_to_epsilon(epsilon: float, rows: int, adjacency: str) -> None:
    """A twenty-fifth for the histograms of all columns, alike; nothing is lost but what rounding takes."""
    made = method(epsilon=epsilon, rows_per_unit=rows, adjacency=adjacency)
    changed = rows * (2 if adjacency == "replace" else 1)
    draws, left = made.spike_draws(policy()), made.after_spikes(policy())
    spent = Fraction(sum(map(draw_units, draws)) * changed, 1 << 52)
    assert len({draw.rate for draw in draws}) == 1
    assert spent <= Fraction(epsilon) * SPIKES_SHARE
    assert spent + Fraction(left.epsilon) <= Fraction(epsilon)
    assert float(spent + Fraction(left.epsilon)) == pytest.approx(epsilon, rel=1e-12)
    assert left.searched_columns(policy()) == ()
    assert left.after_spikes(policy()) == left


@given(st.lists(st.integers(0, 999), max_size=40), st.sampled_from([1, 3, 10]))
def test_each_candidate_is_counted_by_itself_and_all_else_together(numbers: list[int], step: int) -> None:
    """Against a count of the numbers; a row is in one cell."""
    values = WholeValues.within(0, 999 * step, step)
    column = public_attribute(
        policy(gain={**GAIN, "bounds": [0, 999 * step], "step": step, "type": "number"}).column("gain")
    )
    assert isinstance(column, NumericAttribute)
    grid = private_searches._grid(column)
    codes = grid.encode(np.array(numbers, dtype=np.float64) * step)[np.newaxis]
    batch = CodedBatch(codes=codes, labels=np.zeros(len(numbers), dtype=np.int64), first_row=0)
    counts = candidate_counts(batch, [grid.size])
    assert counts.sum() == len(numbers)
    found = private_searches._folded(counts, values)
    seen, candidates = Counter(numbers), candidates_of(0, 999)
    assert found[:-1].tolist() == [seen[place] for place in candidates]
    assert found[-1] == sum(n for number, n in seen.items() if number not in candidates)


def test_a_histogram_has_noise_of_its_rate_and_states_what_follows_from_it() -> None:
    """4,000 cells of nothing have the variance of the law; what is found is in the unit of the column."""
    rate, words = 1 << 51, UniformStream(Randomness.seeded(1))
    noise = noisy_histogram(np.zeros(4_000, dtype=np.int64), rate, words)
    ratio = np.exp(-rate / 2**52)
    assert noise.var() == pytest.approx(2 * ratio / (1 - ratio) ** 2, rel=0.15)
    values = WholeValues.within(0, 90, 10)
    draw = Draw(name="spikes of pay", query=TABLE, law=LAPLACE, rate=rate)
    counts = np.array([500, *[3] * 8, 400, 10])
    histogram = SpikeHistogram(name="pay", values=values, counts=counts, draw=draw)
    assert (histogram.found, histogram.every) == ((0, 90), 10)
    assert histogram.to_params() == {
        "name": "pay", "every": 10, "counts": counts.tolist(), "rate": rate, "threshold": histogram.threshold
    }  # fmt: skip
