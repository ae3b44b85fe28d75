# SPDX-License-Identifier: Apache-2.0
"""Errors of published aggregates beside OpenDP's, at equal epsilon, by race on Adult: one line a statistic.

    python recipes/benchmarks/aggregate_errors.py --peer PYTHON

PYTHON is an interpreter with the requirements of `recipes/benchmarks/peers/opendp`. Each statistic has the whole
epsilon of its own release; several quantiles are requested together, since that is how they are published.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from anonkit.engines import open_engine
from anonkit.methods.dp_tables import DPTables
from anonkit.policy.column_declarations import Column, Missing
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness

ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult_train.csv.gz"
COLUMNS = {"age": (17, 90), "hours-per-week": (1, 99), "education-num": (1, 16)}
QUANTILES = {"median": [0.5], "quartiles": [0.25, 0.5, 0.75], "deciles": [at / 10 for at in range(1, 10)]}
SCRIPT = Path(__file__).parent / "peers" / "opendp" / "aggregates.py"


def own_errors(table: pa.Table, column: str, epsilon: float, runs: int) -> dict[str, float]:
    """Return the mean absolute error of each statistic by race."""
    names = tuple(sorted(set(table["race"].to_pylist())))
    bounds = (float(COLUMNS[column][0]), float(COLUMNS[column][1]))
    policy = Policy(
        columns={
            "race": Column(name="race", categories=names, missing=Missing.FIRST),
            column: Column(name=column, bounds=bounds, missing=Missing.FIRST),
        }
    )
    frame = table.to_pandas()
    by = frame.groupby("race")[column]
    asked = {"count": "count by race", "sum": f"sum({column}) by race", "mean": f"mean({column}) by race"} | {
        name: f"quantile({column}, {', '.join(f'{level:g}' for level in levels)}) by race"
        for name, levels in QUANTILES.items()
    }
    true: dict[str, dict[str, float]] = {"count": by.count(), "sum": by.sum(), "mean": by.mean()}
    for levels in QUANTILES.values():
        for level in levels:
            true[f"quantile {level:g}"] = by.apply(lambda own, at=level: np.quantile(own, at, method="inverted_cdf"))
    out = {}
    with closing(open_engine("local")) as engine:
        source = engine.scan(table, policy)
        for name, line in asked.items():
            method = DPTables(epsilon=epsilon, aggregate=(line,))
            found = []
            for run in range(runs):
                draft = method.release(source, policy, engine=engine, rng=Randomness.seeded(run))
                lines = pa.Table.from_batches(draft.data.batches()).to_pandas()
                lines = lines[lines["statistic"].isin([name, *[f"quantile {at:g}" for at in QUANTILES.get(name, [])]])]
                middle = sum(bounds) / 2
                found += [
                    abs((middle if np.isnan(value) else value) - true[statistic][race])
                    for race, statistic, value in zip(lines["race"], lines["statistic"], lines["value"], strict=True)
                ]
            out[name] = float(np.mean(found))
    return out


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser()
    options.add_argument("--peer", required=True)
    options.add_argument("--runs", type=int, default=40)
    given = options.parse_args()
    table = pc.read_csv(ADULT).select(["race", *COLUMNS])
    print("| column | epsilon | statistic | anonkit | OpenDP | ratio |\n| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for column, bounds in COLUMNS.items():
            file = Path(folder) / "numbers.npz"
            np.savez(file, numbers=table[column].to_numpy(), groups=np.array(table["race"].to_pylist()), bounds=bounds)
            for epsilon in (0.1, 1.0):
                own = own_errors(table.select(["race", column]), column, epsilon, given.runs)
                asked = {"file": str(file), "epsilon": epsilon, "runs": given.runs, "quantiles": QUANTILES}
                done = subprocess.run(
                    [given.peer, str(SCRIPT), json.dumps(asked)], check=True, capture_output=True, text=True
                )
                peer = json.loads(done.stdout)
                for name, error in own.items():
                    ratio = f"{error / peer[name]:.2f}" if peer[name] else "–"
                    print(f"| {column} | {epsilon:g} | {name} | {error:.4g} | {peer[name]:.4g} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
