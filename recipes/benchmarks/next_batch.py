"""The next batch: release one half of a table, apply its recoding to the other; does the batch pass, at what cost?

Run it:  python recipes/benchmarks/next_batch.py [--halvings 10] [--method rfka] [--table NAME …] [--data DIR]
             [--statsmodels WHEEL]
Ten tables: Adult, Breast Cancer Wisconsin and Car Evaluation (`--data`), those inside scikit-learn (breast cancer,
diabetes above its median) and inside the wheel of statsmodels (fair's affairs, randhie's visits, anes96's votes),
and simulated customers, few and many. Each is halved at random `--halvings` times, drawn by a fixed generator.

* passed: `apply` wrote the batch; dropping: how many would pass if the rows of small groups were left out instead.
* k: the smallest group of any batch, counted here by pyarrow alone; rows: released share of the batch's rows.
* expected: the share of rows in groups too small that `release` forecast to its owner; merged: the share that were,
  and show a coarser step. AUC: the report's protocol on the batch. `before` is the same rows
  recoded with nothing merged or left out, which may not be published: what merging costs is `batch` less `before`.
  `own` is a release made from the batch itself. Means over the halvings, and the standard error of the difference.

The rules have no constant that was fitted to a table. What there was to choose (which column goes up first, and whether
classes go along or small ones wait for each other) was compared on the tables marked so, which are not among the ten.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import anonkit
from anonkit.checks.scored_rows import rows_to_score
from anonkit.datasets import bank_customers
from anonkit.errors import GuaranteeError
from anonkit.published.recoding import recoding_from_dict
from anonkit.utility.class_utility import predictive_utility

DATA = Path(__file__).parents[3] / "shared" / "data"
K, LIMIT = 10, 0.01


@dataclass(frozen=True)
class Halving:
    """The results of one halving of a table."""

    passed: bool
    dropping_passes: bool
    smallest: int
    released: float
    expected: float
    merged: float
    batch: float
    before: float
    own: float


# --- tables ----------------------------------------------------------------------------------------------------------


def tables(data: Path, wheel: Path | None) -> dict[str, Callable[[], tuple[pa.Table, str]]]:
    """Return what loads each table, with the name of its target."""

    def shared(name: str, target: str, drop: tuple[str, ...] = ()) -> Callable[[], tuple[pa.Table, str]]:
        return lambda: (_plain(pd.read_csv(data / name, na_values="?").drop(columns=[*drop])), target)

    def learned(name: str) -> tuple[pa.Table, str]:
        from sklearn import datasets

        loaded = getattr(datasets, f"load_{name}")(as_frame=True)
        frame = loaded.frame
        if name == "diabetes":
            frame["target"] = frame["target"] > frame["target"].median()
        return _plain(frame.assign(target=frame["target"].map(lambda value: f"class {int(value)}"))), "target"

    def packed(path: str, target: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> tuple[pa.Table, str]:
        if wheel is None:
            sys.exit("--statsmodels WHEEL: the path of a wheel of statsmodels, for the tables inside it")
        with zipfile.ZipFile(wheel) as archive:
            frame = pd.read_csv(io.BytesIO(archive.read(f"statsmodels/datasets/{path}")), sep=None, engine="python")
        return _plain(change(frame.rename(columns=lambda name: name.strip("'")))), target

    return {
        "adult": shared("adult.csv.gz", "income", ("fnlwgt",)),
        "wisconsin": shared("breast_cancer_wisconsin.csv", "Class", ("Sample_code_number",)),
        "car": shared("car_evaluation.csv", "class"),
        "breast cancer": lambda: learned("breast_cancer"),
        "diabetes": lambda: learned("diabetes"),
        "fair": lambda: packed(
            "fair/fair.csv", "affairs", lambda f: f.assign(affairs=np.where(f["affairs"] > 0, "some", "none"))
        ),
        "randhie": lambda: packed(
            "randhie/randhie.csv", "mdvis", lambda f: f.assign(mdvis=np.where(f["mdvis"] > 2, "many", "few"))
        ),
        "anes96": lambda: packed("anes96/anes96.csv", "vote", lambda f: f.assign(vote=f["vote"].map(str))),
        "customers": lambda: (bank_customers(4_000, seed=11), "customer_value"),
        "more customers": lambda: (bank_customers(12_000, seed=13), "customer_value"),
        "customers (chosen on)": lambda: (bank_customers(1_500, seed=12), "customer_value"),
        "modechoice (chosen on)": lambda: packed(
            "modechoice/modechoice.csv", "choice", lambda f: f.assign(choice=f["choice"].map(str))
        ),
    }


def _plain(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame.dropna(), preserve_index=False).replace_schema_metadata()


# --- one halving -----------------------------------------------------------------------------------------------------


def halvings(table: pa.Table, n: int, seed: int = 15) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Yield random halves of a table."""
    draw = np.random.default_rng(seed)
    for _ in range(n):
        order = draw.permutation(table.num_rows)
        half = table.num_rows // 2
        yield table.take(np.sort(order[:half])), table.take(np.sort(order[half:]))


