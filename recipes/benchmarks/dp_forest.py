"""The default forest as its users run it: `anonkit.release`, then `consumers.Forest`; not run by the tests.

    python recipes/benchmarks/dp_forest.py adult [SEEDS]     all epsilons; then a forest trained on the released rows
    python recipes/benchmarks/dp_forest.py car [REPEATS]     four classes, repeated five folds
    python recipes/benchmarks/dp_forest.py tables [SEEDS]    other tables, against a plain private tree and naive Bayes
    python recipes/benchmarks/dp_forest.py unseen [SEEDS]    the same on tables that chose no constant of it, or NAME …

Adult and Car are read from `../shared/data`. Lines without privacy, the majority's too, come first.
"""

from __future__ import annotations

import sys
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
    make_hastie_10_2,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split

import anonkit
from anonkit.consumers.published_classifiers import Forest
from anonkit.datasets import bank_customers, bank_customers_policy, bicycle_trips, survey_respondents
from anonkit.dp_trees.grower import grow
from anonkit.dp_trees.plan import Choices, Disjoint, NoisyClassCounts, Plan
from anonkit.dp_trees.questions import BatchCounter, CodedBatch
from anonkit.dp_trees.release.stacked_trees import schema_of
from anonkit.dp_trees.split_selection import JointSelection
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import public_domains
from anonkit.published.count_evidence import softmax
from anonkit.published.tree_model import PublishedForest
from anonkit.randomness import Randomness

HERE = Path(__file__).resolve().parents[2]
DATA = HERE.parent / "shared" / "data"
EPSILONS = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 2.0)
FORESTS = 3
"""Seeds for which a forest is trained on the released rows."""
Scores = tuple[float, float, float]


def scored(truth: np.ndarray, chances: np.ndarray, classes: np.ndarray) -> Scores:
    """Accuracy, balanced accuracy, mean one-against-the-rest AUC."""
    guessed = classes[chances.argmax(axis=1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        balanced = balanced_accuracy_score(truth, guessed)
    areas = [
        roc_auc_score(truth == one, chances[:, at])
        for at, one in enumerate(classes)
        if 0 < np.sum(truth == one) < truth.size
    ]
    return float(accuracy_score(truth, guessed)), float(balanced), float(np.mean(areas))


def released(table: pd.DataFrame, policy: Policy, epsilon: float, method: str = "dp-forest", **more: Any) -> Any:
    """Release in memory."""
    return anonkit.release(table, method=method, epsilon=epsilon, policy=policy, ledger=None, **more)


def predicted(release: Any, test: pd.DataFrame, target: str) -> Scores:
    """Score the model of a release on rows that it has not seen."""
    model = Forest(release.params).fit()
    chances = model.predict_proba(test.drop(columns=target))
    return scored(test[target].astype(str).to_numpy(), chances, model.classes_.astype(str))


def coded(table: pd.DataFrame, like: pd.DataFrame, target: str) -> np.ndarray:
    """Numbers as they are, categories as codes of the values of one table."""
    columns = []
    for name in like.columns.drop(target):
        if pd.api.types.is_numeric_dtype(like[name]):
            columns.append(table[name].astype(float).to_numpy())
        else:
            shown, known = (frame[name].astype(object).fillna("").astype(str) for frame in (table, like))
            columns.append(pd.Categorical(shown, categories=sorted(known.unique())).codes)
    return np.column_stack(columns)


def trained_on_rows(release: Any, test: pd.DataFrame, like: pd.DataFrame, target: str) -> Scores:
    """Score a scikit-learn forest that has seen the released rows alone."""
    rows = release.to_pandas()
    forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0, n_jobs=1)
    forest.fit(coded(rows, like, target), rows[target].astype(str))
    return scored(test[target].astype(str).to_numpy(), forest.predict_proba(coded(test, like, target)), forest.classes_)


def told(name: str, runs: list[Scores], seconds: float | None = None) -> None:
    """Print the mean and the standard deviation of accuracy, balanced accuracy and AUC."""
    mean, spread = np.mean(runs, axis=0), np.std(runs, axis=0)
    cells = "  ".join(f"{m:.4f} ({s:.4f})" for m, s in zip(mean, spread, strict=True))
    print(f"{name:28} {cells}" + ("" if seconds is None else f"  {seconds:.2f} CPU s"), flush=True)


def baselines(train: pd.DataFrame, test: pd.DataFrame, target: str) -> None:
    """Print the lines without privacy."""
    truth = test[target].astype(str)
    print(f"{'majority':28} {truth.value_counts(normalize=True).max():.4f}")
    forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0, n_jobs=1)
    forest.fit(coded(train, train, target), train[target].astype(str))
    chances = forest.predict_proba(coded(test, train, target))
    told("random forest, no privacy", [scored(truth.to_numpy(), chances, forest.classes_)])


