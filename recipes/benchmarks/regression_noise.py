"""Releases with noise of tables with a number to predict, scored on rows that were held out; not run by the tests.

    python recipes/benchmarks/regression_noise.py report [SEEDS]     the tables of docs/methods/details/dp_forest.md
    python recipes/benchmarks/regression_noise.py develop [SEEDS]    simulated ones, on which the constants were chosen

A table is halved at random: one half is released, and what `anonkit reconstruct` learns is scored on the other. Beside
it stand the mean, a tree of scikit-learn without privacy, and a plain private tree: a Gini tree of cuts grown on eight
equal bins of the target, whose leaves publish noisy sums and noisy counts of the numbers within the bounds (half of
epsilon for the splits, a quarter each for sums and counts); the best of depth 2, 3 and 4, chosen on the test rows.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeRegressor

import anonkit
from anonkit.comparing.model_scores import RECONSTRUCTED, scores_of_reconstruction
from anonkit.dp_trees.grower import grow
from anonkit.dp_trees.plan import Choices, Disjoint, NoisyClassCounts, Plan
from anonkit.dp_trees.questions import BatchCounter
from anonkit.dp_trees.release.coded_rows import CodedRows
from anonkit.dp_trees.release.stacked_trees import schema_of
from anonkit.dp_trees.split_selection import JointSelection
from anonkit.engines import open_engine
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import public_domains
from anonkit.randomness import Randomness
from anonkit.utility.consumer_models import number_scores

HERE = Path(__file__).resolve().parents[2]
ADULT = HERE.parent / "shared" / "data" / "adult.csv.gz"
EPSILONS = (0.5, 1.0, 3.0)
Scores = tuple[float, float]


def adult(target: str) -> Callable[[int], pd.DataFrame]:
    """Adult with another target than income, fnlwgt and the codes of education left out."""

    def table(seed: int) -> pd.DataFrame:
        rows = pd.read_csv(ADULT).drop(columns=["fnlwgt", "education"])
        return rows.rename(columns={target: "y"})

    return table


def diabetes(seed: int) -> pd.DataFrame:
    """442 patients, progression of the disease after a year."""
    found = load_diabetes(scaled=False)
    return pd.DataFrame(found.data, columns=found.feature_names).assign(y=found.target)


def friedman(seed: int) -> pd.DataFrame:
    """10,000 rows of Friedman's first function of five of eight numbers."""
    rng = np.random.default_rng(seed)
    x = rng.random((10_000, 8))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return pd.DataFrame(x, columns=[f"x{at}" for at in range(8)]).assign(y=y + rng.normal(0, 2, 10_000))


def incomes(seed: int) -> pd.DataFrame:
    """10,000 skewed numbers of five numbers and three categories, in bounds that reach far beyond most."""
    rng = np.random.default_rng(seed)
    x, c = rng.normal(size=(10_000, 5)), rng.integers(0, 4, (10_000, 3))
    y = np.exp(10 + 0.35 * x[:, 0] + 0.25 * x[:, 1] * (c[:, 0] > 1) + 0.2 * c[:, 1] + rng.normal(0, 0.5, 10_000))
    numbers = pd.DataFrame(x, columns=[f"x{at}" for at in range(5)])
    return numbers.assign(**{f"c{at}": [f"v{value}" for value in c[:, at]] for at in range(3)}, y=y)


TABLES: dict[str, dict[str, tuple[Callable[[int], pd.DataFrame], tuple[float, float]]]] = {
    "report": {
        "Adult, age": (adult("age"), (17, 90)),
        "Adult, hours per week": (adult("hours-per-week"), (1, 99)),
        "Adult, years of education": (adult("education-num"), (1, 16)),
        "diabetes (442 rows)": (diabetes, (0, 400)),
    },
    "develop": {"Friedman": (friedman, (-5, 35)), "incomes": (incomes, (0, 500_000))},
}


def policy_of(table: pd.DataFrame, bounds: tuple[float, float]) -> Policy:
    """Public domains of a public table: bounds and categories as they are."""
    columns: dict[str, Column] = {"y": Column(name="y", role=Role.TARGET, bounds=bounds)}
    for name in table.columns.drop("y"):
        if pd.api.types.is_numeric_dtype(table[name]):
            low, high = float(table[name].min()), float(table[name].max())
            columns[name] = Column(name=name, bounds=(low, high), missing=Missing.FIRST)
        else:
            columns[name] = Column(name=name, categories=tuple(sorted(table[name].unique())), missing=Missing.FIRST)
    return Policy(columns=columns)


def reconstructed(
    method: str, train: pd.DataFrame, test: pd.DataFrame, bounds: tuple[float, float], **given: Any
) -> Scores | None:
    """Release one half and score what a receiver learns on the other."""
    release = anonkit.release(train, method=method, policy=policy_of(train, bounds), ledger=None, **given)
    found = scores_of_reconstruction(release, pa.Table.from_pandas(test, preserve_index=False), "y").get(RECONSTRUCTED)
    return None if found is None else (found["r2"], found["mae"])


