"""Small tables with many dependent columns, and their public layout."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from anonkit.budget_rules.marginal_choice_rule import ViewPlan
from anonkit.domains.number_bins import Categories
from anonkit.dp_trees.marginals.exact_tables import ExactTables
from anonkit.dp_trees.marginals.learned_marginals import LearnedMarginals, learn, measured
from anonkit.dp_trees.marginals.measurement_plan import ColumnLayout, RemainingBudget, plan_of
from anonkit.dp_trees.marginals.private_choices import ViewChoice
from anonkit.dp_trees.questions import BatchCounter, CodedBatch
from anonkit.mechanisms.accounting import units_of
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.published.noisy_tables import MarginalSchema
from anonkit.published.product_mixtures import codes_of_rows, rows_of_components
from anonkit.published.tree_model import Attribute, Split
from anonkit.randomness import Randomness


def categories(size: int) -> Categories:
    """A domain of so many values."""
    return Categories(values=tuple(map(str, range(size))))


def layout_of(sizes: list[int], classes: int = 0, *, anchored: bool = True) -> ColumnLayout:
    """Columns of these sizes, and a target with so many classes, if any."""
    schema = MarginalSchema(
        attributes=tuple(
            Attribute(name=f"c{at}", domain=categories(size), split=Split.MULTIWAY) for at, size in enumerate(sizes)
        ),
        target="t" if classes else None,
        classes=categories(classes) if classes else None,
    )
    return ColumnLayout(schema=schema, anchored=bool(classes) and anchored)


def batch_of(codes: np.ndarray, labels: np.ndarray | None = None, first: int = 0) -> CodedBatch:
    """Rows as a batch; codes have shape (n_columns, n_rows)."""
    classes = np.zeros(codes.shape[1], dtype=np.int64) if labels is None else labels
    return CodedBatch(codes=codes.astype(np.uint8), labels=classes, first_row=first)


def left_of(epsilon: float, delta: float = 0.0) -> RemainingBudget:
    """All that a row may lose."""
    return RemainingBudget(units=units_of(epsilon), delta=Fraction(delta))


def learned(
    layout: ColumnLayout, epsilon: float, rows: float, *batches: CodedBatch, seed: int = 1, delta: float = 0.0
) -> LearnedMarginals:
    """The publication of some batches, by the rule."""
    left = left_of(epsilon, delta)
    return learn(layout, BatchCounter(lambda: batches), rows, left, left.units, Randomness.seeded(seed))


def forced(
    layout: ColumnLayout,
    edges: int,
    further: int,
    epsilon: float,
    *batches: CodedBatch,
    seed: int = 1,
    delta: float = 0.0,
) -> LearnedMarginals:
    """The publication with so many pairs, against any rule: Gaussian noise with a delta."""
    exact = ExactTables.counted(layout, layout.pairs, BatchCounter(lambda: batches))
    left = left_of(epsilon, delta)
    chosen = ViewPlan(is_split=layout.anchored, edges=edges, amount=left.amounts[-1])
    choice = ViewChoice(plan=chosen, readings=(), left=left)
    plan = plan_of(layout, layout.pairs, edges, further, left, chosen.amount.law)
    return measured(exact, choice, plan, Randomness.seeded(seed))


def drawn(found: LearnedMarginals, seed: int = 1) -> np.ndarray:
    """Rows of what was learned, the target first where there is one, shape (n_columns, n_rows)."""
    rng = Randomness.seeded(seed)
    numbers = rows_of_components(found.mixtures, UniformStream(rng.child("numbers")))
    return np.stack(codes_of_rows(found.mixtures, numbers, UniformStream(rng.child("rows"))))


def chain(n: int, sizes: list[int], seed: int = 1, strength: float = 0.6) -> np.ndarray:
    """Columns of which each leans on the one before, shape (n_columns, n)."""
    draw = np.random.default_rng(seed)
    out = [draw.integers(0, sizes[0], n)]
    for size in sizes[1:]:
        kept = draw.random(n) < strength
        out.append(np.where(kept, out[-1] * size // max(out[-1].max() + 1, 1), draw.integers(0, size, n)))
    return np.stack(out)


def rows_of_classes(n: int, classes: int, strength: float, seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """Nine columns of ten values of which each leans on the class of its row, and the classes."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, classes, n)
    leaning = labels * (10 // classes) + draw.integers(0, 2, (9, n))
    return np.where(draw.random((9, n)) < strength, leaning, draw.integers(0, 10, (9, n))), labels


def shares_of_pair(first: np.ndarray, second: np.ndarray, sizes: tuple[int, int]) -> np.ndarray:
    """The joint shares of two columns."""
    table = np.bincount(first * sizes[1] + second, minlength=sizes[0] * sizes[1]).reshape(sizes)
    return np.asarray(table / max(table.sum(), 1))


def mean_distance(true: np.ndarray, made: np.ndarray, sizes: list[int]) -> float:
    """Mean total variation over all pairs of columns."""
    pairs = [(a, b) for a in range(len(sizes)) for b in range(a + 1, len(sizes))]
    distances = [
        np.abs(
            shares_of_pair(true[a], true[b], (sizes[a], sizes[b]))
            - shares_of_pair(made[a], made[b], (sizes[a], sizes[b]))
        ).sum()
        / 2
        for a, b in pairs
    ]
    return float(np.mean(distances))
