"""The part of the benchmark about rows for any purpose: how far all pairs and triples of columns are off."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from bench import Given
from benchmark_page import Missing, Record

from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy

Lines = Iterator[Record | Missing]
BINS = 16
"""Of every number, of one width between its public bounds."""
TRIPLES = 200
"""Triples of columns that are looked at, always the same."""
LIMITS = {0.1: (0.095, 0.165, 0.86), 0.5: (0.045, 0.092, 0.888), 1.0: (0.036, 0.079, 0.895), 3.0: (0.024, 0.059, 0.902)}
"""The targets on Adult at each epsilon: pairs and triples at most, the AUC of income at least."""
UNDECLARED = (0.038, 0.085)
"""Pairs and triples at epsilon 1 with no target declared."""
DELTA_LIMITS = {0.1: (0.083, 0.145), 1.0: (0.028, 0.060), 3.0: (0.016, 0.045)}
"""Pairs and triples that are measured with a delta."""
OTHER_TARGETS = {"education": 0.76, "married": 0.85, "sex": 0.905}
"""The required AUC of attributes that are not the target, at epsilon 1."""
PUBLISHED = {
    0.1: {"AIM": (0.109, 0.177, 0.840), "SWIFT": (0.107, 0.175, 0.847), "MST": (0.083, 0.147, 0.849)},
    1.0: {"AIM": (0.029, 0.060, 0.903), "SWIFT": (0.029, 0.062, 0.904)},
    3.0: {"AIM": (0.022, 0.048, 0.906), "SWIFT": (0.019, 0.046, 0.908), "MST": (0.040, 0.083, 0.832)},
}
"""Figures of peers (delta 1e-9) that were measured before, on the same rows and measures, and not in this run."""
DELTA = 1e-9


class Grid:
    """The public domains of a table: cells as codes, and codes as cells of one row a code."""

    def __init__(self, policy: Policy, names: Sequence[str]) -> None:
        self.names = list(names)
        self.bounds = {name: policy.columns[name].bounds for name in names}
        self.known = {name: policy.columns[name].categories or () for name in names}
        self.sizes = [BINS if self.bounds[name] else len(self.known[name]) for name in names]
        self.cells = [size + 1 for size in self.sizes]
        """Sizes with one more code each: a cell that is missing, which noise may make where none is."""
        answered = [policy.columns[name].role is Role.TARGET or self.bounds[name] for name in names]
        self.declared = [size + (not one) for size, one in zip(self.sizes, answered, strict=True)]
        """Cells that are counted: what is none of the categories of a column is missing, and who counts that pays."""

    def codes(self, table: pd.DataFrame) -> np.ndarray:
        """Return the codes of rows, shape (n_rows, n_columns)."""
        columns = []
        for name in self.names:
            bounds = self.bounds[name]
            if bounds:
                part = (table[name].to_numpy(float) - bounds[0]) / (bounds[1] - bounds[0])
                inside = np.clip(np.nan_to_num(part) * BINS, 0, BINS - 1).astype(np.int64)
                columns.append(np.where(np.isnan(part), BINS, inside))
            else:
                known = [str(value) for value in self.known[name]]
                shown = pd.Categorical(table[name].astype(object).where(table[name].notna()), known).codes
                columns.append(np.where(shown < 0, len(known), shown).astype(np.int64))
        return np.column_stack(columns)

    def off(self, truth: np.ndarray, drawn: np.ndarray, order: int) -> float:
        """Return the mean total variation distance of the tables of all pairs, or of some triples."""
        groups = list(combinations(range(len(self.sizes)), order))
        if order > 2:
            chosen = np.random.default_rng(0).permutation(len(groups))[:TRIPLES]
            groups = [groups[at] for at in chosen]
        found = []
        for group in groups:
            sizes = [self.cells[at] for at in group]
            tables = [
                np.bincount(np.ravel_multi_index([rows[:, at] for at in group], sizes), minlength=int(np.prod(sizes)))
                / len(rows)
                for rows in (truth, drawn)
            ]
            found.append(abs(tables[0] - tables[1]).sum() / 2)
        return float(np.mean(found))

    def independent(self, truth: np.ndarray, epsilon: float, seed: int) -> np.ndarray:
        """Return rows of independent columns: epsilon divided evenly, Laplace counts, negative ones cut off."""
        random, columns = np.random.default_rng(seed), []
        for at, size in enumerate(self.declared):
            counts = np.bincount(truth[:, at], minlength=size) + random.laplace(
                scale=len(self.sizes) / epsilon, size=size
            )
            counts = np.maximum(counts, 0)
            shares = counts / counts.sum() if counts.sum() > 0 else np.full(size, 1 / size)
            columns.append(random.choice(size, len(truth), p=shares))
        return np.column_stack(columns)


def best_auc(known: np.ndarray, answers: np.ndarray, asked: np.ndarray, truth: np.ndarray) -> float:
    """Return the AUC on true rows of the best of three models of drawn rows: forest, logistic regression, boosting."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    if len(np.unique(answers)) < 2:
        return 0.5
    models: tuple[Any, ...] = (
        RandomForestClassifier(100, min_samples_leaf=5, random_state=0, n_jobs=1),
        make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=200)),
        HistGradientBoostingClassifier(random_state=0),
    )
    return max(float(roc_auc_score(truth, model.fit(known, answers).predict_proba(asked)[:, 1])) for model in models)