def without_privacy(train: pd.DataFrame, test: pd.DataFrame) -> Scores:
    """A tree of scikit-learn with leaves of twenty rows."""
    features = list(train.columns.drop("y"))
    texts = [name for name in features if not pd.api.types.is_numeric_dtype(train[name])]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1).fit(train[texts])
    halves = [half[features].copy() for half in (train, test)]
    for half in halves if texts else []:
        half[texts] = encoder.transform(half[texts])
    tree = DecisionTreeRegressor(min_samples_leaf=20, random_state=0).fit(halves[0], train["y"])
    return told(tree.predict(halves[1]), test)


def plain_private_tree(
    train: pd.DataFrame, test: pd.DataFrame, bounds: tuple[float, float], epsilon: float, seed: int, depth: int
) -> Scores:
    """Noisy means in the leaves of a private tree; float noise, for comparison alone."""
    policy = policy_of(train, bounds)
    schema = schema_of(public_domains(policy, target_required=True), 16)
    splits = Choices(
        rows=Disjoint(trees=1),
        levels=depth + 1,
        weights=(*[Fraction(1, 2 * depth)] * depth, Fraction(1, 2)),
        selection=JointSelection(),
        leaf=NoisyClassCounts(),
    )
    with closing(open_engine("local")) as engine:
        rows, fresh = (list(CodedRows(source=engine.scan(half, policy), schema=schema)()) for half in (train, test))
    forest = grow(
        Plan(choices=splits, schema=schema, epsilon=epsilon), BatchCounter(lambda: rows), Randomness.seeded(seed)
    )  # the half of epsilon that is for class counts buys sums and counts instead
    (low, high), n_nodes = bounds, len(forest.trees[0])
    leaves, asked = (np.concatenate([forest.leaves_of(batch.codes)[0] for batch in part]) for part in (rows, fresh))
    numbers = (np.clip(train["y"], low, high) - low) / (high - low)
    noise = np.random.default_rng(seed).laplace(0, 4 / epsilon, (2, n_nodes))
    sums = np.bincount(leaves, weights=numbers, minlength=n_nodes) + noise[0]
    counts = np.bincount(leaves, minlength=n_nodes) + noise[1]
    means = np.where(counts > 1, np.clip(sums / np.where(counts > 1, counts, 1.0), 0, 1), 0.5) * (high - low) + low
    return told(means[asked], test)


def told(predicted: np.ndarray, test: pd.DataFrame) -> Scores:
    """R² and mean absolute error."""
    scores = number_scores(np.asarray(predicted, dtype=np.float64), test["y"].to_numpy(dtype=np.float64))
    assert scores is not None
    return scores["r2"], scores["mae"]


def lines(
    train: pd.DataFrame, test: pd.DataFrame, bounds: tuple[float, float], seed: int
) -> Iterator[tuple[str, Scores | None]]:
    """Every comparison on one halving."""
    yield "the mean", told(np.full(len(test), train["y"].mean()), test)
    yield "a tree without privacy", without_privacy(train, test)
    for epsilon in EPSILONS:
        rivals = [plain_private_tree(train, test, bounds, epsilon, seed, depth) for depth in (2, 3, 4)]
        yield f"plain private tree, ε = {epsilon:g}", max(rivals)
        for method in ("dp-forest", "dp-nb", "edprf", "rr"):
            yield f"{method}, ε = {epsilon:g}", reconstructed(method, train, test, bounds, epsilon=epsilon)
    yield "ppnb, p_keep = 0.5", reconstructed("ppnb", train, test, bounds, p_keep=0.5)
    yield "errph, p_keep = 0.5", reconstructed("errph", train, test, bounds, p_keep=0.5, bins=8)


def main(which: str, seeds: int) -> None:
    """Print the mean and the standard deviation over halvings."""
    for name, (make, bounds) in TABLES[which].items():
        found: dict[str, list[Scores]] = {}
        for seed in range(seeds):
            table = make(seed)
            order = np.random.default_rng(seed).permutation(len(table))
            half = len(table) // 2
            train, test = (table.iloc[part].reset_index(drop=True) for part in (order[:half], order[half:]))
            for line, scores in lines(train, test, bounds, seed):
                if scores is not None:
                    found.setdefault(line, []).append(scores)
        print(f"{name}: {half:,} rows released", flush=True)
        for line, runs in found.items():
            (r2, mae), (spread, _) = np.mean(runs, axis=0), np.std(runs, axis=0)
            print(f"  {line:30} R² {r2:6.3f} ± {spread:.3f}  MAE {mae:8.4g}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3)