def adult_policy() -> Policy:
    """The public domains of Adult, as the recipe has them."""
    with (HERE / "recipes" / "adult-dp-forest.toml").open("rb") as file:
        return Policy.from_dict(tomllib.load(file)["policy"])


def adult(seeds: int) -> None:
    """All epsilons on the split of the source."""
    train, test = pd.read_csv(DATA / "adult_train.csv.gz"), pd.read_csv(DATA / "adult_test.csv")
    policy = adult_policy()
    baselines(train, test, "income")
    for epsilon in EPSILONS:
        runs, rows, seconds = [], [], []
        for _ in range(seeds):
            start = time.process_time()
            release = released(train, policy, epsilon)
            runs.append(predicted(release, test, "income"))
            seconds.append(time.process_time() - start)
            if len(rows) < FORESTS:
                rows.append(trained_on_rows(release, test, train, "income"))
        told(f"epsilon {epsilon}", runs, float(np.median(seconds)))
        told("  forest on its rows", rows)


def car(repeats: int) -> None:
    """Repeated stratified five folds."""
    table = pd.read_csv(DATA / "car_evaluation.csv").astype(str)
    policy = policy_of(table, "class")
    for epsilon in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 2.0):
        runs = []
        for repeat in range(repeats):
            for known, held in StratifiedKFold(5, shuffle=True, random_state=repeat).split(table, table["class"]):
                release = released(table.iloc[known], policy, epsilon)
                runs.append(predicted(release, table.iloc[held], "class"))
        told(f"car, epsilon {epsilon}", runs)


def policy_of(table: pd.DataFrame, target: str) -> Policy:
    """The domains of a public table, taken as public: right for a benchmark, wrong for private rows."""
    columns = {}
    for name in table.columns:
        absent = Missing.CATEGORY if table[name].isna().any() else None
        if name != target and pd.api.types.is_numeric_dtype(table[name]):
            low, high = float(table[name].min()), float(table[name].max())
            columns[name] = Column(name=name, bounds=(low, high if high > low else low + 1), missing=absent)
        else:
            known = tuple(sorted(table[name].dropna().astype(str).unique()))
            role = Role.TARGET if name == target else Role.QUASI_IDENTIFIER
            columns[name] = Column(name=name, categories=known, role=role, missing=absent)
    return Policy(columns=columns)


def other_tables() -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame, Policy, str]]:
    """Tables of many kinds: name, train, test, policy, target."""
    train, test = pd.read_csv(DATA / "adult_train.csv.gz"), pd.read_csv(DATA / "adult_test.csv")
    policy = adult_policy()
    for rows in (300, 1000, 5000):
        yield f"adult, {rows} rows", train.sample(rows, random_state=1), test, policy, "income"
    rich = train[train.income == ">50K"].sample(1578, random_state=1)
    rare = test[test.income == ">50K"].sample(794, random_state=1)
    thin = pd.concat([train[train.income == "<=50K"], rich]), pd.concat([test[test.income == "<=50K"], rare])
    yield "adult, 6 % positives", *thin, policy, "income"
    for target in ("marital-status", "relationship", "sex"):
        swapped = Policy(
            columns={
                name: Column(
                    name=name,
                    bounds=column.bounds,
                    categories=column.categories,
                    role=Role.TARGET if name == target else Role.QUASI_IDENTIFIER,
                    missing=column.missing,
                )
                for name, column in policy.columns.items()
            }
        )
        yield f"adult, {target}", train, test, swapped, target
    kinds = {"numbers": [n for n, c in policy.columns.items() if c.bounds is None], "categories": []}
    kinds["categories"] = [n for n, c in policy.columns.items() if c.bounds is not None]
    for kind, dropped in kinds.items():
        kept = [name for name in policy.columns if name not in dropped or name == "income"]
        part = Policy(columns={name: policy.columns[name] for name in kept})
        yield f"adult, {kind}", train[kept], test[kept], part, "income"
    customers = bank_customers(60_000, seed=1).to_pandas()
    yield "bank customers", customers[:40_000], customers[40_000:], bank_customers_policy(), "customer_value"
    for name, table in scikit_tables():
        known, held = train_test_split(table, test_size=0.33, random_state=1, stratify=table["y"])
        yield name, known, held, policy_of(table, "y"), "y"


