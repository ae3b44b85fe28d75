"""The paper's own experiment: the published rfka against Greedy_Hamdist, AUC of an RBF SVM against k.

2,000 complete rows of Adult drawn at the classes' own rates (14 attributes), and Breast Cancer Wisconsin (699 rows,
9 attributes); equal-width bins, one-hot features, scikit-learn's default SVC, five folds; k = 0 is the table as it is.

Run it:  python tests/benchmarks/published_comparison.py [--plot docs/methods/rfka-comparison.svg] [--draws 5]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

import anonkit

DATA = Path(__file__).parents[3] / "shared" / "data"
KS = (2, 5, 10, 20, 50)
METHODS = {"rfka": {"method": "rfka", "preset": "paper"}, "greedy-hamdist": {"method": "greedy-hamdist"}}


def adult_sample(draw: int) -> pd.DataFrame:
    """Return 2,000 complete rows of Adult, stratified by income."""
    frame = pd.read_csv(DATA / "adult.csv.gz", na_values="?").dropna()
    parts = [
        part.sample(round(2000 * len(part) / len(frame)), random_state=draw) for _, part in frame.groupby("income")
    ]
    return pd.concat(parts, ignore_index=True).rename(columns={"income": "target"})


def breast_cancer(draw: int) -> pd.DataFrame:
    """Return Breast Cancer Wisconsin, scores as categories; `draw` changes nothing."""
    frame = pd.read_csv(DATA / "breast_cancer_wisconsin.csv", na_values="?").dropna()
    return frame.drop(columns="Sample_code_number").rename(columns={"Class": "target"})


def svm_auc(features: pd.DataFrame, labels: np.ndarray) -> float:
    """Return the five-fold AUC of the default RBF SVM."""
    if features.shape[1] == 0:
        return 0.5
    matrix = features.to_numpy(dtype=float)
    scores = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(matrix, labels):
        decided = SVC().fit(matrix[train], labels[train]).decision_function(matrix[test])
        scores.append(roc_auc_score(labels[test], decided))
    return float(np.mean(scores))


def bits(released: pd.DataFrame) -> pd.DataFrame:
    """Return the kept values as 0/1 features; the star is what is left."""
    dummies = pd.get_dummies(released.astype(object).fillna("(missing)"))
    return dummies[[name for name in dummies.columns if not name.endswith("_*")]]


def unprotected(frame: pd.DataFrame) -> float:
    """Return the AUC on all features: numeric columns in five bins, one-hot."""
    cut = {
        name: pd.cut(frame[name], 5).astype(str) if pd.api.types.is_numeric_dtype(frame[name]) else frame[name]
        for name in frame.columns
        if name != "target"
    }
    return svm_auc(pd.get_dummies(pd.DataFrame(cut)), pd.factorize(frame["target"], sort=True)[0])


def compare(frame: pd.DataFrame) -> dict[str, list[tuple[float, float, int]]]:
    """Return (AUC, seconds, features kept) of both methods for every k."""
    out: dict[str, list[tuple[float, float, int]]] = {}
    for name, choice in METHODS.items():
        for k in KS:
            begun = time.perf_counter()
            release = anonkit.release(frame, k=k, target="target", **choice).to_pandas()
            seconds = time.perf_counter() - begun
            kept = bits(release.drop(columns="target"))
            score = svm_auc(kept, pd.factorize(release["target"], sort=True)[0])
            out.setdefault(name, []).append((score, seconds, kept.shape[1]))
    return out


def plot(results: dict[str, dict[str, list[float]]], raw: dict[str, float], path: Path) -> None:
    """Draw AUC against k, one panel a table."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "anonkit"
    mpl.rcParams["svg.fonttype"] = "none"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(results), figsize=(9, 3.4), sharey=False)
    styles = {"rfka": ("o-", "#1f5fa8"), "greedy-hamdist": ("s--", "#b4531a")}
    for axis, (table, scores) in zip(axes, results.items(), strict=True):
        for name, values in scores.items():
            style, colour = styles[name]
            axis.plot(range(len(KS)), values, style, color=colour, label=name)
        axis.axhline(raw[table], color="0.5", linewidth=1, linestyle=":")
        axis.annotate(
            "unprotected", (0, raw[table]), textcoords="offset points", xytext=(0, 3), fontsize=8, color="0.3"
        )
        axis.set_xticks(range(len(KS)), [str(k) for k in KS])
        axis.set_xlabel("k")
        axis.set_title(table, fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("AUC of an RBF SVM, five folds")
    axes[0].legend(frameon=False, fontsize=9)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Print a table a data set; draw the plot when asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--draws", type=int, default=3, help="samples of Adult to average over")
    given = parser.parse_args()
    results: dict[str, dict[str, list[float]]] = {}
    raw: dict[str, float] = {}
    for table, load, draws in (("Adult, 2,000 rows", adult_sample, given.draws), ("Breast Cancer", breast_cancer, 1)):
        frames = [load(draw) for draw in range(draws)]
        raw[table] = float(np.mean([unprotected(frame) for frame in frames]))
        runs = [compare(frame) for frame in frames]
        print(f"{table}: unprotected {raw[table]:.3f}")
        for name in METHODS:
            means = np.mean([run[name] for run in runs], axis=0)
            results.setdefault(table, {})[name] = means[:, 0].tolist()
            cells = (f"k={k} {auc:.3f} ({n:.0f} bits, {s:.1f} s)" for k, (auc, s, n) in zip(KS, means, strict=True))
            print(f"  {name}: " + "; ".join(cells), flush=True)
        ahead = [min(run["rfka"][at][0] - run["greedy-hamdist"][at][0] for run in runs) for at in range(len(KS))]
        print(f"  smallest lead of rfka at each k over the draws: {', '.join(f'{lead:+.3f}' for lead in ahead)}")
    if given.plot:
        plot(results, raw, given.plot)


if __name__ == "__main__":
    main()
