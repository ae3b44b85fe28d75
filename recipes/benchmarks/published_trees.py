"""The papers' own experiments with trees, under accounting that holds: which of their claims remain.

* DiffPRFs (Mu et al. 2016, figure 1): accuracy on Adult against epsilon, 25 trees, depths 3 to 7, both of its scores,
  as it is by default and by its published preset.
* Arithmetic against halving budgets (Shang et al. 2019): C4.5 on Car, epsilon .5 to 1.0, five folds.
* eDPRF against DiffPRF (Wang et al. 2025): levels 4 to 8 on Adult, as it is and balanced by leaving rows out.
* DiffGen and DT-Diff on Adult with and without hierarchies of the categories, with and without DT-Diff's weights; and
  what pruning does to DiffP-C4.5.

Forests of several trees are decided by each of the three votes; the noise is the same for all three.
Times are measured by `tree_times.py`.

Adult is UCI's split, 32,561 / 16,281 rows; the domains are the codebook's. The forest without noise is beside the
others as what privacy costs. Accuracy alone flatters the majority (.7638 on Adult): balanced accuracy and AUC stand
beside it.

Run it:  python recipes/benchmarks/published_trees.py [--plots docs/methods] [--runs 5] [--only diffprfs]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from anonkit.consumers import Forest
from anonkit.dp_trees.questions import BatchCounter
from anonkit.dp_trees.release.coded_rows import CodedRows, cached_in_memory
from anonkit.dp_trees.release.tree_releases import TreeMethod
from anonkit.dp_trees.split_selection import GINI, MAX_CLASS
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.methods import make_method, method_class, presets_of
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy
from anonkit.published.tree_model import VOTES
from anonkit.randomness import Randomness

DATA = Path(__file__).parents[3] / "shared" / "data"
BOUNDS = {
    "age": (17.0, 90.0),
    "fnlwgt": (0.0, 1_500_000.0),
    "education-num": (1.0, 16.0),
    "capital-gain": (0.0, 100_000.0),
    "capital-loss": (0.0, 4_500.0),
    "hours-per-week": (1.0, 99.0),
}
GROUPS: dict[str, dict[str, str]] = {
    "workclass": {
        "private": "Private",
        "self-employed": "Self-emp-not-inc Self-emp-inc",
        "government": "Federal-gov State-gov Local-gov",
        "no pay": "Without-pay Never-worked",
    },
    "education": {
        "dropped out": "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th",
        "high school": "HS-grad Some-college",
        "associate": "Assoc-voc Assoc-acdm",
        "bachelor": "Bachelors",
        "postgraduate": "Masters Prof-school Doctorate",
    },
    "marital-status": {
        "married": "Married-civ-spouse Married-AF-spouse",
        "apart": "Married-spouse-absent Divorced Separated Widowed",
        "never": "Never-married",
    },
    "occupation": {
        "office": "Exec-managerial Prof-specialty Tech-support Adm-clerical Sales",
        "trade": "Craft-repair Machine-op-inspct Transport-moving Handlers-cleaners Farming-fishing",
        "service": "Other-service Protective-serv Priv-house-serv Armed-Forces",
    },
    "relationship": {
        "spouse": "Husband Wife",
        "kin": "Own-child Other-relative",
        "alone": "Not-in-family Unmarried",
    },
    "native-country": {
        "north": "United-States Canada Outlying-US(Guam-USVI-etc)",
        "asia": "China India Japan Vietnam Philippines Taiwan Iran Cambodia Thailand Laos Hong",
        "europe": "England Germany Greece Italy Poland Portugal Ireland France Hungary Scotland Yugoslavia "
        "Holand-Netherlands",
    },
}
"""Hierarchies as an owner may declare them; what is not named is a group of its own kind, `other`."""
EPSILONS = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 2.0)
ENGINE = LocalEngine()


@dataclass(frozen=True, kw_only=True)
class Task:
    """A table to grow on and one to predict."""

    train: pa.Table
    test: pa.Table
    policy: Policy
    target: str

    @property
    def truth(self) -> np.ndarray:
        """The classes to predict."""
        return np.array(self.test.column(self.target).to_pylist(), dtype=object)


def read(name: str) -> pa.Table:
    """Read a table with the engine's own types."""
    source = ENGINE.scan(DATA / name, Policy())
    return pa.Table.from_batches(source.batches(), schema=source.schema)


