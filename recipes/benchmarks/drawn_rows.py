"""True rows under both promises (`safepub`) beside `rfka` at the same k and `dp-forest` at the same epsilon, on Adult.

Run it:  python recipes/benchmarks/drawn_rows.py [--seeds 5] [--epsilons 1 2] [--delta 1e-6] [--columns 8 14]

A random forest (100 trees, 5 rows a leaf) is trained on the rows that are shown and scored on Adult's own test rows,
shown by the same scheme: mean and standard deviation over the seeds. Domains are those of the codebook, with no tree.
The figures are on the page of safepub.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from dp_forest import adult_policy
from held_out import USUAL_EIGHT
from release_features import DATA, TARGET, dummies, recoded
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

import anonkit
from anonkit.policy.declaration import Policy

Line = tuple[float, float, int]
"""AUC, share of the rows that are shown, columns beside the target."""


def auc(train: pd.DataFrame, labels: pd.Series[str], test: pd.DataFrame, truth: np.ndarray[Any, Any]) -> float:
    """Return the AUC of the forest; of no column, .5."""
    if not train.shape[1] or labels.nunique() < 2:
        return 0.5
    bits, test_bits = dummies(train, test[list(train.columns)])
    forest = RandomForestClassifier(100, min_samples_leaf=5, n_jobs=2, random_state=0).fit(bits, labels == ">50K")
    return float(roc_auc_score(truth, forest.predict_proba(test_bits)[:, 1]))


def line(train: pd.DataFrame, test: pd.DataFrame, **asked: Any) -> Line:
    """Release the train rows and score what is learned of them."""
    truth = (test[TARGET] == ">50K").to_numpy()
    shown = (release := anonkit.release(train, ledger=None, **asked)).to_pandas()
    if shown.empty:
        return 0.5, 0.0, 0
    cells = shown.drop(columns=TARGET)
    test_cells = test if asked["method"] == "dp-forest" else recoded(dict(release.params), test)
    return auc(cells, shown[TARGET], test_cells, truth), len(shown) / len(train), cells.shape[1]


def lines(columns: tuple[str, ...], policy: Policy, epsilon: float, delta: float, seeds: int) -> Iterator[str]:
    """Yield the lines of the table for one set of columns and one epsilon."""
    names = [*columns, TARGET]
    train = pd.read_csv(DATA / "adult_train.csv.gz", keep_default_na=False)[names]
    test = pd.read_csv(DATA / "adult_test.csv", keep_default_na=False)[names]
    own = replace(policy, columns={name: policy.columns[name] for name in names})
    promise = {"policy": own, "epsilon": epsilon}
    drawn = [line(train, test, method="safepub", delta=delta, seed=seed, **promise) for seed in range(seeds)]
    safe = anonkit.release(train, method="safepub", delta=delta, seed=0, ledger=None, **promise)
    k = safe.report["guarantee"]["parameters"]["k"]
    yield told(len(columns), epsilon, f"`safepub`, k = {k}", drawn)
    forest = [line(train, test, method="dp-forest", seed=seed, **promise) for seed in range(seeds)]
    yield told(len(columns), epsilon, "`dp-forest`", forest)
    grouped = [line(train, test, method="rfka", k=k, target=TARGET, seed=seed) for seed in range(seeds)]
    yield told(len(columns), epsilon, f"`rfka`, k = {k}", grouped)


def told(n_columns: int, epsilon: float, name: str, found: list[Line]) -> str:
    """Return one line of the table."""
    scores, shares, shown = zip(*found, strict=True)
    spread = f"{np.mean(scores):.3f} ({np.std(scores, ddof=1):.3f})".replace("0.", ".")
    columns = str(min(shown)) if min(shown) == max(shown) else f"{min(shown)} – {max(shown)}"
    return f"| {n_columns} | {epsilon:g} | {name} | {spread} | {100 * np.mean(shares):.0f} % | {columns} |"


def main() -> None:
    """Print the table of the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 2.0])
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--columns", type=int, nargs="+", default=[8, 14], choices=(8, 14))
    asked = parser.parse_args()
    policy = adult_policy()
    every = tuple(name for name in policy.columns if name != TARGET)
    print("| columns | ε | method | AUC | rows shown | columns shown |\n| --- | --- | --- | --- | --- | --- |")
    for n_columns in asked.columns:
        for epsilon in asked.epsilons:
            columns = USUAL_EIGHT if n_columns == 8 else every
            for text in lines(columns, policy, epsilon, asked.delta, asked.seeds):
                print(text, flush=True)


if __name__ == "__main__":
    main()