def _questions(grid: Grid) -> dict[str, tuple[list[str], Any]]:
    """Return receivers' questions about Adult: columns that would give it away, and the answer for rows of codes."""
    names = {name: at for at, name in enumerate(grid.names)}
    apart = "Married-spouse-absent"
    couples = [value for value in grid.known["marital-status"] if str(value).startswith("Married-") and value != apart]
    married = [grid.known["marital-status"].index(value) for value in couples]
    return {
        "income": (["income"], lambda codes: codes[:, names["income"]] == 1),
        "education": (["education", "education-num"], lambda codes: codes[:, names["education-num"]] >= 9),
        "married": (
            ["marital-status", "relationship"],
            lambda codes: np.isin(codes[:, names["marital-status"]], married),
        ),
        "sex": (["sex"], lambda codes: codes[:, names["sex"]] == 1),
    }


def _answered(grid: Grid, drawn: np.ndarray, test: np.ndarray, asked: str) -> float:
    left_out, answer = _questions(grid)[asked]
    kept = [at for at, name in enumerate(grid.names) if name not in left_out]
    return best_auc(drawn[:, kept], answer(drawn), test[:, kept], answer(test))


def marginals(given: Given) -> Lines:
    """All pairs, triples and receivers of Adult at every epsilon, beside independent columns, MST and AIM."""
    from dp_forest import adult_policy

    train, test = pd.read_csv(given.data / "adult_train.csv.gz"), pd.read_csv(given.data / "adult_test.csv")
    test.columns = train.columns
    for one in (train, test):
        one["income"] = one["income"].str.rstrip(".")
    if given.size == "quick":
        train, test = train.sample(2_000, random_state=0), test.sample(1_000, random_state=0)
    policy = adult_policy()
    grid = Grid(policy, list(train.columns))
    truth, asked = grid.codes(train), grid.codes(test)
    own: dict[float, tuple[float, float, float]] = {}
    for epsilon in given.pick((1.0,), tuple(LIMITS)):
        yield from _adult_at(given, grid, train, policy, truth, asked, epsilon, own)
    if given.size != "quick":
        yield from _undeclared(given, grid, train, policy, truth)
        yield from _with_delta(given, grid, train, policy, truth)
    stored = given.work / "adult.npz"
    np.savez(stored, codes=truth, sizes=np.array(grid.sizes))
    yield from _beside(given, grid, stored, truth, asked, own, given.pick((1.0,), (0.1, 1.0, 3.0)), MST)
    if given.size == "large":
        yield from _beside(given, grid, stored, truth, asked, own, (1.0,), AIM)
    else:
        yield Missing(what="AIM", reason="in `LARGE=1`: half an hour an epsilon")
    yield Missing(what="SWIFT (dpsynth)", reason="no release of it in the package index")
    for epsilon, peers in PUBLISHED.items():
        for peer, figures in peers.items():
            if epsilon in own and given.size != "quick":
                for name, ours, theirs in zip(NAMES, own[epsilon], figures, strict=True):
                    yield Record(
                        what=f"ε = {epsilon}, {name}", ours=ours, peer=f"{peer} (δ = {DELTA:g}), measured elsewhere",
                        theirs=theirs,
                    )  # fmt: skip


