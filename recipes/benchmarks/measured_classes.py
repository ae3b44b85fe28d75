"""The parts of the benchmark about k-anonymous releases: generators of records, each for one table of the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from bench import Given
from benchmark_page import Missing, Record

import anonkit

Lines = Iterator[Record | Missing]
TREE = "boxes of a tree that sees the labels"
ONE_HOT, NUMBERS = "", ", cells as numbers"
SCORED_BY = {"trees": 40, "folds": 3}
"""The reader's forest on the other tables: sizes that distinguish methods on few rows in little time."""


def _adult(given: Given) -> pd.DataFrame:
    from held_out import adult

    frame = adult()
    return frame.sample(4_000, random_state=0).reset_index(drop=True) if given.size == "quick" else frame


def k_anonymous(given: Given) -> Lines:
    """AUC of the releases of anonkit and of what pip installs, all labels shown."""
    from held_out import USUAL_EIGHT, forest_auc, whole_table
    from published_trees import GROUPS

    frame, columns = _adult(given), list(USUAL_EIGHT)
    raw = forest_auc(frame[columns], (frame["income"] == ">50K").to_numpy(), numeric=("age",))
    own = {}
    for method in ("rfka", "mondrian"):
        own[method], release = whole_table(frame, columns, method=method, k=10)
        share = release.report["rows"]["suppressed"] / len(frame)
        yield Record(
            what=f"{method}, {share:.2%} suppressed", ours=own[method], peer="the rows as they are", theirs=raw,
            limit="ours >= 0.868" if method == "mondrian" else None,
        )  # fmt: skip
    source = given.work / "adult.csv"
    frame.to_csv(source, index=False)
    groups = {
        name: {leaf: top for top, leaves in tops.items() for leaf in leaves.split()} for name, tops in GROUPS.items()
    }
    for peer in ("anjana", "anonypy"):
        out = given.work / f"{peer}.csv"
        found = given.peer(
            peer, "k_anonymous", file=str(source), out=str(out), columns=columns, target="income", k=10, groups=groups
        )
        if isinstance(found, Missing):
            yield found
            continue
        cells = pd.read_csv(out, keep_default_na=False, dtype=str)
        labels = (cells.pop("income") == ">50K").to_numpy()
        theirs = forest_auc(cells, labels)
        told = f"{peer}, {found[0]['suppressed'] / len(frame):.2%} suppressed, {found[0]['seconds']:.0f} CPU s"
        for method, score in own.items():
            yield Record(what=method, ours=score, peer=told, theirs=theirs, limit="lead >= 0")


def held_out(given: Given) -> Lines:
    """Half A chooses, half B scores: the usual eight, then all attributes."""
    from held_out import SPLITS, TARGET, USUAL_EIGHT
    from held_out import held_out as one_split

    frame = _adult(given)
    every = [name for name in frame.columns if name != TARGET]
    eight, all_14 = list(USUAL_EIGHT), given.pick(1, 1, 3)
    runs: tuple[tuple[str, dict[str, Any], list[str], int, float], ...] = (
        ("mondrian", {}, eight, given.pick(1, 3), 0.878),
        ("rfka", {}, eight, given.pick(1, 3), 0.870),
        ("rfka", {}, every, all_14, 0.895),
        ("rfka", {"max_suppression": 0.0}, every, all_14, 0.880),
    )
    for method, more, columns, splits, least in runs:
        found = [one_split(frame, columns, seed, method=method, k=10, **more) for seed in SPLITS[:splits]]
        suppressed = float(np.mean([release.report["rows"]["suppressed"] for _, release in found])) / len(frame)
        name = f"{method}, {len(columns)} quasi-identifiers"
        yield Record(
            what=f"{name}, {suppressed:.2%} suppressed" + (" (none allowed)" if more else ""),
            ours=float(np.mean([score for score, _ in found])),
            limit=f"ours >= {least}" if least else None,
            runs=splits,
        )
        if least:
            most = 0.0 if more or method == "mondrian" else 1.0
            yield Record(
                what=f"{name}, suppressed", unit="%", ours=100 * suppressed, limit=f"ours <= {most}", runs=splits
            )


def published_rfka(given: Given) -> Lines:
    """The paper's comparison on its two data sets: the experiment of `recipes/papers`, its table read."""
    from anonkit.cli.experiments import harness

    recipe = Path(__file__).parents[2] / "recipes" / "papers" / "001-rfka.toml"
    harness("experiment_runner").run_experiment(
        recipe, data=given.data, out=given.work, quick=given.size == "quick", plot=False
    )
    table = pd.read_csv(given.work / "001-rfka.csv")
    for data, rows in table.groupby("data", sort=False):
        own = {name: part.set_index("k") for name, part in rows.groupby("system")}
        for k, one in own["rfka"].iterrows():
            yield Record(
                what=f"{data}, k = {k:g}", ours=one["auc_mean"], peer="greedy-hamdist",
                theirs=own["greedy-hamdist"].loc[k, "auc_mean"], limit="lead >= 0", runs=int(one["auc_n"]),
                note=f"{data}: {own['unprotected']['auc_mean'].iloc[0]:.4f} on the rows as they are.",
            )  # fmt: skip


