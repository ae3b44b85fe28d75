"""k-anonymous releases of tables with a number to predict, ranked on rows that were held out; not run by the tests.

    python recipes/benchmarks/regression_targets.py report [FOLDER] [K ...]    the tables of docs/methods/rfka.md
    python recipes/benchmarks/regression_targets.py develop [FOLDER] [K ...]   those on which constants were chosen

A table is halved three times: a method chooses its recoding on half A, which is released, and three models that are
trained on the release are scored on half B, recoded like it. R² is that of the best of the three models, the same three
for everybody. `quartiles` is what numeric targets were before: their quartiles, distinguished as classes.

FOLDER holds the tables as CSV: `diabetes.csv` (scikit-learn's, unscaled), `randhie.csv`, `fair.csv` and `anes96.csv`
(of statsmodels), written by `to_csv(index=False)`. Adult is read from `../shared/data`.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

import anonkit
from anonkit.errors import AnonkitError
from anonkit.published.recoding import recoding_from_dict
from anonkit.utility.consumer_models import MEAN, scores_of_number_models

HERE = Path(__file__).resolve().parents[2]
ADULT = HERE.parent / "shared" / "data" / "adult.csv.gz"
HALVINGS, ROWS = 3, 4_000
METHODS = ("mondrian", "rfka", "datafly", "incognito")
QUARTILES = "quartiles"


def adult(target: str) -> pd.DataFrame:
    """Adult with another target than income, fnlwgt left out."""
    table = pd.read_csv(ADULT, na_values="?").drop(columns="fnlwgt")
    return table[[*(name for name in table.columns if name != target), target]]


def tables(which: str, folder: Path) -> dict[str, tuple[pd.DataFrame, str]]:
    """Return the tables by name, with their targets."""
    sources: dict[str, dict[str, tuple[Callable[[], pd.DataFrame], str]]] = {
        "report": {
            "diabetes": (lambda: pd.read_csv(folder / "diabetes.csv"), "target"),
            "adult, age": (lambda: adult("age"), "age"),
            "adult, hours": (lambda: adult("hours-per-week"), "hours-per-week"),
            "randhie, visits": (lambda: pd.read_csv(folder / "randhie.csv"), "mdvis"),
        },
        "develop": {
            "fair, affairs": (lambda: pd.read_csv(folder / "fair.csv"), "affairs"),
            "fair, age": (lambda: pd.read_csv(folder / "fair.csv"), "age"),
            "anes96, age": (lambda: pd.read_csv(folder / "anes96.csv").drop(columns="logpopul"), "age"),
            "anes96, income": (lambda: pd.read_csv(folder / "anes96.csv").drop(columns="logpopul"), "income"),
        },
    }
    return {name: (make(), target) for name, (make, target) in sources[which].items()}


def halves(table: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Halve at most 4,000 rows, drawn at random."""
    order = np.random.default_rng(seed).permutation(len(table))[:ROWS]
    half = order.size // 2
    return table.iloc[order[:half]].reset_index(drop=True), table.iloc[order[half:]].reset_index(drop=True)


def recoded(release: anonkit.Release, held_out: pa.Table, names: list[str]) -> pa.Table:
    """Recode held-out rows like the released ones."""
    batch = held_out.combine_chunks().to_batches()[0]
    columns = recoding_from_dict(release.params["recoding"]).apply(batch)[0]
    return pa.table({name: columns.get(name, held_out.column(name)) for name in names})


def released(method: str, first: pd.DataFrame, target: str, k: int) -> anonkit.Release:
    """Release half A in memory; `quartiles` guide by the quartiles of the target, which is then put back."""
    if not method.endswith(QUARTILES):
        return anonkit.release(first, method=method, k=k, target=target, task="regression", ledger=None)
    borders = np.unique(np.quantile(first[target], [0.25, 0.5, 0.75], method="higher"))
    quarters = np.searchsorted(borders, first[target], side="right").astype(str)
    by_quarter = first.assign(**{target: quarters})
    return anonkit.release(by_quarter, method=method.split()[0], k=k, target=target, ledger=None)


def score(method: str, first: pd.DataFrame, second: pd.DataFrame, target: str, k: int) -> tuple[float, float]:
    """Return R² and mean absolute error of the best model on half B."""
    train, test = (pa.Table.from_pandas(half, preserve_index=False) for half in (first, second))
    if method not in ("raw", MEAN):
        release = released(method, first, target, k)
        numbers = release.params["recoding"]
        assert numbers is not None
        names = release.to_arrow().column_names
        train = recoded(release, train, names)  # the half as its release shows it, its rows in order
        shown = pa.table({name: release.to_arrow().column(name) for name in names if name != target})
        kept = pd.merge(
            train.drop_columns(target).to_pandas().astype(str).assign(_at=range(train.num_rows)),
            shown.to_pandas().astype(str).drop_duplicates(),
        )
        train, test = train.take(sorted(kept["_at"])), recoded(release, test, names)
    models = scores_of_number_models(train, test, target)
    best = (
        MEAN if method == MEAN else max((name for name in models if name != MEAN), key=lambda name: models[name]["r2"])
    )
    return models[best]["r2"], models[best]["mae"]


def main(which: str, folder: Path, ks: list[int], methods: list[str]) -> None:
    """Print a line a table, a method and a k."""
    rows = methods or [*METHODS, *(f"{name} {QUARTILES}" for name in METHODS[:2])]
    for name, (table, target) in tables(which, folder).items():
        print(f"{name}: {min(len(table), ROWS):,} rows", flush=True)
        for method in ("raw", MEAN, *rows):
            for k in ks if method in rows else ks[:1]:
                started, found = time.process_time(), []
                for seed in range(HALVINGS):
                    try:
                        found.append(score(method, *halves(table, seed), target, k))
                    except AnonkitError as error:
                        print(f"  {method}, k = {k}: {error}", flush=True)
                if found:
                    (r2, mae), (spread, _) = np.mean(found, axis=0), np.std(found, axis=0)
                    setting = f"{method}, k = {k}" if method in rows else method
                    took = time.process_time() - started
                    print(f"  {setting:30} R² {r2:6.3f} ± {spread:.3f}  MAE {mae:8.4g}  {took:5.0f} s", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    given = sys.argv[2:]
    main(
        sys.argv[1],
        Path(given[0]) if given else Path(),
        [int(word) for word in given[1:] if word.isdigit()] or [5, 10, 50],
        [word for word in given[1:] if not word.isdigit()],
    )
