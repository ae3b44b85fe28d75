"""Noisy tables: their noise, what they say together, the rows drawn from them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from anonkit.errors import ReleaseFormatError
from anonkit.mechanisms.accounting import units_of
from anonkit.mechanisms.discrete_laplace import UniformStream, discrete_laplace
from anonkit.published.noisy_tables import NoisyTable, NoisyTables, noise_variance
from anonkit.randomness import Randomness
from tests.published.jobs_and_ages import jobs_and_ages


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
def test_the_variance_is_that_of_the_noise(epsilon: float) -> None:
    """200,000 draws: within 5 % of 2 q / (1 - q)²."""
    rate = units_of(epsilon)
    drawn = discrete_laplace(200_000, rate, UniformStream(Randomness.seeded(1)))
    assert drawn.var() == pytest.approx(noise_variance(rate), rel=0.05)


@pytest.mark.untraced
def test_all_tables_together_tell_class_sizes_best() -> None:
    """Over 400 draws the pooled sizes are unbiased and have the variance that is stated, below that of any table."""
    found = np.array([jobs_and_ages(seed).class_sizes[0] for seed in range(400)])
    stated = jobs_and_ages().class_sizes[1][0]
    assert np.allclose(found.mean(axis=0), [100, 50], atol=5 * np.sqrt(stated / 400))
    assert found.var(axis=0).mean() == pytest.approx(stated, rel=0.2)
    assert stated < noise_variance(units_of(0.5))


def test_params_bring_the_tables_back() -> None:
    """Through JSON and back: the same counts, rates and domains."""
    tables = jobs_and_ages()
    again = NoisyTables.from_params(json.loads(json.dumps(tables.to_params())))
    assert again.to_params() == tables.to_params()
    assert isinstance(again.tables[0], NoisyTable)


@pytest.mark.parametrize("damage", [{"format": "other"}, {"class_rate": 0}, {"class_counts": [1]}, {"attributes": 3}])
def test_damaged_params_are_refused(damage: dict[str, object]) -> None:
    """No traceback, whatever is missing or contradicts itself."""
    with pytest.raises(ReleaseFormatError):
        NoisyTables.from_params({**jobs_and_ages().to_params(), **damage})