def unseen_tables() -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame, Policy, str]]:
    """Tables that were first released when every constant was fixed: name, train, test, policy, target."""
    survey = survey_respondents(45_000, seed=1).to_pandas().drop(columns=["respondent_id", "weight"])
    trips = bicycle_trips(4_000, seed=1).to_pandas()
    trips["hour"] = trips["clock"].astype(str).str[:2]
    trips = trips.drop(columns=["rider", "day", "clock"])
    for name, table, target in (
        ("survey, makes ends meet", survey, "makes_ends_meet"),
        ("survey, health", survey, "health"),
        ("bicycle trips, electric", trips, "electric"),
        ("digits", _frame(*load_digits(return_X_y=True)), "y"),
        ("iris", _frame(*load_iris(return_X_y=True)), "y"),
        ("hastie", _frame(*make_hastie_10_2(30_000, random_state=0)), "y"),
    ):
        known = table.dropna(subset=[target])
        train, test = train_test_split(known, test_size=1 / 3, random_state=1, stratify=known[target])
        yield name, train, test, policy_of(known, target), target


def scikit_tables() -> Iterator[tuple[str, pd.DataFrame]]:
    """Numeric tables: two small ones, seven classes, 6 % positives, a chessboard, nested boxes."""
    for name, loaded in (("breast cancer", load_breast_cancer()), ("wine", load_wine())):
        yield name, _frame(loaded.data, loaded.target)
    for name, more in (
        ("seven classes", {"n_classes": 7, "n_informative": 8, "n_features": 20, "class_sep": 1.2}),
        ("6 % positives", {"weights": [0.94], "n_clusters_per_class": 3, "n_informative": 5, "n_features": 15}),
    ):
        yield name, _frame(*make_classification(30_000, random_state=0, **more))
    draw = np.random.default_rng(0)
    x = draw.random((30_000, 10))
    left = np.where(x[:, 1] < 0.3, 0, np.where(x[:, 2] < 0.6, 1, 2))
    boxes = np.where(x[:, 0] < 0.5, left, np.where(x[:, 3] < 0.5, 3, 1))
    yield "nested boxes", _frame(x, np.where(draw.random(30_000) < 0.1, draw.integers(0, 4, 30_000), boxes))
    yield "chessboard", _frame(x, (np.floor(3 * x[:, 0]) + np.floor(3 * x[:, 1])).astype(int) % 2)


def _frame(values: np.ndarray, labels: np.ndarray) -> pd.DataFrame:
    frame = pd.DataFrame(values, columns=[f"x{at}" for at in range(values.shape[1])])
    return frame.assign(y=[f"class {one}" for one in labels])


def coded_for(train: pd.DataFrame, test: pd.DataFrame, policy: Policy, target: str) -> tuple[Any, ...]:
    """Schema with 16 bins, codes of both tables, labels of the first, names of the classes."""
    schema = schema_of(public_domains(policy), 16)
    reader = Forest(PublishedForest(schema=schema, trees=(), rows_per_tree={"kind": "disjoint"})).fit()
    names = np.array(schema.classes.labels(), dtype=object).astype(str)
    order = np.argsort(names)
    labels = order[np.searchsorted(names[order], train[target].astype(str).to_numpy())]
    return schema, reader.codes(train.drop(columns=target)), reader.codes(test.drop(columns=target)), labels, names


def plain_naive_bayes(train: pd.DataFrame, test: pd.DataFrame, policy: Policy, target: str, epsilon: float) -> Scores:
    """Laplace noise on count tables, epsilon divided evenly, clipped: a baseline, floats and all, not for release."""
    schema, codes, fresh, labels, names = coded_for(train, test, policy, target)
    scale, draw = (len(codes) + 1) / epsilon, np.random.default_rng()
    counts = np.maximum(np.bincount(labels, minlength=names.size) + draw.laplace(0, scale, names.size), 1)
    scores = np.tile(np.log(counts / counts.sum()), (fresh.shape[1], 1))
    for one, own, other in zip(schema.attributes, codes, fresh, strict=True):
        table = np.bincount(own * names.size + labels, minlength=one.codes * names.size).reshape(one.codes, -1)
        table = np.maximum(table + draw.laplace(0, scale, table.shape), 0) + 1
        scores += np.log(table / table.sum(axis=0))[other]
    return scored(test[target].astype(str).to_numpy(), softmax(scores), names)