NAMES = ("all pairs, total variation", "triples, total variation", "AUC of income")
"""Of the three figures."""


def _drawn(grid: Grid, train: pd.DataFrame, policy: Policy, epsilon: float, **more: float) -> tuple[np.ndarray, float]:
    from dp_forest import released

    begun = time.process_time()
    rows = released(train, policy, epsilon, method="dp-marginals", **more).to_pandas()
    taken = time.process_time() - begun
    return grid.codes(rows[grid.names]), taken


def _adult_at(
    given: Given, grid: Grid, train: pd.DataFrame, policy: Policy, truth: np.ndarray, asked: np.ndarray,
    epsilon: float, own: dict[float, tuple[float, float, float]],
) -> Lines:  # fmt: skip
    seeds, limits = given.pick(1, 3), LIMITS[epsilon]
    drawn, taken = zip(*(_drawn(grid, train, policy, epsilon) for _ in range(seeds)), strict=True)
    pairs = float(np.mean([grid.off(truth, rows, 2) for rows in drawn]))
    triples = float(np.mean([grid.off(truth, rows, 3) for rows in drawn]))
    areas = float(np.mean([_answered(grid, rows, asked, "income") for rows in drawn]))
    own[epsilon] = pairs, triples, areas
    for name, found, limit, relation in zip(NAMES, own[epsilon], limits, ("<=", "<=", ">="), strict=True):
        told = None if given.size == "quick" else f"ours {relation} {limit}"
        yield Record(what=f"ε = {epsilon}, {name}", ours=found, limit=told, runs=seeds)
    apart = float(np.mean([grid.off(truth, grid.independent(truth, epsilon, seed), 2) for seed in range(seeds)]))
    yield Record(
        what=f"ε = {epsilon}, {NAMES[0]}", ours=pairs, peer="noisy independent columns", theirs=apart,
        limit="lead <= 0.005", runs=seeds,
    )  # fmt: skip
    yield Record(what=f"ε = {epsilon}, release in memory", unit="CPU s", ours=median(taken), runs=seeds)
    if epsilon == 1.0 and given.size != "quick":
        for name, least in OTHER_TARGETS.items():
            found = _answered(grid, drawn[0], asked, name)
            yield Record(what=f"ε = {epsilon}, AUC of {name}", ours=found, limit=f"ours >= {least}")


def _undeclared(given: Given, grid: Grid, train: pd.DataFrame, policy: Policy, truth: np.ndarray) -> Lines:
    from dataclasses import replace

    from anonkit.policy.column_declarations import Role

    plain = Policy(
        columns={
            name: replace(column, role=Role.QUASI_IDENTIFIER) if column.role is Role.TARGET else column
            for name, column in policy.columns.items()
        }
    )
    seeds = given.pick(1, 3)
    drawn = [_drawn(grid, train, plain, 1.0)[0] for _ in range(seeds)]
    for order, limit in zip((2, 3), UNDECLARED, strict=True):
        found = float(np.mean([grid.off(truth, rows, order) for rows in drawn]))
        yield Record(what=f"ε = 1.0, no target, {NAMES[order - 2]}", ours=found, limit=f"ours <= {limit}", runs=seeds)


def _with_delta(given: Given, grid: Grid, train: pd.DataFrame, policy: Policy, truth: np.ndarray) -> Lines:
    seeds = given.pick(1, 3)
    for epsilon, limits in DELTA_LIMITS.items():
        drawn = [_drawn(grid, train, policy, epsilon, delta=DELTA)[0] for _ in range(seeds)]
        for order, limit in zip((2, 3), limits, strict=True):
            found = float(np.mean([grid.off(truth, rows, order) for rows in drawn]))
            name = f"ε = {epsilon}, δ = {DELTA:g}, {NAMES[order - 2]}"
            yield Record(what=name, ours=found, limit=f"ours <= {limit}", runs=seeds)


@dataclass(frozen=True, kw_only=True)
class Rival:
    """A peer that draws rows from codes of public domains."""

    name: str
    environment: str
    job: str
    method_entry: dict[str, Any]
    """The arguments of its script besides the file, the epsilon and the delta."""
    note: str

    def rows(self, given: Given, stored: Path, epsilon: float) -> list[dict[str, Any]] | Missing:
        """Return what its script prints: where the rows are, and the processor seconds."""
        return given.peer(
            self.environment, self.job, file=str(stored), out=f"{stored}.{self.job}.{epsilon}.npy", epsilon=epsilon,
            delta=DELTA, **self.method_entry,
        )  # fmt: skip


