"""Tasks of a reader of released rows of Adult: an error each, and the line at which it passes, named before peers ran.

A task is a function of the source and of rows in its place; lower is better, and 0 is what the source itself gets. The
lines are for `dp-marginals`, whose rows are for any purpose, and follow the project's targets (pairs, triples, AUC,
spikes) or, where there is none, say how far off a reader could be without a wrong conclusion. Beside its line each task
has two rules for leads: at or below every peer that promises pure epsilon, at every epsilon, and at or below AIM at .1
and .5, though AIM promises (epsilon, delta). `run_reader_tasks.py` runs the methods and the peers and writes the page.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd

Rows = pd.DataFrame
Rule = Callable[[Rows], "pd.Series[bool]"]
BINS = 16
TRIPLES = 200
LEAST = 200
"""Source rows of a group that is looked at."""
EPSILONS = (0.1, 0.5, 1.0)
ABSENT_MEAN, ABSENT_SHARE = 1.0, 0.5
"""The error of a group without rows, and the largest that a mean counts for: one standard deviation."""


@dataclass(frozen=True, kw_only=True)
class Domains:
    """The public domains of a table."""

    numbers: Mapping[str, tuple[float, float]]
    categories: Mapping[str, Sequence[str]]

    def codes(self, rows: Rows) -> np.ndarray:
        """Return the codes of cells, shape (n_rows, n_columns); the last code of a column is for what is missing."""
        columns = []
        for name, (low, high) in self.numbers.items():
            part = (pd.to_numeric(rows[name], errors="coerce").to_numpy(float) - low) / (high - low)
            inside = np.clip(np.nan_to_num(part) * BINS, 0, BINS - 1).astype(np.int64)
            columns.append(np.where(np.isnan(part), BINS, inside))
        for name, known in self.categories.items():
            shown = pd.Index(list(known), dtype=object).get_indexer(rows[name].astype(object)).astype(np.int64)
            columns.append(np.where(shown < 0, len(known), shown))
        return np.column_stack(columns)

    @property
    def sizes(self) -> list[int]:
        """The numbers of codes of each column."""
        return [BINS + 1] * len(self.numbers) + [len(known) + 1 for known in self.categories.values()]


def means_by_group(source: Rows, rows: Rows, *, numbers: Sequence[str], groups: Sequence[str]) -> float:
    """Return the mean error of the mean of each number in each group, in standard deviations of the number."""
    found = []
    for group in groups:
        counts = source[group].value_counts()
        kept = counts.index[counts >= LEAST]
        for name in numbers:
            truth, shown = (table[name].astype(float).groupby(table[group]).mean() for table in (source, rows))
            off = (shown.reindex(kept) - truth[kept]).abs() / float(source[name].astype(float).std())
            found += off.fillna(ABSENT_MEAN).clip(upper=ABSENT_MEAN).tolist()
    return float(np.mean(found))


def shares_by_group(source: Rows, rows: Rows, *, target: str, value: str, groups: Sequence[tuple[str, ...]]) -> float:
    """Return the mean error of the share of one value of the target in each group, or crossing of groups."""
    found = []
    for group in groups:
        counts = source.groupby(list(group)).size()
        kept = counts.index[counts >= LEAST]
        truth, shown = ((one[target] == value).groupby([one[name] for name in group]).mean() for one in (source, rows))
        found += (shown.reindex(kept) - truth[kept]).abs().fillna(ABSENT_SHARE).tolist()
    return float(np.mean(found))


def regressions(source: Rows, rows: Rows, *, models: Mapping[str, Sequence[str]], flags: Mapping[str, Rule]) -> float:
    """Return the mean error of the coefficients of linear models, all in standard deviations of the source."""
    wanted = {*models, *(name for known in models.values() for name in known)}
    designs = [
        pd.DataFrame({name: (flags[name](one) if name in flags else one[name]).astype(float) for name in wanted})
        for one in (source, rows)
    ]
    centre, spread = designs[0].mean(), designs[0].std()
    scaled = [((one - centre) / spread).fillna(0.0) for one in designs]
    found = []
    for answer, known in models.items():
        truth, shown = (
            np.linalg.lstsq(np.column_stack([np.ones(len(one)), one[list(known)]]), one[answer], rcond=None)[0]
            for one in scaled
        )
        found += abs(truth - shown)[1:].tolist()
    return float(np.mean(found))


def top_coded_totals(source: Rows, rows: Rows, *, caps: Mapping[str, float]) -> float:
    """Return the mean relative error of totals of min(cell, cap), and of the shares at or above the cap; at most 1."""
    found = []
    for name, cap in caps.items():
        truth, shown = (one[name].astype(float) for one in (source, rows))
        for figure in (
            lambda cells, cap=cap: cells.clip(upper=cap).mean(),
            lambda cells, cap=cap: (cells >= cap).mean(),
        ):
            found.append(min(1.0, abs(figure(shown) - figure(truth)) / figure(truth)))
    return float(np.mean(found))


def marginals(source: Rows, rows: Rows, *, domains: Domains, order: int) -> float:
    """Return the mean total variation distance of the tables of all pairs, or of some triples, in 16 public bins."""
    sizes, found = domains.sizes, []
    coded = [domains.codes(one) for one in (source, rows)]
    groups = list(combinations(range(len(sizes)), order))
    if order > 2:
        groups = [groups[at] for at in np.random.default_rng(0).permutation(len(groups))[:TRIPLES]]
    for group in groups:
        own = [sizes[at] for at in group]
        tables = [
            np.bincount(np.ravel_multi_index([codes[:, at] for at in group], own), minlength=int(np.prod(own)))
            / len(codes)
            for codes in coded
        ]
        found.append(abs(tables[0] - tables[1]).sum() / 2)
    return float(np.mean(found))


def correlations(source: Rows, rows: Rows, *, numbers: Sequence[str], flags: Mapping[str, Rule]) -> float:
    """Return the mean error of Pearson's correlations of numbers and flags; of a constant they are 0."""
    both = []
    for one in (source, rows):
        table = pd.DataFrame({**{name: one[name] for name in numbers}, **{name: flags[name](one) for name in flags}})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            both.append(np.nan_to_num(table.astype(float).corr().to_numpy()))
    upper = np.triu_indices(len(both[0]), 1)
    return float(abs(both[0] - both[1])[upper].mean())