def other_tables(given: Given) -> Lines:
    """Mondrian and rfka beside the boxes of a tree that sees the labels, on tables that ship with the tools.

    Each is scored on one-hot labels, as the tree is, and as numbers: ends of intervals and shares of sets.
    """
    for table in _tables(given):
        if isinstance(table, Missing):
            yield table
            continue
        name, frame, target = table
        halves: dict[str, list[float]] = {}
        for seed in range(given.pick(1, 3)):
            half = np.random.default_rng(seed).permutation(len(frame)) < len(frame) // 2
            halves.setdefault(TREE, []).append(_tree_auc(frame, target, half))
            for method in ("mondrian", "rfka"):
                for how, score in zip((ONE_HOT, NUMBERS), _release_aucs(frame, target, half, method), strict=True):
                    halves.setdefault(f"{method}{how}", []).append(score)
        theirs = float(np.mean(halves[TREE]))
        for what, each in halves.items():
            if what == TREE:
                continue
            lead = np.subtract(each, halves[TREE])
            yield Record(
                what=f"{name} ({len(frame):,} rows, {frame.shape[1] - 1} columns), {what}", ours=float(np.mean(each)),
                peer=TREE, theirs=theirs, limit=None if what.endswith(NUMBERS) else "lead >= -0.003", runs=len(each),
                note=f"{name}, {what}: standard deviation of the lead {lead.std(ddof=len(lead) > 1):.4f}.",
            )  # fmt: skip


def _tables(given: Given) -> Iterator[tuple[str, pd.DataFrame, str] | Missing]:
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

    from anonkit.datasets import bank_customers

    cancer = load_breast_cancer(as_frame=True).frame.iloc[:, [*range(10), 30]]
    yield "breast cancer, ten means", cancer.assign(target=cancer["target"].map(str)), "target"
    wisconsin = pd.read_csv(given.data / "breast_cancer_wisconsin.csv").drop(columns="Sample_code_number")
    yield "breast cancer, Wisconsin", wisconsin.assign(Class=wisconsin["Class"].map(str)), "Class"
    sugar = load_diabetes(as_frame=True).frame
    above = np.where(sugar["target"] > sugar["target"].median(), "above", "below")
    yield "diabetes", sugar.assign(target=above), "target"
    wine = load_wine(as_frame=True).frame
    yield "wine", wine.assign(target=np.where(wine["target"] == 0, "first", "other")), "target"
    car = pd.read_csv(given.data / "car_evaluation.csv").astype(str)
    yield "car", car.assign(**{"class": np.where(car["class"] == "unacc", "no", "yes")}), "class"
    customers = bank_customers(given.pick(600, 6_000), seed=11).to_pandas()
    is_high = customers["customer_value"].astype(str) == sorted(customers["customer_value"].astype(str).unique())[0]
    yield "simulated customers", customers.assign(customer_value=np.where(is_high, "one", "other")), "customer_value"
    adult = _adult(given).drop(columns="fnlwgt").sample(given.pick(600, 8_000), random_state=1).reset_index(drop=True)
    yield (
        "Adult, married or not",
        adult.assign(
            **{"marital-status": np.where(adult["marital-status"].str.startswith("Married"), "yes", "no")}
        ).drop(columns="relationship"),
        "marital-status",
    )
    yield from _statsmodels_tables(given)


def _statsmodels_tables(given: Given) -> Iterator[tuple[str, pd.DataFrame, str] | Missing]:
    """Five tables inside the wheel of statsmodels, two classes each and 6,000 rows at most."""
    folder = given.work / "statsmodels"
    folder.mkdir()
    written = given.peer("statsmodels", "tables", folder=str(folder))
    if isinstance(written, Missing):
        yield Missing(what="tables of statsmodels", reason=written.reason)
        return
    for name, positive in (
        ("affairs", "yes"),
        ("vote of 1996", "vote 0"),
        ("visits to a doctor (3 classes)", "none"),
        ("choice of transport", "yes"),
        ("schools", "above"),
    ):
        frame = pd.read_csv(folder / f"{name}.csv", keep_default_na=False)
        frame = frame.sample(min(len(frame), given.pick(600, 6_000)), random_state=1).reset_index(drop=True)
        yield name.partition(" (")[0], frame.assign(y=np.where(frame["y"] == positive, "a", "b")), "y"


def _release_aucs(frame: pd.DataFrame, target: str, half: np.ndarray, method: str) -> tuple[float, float]:
    """AUC on half B of a release that half A's labels have guided: one-hot, suppressed rows stars; and as numbers."""
    from held_out import forest_auc, matrix_auc, released_cells, released_numbers

    columns = [name for name in frame.columns if name != target]
    guide = frame[target].astype(object).where(half, None)
    source = frame[columns].assign(row=np.arange(len(frame)), guide=guide)
    release = anonkit.release(
        pa.Table.from_pandas(source, preserve_index=False), method=method, k=10, target="guide", insensitive=["row"],
        release_as_is=["row"], ledger=None, utility=False,
    )  # fmt: skip
    cells = released_cells(release, len(frame), columns)[~half]
    labels = _labels(frame, target)[~half]
    numbers = released_numbers(release, len(frame))[~half]
    return forest_auc(cells, labels, **SCORED_BY), matrix_auc(numbers, labels, **SCORED_BY)


def _tree_auc(frame: pd.DataFrame, target: str, half: np.ndarray) -> float:
    """AUC on half B of the leaves of a tree grown on half A, each with ten rows of A or more, as a category."""
    from held_out import forest_auc
    from sklearn.tree import DecisionTreeClassifier

    features = pd.get_dummies(frame.drop(columns=target)).to_numpy(dtype=np.float64)
    labels = _labels(frame, target)
    tree = DecisionTreeClassifier(min_samples_leaf=10, random_state=0).fit(features[half], labels[half])
    return forest_auc(pd.DataFrame({"leaf": tree.apply(features[~half])}), labels[~half], **SCORED_BY)


def _labels(frame: pd.DataFrame, target: str) -> np.ndarray:
    return (frame[target] == sorted(frame[target].unique())[0]).to_numpy()
