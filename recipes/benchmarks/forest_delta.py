"""The gain of `dp-forest` from a delta: the same tables learned with and without it, in memory, without files.

    python recipes/benchmarks/forest_delta.py report|develop [SEEDS]

`report`: the tables of docs/methods/details/dp_forest.md. `develop`: the simulated ones on which the number of
further attributes was chosen. Small tables have three times as many seeds. In brackets: twice the standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pandas as pd
from dp_forest import DATA, _frame, adult_policy, policy_of, scikit_tables
from left_out_tables import Coded, _coded, forest, planned, simulated
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import train_test_split

EPSILONS, DELTAS = (0.1, 0.5, 1.0), (1e-9, 1e-6)
FEW_ROWS = 2_500


def divided(name: str, table: pd.DataFrame) -> Coded:
    """A third of the rows held out."""
    train, test = train_test_split(table, test_size=1 / 3, random_state=1, stratify=table["y"])
    return _coded(name, train, test, policy_of(table, "y"), "y")


def reported() -> Iterator[Coded]:
    """Tables of many attributes, and Adult with its fourteen."""
    yield divided("digits", _frame(*load_digits(return_X_y=True)))
    yield divided("breast cancer", next(table for name, table in scikit_tables() if name == "breast cancer"))
    for name, table in simulated():
        if name.startswith(("credit", "50 numbers")):
            yield divided(name, table)
    train, test = pd.read_csv(DATA / "adult_train.csv.gz"), pd.read_csv(DATA / "adult_test.csv")
    yield _coded("adult", train, test, adult_policy(), "income")


def mixed(rows: int, numbers: int, categories: int, common: float, seed: int, classes: int) -> pd.DataFrame:
    """Numbers with a common factor and categories, four of each of which one says much of the class and one nothing."""
    draw = np.random.default_rng(seed)
    y = (draw.random(rows) < 0.3).astype(int) if classes == 2 else draw.integers(0, classes, rows)
    centres, factor = draw.normal(size=(classes, numbers)), draw.normal(size=rows)
    found: dict[str, object] = {}
    for at in range(numbers):
        said = y if classes == 2 else centres[y, at]
        latent = common * factor + np.sqrt(1 - common**2) * draw.normal(size=rows) + (0.8, 0.4, 0.2, 0)[at % 4] * said
        found[f"n{at}"] = 10 * latent if at % 3 == 1 else np.exp(1.1 * latent)
    for at in range(categories):
        size = (2, 3, 10, 4, 7)[at % 5]
        odds = np.arange(1, size + 1) ** -1.3 * np.exp((0.9, 0.45, 0.15, 0)[at % 4] * draw.normal(size=(classes, size)))
        ends = (odds / odds.sum(axis=1, keepdims=True)).cumsum(axis=1)
        codes = (draw.random(rows)[:, np.newaxis] > ends[y]).sum(axis=1).clip(0, size - 1)
        found[f"c{at}"] = [f"v{code}" for code in codes]
    return pd.DataFrame(found).assign(y=[f"class {one}" for one in y])


def developed() -> Iterator[Coded]:
    """Simulated tables that are not reported: of few rows and many attributes, where not all of these are measured."""
    for rows, numbers, categories, common, classes in (
        (900, 12, 12, 0.4, 2), (3_000, 20, 20, 0.3, 3), (6_000, 60, 40, 0.3, 5), (2_250, 30, 20, 0.3, 8),
        (12_000, 15, 15, 0.5, 2),
    ):  # fmt: skip
        name = f"{numbers + categories} attributes, {classes} classes"
        yield divided(name, mixed(rows, numbers, categories, common, rows, classes))
    numeric = make_classification(1_500, n_features=30, n_informative=12, n_redundant=10, random_state=5)
    yield divided("30 numbers", _frame(*numeric))


def learned(table: Coded, epsilon: float, delta: float, seed: int) -> tuple[float, ...]:
    """Plan and learn as a release does, and score the held-out rows; return the number of measured attributes, too."""
    plan = planned(table, epsilon, seed).with_delta(Fraction(delta))
    return (*forest(table, plan, seed), plan.rule.measured)


def main(kind: str, seeds: int) -> None:
    """Print one line a table, epsilon and delta."""
    for table in reported() if kind == "report" else developed():
        for epsilon in EPSILONS:
            runs = range(seeds * (3 if table.labels.size < FEW_ROWS else 1))
            pure = np.array([learned(table, epsilon, 0.0, seed) for seed in runs])
            shown = f"{pure[:, 0].mean():.3f} / {pure[:, 2].mean():.3f}, {pure[0, 3]:.0f} asked"
            for delta in DELTAS:
                mine = np.array([learned(table, epsilon, delta, seed) for seed in runs])
                if (mine == pure).all():
                    shown += f" | {delta:g}: the same"
                    continue
                gain = mine.mean(axis=0) - pure.mean(axis=0)
                error = 2 * np.sqrt((mine.var(axis=0, ddof=1) + pure.var(axis=0, ddof=1)) / len(runs))
                shown += f" | {delta:g}: {gain[0]:+.3f} ({error[0]:.3f}) / {gain[2]:+.3f} ({error[2]:.3f})"
                shown += f", {mine[0, 3]:.0f} asked"
            print(f"{table.name:28} {epsilon:4}: {shown}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 8)
