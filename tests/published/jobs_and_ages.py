"""Noisy tables of 150 people by job and by age, in two classes."""

from __future__ import annotations

import numpy as np

from anonkit.domains.number_bins import Categories, Grid
from anonkit.mechanisms.accounting import units_of
from anonkit.mechanisms.noisy_histograms import noisy_tables
from anonkit.published.noisy_tables import NoisyTables
from anonkit.randomness import Randomness

CLASSES = Categories(values=("no", "yes"))
JOBS = Categories(values=("a", "b", "c"), has_missing=True)
AGES = Grid(lower=0, upper=10, cells=5)


def jobs_and_ages(seed: int = 1, epsilon: float = 0.5) -> NoisyTables:
    """Draw the tables: 100 and 50 people, noise of epsilon in jobs and class sizes, of twice that in ages."""
    rate = units_of(epsilon)
    jobs = np.array([[40, 30, 20, 10], [5, 10, 15, 20]])
    ages = np.array([[20] * 5, [10] * 5])
    return noisy_tables(
        ("t", CLASSES, np.array([100, 50]), rate),
        [("job", JOBS, jobs, rate), ("age", AGES, ages, 2 * rate)],
        Randomness.seeded(seed),
    )
