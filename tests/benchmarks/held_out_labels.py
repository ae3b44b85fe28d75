"""What it costs that a search does not see the labels of a fifth of the rows, and how often the intervals are right.

`lost`: the protocol of `kept_columns.py` on its ten tables, with and without `all_labels`: half A's labels choose the
recoding, half B's score the released cells. No label is hidden in tables of fewer than 1,750 rows.

`null`: tables of six columns whose target is a coin. An interval of the AUC is right where it holds .5.

`covered`: 4,000 rows of ten larger tables are released. The interval should hold the mean AUC of such releases; beside
it stands what the same models reach on other rows of the table, recoded alike, of which the search has seen nothing.

Run it:  python tests/benchmarks/held_out_labels.py lost|null|covered [--runs N]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from held_out import SPLITS
from kept_columns import TABLES, Table, measured
from sklearn import datasets

import anonkit
from anonkit.checks.utility import predictive_utility
from anonkit.datasets.simulated_tables import simulated_table
from anonkit.published.recoding import recoding_from_dict

METHODS = ("rfka", "mondrian")
ROWS = 4_000
"""Rows that are released of a larger table."""


def lost(runs: int) -> Iterator[str]:
    """Yield the AUC of the release with and without all labels, table by table."""
    yield "| table | rfka, all labels | rfka, a fifth hidden | mondrian, all labels | mondrian, a fifth hidden |"
    yield "| --- | --- | --- | --- | --- |"
    settings = [{"method": method, "all_labels": every} for method in METHODS for every in (True, False)]
    for name, load in TABLES.items():
        table = load()
        found = [[measured(table, seed, dict(one))[1] for one in settings] for seed in SPLITS[: max(runs, 1)]]
        cells = " | ".join(f"{score:.4f}" for score in np.mean(found, axis=0))
        yield f"| {name}, {len(table[0]):,} × {table[0].shape[1]} | {cells} |"


def coin_table(seed: int, rows: int = 3_000) -> pa.Table:
    """Return a table of six columns whose target is a coin."""
    random = np.random.default_rng(seed)
    columns = {f"c{at}": random.integers(0, size, rows) for at, size in enumerate((8, 30, 100, 4, 12, 60))}
    return pa.table({**columns, "y": np.where(random.random(rows) < 0.5, "a", "b")})


def null(runs: int) -> Iterator[str]:
    """Yield how often the interval of a coin's AUC holds .5, and how often it lies above."""
    for method in METHODS:
        ends = []
        for seed in range(runs):
            scores = _released(coin_table(seed), "y", method).report["utility"].get("prediction_of_target")
            ends += [] if scores is None else [scores["ci"]["auc"]]  # nothing is stated where no column is shown
        right, above = sum(low <= 0.5 <= high for low, high in ends), sum(low > 0.5 for low, _ in ends)
        yield f"{method}: of {len(ends)} intervals {right} hold .5, {above} lie above"


def _released(table: pa.Table, target: str, method: str) -> anonkit.Release:
    roles = {name: {"role": "quasi_identifier"} for name in table.column_names if name != target}
    policy = anonkit.Policy.from_dict({"columns": roles})
    return anonkit.release(table, method=method, k=10, target=target, unit="none", policy=policy, ledger=None)


def _simulated(name: str, target: str, holds: Callable[[pd.Series], pd.Series], *drop: str) -> Table:
    frame = simulated_table(name, 30_000, 3).to_pandas().drop(columns=list(drop))
    return frame, holds(frame.pop(target)).to_numpy()


def _numbers(cells: np.ndarray, labels: np.ndarray) -> Table:
    return pd.DataFrame(cells.round(1), columns=[f"x{at}" for at in range(cells.shape[1])]), labels


def _friedman(number: int) -> Table:
    make = {1: datasets.make_friedman1, 2: datasets.make_friedman2, 3: datasets.make_friedman3}[number]
    cells, value = make(30_000, noise=2.0 if number == 1 else 0.0, random_state=number)
    return _numbers(cells * (10 if number == 1 else 1), value > np.median(value))


def _hastie() -> Table:
    cells, labels = datasets.make_hastie_10_2(30_000, random_state=4)
    return _numbers(cells, labels == 1)


def _classes(seed: int, flip: float, rare: float) -> Table:
    cells, labels = datasets.make_classification(
        30_000, 12, n_informative=5, flip_y=flip, weights=[1 - rare], random_state=seed
    )
    return _numbers(cells, labels == 1)


LARGE: dict[str, Callable[[], Table]] = {
    "Adult": TABLES["Adult"],
    "customers (simulated)": lambda: _simulated("customers", "customer_value", lambda y: y == "high", "customer_id"),
    "respondents (simulated)": lambda: _simulated(
        "respondents", "health", lambda y: y.isin(["fair", "bad", "very bad"]), "respondent_id"
    ),
    "friedman 1": lambda: _friedman(1),
    "friedman 2": lambda: _friedman(2),
    "friedman 3": lambda: _friedman(3),
    "hastie 10.2": _hastie,
    "classes": lambda: _classes(1, 0.05, 0.5),
    "classes, noisy": lambda: _classes(2, 0.4, 0.5),
    "classes, one rare": lambda: _classes(3, 0.05, 0.1),
}


def covered(runs: int) -> Iterator[str]:
    """Yield, table by table and method by method, how many intervals of the AUC hold the mean of what is stated."""
    yield "| table | method | intervals that hold the mean | mean AUC stated | of the same models on other rows |"
    yield "| --- | --- | --- | --- | --- |"
    for name, load in LARGE.items():
        frame, labels = load()
        table = pa.Table.from_pandas(frame.assign(y=np.where(labels, "yes", "no")), preserve_index=False)
        for method in METHODS:
            found = [_one(table, method, seed) for seed in range(runs)]
            stated, other = np.mean([(one, another) for _, another, one in found], axis=0)
            right = sum(low <= stated <= high for (low, high), _, _ in found)
            yield f"| {name} | {method} | {right} of {runs} | {stated:.4f} | {other:.4f} |"


def _one(table: pa.Table, method: str, seed: int) -> tuple[tuple[float, float], float, float]:
    """Return an interval, what the same model reaches on rows that were not released, and what the report states."""
    order = np.random.default_rng(seed).permutation(table.num_rows)
    release = _released(table.take(order[:ROWS]), "y", method)
    utility = release.report["utility"]
    stated, rows = utility["prediction_of_target"], release.to_arrow()
    names = [name for name in rows.column_names if name != "y"]
    others = table.take(order[ROWS:])
    cells, unknown = recoding_from_dict(release.params["recoding"]).apply(others.combine_chunks().to_batches()[0])
    recoded = pa.table({**{name: cells[name] for name in names}, "y": others.column("y")}).filter(pa.array(~unknown))
    classes = _texts(rows).group_by(names).aggregate([])
    alike = _texts(recoded).join(classes, names, join_type="inner")
    learned = _texts(rows.slice(utility["scored_rows"])).select(alike.column_names)
    found: Any = predictive_utility(pa.concat_tables([alike, learned]), names, "y", alike.num_rows)
    return tuple(stated["ci"]["auc"]), found["auc"], stated["auc"]


def _texts(table: pa.Table) -> pa.Table:
    return pa.table({name: table.column(name).cast(pa.string()) for name in table.column_names})


def main() -> None:
    """Print the lines of a part."""
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=("lost", "null", "covered"))
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    for line in {"lost": lost, "null": null, "covered": covered}[given.part](given.runs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
