"""The tables on docs/methods/mdav.md: labels, intervals, means and groups on six tables; what blocks lose; 1 M rows.

`python recipes/benchmarks/mdav_beside_means.py [rules|blocks|WORD OF A TABLE …]` prints them. Rows of one half are
released, a receiver's forest learns from them, and the other half is foretold from its own numbers.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from means_beside_intervals import policy_of, tables
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

import anonkit
from anonkit.bundle.bound_columns import labelled_rows
from anonkit.consumers import ReleaseFeatures
from anonkit.k_anonymity.search.microaggregation import BLOCK, means_of, microaggregated
from anonkit.published.recoding import recoding_from_dict

Matrix = Any


def halves(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return the rows of a table in two halves, drawn with a fixed seed."""
    order = np.random.default_rng(1).permutation(table.num_rows)
    half = table.num_rows // 2
    return table.take(np.sort(order[:half])), table.take(np.sort(order[half:]))


def auc(train: Matrix, labels: Any, test: Matrix, truth: Any) -> float:
    """Return the AUC of a receiver's forest, of several classes one against the rest."""
    forest = RandomForestClassifier(200, min_samples_leaf=5, random_state=1).fit(train, labels)
    shares = forest.predict_proba(test)
    if shares.shape[1] == 2:
        return float(roc_auc_score(truth == forest.classes_[1], shares[:, 1]))
    return float(roc_auc_score(truth, shares, multi_class="ovr", labels=forest.classes_))


def released(table: pa.Table, target: str, k: int, method: str) -> Any:
    """Release a table by a method, by mondrian with means beside the bounds."""
    more: dict[str, Any] = {"cells": "means"} if method == "mondrian" else {}
    return anonkit.release(
        table, method=method, k=k, policy=policy_of(table, target), ledger=None, utility=False, **more
    )


def from_labels(release: Any, target: str, test: pa.Table) -> tuple[Matrix, Matrix]:
    """Return one-hot coded labels of released rows, and of test rows as they would be shown."""
    train = labelled_rows(release).drop_columns([target]).to_pandas()
    batch = test.combine_chunks().to_batches()[0]
    shown = pa.table(recoding_from_dict(release.params["recoding"]).apply(batch)[0]).to_pandas()
    names = [name for name in train.columns if name in shown]
    both = pd.get_dummies(pd.concat([train[names], shown[names]]).astype("string").fillna("missing"))
    return both.iloc[: len(train)], both.iloc[len(train) :]


def from_means(release: Any, target: str, test: pa.Table) -> tuple[Matrix, Matrix]:
    """Return the means of released rows with the features of their categories, and the test rows' own numbers."""
    frame, columns = release.to_pandas(), release.params["bounds"]
    features = ReleaseFeatures(release).fit(frame)
    own = {f"{name}_{end}" for name in columns for end in ("low", "high", "mid", "missing")}
    other = [at for at, name in enumerate(features.get_feature_names_out()) if name not in own]
    numbers = frame[[entry["mean"] for entry in columns.values()]].to_numpy(float)
    middle = np.nanmedian(numbers, axis=0)
    found = test.select(list(columns)).to_pandas().to_numpy(float)
    filled = [np.where(np.isnan(each), middle, each) for each in (numbers, found)]
    parts = features.transform(frame)[:, other], features.transform(test.to_pandas())[:, other]
    return tuple(np.column_stack(pair) for pair in zip(filled, parts, strict=True))  # type: ignore[return-value]


def from_features(release: Any, test: pa.Table) -> tuple[Matrix, Matrix]:
    """Return what `ReleaseFeatures` makes of released rows and of test rows."""
    frame = release.to_pandas()
    features = ReleaseFeatures(release).fit(frame)
    return features.transform(frame), features.transform(test.to_pandas())


def scores(name: str, table: pa.Table, target: str, k: int) -> str:
    """Return one line of the first table."""
    rows, test = halves(table.filter(table[target].is_valid()))
    truth = test[target].to_numpy(zero_copy_only=False)
    boxes, groups = (released(rows, target, k, method) for method in ("mondrian", "mdav"))
    labels = {
        which: release.to_arrow()[target].to_numpy(zero_copy_only=False)
        for which, release in (("b", boxes), ("g", groups))
    }
    found = [
        auc(pair[0], labels[which], pair[1], truth)
        for which, pair in (
            ("b", from_labels(boxes, target, test)),
            ("b", from_features(boxes, test)),
            ("b", from_means(boxes, target, test)),
            ("g", from_features(groups, test)),
        )
    ]
    shown = [entry["name"] for entry in groups.report["columns"] if entry["action"] != "dropped"]
    return (
        f"| {name} ({rows.num_rows:,}) | {k} | {' | '.join(f'{one:.3f}' for one in found)} "
        f"| {len(shown) - 1} of {len(table.column_names) - 1} | {groups.report['rows']['suppressed']} |"
    )


def distances(name: str, table: pa.Table, target: str, k: int) -> str:
    """Return one line of the second table: the whole table, middles, means, groups."""
    boxes, groups = (released(table, target, k, method) for method in ("mondrian", "mdav"))
    of_boxes, of_groups = boxes.owner["number_distances"], groups.owner["number_distances"]["means"]
    columns = [
        f"{of_boxes['middles'].get(key, 0):.3f} → {of_boxes['means'].get(key, 0):.3f} → {of_groups.get(key, 0):.3f}"
        for key in ("il1s_per_cell", "eigenvalues", "correlations")
    ]
    withheld = groups.owner["means"]
    cells = groups.owner["search"]["groups"] * len(withheld)
    for rule in ("p_percent", "dominance"):
        columns.append(f"{sum(each[rule] for each in withheld.values()) / cells:.1%}".replace("%", " %"))
    numbers = f"{of_boxes['means']['columns']}, {of_groups.get('columns', 0)}"
    return f"| {name} ({table.num_rows:,}) | {k} | {numbers} | {' | '.join(columns)} |"


def blocks() -> None:
    """Print the loss of blocks on 40,000 points, and what either takes."""
    print("| points | columns | k | whole: loss, CPU s | blocks: loss, CPU s |")
    print("| --- | --- | --- | --- | --- |")
    for kind, n_columns in (("normal", 2), ("normal", 5), ("lognormal", 3)):
        points = np.random.default_rng(2).normal(size=(40_000, n_columns))
        points = np.exp(points) if kind == "lognormal" else points
        points = (points - points.mean(axis=0)) / points.std(axis=0)
        weights = np.ones(len(points), np.int64)
        for k in (3, 10):
            cells = []
            for block in (40_000, BLOCK):
                started = time.process_time()
                groups = microaggregated(points, weights, k, block=block)
                took = time.process_time() - started
                own = points - means_of(points, weights, groups, int(groups.max()) + 1)[groups]
                cells.append(f"{(own**2).sum() / (points**2).sum():.3%}, {took:.2f}".replace("%", " %"))
            print(f"| 40,000 {kind} | {n_columns} | {k} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    asked = sys.argv[1:]
    if asked == ["blocks"]:
        blocks()
        sys.exit()
    line = distances if "rules" in asked else scores
    words = [word for word in asked if word != "rules"]
    for title, table_, of in tables():
        for size in (5, 20):
            if not words or any(word in title for word in words):
                print(line(title, table_, of, size), flush=True)
