"""Scores of naive Bayes estimated on released rows, beside those on true rows, and what a grid search picks by them.

Run it:  python recipes/benchmarks/released_scores.py [--releases 5]
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, KFold

import anonkit
from anonkit.consumers import NaiveBayes
from anonkit.consumers.column_statistics import Columns
from anonkit.consumers.release_files import looks_released
from anonkit.datasets import bank_customers, bank_customers_policy

GRID = {"estimator": ["likelihood", "published"], "smoothing": [0.5, 50.0, 1000.0], "numbers": ["histogram", "normal"]}
SETTINGS: tuple[dict[str, Any], ...] = (
    {"method": "rr", "epsilon": 1.0},
    {"method": "rr", "epsilon": 2.0},
    {"method": "rr", "epsilon": 4.0},
    {"method": "rr", "epsilon": 8.0},
    {"method": "rr", "epsilon": 20.0, "allocation": "split"},
    {"method": "ppnb", "p_keep": 0.5},
    {"method": "ppnb", "p_keep": 0.35},
)
WARNED: tuple[dict[str, Any], ...] = (
    {"method": "rr", "epsilon": 0.1},
    {"method": "rr", "epsilon": 8.0},
    {"method": "rr", "epsilon": 2.0, "allocation": "split"},
    {"method": "rr", "epsilon": 40.0, "allocation": "split"},
    {"method": "errph", "p_keep": 0.05, "bins": 8},
    {"method": "errph", "p_keep": 0.5, "bins": 8},
    {"method": "errph", "p_keep": 0.95, "bins": 8},
    {"method": "ppnb", "p_keep": 0.05},
    {"method": "ppnb", "p_keep": 0.5},
    {"method": "ppnb", "p_keep": 0.95},
)


def made(rows: int, seed: int, setting: dict[str, Any]) -> tuple[pd.DataFrame, Any]:
    """Return a release of simulated customers, and its params."""
    release = anonkit.release(bank_customers(rows, 0), policy=bank_customers_policy(), seed=seed, **setting)
    return release.to_pandas(), release.params


def scored(rows: int, seed: int, setting: dict[str, Any], test: Any) -> tuple[float, float, float]:
    """Return the mean score of five folds on true rows, on released rows by the scorer, and on them as they are."""
    released, params = made(rows, seed, setting)
    target = "customer_value"
    truth = np.array(test[target].to_pylist(), dtype=object)
    found = []
    for train, held in KFold(5).split(released):
        model = NaiveBayes(params).fit(released.iloc[train])
        rows_held = released.iloc[held]
        shown = rows_held[target].astype(object)
        found.append(
            (
                float((model.predict(test) == truth).mean()),
                anonkit.release_scorer()(model, rows_held),
                float((model.predict(rows_held) == shown).mean()),
            )
        )
    return tuple(np.mean(found, axis=0).tolist())  # type: ignore[return-value]


def searched(rows: int, seed: int, setting: dict[str, Any], test: Any) -> tuple[float, float, float]:
    """Return the accuracy on true rows of what a grid search picks with the scorer, without it, and of the best."""
    released, params = made(rows, seed, setting)
    truth = np.array(test["customer_value"].to_pylist(), dtype=object)
    search = GridSearchCV(NaiveBayes(params), GRID, scoring=anonkit.release_scorer(params), cv=3, refit=False)
    search.fit(released)
    plain = GridSearchCV(NaiveBayes(params), GRID, cv=3, refit=False).fit(released)
    worth = [
        float((NaiveBayes(params, **one).fit(released).predict(test) == truth).mean())
        for one in search.cv_results_["params"]
    ]
    return worth[search.best_index_], worth[plain.best_index_], max(worth)


def warned(rows: int, setting: dict[str, Any], releases: int) -> tuple[float, float]:
    """Return how often 2,000 true rows are taken for answers, and how often 2,000 answers are not recognized."""
    false, missed = 0, 0
    for seed in range(releases):
        released, params = made(rows + 2_000, seed, setting)
        model = NaiveBayes(params).fit(released[:rows])
        test = Columns(bank_customers(2_000, 1_000 + seed).drop_columns(["customer_value"]))
        false += looks_released(model.statistics_, test)
        missed += not looks_released(model.statistics_, Columns(released[rows:]))
    return false / releases, missed / releases


def main() -> None:
    """Print the tables of the documentation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20_000)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    test = bank_customers(10_000, 1)
    for setting in SETTINGS:
        said = ", ".join(str(value) for value in setting.values())
        scores = np.array([scored(asked.rows, seed, setting, test) for seed in range(asked.releases)])
        off = scores[:, 1] - scores[:, 0]
        print(f"{said}: true {scores[:, 0].mean():.3f}, scorer off by {off.mean():+.3f} ± {off.std():.3f}, ", end="")
        print(f"as they stand {scores[:, 2].mean():.3f}", flush=True)
    for setting in WARNED:
        said = ", ".join(str(value) for value in setting.values())
        false, missed = warned(5_000, setting, 10 * asked.releases)
        print(f"{said}: false alarms {false:.3f}, misses {missed:.3f}", flush=True)
    for setting in SETTINGS:
        said = ", ".join(str(value) for value in setting.values())
        picks = np.array([searched(asked.rows, seed, setting, test) for seed in range(asked.releases)])
        print(f"{said}: best {picks[:, 2].mean():.3f}, picked {picks[:, 0].mean():.3f} ", end="")
        print(
            f"(worst loss {(picks[:, 2] - picks[:, 0]).max():.3f}), without the scorer {picks[:, 1].mean():.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