def rules_broken(source: Rows, rows: Rows, *, rules: Sequence[Rule]) -> float:
    """Return the largest share of rows that break a rule, above that of the source."""
    return max(max(0.0, float(rule(rows).mean()) - float(rule(source).mean())) for rule in rules)


def spikes(source: Rows, rows: Rows, *, numbers: Sequence[str]) -> float:
    """Return the largest error of the share of the commonest value of a number."""
    modes = {name: source[name].astype(float).mode().iloc[0] for name in numbers}
    return max(
        abs(float((rows[name].astype(float) == mode).mean()) - float((source[name].astype(float) == mode).mean()))
        for name, mode in modes.items()
    )


def not_whole(source: Rows, rows: Rows, *, numbers: Sequence[str]) -> float:
    """Return the share of the cells of whole numbers that are no whole numbers, above that of the source."""

    def share(table: Rows) -> float:
        return float(np.mean([(table[name].astype(float).dropna() % 1 != 0).mean() for name in numbers]))

    return max(0.0, share(rows) - share(source))


def area_lost(source: Rows, rows: Rows, *, model: str, asked: Rows, domains: Domains, target: str, value: str) -> float:
    """Return how much AUC, on rows that neither had, a model loses when it learns from the rows and not the source."""
    key = (id(source), id(asked), model)
    if key not in _OF_SOURCES:
        _OF_SOURCES[key] = source, area(source, model, asked, domains, target, value)
    return _OF_SOURCES[key][1] - area(rows, model, asked, domains, target, value)


_OF_SOURCES: dict[tuple[int, int, str], tuple[Rows, float]] = {}
"""The AUC that each source reaches, once a process, with the source, so that its identity is its own."""


