"""Error in the joint distributions of two columns of k-anonymous rows without a target: mondrian beside anonypy.

A reader spreads a released cell evenly over what it may stand for: of an interval the numbers of the column that are in
it, of a set its values. Numbers are in 20 parts of about as many rows, categories beyond the 19 commonest are one. The
error is the total variation between the two tables of a pair of columns, the mean over all pairs. All columns are
quasi-identifiers, and every one counts, shown or not.

anonypy runs in an interpreter of its own (`pip install anonypy statsmodels`), which also writes four of the tables:

    python recipes/benchmarks/two_way_errors.py --peers /path/to/its/python [--k 10] [TABLE ...]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from held_out import ADULT, USUAL_EIGHT
from sklearn import datasets

import anonkit
from anonkit.datasets import bank_customers
from anonkit.published.recoding import LocalRecoding, recoding_from_dict

PEERS = Path(__file__).parent / "peers"
PARTS = 20
Spread = Callable[[str], np.ndarray]
"""Share of each part of a column that a released cell stands for."""


def tables(statsmodels: Path) -> dict[str, pd.DataFrame]:
    """Return eight tables, 8,000 rows of each at most."""
    adult = pd.read_csv(ADULT, keep_default_na=False)
    found = {
        "census (Adult, the usual eight)": adult[list(USUAL_EIGHT)],
        "census (Adult, all 14)": adult.drop(columns="income"),
        "simulated customers": bank_customers(6_000, seed=11).to_pandas(),
        "breast cancer, ten means": datasets.load_breast_cancer(as_frame=True).frame.iloc[:, :10],
        "diabetes": datasets.load_diabetes(as_frame=True).frame,
        "affairs": pd.read_csv(statsmodels / "affairs.csv"),
        "visits to a doctor": pd.read_csv(statsmodels / "visits to a doctor (3 classes).csv"),
        "vote of 1996": pd.read_csv(statsmodels / "vote of 1996.csv"),
    }
    return {
        name: pd.concat([frame.select_dtypes("number"), frame.select_dtypes(exclude="number").astype(object)], axis=1)
        .sample(min(len(frame), 8_000), random_state=1)
        .reset_index(drop=True)
        for name, frame in found.items()
    }


def shares(source: pd.Series, released: pd.Series, spread: Callable[[str, np.ndarray], np.ndarray]) -> np.ndarray:
    """Return the share of each part that every released row stands for, shape (n_rows, n_parts).

    Parameters
    ----------
    spread : callable
        Which of the values of a column, ascending, a cell may stand for.
    """
    values = np.sort(source.unique())
    part_of = _parts(source, values)
    rows = {}
    for cell in released.unique():
        held = part_of[spread(cell, values)]
        rows[cell] = np.bincount(held, minlength=int(part_of.max()) + 1) / held.size
    return np.stack([rows[cell] for cell in released])


def _parts(source: pd.Series, values: np.ndarray) -> np.ndarray:
    """Return the part of each value, shape (n_values,)."""
    held = source.value_counts().reindex(values).to_numpy()
    if source.dtype.kind in "if":
        place = (np.cumsum(held) - held / 2) / held.sum()
        return np.unique(np.minimum((place * PARTS).astype(int), PARTS - 1), return_inverse=True)[1]
    rank = np.empty(values.size, dtype=int)
    rank[np.argsort(-held, kind="stable")] = np.arange(values.size)
    return np.minimum(rank, PARTS - 1)


def error(source: pd.DataFrame, released: pd.DataFrame, spread: Callable[[str, np.ndarray], np.ndarray]) -> float:
    """Return the mean total variation of two columns; a column that is not released stands for all of its values."""
    before, after = {}, {}
    for name in source:
        cells = released[name] if name in released else pd.Series(["*"] * len(released))
        before[name] = shares(source[name], source[name], lambda cell, values: values == cell)
        after[name] = shares(source[name], cells, spread)
    each = []
    for one, other in combinations(source, 2):
        true = before[one].T @ before[other] / len(source)
        shown = after[one].T @ after[other] / len(released)
        each.append(np.abs(true - shown).sum() / 2)
    return float(np.mean(each))


def own_cell(cell: str | None, values: np.ndarray) -> np.ndarray:
    """Return which values a cell of anonkit may stand for."""
    if cell == "*":
        return np.ones(values.size, dtype=bool)
    if values.dtype.kind not in "if":
        names = set(str(cell).removeprefix("not ").split("|"))
        known = {*values} & names
        inside = np.array([(value in names) or (value not in names and "other" in names) for value in values])
        if str(cell).startswith("not "):
            inside = ~np.array([value in known for value in values])
        return inside if inside.any() else np.ones(values.size, dtype=bool)
    low, high = -np.inf, np.inf
    text = str(cell)
    if text.startswith("["):
        low, high = (float(end) for end in text.strip("[)").split(","))
    elif text.startswith(">="):
        low = float(text[2:])
    elif text.startswith("<"):
        high = float(text[1:])
    else:
        return np.isclose(values, float(text))
    return (values >= low) & (values < high)


def peers_cell(cell: str, values: np.ndarray) -> np.ndarray:
    """Return which values a cell of anonypy may stand for."""
    if values.dtype.kind not in "if":
        return np.isin(values, cell.split(","))
    ends = [at for at in range(1, len(cell)) if cell[at] == "-" and cell[at - 1] not in "e-"]
    low, high = (float(cell[: ends[0]]), float(cell[ends[0] + 1 :])) if ends else (float(cell), float(cell))
    return (values >= low - 1e-12 * abs(low)) & (values <= high + 1e-12 * abs(high))


def _peer(python: str, name: str, function: str, **given: Any) -> list[dict[str, Any]]:
    command = [python, str(PEERS / name / "run.py"), function, json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def measured(python: str, frame: pd.DataFrame, folder: Path, k: int) -> dict[str, float]:
    """Return errors and processor seconds of both."""
    begun = time.process_time()
    release = anonkit.release(frame, method="mondrian", k=k, no_target=True, ledger=None, utility=False)
    taken = time.process_time() - begun
    recoding = recoding_from_dict(release.params["recoding"])
    assert isinstance(recoding, LocalRecoding)
    (batch,) = pa.Table.from_pandas(frame, preserve_index=False).combine_chunks().to_batches()
    divided = pd.DataFrame({name: cells.to_pandas() for name, cells in recoding.as_divided.apply(batch)[0].items()})
    source, out = folder / "source.csv", folder / "anonypy.csv"
    frame.assign(all="all").to_csv(source, index=False)
    (peer,) = _peer(
        python, "anonypy", "k_anonymous",
        file=str(source), out=str(out), columns=list(frame), target="all", k=k, groups=None,
    )  # fmt: skip
    return {
        "as divided": error(frame, divided, own_cell),
        "mondrian": error(frame, release.to_pandas(), own_cell),
        "anonypy": error(frame, pd.read_csv(out, dtype=str, keep_default_na=False), peers_cell),
        "seconds": taken,
        "its seconds": peer["seconds"],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", required=True, help="an interpreter with anonypy and statsmodels")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("tables", nargs="*")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _peer(given.peers, "statsmodels", "tables", folder=name)
        for table, frame in tables(folder).items():
            if given.tables and table not in given.tables:
                continue
            found = measured(given.peers, frame, folder, given.k)
            print(f"| {table}, {len(frame):,} × {frame.shape[1]} |", end="", flush=True)
            print(" | ".join(f" {value:.3f}" for value in found.values()), flush=True)


if __name__ == "__main__":
    main()
