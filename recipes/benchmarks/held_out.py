"""The held-out protocol: half A's labels choose the recoding, half B scores it.

The whole table is released with the labels of half B masked, so that only half A guides the method; k is counted on
all rows. Half B is then scored with its true labels: mean AUC of a random forest (100 trees, 5 rows a leaf) on the
one-hot released cells, five-fold inside B. Suppressed rows are scored too, as `*` in every column, so that
suppression is not flattered.

Run it:  python recipes/benchmarks/held_out.py [METHOD ...] [--all] [--k 10] [--preset P]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import anonkit

SPLITS = (11, 12, 13)
TARGET = "income"
USUAL_EIGHT = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult.csv.gz"


def forest_auc(cells: pd.DataFrame, labels: np.ndarray, *, numeric: tuple[str, ...] = (), **size: int) -> float:
    """Return the cross-validated AUC of a consumer's forest on one-hot cells; `size` as of `matrix_auc`."""
    words = [name for name in cells.columns if name not in numeric]
    bits = pd.get_dummies(cells[words].astype(str), dtype=np.float32)
    return matrix_auc(pd.concat([bits, cells[list(numeric)]], axis=1).to_numpy(dtype=np.float32), labels, **size)


def matrix_auc(features: np.ndarray, labels: np.ndarray, *, trees: int = 100, folds: int = 5) -> float:
    """Return the cross-validated AUC of a consumer's forest on features, NaN among them; of no feature, .5."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold

    if not features.shape[1]:
        return 0.5
    scores = []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(features, labels):
        forest = RandomForestClassifier(trees, min_samples_leaf=5, n_jobs=-1, random_state=0)
        forest.fit(features[train], labels[train])
        scores.append(roc_auc_score(labels[test], forest.predict_proba(features[test])[:, 1]))
    return float(np.mean(scores))


def released_cells(release: anonkit.Release, n_rows: int, columns: list[str]) -> pd.DataFrame:
    """Return the released cells in source order, `*` everywhere for suppressed rows."""
    table = release.to_pandas().set_index("row")
    kept = [name for name in columns if name in table.columns]
    return table[kept].astype(object).reindex(range(n_rows), fill_value="*").fillna("(missing)")


def released_numbers(release: anonkit.Release, n_rows: int) -> np.ndarray:
    """Return the released cells as `ReleaseFeatures` gives them, in source order; NaN for suppressed rows."""
    from anonkit.consumers import ReleaseFeatures

    table = release.to_pandas()
    rows = table.pop("row").to_numpy()
    cells = table.drop(columns="guide", errors="ignore")
    if not cells.shape[1]:
        return np.empty((n_rows, 0))
    found = ReleaseFeatures(release, recode=False).fit_transform(cells)
    numbers = np.full((n_rows, found.shape[1]), np.nan)
    numbers[rows] = found
    return numbers


def held_out(frame: pd.DataFrame, columns: list[str], seed: int, **parameters: Any) -> tuple[float, anonkit.Release]:
    """Return the AUC on half B and the release that half A's labels chose."""
    half = np.random.default_rng(seed).permutation(len(frame)) < len(frame) // 2
    guide = frame[TARGET].where(half).astype(object).where(half, None)
    source = frame[columns].assign(row=np.arange(len(frame)), guide=guide)
    release = anonkit.release(
        pa.Table.from_pandas(source, preserve_index=False),
        target="guide",
        insensitive=["row"],
        release_as_is=["row"],
        **parameters,
    )
    cells = released_cells(release, len(frame), columns)[~half]
    return forest_auc(cells, (frame[TARGET] == ">50K").to_numpy()[~half]), release


def whole_table(frame: pd.DataFrame, columns: list[str], **parameters: Any) -> tuple[float, anonkit.Release]:
    """Return the AUC when all labels chose the recoding and all rows are scored: flattering, for comparison."""
    source = frame[[*columns, TARGET]].assign(row=np.arange(len(frame)))
    release = anonkit.release(
        pa.Table.from_pandas(source, preserve_index=False),
        target=TARGET,
        insensitive=["row"],
        release_as_is=["row"],
        **parameters,
    )
    return forest_auc(released_cells(release, len(frame), columns), (frame[TARGET] == ">50K").to_numpy()), release


def adult() -> pd.DataFrame:
    """Return Adult, `?` kept as a category."""
    return pd.read_csv(ADULT, keep_default_na=False)


def main() -> None:
    """Print one line a method: held-out AUC a split, whole-table AUC, k, suppression, columns, seconds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("methods", nargs="*", default=["rfka", "mondrian"])
    parser.add_argument("--all", action="store_true", help="all 14 attributes instead of the usual eight")
    parser.add_argument("--k", type=int, nargs="*", default=[10])
    parser.add_argument("--preset")
    parser.add_argument("--max-suppression", type=float)
    parser.add_argument("--splits", type=int, default=len(SPLITS), help="how many of the three splits")
    parser.add_argument("--whole", action="store_true", help="the whole-table view too")
    given = parser.parse_args()
    frame = adult()
    columns = [name for name in frame.columns if name != TARGET] if given.all else list(USUAL_EIGHT)
    for method in given.methods:
        for k in given.k:
            parameters: dict[str, Any] = {"method": method, "k": k, "preset": given.preset}
            if given.max_suppression is not None:
                parameters["max_suppression"] = given.max_suppression
            begun = time.perf_counter()
            runs = [held_out(frame, columns, seed, **parameters) for seed in SPLITS[: given.splits]]
            seconds = (time.perf_counter() - begun) / given.splits
            scores = [score for score, _ in runs]
            suppressed = [release.report["rows"]["suppressed"] / len(frame) for _, release in runs]
            kept = [len(release.to_arrow().column_names) - 2 for _, release in runs]
            ks = [release.report["disclosure_risk"]["k_anonymity"]["k"] for _, release in runs]
            line = (
                f"{method}{'/' + given.preset if given.preset else ''} k={k} QIs={len(columns)}: "
                f"AUC {np.mean(scores):.4f} ({' '.join(f'{score:.4f}' for score in scores)}), "
                f"suppressed {np.mean(suppressed):.2%}, k achieved {ks}, columns {kept}, {seconds:.0f} s with scoring"
            )
            if given.whole:
                score, release = whole_table(frame, columns, **parameters)
                line += f"; whole table {score:.4f}, suppressed {release.report['rows']['suppressed'] / len(frame):.2%}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
