# SPDX-License-Identifier: Apache-2.0
"""The steps of dp-marginals in their order: the view, tables of columns, pairs at once and one by one, the mixture.

The only module that sees exact counts and noise of tables together. An exact table is used in readings and scores of
private choices, and under the noise of its own publication.

Noisy pair tables made shares that agree with the columns: none negative, and the margins as all tables say.

Post-processing of noisy counts, at no privacy loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from anonkit.budget_rules import marginal_rule as rule
from anonkit.budget_rules.marginal_rule import forest_of
from anonkit.budget_rules.spike_rule import Amount
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.dp_trees.marginals.exact_tables import ExactTables
from anonkit.dp_trees.marginals.measurement_plan import (
    ColumnLayout,
    Pair,
    RemainingBudget,
    TablePlan,
    candidate_pairs,
    error_steps,
    names_of,
    plan_of,
    private_best,
    private_tree,
)
from anonkit.dp_trees.marginals.mixture_fit import (
    Completion,
    Mixture,
    expected_squares,
    fitted_mixture,
    in_units,
    moved_nearer,
    number_totals,
    wanted_tables,
    with_totals,
    without_values,
)
from anonkit.dp_trees.marginals.private_choices import (
    ChosenTriple,
    ViewChoice,
    chosen_view,
    forecast_of,
    mixtures_of_triple,
    with_triple,
)
from anonkit.dp_trees.marginals.tree_pairs import (
    Margins,
    MeasuredTable,
    margins_of,
    nearest_shares,
    order_of,
    rare_together,
    refined,
    rows_of_tree,
    rows_per_class,
)
from anonkit.dp_trees.questions import Counter
from anonkit.mechanisms.accounting import STEPS
from anonkit.mechanisms.exact_samplers import (
    UniformStream,
    exponential_mechanism,
    gaussian_counts,
    noisy_counts,
    permute_and_flip,
)
from anonkit.published.noisy_tables import (
    LAPLACE,
    MISSING_ABOVE,
    OneWayTable,
    PairTable,
    TripleTable,
    is_faint,
    noise_variance,
)
from anonkit.published.one_thread import one_thread
from anonkit.published.product_mixtures import ClassMixture, ProductMixtures
from anonkit.published.statements.noise_statement import Draw
from anonkit.randomness import Randomness

_ROUNDS = 20
_FAINT = 1e-9
"""Share of independence that is mixed in, so that fitting to margins can reach them from a table of zeros."""


def consistent_pair(pair: Pair, table: MeasuredTable, margins: Margins) -> FloatArray:
    """Return the shares of a pair of columns, by value.

    Parameters
    ----------
    pair : pair of int
    table : Measured
        Its noisy table, by group.
    margins : Margins

    Returns
    -------
    float array, shape (classes, values, values)
        Adds up to 1 in each class.
    """
    classes, *shape = table.counts.shape
    shares = nearest_shares(table.counts.reshape(classes, -1), margins.totals).reshape(classes, *shape)
    return margins.spread(pair, fitted_to_margins(shares, *(margins.grouped(column) for column in pair)))


def fitted_to_margins(shares: FloatArray, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """Return the shares with other margins that keep their odds ratios: iterative proportional fitting.

    Parameters
    ----------
    shares : float array, shape (classes, m, n)
    rows, columns : float array, shape (classes, m) and (classes, n)
        The margins wanted.
    """
    out = (1 - _FAINT) * shares + _FAINT * rows[:, :, np.newaxis] * columns[:, np.newaxis, :]
    for _ in range(_ROUNDS):
        out = out * _ratio(rows, out.sum(axis=2))[:, :, np.newaxis]
        out = out * _ratio(columns, out.sum(axis=1))[:, np.newaxis, :]
    return np.asarray(out / out.sum(axis=(1, 2), keepdims=True))


def _ratio(wanted: FloatArray, found: FloatArray) -> FloatArray:
    return np.divide(wanted, found, out=np.zeros(wanted.shape), where=found > 0)


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedMarginals:
    """Everything that is published of the rows, and the draws that it took."""

    choice: ViewChoice
    triple: ChosenTriple | None
    """Choice of three columns with the target; None where none was looked for."""
    plan: TablePlan
    one_ways: tuple[OneWayTable, ...]
    pairs: tuple[PairTable, ...]
    triples: tuple[TripleTable, ...]
    """Of the chosen triple, or none."""
    mixtures: ProductMixtures

    @property
    def draws(self) -> tuple[Draw, ...]:
        """All lines of the account but that of the number of rows."""
        chosen = () if self.triple is None else (self.triple.draw,)
        return (*(reading.draw for reading in self.choice.readings), *chosen, *self.plan.draws)


@one_thread()
def learn(
    layout: ColumnLayout, counter: Counter, rows: float, left: RemainingBudget, whole: int, randomness: Randomness
) -> LearnedMarginals:
    """Count, choose, add noise, and fit the mixture.

    Parameters
    ----------
    layout : Layout
        The finest view: split by the target where it may split.
    counter : Counter
        Holds the rows.
    rows : float
        Number of rows, public or noisy.
    left : RemainingBudget
        What may still be lost.
    whole : int
        What a row may lose in all, in units of 2**-52 of epsilon.
    randomness : Randomness

    Raises
    ------
    GuaranteeError
        Rows were counted more or less often than they are charged for; the code is wrong then.

    Privacy
    -------
    Readings, tables and choices are charged before they are drawn, and add up to at most `left`. All that follows is
    post-processing.
    """
    plan, choice, view, triple = planned(layout, counter, rows, left, whole, randomness)
    return measured(view, choice, plan, randomness, triple)


def planned(
    layout: ColumnLayout, counter: Counter, rows: float, left: RemainingBudget, whole: int, randomness: Randomness
) -> tuple[TablePlan, ViewChoice, ExactTables, ChosenTriple | None]:
    """Count all tables, choose the view, and plan the draws of tables and pairs; parameters are those of `learn`."""
    exact = ExactTables.counted(layout, candidate_pairs(layout), counter)
    choice = chosen_view(exact, rows, left, whole, randomness.child("readings"))
    choice, triple = with_triple(choice, exact, rows, whole, counter, randomness.child("triples"))
    chosen = choice.plan
    view = exact if chosen.is_split else exact.pooled()
    forecast = forecast_of(view.layout, tuple(view.pairs), max(rows, 1.0))
    further = forecast.further(chosen.edges, chosen.amount, chosen.gain)
    plan = plan_of(
        view.layout,
        tuple(view.pairs),
        chosen.edges,
        further,
        choice.left,
        chosen.amount.law,
        tied=chosen.tied,
        tie=chosen.tie,
        cells=0 if triple is None else triple.exact.size // view.layout.classes,
    )
    return plan, choice, view, triple


def measured(
    exact: ExactTables, choice: ViewChoice, plan: TablePlan, randomness: Randomness, triple: ChosenTriple | None = None
) -> LearnedMarginals:
    """Measure what is planned, and fit the mixture to it."""
    layout = plan.layout
    one_ways = [
        _noisy(table, draw, randomness.child(f"table of column {at}"), plan.law)
        for at, (table, draw) in enumerate(zip(exact.columns, plan.one_ways, strict=True))
    ]
    missing = [rule.MISSING_DEVIATIONS if layout.schema.domains[name].has_missing else None for name in layout.names]
    groups = [
        np.arange(table.counts.shape[1])
        if plan.edges is None
        else rare_together(table, rule.RARE_DEVIATIONS, of_missing)
        for table, of_missing in zip(one_ways, missing, strict=True)
    ]
    margins = margins_of(one_ways, groups, layout.bins)
    known: dict[Pair, MeasuredTable] = {}
    edges: list[Pair] = []
    if plan.edges is not None and plan.tree is not None:
        grouped = {pair: exact.grouped(pair, groups) for pair in plan.candidates}
        models = {pair: margins.independent(pair) for pair in plan.candidates}
        words = UniformStream(randomness.child("pairs of the tree"))
        scores = _scores(grouped, models, _explained(models, plan.tree, plan.law))
        choose = permute_and_flip if plan.law == LAPLACE else exponential_mechanism
        last = len(layout.sizes) - 1
        edges = private_tree(
            scores,
            len(layout.sizes),
            plan.edges.rate,
            words,
            plan.edges.times,
            choose,
            joined=last if plan.tied else None,
        )
        noisy = randomness.child("tables of the tree")
        for number, pair in enumerate(edges):
            known[pair] = _noisy(grouped[pair], plan.tree, noisy.child(f"table {number}"), plan.law)
        if plan.choices is not None and plan.pairs is not None:
            words = UniformStream(randomness.child("further pairs"))
            noisy = randomness.child("tables of further pairs")
            completion = _completion(layout, refined(margins, one_ways, known), known)
            explained = _explained(models, plan.pairs, plan.law)
            for number in range(plan.choices.times):
                expected = completion.rows_of_groups()
                left = {pair: grouped[pair] for pair in plan.candidates if pair not in known}
                scores = _scores(left, expected, explained)
                (pair,) = private_best(scores, 1, plan.choices.rate, words, choose)
                known[pair] = _noisy(grouped[pair], plan.pairs, noisy.child(f"table {number}"), plan.law)
                _learn(completion, pair, known[pair])
        margins = refined(margins, one_ways, known)
    cells = _triple_tables(plan, triple, randomness)
    class_rows = rows_per_class([*one_ways, *known.values(), *(table for _, table in cells)])
    return LearnedMarginals(
        choice=choice,
        triple=triple,
        plan=plan,
        one_ways=tuple(
            OneWayTable(name=name, counts=table.counts, rate=draw.rate, groups=group, law=plan.law)
            for name, table, draw, group in zip(layout.names, one_ways, plan.one_ways, groups, strict=True)
        ),
        pairs=tuple(
            PairTable(
                names=names_of(layout, pair), counts=table.counts, rate=table.rate, in_tree=pair in edges, law=plan.law
            )
            for pair, table in known.items()
        ),
        triples=tuple(
            TripleTable(
                names=chosen.names,
                groups=chosen.groups,
                counts=table.counts.reshape(chosen.exact.shape),
                rate=table.rate,
                law=plan.law,
            )
            for chosen, table in cells
        ),
        mixtures=ProductMixtures(
            schema=layout.schema,
            anchored=layout.anchored,
            law=plan.law,
            classes=_mixtures(layout, margins, one_ways, known, class_rows, cells),
            missing_above=MISSING_ABOVE,
        ),
    )


def _triple_tables(
    plan: TablePlan, triple: ChosenTriple | None, randomness: Randomness
) -> list[tuple[ChosenTriple, MeasuredTable]]:
    """Measure the chosen triple in the classes of the view; nothing where none was chosen."""
    if triple is None or plan.triple is None:
        return []
    exact = triple.exact.reshape(plan.layout.classes, -1)
    return [(triple, _noisy(exact, plan.triple, randomness.child("table of the triple"), plan.law))]


def _noisy(counts: IntArray, draw: Draw, randomness: Randomness, law: str) -> MeasuredTable:
    noised = noisy_counts if law == LAPLACE else gaussian_counts
    noisy = noised(counts, draw.rate, UniformStream(randomness))
    return MeasuredTable(counts=noisy, variance=noise_variance(draw.rate, law), rate=draw.rate)


def _scores(
    exact: Mapping[Pair, IntArray], models: Mapping[Pair, FloatArray], explained: Mapping[Pair, int]
) -> dict[Pair, int]:
    """Return the errors of models, less the noise that tables would get, in steps.

    Parameters
    ----------
    exact : mapping
        True tables, of which one row moves a score by `STEPS` at most.
    models : mapping
        What they are compared with.
    explained : mapping
        What noise of a table would explain of it, see `_explained`.
    """
    return {pair: error_steps(table, models[pair]) - explained[pair] for pair, table in exact.items()}


def _explained(sizes: Mapping[Pair, FloatArray], draw: Draw, law: str) -> dict[Pair, int]:
    """Return the expected noise of tables, in steps, as far as it is taken off their scores.

    Parameters
    ----------
    sizes : mapping
        Rows expected in the cells: a cell of few rows cannot be off by many.
    draw, law
        Of the noise of the tables.
    """
    scale = Amount(law=law, loss=draw.rate / (1 << 52)).noise(1.0)
    return {
        pair: round(rule.NOISE_TAKEN_OFF * float(np.minimum(scale, 2 * rows).sum()) * STEPS)
        for pair, rows in sizes.items()
    }


def _completion(layout: ColumnLayout, margins: Margins, known: Mapping[Pair, MeasuredTable]) -> Completion:
    """Return all pairs as they follow from those that were measured."""
    completion = Completion(layout, margins)
    for pair, table in known.items():
        _learn(completion, pair, table)
    return completion


def _learn(completion: Completion, pair: Pair, table: MeasuredTable) -> None:
    margins = completion.margins
    squares = expected_squares(table.counts[0].size, table.variance, margins.totals)
    completion.learn(pair, consistent_pair(pair, table, margins), squares)


def _mixtures(
    layout: ColumnLayout,
    margins: Margins,
    one_ways: Sequence[MeasuredTable],
    known: Mapping[Pair, MeasuredTable],
    class_rows: FloatArray,
    cells: Sequence[tuple[ChosenTriple, MeasuredTable]] = (),
) -> tuple[ClassMixture, ...]:
    """Return the mixture of each class; of one component where no pair was measured, or of one a cell of a triple."""
    columns = np.concatenate(margins.values, axis=1)
    faint = _faint(layout, one_ways, margins.groups, known)
    if cells:
        ((chosen, table),) = cells
        return mixtures_of_triple(layout, columns, chosen, table, faint, class_rows)
    totals = number_totals(layout, margins, one_ways, faint)

    def settled(fitted: Sequence[Mixture]) -> tuple[ClassMixture, ...]:
        shown = [without_values(own, faint, layout.offsets) for own in fitted]
        shown = with_totals(shown, class_rows, totals, layout.offsets)
        return tuple(in_units(own, layout.offsets, rows) for own, rows in zip(shown, class_rows, strict=True))

    if not known:
        return settled([Mixture(weights=np.ones(1), shares=own[np.newaxis]) for own in columns])
    completion = _completion(layout, margins, known)
    completion.settle(rule.COMPLETION_ROUNDS)
    targets = completion.all_pairs()
    wanted = wanted_tables(layout, margins, one_ways, known, targets, rule.UNMEASURED_WEIGHT)
    weights = _between_columns(layout)
    first_steps, steps = (min(most, max(most // 2, rule.FIT_WORK // targets.size)) for most in rule.FIT_STEPS)
    joined = forest_of(list(known), len(layout.sizes))
    tables = {pair: consistent_pair(pair, known[pair], margins) for pair in joined}
    starts = rows_of_tree(layout, order_of(joined, len(layout.sizes)), tables, margins, rule.COMPONENTS)
    out = []
    for at, (pairs, own, rows, total) in enumerate(zip(targets, columns, starts, class_rows, strict=True)):
        rough = fitted_mixture(pairs, weights, own, rows[: components_of(total)], layout.offsets, first_steps)
        out.append(moved_nearer(rough, wanted, at, layout.offsets, steps))
    return settled(out)


def _faint(
    layout: ColumnLayout,
    one_ways: Sequence[MeasuredTable],
    groups: Sequence[IntArray],
    known: Mapping[Pair, MeasuredTable],
) -> IntArray:
    """Return the values of missing, among those of all columns, whose counts do not exceed their noise.

    By the table of the column, and by those of its pairs where missing has a group of its own.
    """
    found = []
    for column, (name, table) in enumerate(zip(layout.names, one_ways, strict=True)):
        if not layout.schema.domains[name].has_missing:
            continue
        counts_of_missing = [(table.counts[:, -1], table.variance)]
        last = int(groups[column][-1])
        if np.count_nonzero(groups[column] == last) == 1:
            counts_of_missing += [
                (np.take(table.counts, last, axis=1 + pair.index(column)), table.variance)
                for pair, table in known.items()
                if column in pair
            ]
        if is_faint(counts_of_missing, MISSING_ABOVE):
            found.append(int(layout.offsets[column + 1]) - 1)
    return np.array(found, dtype=np.int64)


def _between_columns(layout: ColumnLayout) -> FloatArray:
    """Return 1 for each pair of values of two columns, 0 within one."""
    column = np.repeat(np.arange(len(layout.sizes)), layout.sizes)
    return np.asarray(column[:, np.newaxis] != column, dtype=np.float64)


def components_of(rows: float) -> int:
    """Return the number of components of the mixture of a class of so many rows."""
    return min(max(int(rows) // rule.ROWS_A_COMPONENT, 1), rule.COMPONENTS)