def plain_tree(
    train: pd.DataFrame, test: pd.DataFrame, policy: Policy, target: str, epsilon: float, depth: int
) -> Scores:
    """One Gini tree with count leaves: half of epsilon for its splits, half for the counts."""
    schema, codes, fresh, labels, names = coded_for(train, test, policy, target)
    choices = Choices(
        rows=Disjoint(trees=1),
        levels=depth + 1,
        weights=(*[Fraction(1, 2 * depth)] * depth, Fraction(1, 2)),
        selection=JointSelection(),
        leaf=NoisyClassCounts(),
    )
    plan = Plan(choices=choices, schema=schema, epsilon=epsilon)
    batch = CodedBatch(codes=codes, labels=labels, first_row=0)
    forest = grow(plan, BatchCounter(lambda: [batch]), Randomness.secure())
    leaves = forest.leaves_of(fresh)[0]
    counts = np.array([[0] * names.size if one is None else one.counts for one in forest.contents()])
    counts = np.maximum(counts, 0) + 1e-3
    return scored(test[target].astype(str).to_numpy(), (counts / counts.sum(axis=1, keepdims=True))[leaves], names)


def against_rivals(
    tables: Iterator[tuple[str, pd.DataFrame, pd.DataFrame, Policy, str]],
    seeds: int,
    epsilons: tuple[float, ...] = (0.5, 1.0),
    also: Callable[[pd.DataFrame, pd.DataFrame, str], None] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield scores of `dp-forest`, of a plain private Gini tree of depth 3, 4, 5 and of a plain private naive Bayes.

    A line a table and epsilon: our mean, the better rival's in accuracy, and in AUC, with its name; our standard
    deviation of one release, and the releases: three times as many of tables with fewer than 2,000 rows.
    """
    rivals: dict[str, Callable[..., Scores]] = {"naive Bayes": plain_naive_bayes}
    for depth in (3, 4, 5):
        rivals[f"tree of depth {depth}"] = partial(plain_tree, depth=depth)
    for name, train, test, policy, target in tables:
        if also is not None:
            also(train, test, target)
        for epsilon in epsilons:
            runs = seeds if len(train) >= 2_000 else 3 * seeds
            each = [predicted(released(train, policy, epsilon), test, target) for _ in range(runs)]
            ours, spread = np.mean(each, axis=0), np.std(each, axis=0)
            best = {
                rival: np.mean([run(train, test, policy, target, epsilon) for _ in range(runs)], axis=0)
                for rival, run in rivals.items()
            }
            accuracy, area = (max(best, key=lambda key, at=at: best[key][at]) for at in (0, 2))
            yield {
                "table": name, "epsilon": epsilon, "accuracy": (ours[0], best[accuracy][0], accuracy),
                "AUC": (ours[2], best[area][2], area), "runs": runs,
                "spread": {"accuracy": spread[0], "AUC": spread[2]},
            }  # fmt: skip


def tables(seeds: int) -> None:
    """Other tables, some of which chose constants."""
    _told(against_rivals(other_tables(), seeds))


def unseen(seeds: int, *names: str) -> None:
    """Tables that chose nothing, some of them or all, with the commonest class and a forest without privacy."""
    asked = (one for one in unseen_tables() if not names or one[0] in names)
    _told(against_rivals(asked, seeds, also=baselines))


def _told(found: Iterator[dict[str, Any]]) -> None:
    for one in found:
        told = [f"{key} {one[key][0]:.3f} (best rival {one[key][1]:.3f}, {one[key][2]})" for key in ("accuracy", "AUC")]
        print(f"{one['table']:24} {one['epsilon']:4}  {'  '.join(told)}", flush=True)


if __name__ == "__main__":
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    {"adult": adult, "car": car, "tables": tables, "unseen": unseen}[sys.argv[1]](runs, *sys.argv[3:])
