"""The share of `reconstruct` calls that warn that nothing can be learned, with and without something to learn.

Run it:  python recipes/benchmarks/told_or_not.py [--releases 20]
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import pyarrow as pa

import anonkit
from anonkit.consumers import NaiveBayes
from anonkit.consumers.learning_power import LearningPower, learning_power
from anonkit.datasets import bank_customers, bank_customers_policy

TARGET = "customer_value"
METHODS: tuple[dict[str, Any], ...] = (
    {"method": "rr", "epsilon": 0.1},
    {"method": "rr", "epsilon": 1.0},
    {"method": "rr", "epsilon": 4.0},
    {"method": "rr", "epsilon": 4.0, "label": "clear"},
    {"method": "rr", "epsilon": 4.0, "allocation": "split"},
    {"method": "errph", "p_keep": 0.02, "bins": 8},
    {"method": "errph", "p_keep": 0.35, "bins": 8},
    {"method": "ppnb", "p_keep": 0.02},
    {"method": "ppnb", "p_keep": 0.35},
    {"method": "dp-nb", "epsilon": 0.1},
    {"method": "dp-nb", "epsilon": 1.0},
)
ROWS = (200, 2_000, 20_000)


def power(rows: int, seed: int, method: dict[str, Any], *, shuffled: bool) -> tuple[LearningPower, NaiveBayes]:
    """Return the predictive power of a release of fresh customers, with classes dealt out at random on request."""
    table = bank_customers(rows, 100 + seed)
    if shuffled:
        order = np.random.default_rng(seed).permutation(rows)
        table = table.set_column(table.schema.get_field_index(TARGET), TARGET, table[TARGET].take(pa.array(order)))
    made = anonkit.release(table, policy=bank_customers_policy(), seed=seed, **method)
    model = NaiveBayes(made.params).fit(made.to_arrow())
    return learning_power(model.model_), model


def main() -> None:
    """Print the table of the documentation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=20)
    releases = parser.parse_args().releases
    warnings.simplefilter("ignore")
    test = bank_customers(5_000, 1)
    truth = np.array(test[TARGET].to_pylist(), dtype=object)
    usual = max(float((truth == name).mean()) for name in np.unique(truth))
    for method in METHODS:
        for rows in ROWS:
            found = [power(rows, seed, method, shuffled=False) for seed in range(releases)]
            gain = np.mean([(model.predict(test) == truth).mean() - usual for _, model in found])
            warned = np.mean([not one.class_effect_told for one, _ in found])
            base = np.mean([not one.base_rate_told for one, _ in found])
            none = np.mean(
                [not power(rows, seed, method, shuffled=True)[0].class_effect_told for seed in range(releases)]
            )
            needed = np.median([one.rows_for_class_effect or np.inf for one, _ in found])
            said = ", ".join(str(value) for value in method.values())
            print(f"{said} | {rows} | {gain:+.3f} | {warned:.2f} | {none:.2f} | {base:.2f} | {needed:.0f}", flush=True)


if __name__ == "__main__":
    main()