def policy_of(tables: list[pa.Table], target: str) -> Policy:
    """Declare the codebook's domains: bounds above, and every category of either table."""
    columns = {}
    for name in tables[0].column_names:
        if name in BOUNDS:
            columns[name] = Column(name=name, bounds=BOUNDS[name])
            continue
        cells = [cell for table in tables for cell in table.column(name).unique().to_pylist()]
        columns[name] = Column(
            name=name,
            categories=tuple(sorted({str(cell) for cell in cells if cell is not None})),
            missing=Missing.CATEGORY if None in cells else None,
            role=Role.TARGET if name == target else Role.QUASI_IDENTIFIER,
        )
    return Policy(columns=columns)


def adult() -> Task:
    """Adult, UCI's own division."""
    train, test = read("adult_train.csv.gz"), read("adult_test.csv")
    return Task(train=train, test=test, policy=policy_of([train, test], "income"), target="income")


def balanced(task: Task) -> Task:
    """The same with as many rows of either class, the others left out."""
    labels = np.array(task.train.column(task.target).to_pylist(), dtype=object)
    draw = np.random.default_rng(0)
    size = min(int((labels == one).sum()) for one in np.unique(labels))
    kept = np.concatenate(
        [draw.choice(np.flatnonzero(labels == one), size, replace=False) for one in np.unique(labels)]
    )
    truth = task.truth
    size = min(int((truth == one).sum()) for one in np.unique(truth))
    tested = np.concatenate(
        [draw.choice(np.flatnonzero(truth == one), size, replace=False) for one in np.unique(truth)]
    )
    return Task(
        train=task.train.take(np.sort(kept)),
        test=task.test.take(np.sort(tested)),
        policy=task.policy,
        target=task.target,
    )


def car() -> Iterator[Task]:
    """Car, five folds."""
    table = read("car_evaluation.csv")
    table = table.cast(pa.schema([(name, pa.string()) for name in table.column_names]))
    policy = policy_of([table], "class")
    labels = table.column("class").to_pylist()
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(labels, labels):
        yield Task(train=table.take(train), test=table.take(test), policy=policy, target="class")


class Bench:
    """Grows and scores forests of one task; its rows are coded once."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.truth = task.truth
        self._source = ENGINE.scan(task.train, task.policy)

    def forest(self, method: str, preset: str | None = None, **parameters: Any) -> Forest:
        """Grow a forest with fresh noise."""
        made = make_method(method, parameters, preset)
        assert isinstance(made, TreeMethod)
        plan = made.plan(self.task.policy)
        rows = cached_in_memory(CodedRows(source=self._source, schema=plan.schema))
        grown = made.grow(plan, BatchCounter(rows), Randomness.secure(), lambda step, share: None)
        return Forest(grown).fit()

    def scores(self, forest: Forest) -> tuple[float, float, float]:
        """Return accuracy, balanced accuracy and AUC."""
        shares = forest.predict_proba(self.task.test)
        guessed = forest.classes_[shares.argmax(axis=1)]
        classes = [1] if shares.shape[1] == 2 else range(shares.shape[1])
        areas = [roc_auc_score(self.truth == forest.classes_[one], shares[:, one]) for one in classes]
        return (
            float((guessed == self.truth).mean()),
            float(balanced_accuracy_score(self.truth, guessed)),
            float(np.mean(areas)),
        )

    def mean(self, runs: int, method: str, **parameters: Any) -> np.ndarray:
        """Return the mean scores of some runs."""
        return np.mean([self.scores(self.forest(method, **parameters)) for _ in range(runs)], axis=0)

    def votes(self, runs: int, method: str, **parameters: Any) -> dict[str, np.ndarray]:
        """Return the mean scores of some runs by each vote: the same forests, decided in three ways."""
        found: dict[str, list[tuple[float, float, float]]] = {vote: [] for vote in VOTES}
        for _ in range(runs):
            grown = self.forest(method, **parameters).forest_
            for vote in VOTES:
                found[vote].append(self.scores(Forest(grown, vote=vote).fit()))
        return {vote: np.mean(each, axis=0) for vote, each in found.items()}


def without_noise(task: Task, **settings: Any) -> float:
    """Return the accuracy of scikit-learn's random forest on one-hot features: what privacy costs."""
    import pandas as pd

    both = pd.concat([task.train.to_pandas(), task.test.to_pandas()])
    features = pd.get_dummies(both.drop(columns=task.target)).to_numpy()
    n = task.train.num_rows
    model = RandomForestClassifier(**settings, random_state=0).fit(features[:n], both[task.target].astype(str)[:n])
    return float((model.predict(features[n:]) == task.truth).mean())


Lines = dict[str, list[float]]