def area(rows: Rows, model: str, asked: Rows, domains: Domains, target: str, value: str) -> float:
    """Return the AUC of a model of rows, on other rows; .5 where the rows have one class."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    labels, truth = (table[target] == value for table in (rows, asked))
    if labels.nunique() < 2:
        return 0.5
    known = [name for name in (*domains.numbers, *domains.categories) if name != target]
    at = [number for number, name in enumerate((*domains.numbers, *domains.categories)) if name != target]
    codes = [domains.codes(table)[:, at] for table in (rows, asked)]
    if model != "logistic regression":  # trees cut numbers where they like; the regression has them in public bins
        for column, name in enumerate(known):
            if name in domains.numbers:
                codes = [one.astype(float) for one in codes]
                for one, table in zip(codes, (rows, asked), strict=True):
                    one[:, column] = table[name].astype(float).fillna(domains.numbers[name][0])
    found = {
        "forest": lambda: RandomForestClassifier(50, min_samples_leaf=5, random_state=0, n_jobs=1),
        "logistic regression": lambda: make_pipeline(
            OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=200)
        ),
        "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    }[model]()
    return float(roc_auc_score(truth, found.fit(codes[0], labels).predict_proba(codes[1])[:, 1]))


@dataclass(frozen=True, kw_only=True)
class Task:
    """One task of a reader, and the largest error that passes at each epsilon of `EPSILONS`."""

    name: str
    error: Callable[[Rows, Rows], float]
    passes: tuple[float, float, float]
    binned: bool = True
    """True for a task that says something where every number is the middle of one of 16 bins."""


@dataclass(frozen=True, kw_only=True)
class Adult:
    """The tasks on Adult."""

    domains: Domains
    asked: Rows
    """Rows that are not released, for the AUC."""
    numbers: tuple[str, ...] = (
        "age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week",
    )  # fmt: skip
    flags: Mapping[str, Rule] = field(
        default_factory=lambda: {
            "male": lambda rows: rows["sex"] == "Male",
            "married": lambda rows: rows["marital-status"].isin(["Married-civ-spouse", "Married-AF-spouse"]),
            "rich": lambda rows: rows["income"] == ">50K",
        }
    )
    number_of: Mapping[str, float] = field(default_factory=dict)
    """The years of each education."""

    def tasks(self) -> tuple[Task, ...]:
        """Return the tasks with their lines at epsilon .1, .5 and 1."""
        one = "age", "workclass", "education", "marital-status", "occupation", "race", "sex"
        crossed = (*((name,) for name in one[1:]), ("sex", "race"), ("education", "sex"), ("marital-status", "sex"))
        models = {
            "rich": ("age", "education-num", "hours-per-week", "capital-gain", "capital-loss", "male", "married"),
            "hours-per-week": ("age", "education-num", "male", "married"),
        }
        lost = partial(area_lost, asked=self.asked, domains=self.domains, target="income", value=">50K")
        rules: tuple[Rule, ...] = (
            lambda rows: (rows["relationship"] == "Husband") & (rows["sex"] == "Female"),
            lambda rows: (rows["relationship"] == "Wife") & (rows["sex"] == "Male"),
            lambda rows: rows["education"].map(self.number_of) != rows["education-num"].astype(float),
        )
        return (
            Task(
                name="means by group",
                error=partial(means_by_group, numbers=self.numbers, groups=(*one[1:], "income")),
                passes=(0.20, 0.10, 0.05),
            ),
            Task(
                name="shares by group",
                error=partial(shares_by_group, target="income", value=">50K", groups=crossed),
                passes=(0.08, 0.04, 0.025),
            ),
            Task(
                name="regressions",
                error=partial(regressions, models=models, flags=self.flags),
                passes=(0.08, 0.05, 0.03),
            ),
            Task(
                name="top-coded totals",
                error=partial(
                    top_coded_totals, caps={"capital-gain": 15_000, "capital-loss": 2_000, "hours-per-week": 60}
                ),
                passes=(0.40, 0.20, 0.10),
            ),
            Task(name="AUC, forest", error=partial(lost, model="forest"), passes=(0.05, 0.025, 0.016)),
            Task(name="AUC, regression", error=partial(lost, model="logistic regression"), passes=(0.05, 0.025, 0.016)),
            Task(name="AUC, boosting", error=partial(lost, model="boosting"), passes=(0.05, 0.025, 0.016)),
            Task(name="pairs", error=partial(marginals, domains=self.domains, order=2), passes=(0.095, 0.045, 0.036)),
            Task(name="triples", error=partial(marginals, domains=self.domains, order=3), passes=(0.165, 0.092, 0.079)),
            Task(
                name="correlations",
                error=partial(correlations, numbers=self.numbers, flags=self.flags),
                passes=(0.05, 0.03, 0.02),
            ),
            Task(name="rules broken", error=partial(rules_broken, rules=rules), passes=(0.10, 0.04, 0.02)),
            Task(name="commonest values", error=partial(spikes, numbers=self.numbers), passes=(0.05, 0.03, 0.02)),
            Task(
                name="cells not whole",
                error=partial(not_whole, numbers=self.numbers),
                passes=(0.0, 0.0, 0.0),
                binned=False,
            ),
        )


def passed(task: Task, epsilon: float, error: float) -> bool:
    """Return whether an error is within the line of the task."""
    return error <= task.passes[EPSILONS.index(epsilon)]
