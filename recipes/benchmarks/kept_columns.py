"""The cost of `rfka` seeking two parts of every column first: columns, AUC, rows left out and CPU on ten tables.

The held-out protocol of `held_out.py` at k = 10: half A's labels choose the recoding, half B's score the released cells
with a forest of 40 trees in three folds; the mean of three halvings. All columns are quasi-identifiers. What a column's
own detail counts for was looked at on five other tables (two of `make_classification`, `make_friedman1`,
`make_hastie_10_2`, simulated trips).

Run it:  python recipes/benchmarks/kept_columns.py [--splits 3] [TABLE ...]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from held_out import ADULT, SPLITS, forest_auc, released_cells
from sklearn import datasets

import anonkit
from anonkit.datasets.simulated_tables import simulated_table

Table = tuple[pd.DataFrame, np.ndarray]
"""Columns, and whether each row is of the class to predict."""

SETTINGS: dict[str, dict[str, Any]] = {
    "freely": {"method": "rfka"},
    "every column first": {"method": "rfka", "drop_freely": False},
    "mondrian": {"method": "mondrian"},
}


def _adult() -> Table:
    frame = pd.read_csv(ADULT, keep_default_na=False)
    return frame, (frame.pop("income") == ">50K").to_numpy()


def _married() -> Table:
    frame = pd.read_csv(ADULT, keep_default_na=False).sample(8_000, random_state=1).reset_index(drop=True)
    married = (frame.pop("marital-status") == "Married-civ-spouse").to_numpy()
    return frame.drop(columns="relationship"), married


def _wisconsin() -> Table:
    frame = pd.read_csv(ADULT.with_name("breast_cancer_wisconsin.csv"), na_values="?")
    return frame.drop(columns=["Sample_code_number", "Class"]), (frame["Class"] == 4).to_numpy()


def _cars() -> Table:
    frame = pd.read_csv(ADULT.with_name("car_evaluation.csv"))
    return frame, (frame.pop("class") != "unacc").to_numpy()


def _bundled(load: Callable[..., Any], above: float, **more: Any) -> Table:
    bunch = load(as_frame=True, **more)
    return bunch.data, (bunch.target > above).to_numpy()


def _customers() -> Table:
    frame = simulated_table("customers", 6_000, 3).to_pandas().drop(columns="customer_id")
    return frame, (frame.pop("customer_value") == "high").to_numpy()


def _respondents() -> Table:
    frame = simulated_table("respondents", 6_000, 3).to_pandas().drop(columns="respondent_id")
    return frame, frame.pop("health").isin(["fair", "bad", "very bad"]).to_numpy()


def _generated() -> Table:
    cells, labels = datasets.make_classification(
        20_000, 24, n_informative=8, n_redundant=8, flip_y=0.05, random_state=23
    )
    frame = pd.DataFrame(cells.round(2), columns=[f"x{at}" for at in range(24)])
    for name in list(frame.columns)[::3]:
        frame[name] = pd.qcut(frame[name], 6, labels=list("abcdef")).astype(str)
    return frame, labels == 1


TABLES: dict[str, Callable[[], Table]] = {
    "Adult": _adult,
    "Adult, married or not": _married,
    "breast cancer, Wisconsin": _wisconsin,
    "breast cancer, 30 measures": lambda: _bundled(datasets.load_breast_cancer, 0.5),
    "car": _cars,
    "diabetes": lambda: _bundled(datasets.load_diabetes, 140.0, scaled=False),
    "digits": lambda: _bundled(datasets.load_digits, 4.5),
    "customers (simulated)": _customers,
    "respondents (simulated)": _respondents,
    "generated, 8 of 24 redundant": _generated,
}


def measured(table: Table, seed: int, settings: dict[str, Any]) -> tuple[float, float, float, float]:
    """Return columns shown, AUC on half B, the share of rows left out, and CPU seconds of the release."""
    frame, labels = table
    half = np.random.default_rng(seed).permutation(len(frame)) < len(frame) // 2
    guide = np.where(half, np.where(labels, "yes", "no"), None)
    source = frame.assign(row=np.arange(len(frame)), guide=guide)
    policy = anonkit.Policy.from_dict({"columns": {name: {"role": "quasi_identifier"} for name in frame.columns}})
    begun = time.process_time()
    release = anonkit.release(
        pa.Table.from_pandas(source, preserve_index=False),
        k=10,
        target="guide",
        unit="none",
        insensitive=["row"],
        release_as_is=["row"],
        policy=policy,
        utility=False,
        ledger=None,
        **settings,
    )
    seconds = time.process_time() - begun
    cells = released_cells(release, len(frame), list(frame.columns))[~half]
    score = forest_auc(cells, labels[~half], trees=40, folds=3) if cells.shape[1] else 0.5
    return cells.shape[1], score, release.report["rows"]["suppressed_fraction"], seconds


def main() -> None:
    """Print one line a table, and the means."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--splits", type=int, default=len(SPLITS), help="how many of the three halvings")
    given = parser.parse_args()
    measured(_bundled(datasets.load_iris, 0.5), 1, SETTINGS["freely"])  # imports are no one's CPU
    head = " | ".join(f"{what}: {name}" for what in ("columns", "AUC", "left out", "CPU s") for name in SETTINGS)
    print(f"| table | {head} |\n|{' --- |' * (1 + 4 * len(SETTINGS))}")
    changes = []
    for name in given.tables:
        table = TABLES[name]()
        found = np.array(
            [[measured(table, seed, settings) for settings in SETTINGS.values()] for seed in SPLITS[: given.splits]]
        ).mean(axis=0)
        changes.append(found[1] - found[0])
        forms = ("{:.1f}", "{:.4f}", "{:.2%}", "{:.1f}")
        cells = " | ".join(form.format(value) for form, values in zip(forms, found.T, strict=True) for value in values)
        print(f"| {name}, {len(table[0]):,} × {table[0].shape[1]} | {cells} |", flush=True)
    columns, score, left_out, seconds = np.mean(changes, axis=0)
    print(f"\nmean change: {columns:+.2f} columns, {score:+.4f} AUC, {left_out:+.2%} left out, {seconds:+.2f} CPU s")


if __name__ == "__main__":
    main()
