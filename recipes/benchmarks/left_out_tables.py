"""The constants of dp-forest chosen on all tables but one, and reported on that one: in memory, without files.

    python recipes/benchmarks/left_out_tables.py [SEEDS] [FOLDER]      FOLDER: CSV files with a column of classes `y`

A part of `make bench`, too, with diffprivlib and DP-EBM beside. Every candidate learns every table at every epsilon
(once where candidates come to the same rule); for each table the candidate is taken that loses least to the better of
`dp-nb`, a plain private tree and a plain private naive Bayes on the *other* tables, and its figures are those that are
told. Numbers are coded once, in 64 cells, and put together for fewer.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from dp_forest import _frame, other_tables, policy_of, scored, unseen_tables
from sklearn.model_selection import train_test_split

from anonkit.budget_rules import tree_rule as budget_rule
from anonkit.budget_rules.tree_rule import table_weights
from anonkit.consumers.naive_bayes import NaiveBayes
from anonkit.consumers.published_classifiers import Forest
from anonkit.domains.number_bins import Grid
from anonkit.dp_trees.additive_model.pair_prequeries import PairQuestions
from anonkit.dp_trees.additive_model.stacked import StackedPlan, learn
from anonkit.dp_trees.grower import grow
from anonkit.dp_trees.plan import Choices, Disjoint, NoisyClassCounts, Plan
from anonkit.dp_trees.questions import BatchCounter, CodedBatch, Question, RowSums
from anonkit.dp_trees.release.stacked_trees import schema_of
from anonkit.dp_trees.split_selection import JointSelection
from anonkit.errors import SourceError
from anonkit.mechanisms.accounting import rate_within, shares, units_of
from anonkit.mechanisms.noisy_histograms import noisy_tables
from anonkit.methods.dp_nb import count
from anonkit.policy.public_domains import public_domains
from anonkit.published.count_evidence import places_of
from anonkit.published.tree_model import PublishedForest, TreeSchema
from anonkit.randomness import Randomness

EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
CANDIDATES = tuple(product((20, 35, 70), (200, 800), (2_500, 7_500, 10**12), (-math.inf, 0.07, 0.15)))
"""The chosen constants: from which epsilon n on weights are learned, for each pair of attributes; from which on there
are regions, for each cell of a table of two values; from which on trees are deep, for each class; from which
dependence within classes on weights pay (the first: whatever is read).
"""
FINEST, MOST_TESTED = 64, 10_000


@dataclass(frozen=True, eq=False)
class Coded:
    """A table in codes of 64 cells."""

    name: str
    schema: TreeSchema
    codes: np.ndarray
    labels: np.ndarray
    test: np.ndarray
    truth: np.ndarray
    """Names of the classes of the held-out rows."""

    @lru_cache(maxsize=8)  # noqa: B019 - the few tables live as long as the script
    def at(self, cells: int) -> tuple[TreeSchema, CodedBatch, np.ndarray]:
        """The schema and the codes with so many cells, a power of 2."""
        step, attributes, parts = FINEST // cells, [], [self.codes.copy(), self.test.copy()]
        for at, one in enumerate(self.schema.attributes):
            domain = one.domain
            if isinstance(domain, Grid):
                one = replace(one, domain=replace(domain, cells=cells))
                for codes in parts:
                    codes[at] //= step
            attributes.append(one)
        batch = CodedBatch(codes=parts[0], labels=self.labels, first_row=0)
        return replace(self.schema, attributes=tuple(attributes)), batch, parts[1]

    def scored(self, logarithms: np.ndarray) -> tuple[float, ...]:
        """Accuracy, balanced accuracy and AUC of logarithms of odds."""
        chances = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
        names = np.array(self.schema.classes.labels(), dtype=object).astype(str)
        return scored(self.truth, chances / chances.sum(axis=1, keepdims=True), names)


def simulated() -> Iterator[tuple[str, pd.DataFrame]]:
    """Heavy tails and rare categories, few rows, rare classes, an interaction alone, categories alone, many columns."""
    for name, rows, numbers, categories, rate, common in (
        ("marketing, 12 % positives", 67_500, 7, 9, 0.117, 0.3),
        ("credit, 22 % positives", 45_000, 14, 9, 0.22, 0.8),
        ("mixed, 300 rows", 450, 4, 4, 0.4, 0.4),
        ("mixed, 6 % positives", 22_500, 6, 6, 0.06, 0.5),
        ("mixed, 300,000 rows", 330_000, 4, 4, 0.3, 0.5),
    ):
        draw = np.random.default_rng(rows)
        y = (draw.random(rows) < rate).astype(int)
        factor, found = draw.normal(size=rows), {}
        for at in range(numbers):
            latent = common * factor + np.sqrt(1 - common**2) * draw.normal(size=rows) + (0.9, 0.5, 0.2, 0)[at % 4] * y
            found[f"n{at}"] = 10 * latent if at % 3 == 1 else np.exp(1.2 * latent)
        for at in range(categories):
            size = (2, 3, 12, 4, 9)[at % 5]
            usual = 1 / np.arange(1, size + 1) ** 1.5
            rarer = usual * np.exp((0.6, 0.3, 0.1, 0)[at % 4] * 1.5 * draw.normal(size=size))
            codes = [draw.choice(size, rows, p=each / each.sum()) for each in (usual, rarer)]
            found[f"c{at}"] = [f"v{code}" for code in np.where(y == 1, codes[1], codes[0])]
        yield name, pd.DataFrame(found).assign(y=[f"class {one}" for one in y])
    draw = np.random.default_rng(7)
    codes = draw.integers(0, 2, (24_000, 10))
    y = (codes[:, 0] ^ codes[:, 1]) | (codes[:, 2] & codes[:, 3])
    y = np.where(draw.random(24_000) < 0.1, 1 - y, y)
    words = pd.DataFrame(np.array(["a", "b"])[codes], columns=[f"c{at}" for at in range(10)])
    yield "interactions of categories", words.assign(y=[f"class {one}" for one in y])
    y, found = draw.integers(0, 5, 24_000), {}
    for at in range(12):
        size = int(draw.integers(2, 9))
        odds = draw.dirichlet(np.ones(size) * 3, 5) * 0.6 + 0.4 * draw.dirichlet(np.ones(size), 1)
        code = (draw.random(24_000)[:, np.newaxis] > odds.cumsum(axis=1)[y]).sum(axis=1).clip(0, size - 1)
        found[f"c{at}"] = [f"v{one}" for one in code]
    yield "categories alone, 5 classes", pd.DataFrame(found).assign(y=[f"class {one}" for one in y])
    factor = draw.normal(size=9_000)
    values = factor[:, np.newaxis] + draw.normal(size=(9_000, 50)) * draw.uniform(0.5, 3, 50)
    yield "50 numbers, one factor", _frame(values, (factor + 0.7 * draw.normal(size=9_000) > 0.3).astype(int))


def tables(folder: Path | None) -> Iterator[Coded]:
    """Every table, each in a third held out or as it comes: those of `dp_forest.py`, of a folder, simulated ones."""
    for name, train, test, policy, target in (*other_tables(), *unseen_tables()):
        yield _coded(name, train, test, policy, target)
    files = sorted(folder.glob("*.csv")) if folder else []
    for name, table in (*((file.stem, pd.read_csv(file)) for file in files), *simulated()):
        train, test = train_test_split(table, test_size=1 / 3, random_state=1, stratify=table["y"])
        yield _coded(name, train, test, policy_of(table, "y"), "y")


def _coded(name: str, train: pd.DataFrame, test: pd.DataFrame, policy: Any, target: str) -> Coded:
    test = test.sample(min(len(test), MOST_TESTED), random_state=0)
    schema = schema_of(public_domains(policy), FINEST)
    reader = Forest(PublishedForest(schema=schema, trees=(), rows_per_tree={"kind": "disjoint"})).fit()
    names = np.array(schema.classes.labels(), dtype=object).astype(str)
    order = np.argsort(names)
    labels = order[np.searchsorted(names[order], train[target].astype(str).to_numpy())]
    known, fresh = (reader.codes(table.drop(columns=target)) for table in (train, test))
    return Coded(name, schema, known, labels, fresh, test[target].astype(str).to_numpy())


@contextmanager
def constants(candidate: tuple[float, ...]) -> Iterator[None]:
    """Put the constants of a candidate in the place of those of the rule."""
    names = ("_WEIGHED_FROM", "_REGIONS_FROM", "_DEEP_FROM", "_DEPENDENT_FROM")
    before = [getattr(budget_rule, name) for name in names]
    for name, value in zip(names, candidate, strict=True):
        setattr(budget_rule, name, value)
    try:
        yield
    finally:
        for name, value in zip(names, before, strict=True):
            setattr(budget_rule, name, value)


def rule_of(table: Coded, left: float, *, independent: bool = False, n_public_levels: int = 0) -> budget_rule.Rule:
    """The decision of the rule for the rest of epsilon."""
    return budget_rule.rule_for(
        epsilon=left, rows=table.labels.size, attributes=len(table.schema.attributes),
        classes=table.schema.n_classes, independent=independent, n_public_levels=n_public_levels,
    )  # fmt: skip


def planned(table: Coded, epsilon: float, seed: int) -> StackedPlan:
    """Plan as a release does, what is requested of pairs too; the noisy number of rows, a fiftieth, is taken off."""
    left, rows = units_of(epsilon * 0.98), float(table.labels.size)
    rule = rule_of(table, left / (1 << 52))
    questions = PairQuestions.of(rule, table.at(rule.cells)[0], epsilon=left / (1 << 52), rows=rows)
    found = questions.measure(Remembered(table, rule.cells), left, Randomness.seeded(seed))
    left -= found.units
    follow = partial(
        rule_of, table, left / (1 << 52),
        independent=found.dependence is not None and not budget_rule.is_dependent(found.dependence.rows, rows),
    )  # fmt: skip
    schema = table.at(follow().cells)[0]
    lead = found.grid(schema, left / (1 << 52) * rows)
    rule = follow(n_public_levels=0 if lead is None else len(lead.levels))
    return StackedPlan(rule=rule, schema=schema, trees=1, epsilon=Fraction(left, 1 << 52), found=found, lead=lead)


@dataclass(frozen=True)
class Remembered:
    """The tables of pairs, counted once for all seeds and candidates."""

    table: Coded
    cells: int

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return self.table.labels.size

    def sum_up(self, sums: RowSums) -> np.ndarray:
        """Count, or remember."""
        return _pair_counts(self.table, self.cells, sums.size, sums)

    def answer(self, question: Question) -> np.ndarray:
        """Refuse: pairs of columns are counted, nodes of a tree are not."""
        raise TypeError("this counter counts pairs of columns, and no nodes of a tree")


_COUNTED: dict[tuple[str, int, int], np.ndarray] = {}


def _pair_counts(table: Coded, cells: int, size: int, sums: RowSums) -> np.ndarray:
    key = table.name, cells, size
    if key not in _COUNTED:
        _, batch, _ = table.at(cells)
        _COUNTED[key] = BatchCounter(lambda: [batch]).sum_up(sums)
    return _COUNTED[key]


def forest(table: Coded, plan: StackedPlan, seed: int) -> tuple[float, ...]:
    """Learn as a release does, and score the held-out rows."""
    _, batch, fresh = table.at(plan.rule.cells)
    learned = learn(plan, BatchCounter(lambda: [batch]), Randomness.seeded(seed))
    return table.scored(learned.scores.logarithms(places_of(learned.forest, fresh), fresh))


def naive_bayes(table: Coded, epsilon: float, seed: int) -> tuple[float, ...]:
    """`dp-nb`: its counts, its shares, its noise, and its receiver's classifier."""
    schema, batch, fresh = table.at(16)
    sizes = [1, *(one.codes for one in schema.attributes)]
    rates = [rate_within(units, 1) for units in shares(units_of(epsilon), table_weights(sizes))]
    by_class, *flat = np.split(count(batch, schema), np.cumsum([schema.n_classes * size for size in sizes])[:-1])
    counted = [(one.name, one.domain) for one in schema.attributes]
    noisy = noisy_tables(
        (schema.target, schema.classes, by_class, rates[0]),
        [
            (*one, own.reshape(schema.n_classes, -1), rate)
            for one, own, rate in zip(counted, flat, rates[1:], strict=True)
        ],
        Randomness.seeded(seed),
    )
    try:
        model = NaiveBayes().fit(None, None, noisy.to_params()).model_
    except SourceError:  # the noise has left no row of any class
        return table.scored(np.zeros((fresh.shape[1], schema.n_classes)))
    total = np.tile(np.log(model.prior.probabilities), (fresh.shape[1], 1))
    for factor, codes in zip(model.factors, fresh, strict=True):
        total += np.log(factor.probabilities).T[codes]
    return table.scored(total)