def show(title: str, along: list[float], lines: Lines) -> None:
    """Print a table."""
    print(f"\n{title}")
    print("".ljust(52) + " ".join(f"{x:>6g}" for x in along))
    for name, values in lines.items():
        print(name.ljust(52) + " ".join(f"{value:6.4f}" for value in values), flush=True)


def plot(path: Path | None, title: str, label: str, along: list[float], lines: Lines, flat: dict[str, float]) -> None:
    """Draw lines and constant references into an SVG file."""
    if path is None:
        return
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "anonkit"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.0))
    for (name, values), marker in zip(lines.items(), "osv^Dx*+Ph12", strict=False):
        axes.plot(along, values, marker=marker, markersize=4, linewidth=1.2, label=name)
    for (name, value), style in zip(flat.items(), ("--", ":"), strict=False):
        axes.axhline(value, color="0.4", linestyle=style, linewidth=1, label=name)
    axes.set(title=title, xlabel=label, ylabel="accuracy")
    axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def published(name: str, **more: Any) -> dict[str, Any]:
    """Return the parameters of a method's published preset."""
    return {**presets_of(method_class(name))["paper"], **more}


def diffprfs(plots: Path | None, runs: int) -> None:
    """DiffPRFs' figure 1, with the bootstrap paid for, and as published; three votes of the same forests."""
    task = adult()
    bench = Bench(task)
    majority = float(max(np.unique(task.truth, return_counts=True)[1]) / task.truth.size)
    reference = without_noise(task, n_estimators=25, max_depth=5)
    forms: dict[str, dict[str, Any]] = {"sound": {}, "published": published("diffprfs")}
    for form, score in product(forms, ("information-gain", "max-class")):
        lines: Lines = {}
        shown: dict[str, Lines] = {vote: {} for vote in VOTES}
        for depth in (3, 4, 5, 6, 7):
            settings = {**forms[form], "depth": depth, "score": score}
            found = [bench.votes(runs, "diffprfs", epsilon=e, **settings) for e in EPSILONS]
            for vote, (at, what) in product(VOTES, enumerate(("accuracy", "balanced accuracy", "AUC"))):
                lines[f"{what}, {vote}, depth {depth}"] = [float(each[vote][at]) for each in found]
            for vote in VOTES:
                shown[vote][f"depth {depth}"] = lines[f"accuracy, {vote}, depth {depth}"]
        show(f"DiffPRFs on Adult, {form}, {score}, against epsilon", list(EPSILONS), lines)
        target = None if plots is None else plots / f"diffprfs-{score}{'-published' * (form == 'published')}.svg"
        flat = {"commonest class": majority, "25 trees of depth 5 without noise": reference}
        title = f"DiffPRFs, {form}, {score}: Adult, sum of probabilities, {runs} runs"
        plot(target, title, "epsilon", list(EPSILONS), shown["sum"], flat)


def arithmetic(plots: Path | None, runs: int) -> None:
    """Arithmetic against halving budgets, C4.5 on Car."""
    epsilons = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    benches = [Bench(task) for task in car()]
    lines: Lines = {}
    for depth in (2, 3, 4):
        for name, method, more in (
            ("arithmetic, ascending", "c45-arithmetic", {"order": "ascending"}),
            ("arithmetic, descending", "c45-arithmetic", {"order": "descending"}),
            ("halving", "c45-halving", {}),
        ):
            found = [
                np.mean([bench.mean(runs, method, epsilon=e, depth=depth, **more) for bench in benches], axis=0)
                for e in epsilons
            ]
            lines[f"{name}, depth {depth}"] = [float(one[0]) for one in found]
            lines[f"  balanced accuracy, {name}, depth {depth}"] = [float(one[1]) for one in found]
    show("C4.5 on Car, accuracy against epsilon", epsilons, lines)
    shown = {name: values for name, values in lines.items() if name.endswith("depth 3") and not name.startswith(" ")}
    truth = np.concatenate([bench.truth for bench in benches])
    flat = {"commonest class": float(max(np.unique(truth, return_counts=True)[1]) / truth.size)}
    target = None if plots is None else plots / "c45-budgets.svg"
    plot(target, f"C4.5, three splits on a path: Car, {5 * runs} runs", "epsilon", epsilons, shown, flat)