MST = Rival(
    name="MST of OpenDP", environment="opendp-mbi", job="rows", method_entry={},
    note='One run of the peer, drawn with method="sample"; its promise is weaker, (ε, δ).',
)  # fmt: skip
AIM = Rival(
    name="AIM of dpmm", environment="dpmm", job="codes", method_entry={"megabytes": 1},
    note="One run of the peer, private-pgm on NumPy, its model at most 1 MB; its promise is weaker, (ε, δ).",
)  # fmt: skip


def _beside(
    given: Given, grid: Grid, stored: Path, truth: np.ndarray, asked: np.ndarray,
    own: dict[float, tuple[float, float, float]], epsilons: Sequence[float], rival: Rival,
) -> Lines:  # fmt: skip
    """One call an epsilon, so that one that takes too long loses no other."""
    for epsilon in epsilons:
        peer = f"{rival.name} (δ = {DELTA:g})"
        found = rival.rows(given, stored, epsilon)
        if isinstance(found, Missing):
            yield Missing(what=f"{peer}, ε = {epsilon}", reason=found.reason)
            continue
        rows = np.load(found[0]["out"])
        rows = np.minimum(rows, np.array(grid.sizes) - 1)
        figures = grid.off(truth, rows, 2), grid.off(truth, rows, 3), _answered(grid, rows, asked, "income")
        for name, ours, theirs in zip(NAMES, own[epsilon], figures, strict=True):
            better = ">= 0" if name == NAMES[2] else "<= 0"
            yield Record(
                what=f"ε = {epsilon}, {name}", ours=ours, peer=peer, theirs=theirs, limit=f"lead {better}",
                note=rival.note,
            )  # fmt: skip
        yield Record(
            what=f"ε = {epsilon}, the peer's time", unit="CPU s", ours=None, peer=peer, theirs=found[0]["seconds"]
        )


def marginals_tables(given: Given) -> Lines:
    """Pairs and triples of two more public tables, beside independent columns and MST."""
    from dp_forest import policy_of

    car = pd.read_csv(given.data / "car_evaluation.csv").astype(str)
    cancer = pd.read_csv(given.data / "breast_cancer_wisconsin.csv").iloc[:, 1:].astype(str)
    for told, table, target in (("car", car, "class"), ("breast cancer", cancer, "Class")):
        policy = policy_of(table, target)
        grid = Grid(policy, list(table.columns))
        truth, seeds = grid.codes(table), given.pick(1, 5)
        stored = given.work / f"{target}.npz"
        np.savez(stored, codes=truth, sizes=np.array(grid.sizes))
        for epsilon in given.pick((1.0,), tuple(LIMITS)):
            drawn = [_drawn(grid, table, policy, epsilon)[0] for _ in range(seeds)]
            own = [float(np.mean([grid.off(truth, rows, order) for rows in drawn])) for order in (2, 3)]
            apart = [grid.independent(truth, epsilon, seed) for seed in range(seeds)]
            rivals = [("noisy independent columns", apart, "lead <= 0.005")]
            if epsilon == 1.0:
                for rival in given.pick((MST,), (MST, AIM)):
                    found = rival.rows(given, stored, epsilon)
                    peer = f"{rival.name} (δ = {DELTA:g})"
                    if isinstance(found, Missing):
                        yield Missing(what=f"{told}, {peer}", reason=found.reason)
                    else:
                        rows = np.minimum(np.load(found[0]["out"]), np.array(grid.sizes) - 1)
                        rivals.append((peer, [rows], "lead <= 0"))
            for peer, rows_of, limit in rivals:
                for order, ours in zip((2, 3), own, strict=True):
                    theirs = float(np.mean([grid.off(truth, rows, order) for rows in rows_of]))
                    yield Record(
                        what=f"{told}, ε = {epsilon}, {NAMES[order - 2]}", ours=ours, peer=peer, theirs=theirs,
                        limit=limit if order == 2 else None, runs=seeds,
                    )  # fmt: skip