def plain_naive_bayes(table: Coded, epsilon: float, seed: int) -> tuple[float, ...]:
    """Laplace noise on count tables, epsilon divided evenly, clipped: floats and all, not for release."""
    schema, batch, fresh = table.at(16)
    scale, draw, classes = (len(batch.codes) + 1) / epsilon, np.random.default_rng(seed), schema.n_classes
    counts = np.maximum(np.bincount(batch.labels, minlength=classes) + draw.laplace(0, scale, classes), 1)
    scores = np.tile(np.log(counts / counts.sum()), (fresh.shape[1], 1))
    for one, own, other in zip(schema.attributes, batch.codes, fresh, strict=True):
        cells = own.astype(np.int64) * classes + batch.labels
        counts = np.bincount(cells, minlength=one.codes * classes).reshape(one.codes, -1)
        counts = np.maximum(counts + draw.laplace(0, scale, counts.shape), 0) + 1
        scores += np.log(counts / counts.sum(axis=0))[other]
    return table.scored(scores)


def tree(table: Coded, epsilon: float, seed: int, depth: int) -> tuple[float, ...]:
    """A plain private Gini tree: half of epsilon for its splits, half for the counts of its leaves."""
    schema, batch, fresh = table.at(16)
    choices = Choices(
        rows=Disjoint(trees=1), levels=depth + 1, weights=(*[Fraction(1, 2 * depth)] * depth, Fraction(1, 2)),
        selection=JointSelection(), leaf=NoisyClassCounts(),
    )  # fmt: skip
    grown = grow(Plan(choices=choices, schema=schema, epsilon=epsilon), BatchCounter(lambda: [batch]),
                 Randomness.seeded(seed))  # fmt: skip
    counts = np.array([[0] * schema.n_classes if one is None else one.counts for one in grown.contents()])
    return table.scored(np.log(np.maximum(counts, 0) + 1e-3)[grown.leaves_of(fresh)[0]])