def c45_as_published(plots: Path | None, runs: int) -> None:
    """The papers' preset of C4.5 on Car: what it predicts, what it claims, what it costs, and what that buys."""
    epsilons = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    benches = [Bench(task) for task in car()]
    lines: Lines = {}

    def add(label: str, method: str, losses: list[float], **more: Any) -> None:
        found = [np.mean([bench.mean(runs, method, epsilon=e, **more) for bench in benches], axis=0) for e in losses]
        lines[label] = [float(one[0]) for one in found]
        lines[f"  balanced accuracy, {label}"] = [float(one[1]) for one in found]
        lines[f"  AUC, {label}"] = [float(one[2]) for one in found]

    for depth in (2, 3, 6):
        for method in ("c45-arithmetic", "c45-halving"):
            given: dict[str, Any] = {"preset": "paper", "depth": depth}
            plans = [make_method(method, {"epsilon": e, "depth": depth}, "paper") for e in epsilons]
            true = [made.plan(benches[0].task.policy).accounting.epsilon for made in plans]  # type: ignore[attr-defined]
            lines[f"epsilon that holds, {method}, depth {depth}"] = true
            add(f"{method}, paper, depth {depth}", method, epsilons, **given)
            add(f"{method}, paper but the split drawn, depth {depth}", method, epsilons, **given, choice="exponential")
            add(f"{method}, default at the epsilon that holds, depth {depth}", method, true, depth=depth)
    show("C4.5 on Car as published, accuracy against the claimed epsilon", epsilons, lines)


def id3(plots: Path | None, runs: int) -> None:
    """SuLQ-ID3, PINQ-ID3, DiffP-ID3 and DiffP-C4.5 on Adult: their defaults and their papers' presets."""
    epsilons = [0.1, 0.5, 1.0, 2.0]
    bench = Bench(adult())
    lines: Lines = {}
    for method in ("sulq-id3", "pinq-id3", "diffp-id3", "diffp-c45"):
        for preset, depth in ((None, 3), (None, 5), ("paper", 3), ("paper", 5)):
            found = [bench.mean(runs, method, epsilon=e, preset=preset, depth=depth) for e in epsilons]
            label = f"{method}, {preset or 'default'}, depth {depth}"
            lines[label] = [float(one[0]) for one in found]
            lines[f"  balanced accuracy, {label}"] = [float(one[1]) for one in found]
            lines[f"  AUC, {label}"] = [float(one[2]) for one in found]
    show("Trees of Friedman & Schuster on Adult, accuracy against epsilon", epsilons, lines)


def blind(plots: Path | None, runs: int) -> None:
    """DiffP-C4.5 on Adult: which choice makes its AUC, at hardly another accuracy."""
    epsilons = [1.0, 2.0, 40.0]
    task = adult()
    lines: Lines = {}

    def add(label: str, bench: Bench, **more: Any) -> None:
        forests = [[bench.forest("diffp-c45", epsilon=e, depth=5, **more) for _ in range(runs)] for e in epsilons]
        found = [np.mean([bench.scores(one) for one in forests_of], axis=0) for forests_of in forests]
        lines[label] = [float(one[0]) for one in found]
        lines[f"  AUC, {label}"] = [float(one[2]) for one in found]
        trees = [[one.forest_.trees[0] for one in forests_of] for forests_of in forests]
        lines[f"  leaves, {label}"] = [float(np.mean([sum(n.is_leaf for n in t) for t in ts])) for ts in trees]

    bench = Bench(task)
    for score in ("max-class", "gini"):
        for stop in ("noisy", "depth"):
            for pruning in ("none", "pessimistic"):
                add(f"{score}, stop {stop}, pruning {pruning}", bench, score=score, stop=stop, pruning=pruning)
    show("DiffP-C4.5 on Adult, depth 5: accuracy and AUC against epsilon", epsilons, lines)
    what_scores_see(task)


def what_scores_see(task: Task) -> None:
    """Print what the best splits of the root gain without noise, by either score, and their AUC."""
    plan = make_method("diffp-c45", {"epsilon": 1.0}).plan(task.policy)  # type: ignore[attr-defined]
    batches = cached_in_memory(CodedRows(source=ENGINE.scan(task.train, task.policy), schema=plan.schema))()
    codes, labels = ([getattr(batch, name) for batch in batches] for name in ("codes", "labels"))
    columns, classes = np.concatenate(codes, axis=1), np.concatenate(labels)
    whole = np.bincount(classes, minlength=2)[np.newaxis, np.newaxis, np.newaxis]
    print("\nbest split of each attribute at the root: rows gained by max-class, by Gini, AUC of the better by Gini")
    for at, attribute in enumerate(plan.schema.attributes):
        counts = np.zeros((1, attribute.codes, 2), dtype=np.int64)
        np.add.at(counts[0], (columns[at], classes), 1)
        children = attribute.children(counts)
        gains = [score.of(children, 1 << 28)[0] - score.of(whole, 1 << 28)[0, 0] for score in (MAX_CLASS, GINI)]
        best = int(gains[1].argmax())
        shares = children[0, best] / np.maximum(children[0, best].sum(axis=1, keepdims=True), 1)
        goes = attribute.branches(best)
        area = roc_auc_score(classes, shares[goes[columns[at]], 1])
        print(f"{attribute.name:20} {gains[0].max():6d} {gains[1].max() / 256:8.0f} {area:.3f}")