def smallest_class(released: pa.Table, target: str) -> int:
    """Count the smallest group of rows that agree on every column but the target; nothing of the package is used."""
    names = [name for name in released.column_names if name != target]
    keys = [released.column(name).cast(pa.string()).fill_null("\0missing") for name in names]
    counted = pa.table(dict(zip(names, keys, strict=True))).group_by(names).aggregate([([], "count_all")])
    return min(counted.column("count_all").to_pylist())


def auc(table: pa.Table, target: str) -> float:
    """Return the AUC of the report's protocol; NaN where it says nothing."""
    names = [name for name in table.column_names if name != target]
    scores = predictive_utility(table, names, target, rows_to_score(table.num_rows))
    return float("nan") if scores is None else scores["auc"]


def halved(first: pa.Table, batch: pa.Table, target: str, method: str, folder: Path, trees: int, own: bool) -> Halving:
    """Release one half and apply its recoding to the other."""
    options: dict[str, Any] = {"method": method, "k": K, "target": target, "ledger": None, "seed": 1}
    if method not in ("mondrian", "incognito"):
        options["max_suppression"] = LIMIT
    if method == "rfka":
        options["trees"] = trees
    release = anonkit.release(first, output=folder / "first.parquet", force=True, **options)
    recoding = recoding_from_dict(release.params["recoding"])
    cells, unknown = recoding.apply(batch.combine_chunks().to_batches()[0])
    recoded = pa.table({**cells, target: batch.column(target)}).filter(pa.array(~unknown))
    counts = recoded.group_by(list(cells)).aggregate([([], "count_all")]).column("count_all").to_numpy()
    expected = release.owner["next_batch"]["expected_share_in_groups_too_small"]
    small = int(counts[counts < K].sum()) + int(unknown.sum())
    by_itself = anonkit.release(batch, **options).to_arrow() if own else None
    try:
        applied = anonkit.apply(folder / "first.params.json", batch, ledger=None, seed=1)
    except GuaranteeError as error:
        print(f"    refused: {error}", file=sys.stderr)
        nothing = float("nan")
        fits = small <= LIMIT * batch.num_rows
        return Halving(False, fits, 0, nothing, expected, small / batch.num_rows, *(nothing,) * 3)
    released = applied.to_arrow()
    return Halving(
        passed=True,
        dropping_passes=small <= LIMIT * batch.num_rows,
        smallest=smallest_class(released, target),
        released=released.num_rows / batch.num_rows,
        expected=expected,
        merged=small / batch.num_rows,
        batch=auc(released, target),
        before=auc(recoded, target),
        own=float("nan") if by_itself is None else auc(by_itself, target),
    )


def summary(results: list[Halving]) -> Mapping[str, float]:
    """Return the means of several halvings, and the mean and standard error of what merging costs."""
    passed = [one for one in results if one.passed]
    change = np.array([one.batch - one.before for one in passed])
    mean = {
        name: float(np.mean([getattr(one, name) for one in passed])) if passed else float("nan")
        for name in ("released", "expected", "merged", "batch", "before", "own")
    }
    return {
        "n": len(results),
        "passed": len(passed),
        "dropping": sum(one.dropping_passes for one in results),
        "smallest": min((one.smallest for one in passed), default=0),
        **mean,
        "change": float(change.mean()) if passed else float("nan"),
        "error": float(change.std(ddof=1) / np.sqrt(len(passed))) if len(passed) > 1 else float("nan"),
    }


def main() -> None:
    """Print a row a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--halvings", type=int, default=10)
    parser.add_argument("--method", default="rfka")
    parser.add_argument("--table", action="append", help="only this one; repeatable")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--statsmodels", type=Path, metavar="WHEEL")
    parser.add_argument("--trees", type=int, default=100, help="of rfka's forest")
    parser.add_argument("--no-own", action="store_true", help="make no release from the batch itself: half the time")
    given = parser.parse_args()
    loaded = tables(given.data, given.statsmodels)
    print(f"{given.method}, k {K}, at most {LIMIT:.0%} left out, {given.halvings} halvings")
    print(f"{'table':>22} {'rows':>6} {'passed':>7} {'dropping':>8} {'k':>3} {'released':>8} {'expected':>8}", end=" ")
    print(f"{'merged':>7} {'batch':>6} {'before':>6} {'change':>14} {'own':>6} {'s':>5}")
    with tempfile.TemporaryDirectory() as folder:
        for name in given.table or loaded:
            table, target = loaded[name]()
            begun = time.perf_counter()
            results = [
                halved(*pair, target, given.method, Path(folder), given.trees, not given.no_own)
                for pair in halvings(table, given.halvings)
            ]
            row, seconds = summary(results), time.perf_counter() - begun
            counts = f"{row['passed']:4}/{row['n']:<2} {row['dropping']:8} {row['smallest']:3} {row['released']:8.4f}"
            shares = f"{row['expected']:8.2%} {row['merged']:7.2%} {row['batch']:6.4f} {row['before']:6.4f}"
            change = f"{row['change']:+7.4f}±{row['error']:.4f} {row['own']:6.4f} {seconds:5.0f}"
            print(f"{name:>22} {table.num_rows:6} {counts} {shares} {change}", flush=True)


if __name__ == "__main__":
    main()