RIVALS: dict[str, Callable[..., tuple[float, ...]]] = {
    "dp-nb": naive_bayes,
    "plain tree": lambda table, epsilon, seed: tree(table, epsilon, seed, 4),
    "plain naive Bayes": plain_naive_bayes,
}


def lines(
    seeds: int, folder: Path | None, epsilons: tuple[float, ...] = EPSILONS, most: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield for each table and epsilon the scores under the constants that the other tables chose, and the rivals'."""
    every = [table for at, table in enumerate(tables(folder)) if most is None or at < most]
    found: dict[tuple[Any, ...], np.ndarray] = {}
    for table, epsilon in product(every, epsilons):
        runs = range(seeds if table.labels.size > 2_000 else 3 * seeds)
        for name, rival in RIVALS.items():
            found[table.name, epsilon, name] = np.array([rival(table, epsilon, seed) for seed in runs])
        learned: dict[tuple[int, budget_rule.Rule, Fraction], tuple[float, ...]] = {}
        for candidate in CANDIDATES:
            scores = []
            for seed in runs:
                with constants(candidate):
                    plan = planned(table, epsilon, seed)
                    key = seed, plan.rule, plan.epsilon
                    if key not in learned:
                        learned[key] = forest(table, plan, seed)
                    scores.append(learned[key])
            found[table.name, epsilon, candidate] = np.array(scores)
    for table in every:
        others = [other.name for other in every if other is not table]
        points = list(product(others, epsilons))
        best = max(CANDIDATES, key=lambda one: np.mean([_lead(found, *point, one) for point in points]))
        for epsilon in epsilons:
            own = {"table": table.name, "epsilon": epsilon, "constants": best, "coded": table}
            scores = {name: found[table.name, epsilon, name] for name in RIVALS}
            yield own | scores | {"dp-forest": found[table.name, epsilon, best]}


def _lead(found: dict[tuple[Any, ...], np.ndarray], table: str, epsilon: float, candidate: tuple[float, ...]) -> float:
    """The loss against the better rival, in accuracy and AUC, and a tenth of the gain."""
    ours = found[table, epsilon, candidate].mean(axis=0)[[0, 2]]
    lead = ours - np.max([found[table, epsilon, name].mean(axis=0)[[0, 2]] for name in RIVALS], axis=0)
    return float(np.where(lead < 0, lead, 0.1 * lead).sum())


def left_out(given: Any) -> Iterator[Any]:
    """The part of `make bench`."""
    from benchmark_page import Missing, Record

    folder = given.work / "statsmodels"
    folder.mkdir()
    written = given.peer("statsmodels", "tables", folder=str(folder))
    if isinstance(written, Missing):
        yield Missing(what="tables of statsmodels", reason=written.reason)
    epsilons = given.pick((1.0,), (0.1, 1.0), EPSILONS)
    beside = given.pick((1.0,), (1.0,), EPSILONS)
    found = list(lines(given.pick(1, 3, 5), folder, epsilons, given.pick(3, None)))
    chosen: dict[tuple[float, ...], list[str]] = {}
    for one in found:
        if one["epsilon"] == epsilons[0]:
            chosen.setdefault(one["constants"], []).append(one["table"])
    usual = max(chosen, key=lambda constants: len(chosen[constants]))
    others = (f"; {constants} for {', '.join(tables)}" for constants, tables in chosen.items() if constants != usual)
    note = (
        f"Constants chosen on the other tables: {usual}{''.join(others)}. Of our rivals, and of diffprivlib's models, "
        "the best on the held-out rows is shown, which flatters them. In brackets the standard deviation of one run."
    )
    for one in found:
        peers = _peers(given, one) if one["epsilon"] in beside else []
        yield from (missing for missing in peers if isinstance(missing, Missing))
        own = {name: {"scores": one[name][:, [0, 2]]} for name in RIVALS}
        groups = [own, *(peer for peer in peers if not isinstance(peer, Missing))]
        for at, score in enumerate(("accuracy", "AUC")):
            ours = one["dp-forest"][:, 2 * at]
            for group in groups:
                peer = max(group, key=lambda name: group[name]["scores"][:, at].mean())
                theirs = group[peer]["scores"][:, at]
                yield Record(
                    what=f"{one['table']}, epsilon {one['epsilon']}, {score}", peer=peer, limit="lead >= 0",
                    ours=float(ours.mean()), theirs=float(theirs.mean()), spread=float(ours.std()),
                    their_spread=float(theirs.std()), runs=ours.size, note=note,
                )  # fmt: skip


def _peers(given: Any, one: dict[str, Any]) -> list[Any]:
    """Return the scores of diffprivlib's models by name, then of DP-EBM for two classes, on the codes of 64 cells."""
    from benchmark_page import Missing

    table, path, out = one["coded"], given.work / "table.npz", []
    names = {str(label): code for code, label in enumerate(table.schema.classes.labels())}
    domains = [attribute.domain for attribute in table.schema.attributes]
    np.savez(
        path, train=table.codes.T.astype(float), labels=table.labels, test=table.test.T.astype(float),
        truth=np.array([names[label] for label in table.truth]), low=np.zeros(len(domains)),
        high=np.array([max(domain.size - 1, 1) for domain in domains], dtype=float),
        numeric=np.array([isinstance(domain, Grid) for domain in domains]),
    )  # fmt: skip
    for peer, promise in (("diffprivlib", ""), ("interpret", " (δ = 1e-5)"))[: 2 if len(names) == 2 else 1]:
        answer = given.peer(peer, "scores", file=str(path), epsilons=[one["epsilon"]], runs=given.pick(1, 3))
        if isinstance(answer, Missing):
            out.append(Missing(what=f"{peer}, {one['table']}", reason=answer.reason))
        else:
            out.append({f"{peer}, {each['model']}{promise}": {"scores": np.array(each["each"])} for each in answer})
    return out


if __name__ == "__main__":
    for one in lines(int(sys.argv[1]) if len(sys.argv) > 1 else 3, Path(sys.argv[2]) if len(sys.argv) > 2 else None):
        cells = [
            f"{name} " + " / ".join(f"{one[name][:, at].mean():.3f} ({one[name][:, at].std():.3f})" for at in (0, 2))
            for name in ("dp-forest", *RIVALS)
        ]
        print(f"{one['table']:32} {one['epsilon']:5}  {'   '.join(cells)}   {one['constants']}", flush=True)