def edprf(plots: Path | None, runs: int) -> None:
    """EDPRF against DiffPRF, levels 4 to 8, three votes of the same forests."""
    levels = [4.0, 5.0, 6.0, 7.0, 8.0]
    task = adult()
    for name, one in (("Adult", task), ("balanced Adult", balanced(task))):
        bench = Bench(one)
        lines: Lines = {}
        shown: Lines = {}
        for label, parameters in (
            ("edprf", {"method": "edprf", "trees": 25}),
            ("edprf, labels only", {"method": "edprf", "trees": 25, "leaf": "label"}),
            ("edprf, as published", {"method": "edprf", **published("edprf", trees=25)}),
            ("edprf, 5 trees", {"method": "edprf", "trees": 5}),
            ("diffprf, max-class", {"method": "diffprf", "score": "max-class", "bins": 4}),
            ("diffprf, as published, max-class", {"method": "diffprf", **published("diffprf", score="max-class")}),
        ):
            shift = 0 if label.startswith("edprf") else 1  # its depth counts splits, not levels
            found = [bench.votes(runs, epsilon=1.0, depth=int(level) - shift, **parameters) for level in levels]
            votes = ("majority",) if parameters.get("leaf") == "label" else VOTES
            for vote, (at, what) in product(votes, enumerate(("accuracy", "balanced accuracy", "AUC"))):
                lines[f"{what}, {vote}, {label}"] = [float(each[vote][at]) for each in found]
            shown[label] = lines[f"accuracy, {votes[-1]}, {label}"]
        show(f"eDPRF against DiffPRF on {name}, epsilon 1, against levels", levels, lines)
        truth = bench.truth
        flat = {"commonest class": float(max(np.unique(truth, return_counts=True)[1]) / truth.size)}
        target = None if plots is None else plots / f"edprf-{name.replace(' ', '-').lower()}.svg"
        plot(target, f"eDPRF and DiffPRF: {name}, epsilon 1", "levels of a tree", levels, shown, flat)


def with_groups(task: Task) -> Task:
    """The same task with hierarchies declared."""
    columns = dict(task.policy.columns)
    for name, groups in GROUPS.items():
        group_of = {value: group for group, values in groups.items() for value in values.split()}
        tree = tuple((value, group_of.get(value, "other")) for value in columns[name].categories or ())
        columns[name] = replace(columns[name], tree=tree)
    return replace(task, policy=Policy(columns=columns))


def specialization(plots: Path | None, runs: int) -> None:
    """DiffGen and DT-Diff with and without hierarchies and weights; DiffP-C4.5 with and without pruning."""
    epsilons = [0.1, 0.5, 1.0, 2.0]
    task = adult()
    lines: Lines = {}

    def add(label: str, bench: Bench, method: str, **more: Any) -> None:
        found = [bench.mean(runs, method, epsilon=epsilon, **more) for epsilon in epsilons]
        lines[label] = [float(one[0]) for one in found]
        lines[f"  AUC, {label}"] = [float(one[2]) for one in found]

    for label, one in (("single categories", task), ("groups", with_groups(task))):
        bench = Bench(one)
        add(f"diffgen, {label}", bench, "diffgen", steps=10)
        for weights in ("shared", "even"):
            add(f"dt-diff, {label}, {weights} weights", bench, "dt-diff", steps=10, weights=weights)
    for pruning in ("none", "pessimistic"):
        add(f"diffp-c45, depth 5, pruning {pruning}", Bench(task), "diffp-c45", depth=5, pruning=pruning)
    show("Adult, accuracy against epsilon", epsilons, lines)


PARTS = {
    "diffprfs": diffprfs,
    "arithmetic": arithmetic,
    "c45-as-published": c45_as_published,
    "edprf": edprf,
    "specialization": specialization,
    "id3": id3,
    "blind": blind,
}


def main() -> None:
    """Run the experiments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--plots", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", choices=PARTS)
    given = parser.parse_args()
    for name, part in PARTS.items():
        if given.only in (None, name):
            part(given.plots, given.runs)


if __name__ == "__main__":
    main()
