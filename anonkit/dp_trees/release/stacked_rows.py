# SPDX-License-Identifier: Apache-2.0
"""Synthetic rows of the stacked model, each with a class from its probabilities, and the public rules that rows keep.

Rules are about what is shown. So where there are some, the places of numbers within their cells are drawn first, and
rows are changed by these; a number to predict is drawn from what a rule leaves of its bin. However coarse the cells
became, a rule forbids no more than it says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import Categories, Grid, NumberBins
from anonkit.dp_trees.additive_model.stacked import StackedForest
from anonkit.dp_trees.additive_model.synthetic_population import LeafProductModel
from anonkit.dp_trees.additive_model.target_bins import GRIDS, TargetHistogram
from anonkit.dp_trees.release.synthetic_rows import PieceSampler, RuledRows, check_rules
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import numeric_target
from anonkit.published.additive_scores import AdditiveScores, places_of
from anonkit.published.code_rules import CodeRules, allowed_chances
from anonkit.published.released_cells import PLACES_IN_A_CELL, cells_of_places, places_of_cells, shown_domain
from anonkit.published.tree_attributes import Attribute, TreeSchema
from anonkit.published.tree_model import PublishedForest
from anonkit.randomness import Randomness

_CHANCES_AT_ONCE = 1 << 22


@dataclass(frozen=True, kw_only=True, eq=False)
class StackedRows:
    """Draws synthetic rows from the noisy counts, with a class from the model's probabilities.

    Within a cell of the grid a number is drawn uniformly. All input is published, so the rows cost no privacy loss.
    """

    forest: PublishedForest
    scores: AdditiveScores
    world: LeafProductModel
    numbers: TargetHistogram | None = None
    """Of a numeric target: where in its bin a number is drawn."""
    code_rules: CodeRules | None = None
    """The public rules over what is shown; rows are changed before they get a class, and get one that they may have."""

    def __call__(self, numbers: IntArray, randomness: Randomness) -> list[IntArray]:
        """Return the labels and the codes of each attribute for so many rows of each leaf and class."""
        words = UniformStream(randomness)
        rows = self.world.rows_of(numbers, words)
        attributes = self.forest.schema.attributes
        if self.code_rules is not None and self.code_rules.masks:
            return self._ruled(rows.codes, rows.labels, words, self.code_rules)
        labels = self._labels(rows.codes, words)
        if self.numbers is not None:
            labels = self.numbers.cells_of(labels, words)
        return [labels, *(self._placed(one, own, words) for one, own in zip(attributes, rows.codes, strict=True))]

    @staticmethod
    def _placed(attribute: Attribute, codes: IntArray, words: UniformStream) -> IntArray:
        return places_of_cells(codes, attribute.domain, shown_domain(attribute.domain), words)

    def _ruled(self, codes: IntArray, classes: IntArray, words: UniformStream, code_rules: CodeRules) -> list[IntArray]:
        """Return labels and codes that keep the rules: numbers at their places first, then what rules change."""
        attributes = self.forest.schema.attributes
        shown = {one.name: self._placed(one, own, words) for one, own in zip(attributes, codes, strict=True)}
        shown = code_rules.repaired(shown, classes, words)
        cells = np.stack(
            [cells_of_places(one.domain, shown_domain(one.domain))[shown[one.name]] for one in attributes]
        ).astype(codes.dtype)
        if not code_rules.names_label:
            labels = self._labels(cells, words)
            labels = labels if self.numbers is None else self.numbers.cells_of(labels, words)
            return [labels, *shown.values()]
        size = self.forest.schema.n_classes if self.numbers is None else self.numbers.grid.size
        labels = np.empty(cells.shape[1], dtype=np.int64)
        for part in _parts(labels.size, size):
            forbidden = code_rules.forbidden({name: own[part] for name, own in shown.items()}, size)
            of_classes = forbidden if self.numbers is None else self.numbers.bins_without(forbidden)
            sampled = _sampled_classes(allowed_chances(self._chances(cells[:, part]), of_classes), words)
            labels[part] = sampled if self.numbers is None else self.numbers.cells_among(sampled, forbidden, words)
        return [labels, *shown.values()]

    def _chances(self, codes: IntArray) -> FloatArray:
        """Return the probabilities that the published scores give, shape (n_rows, n_classes)."""
        return self.scores.probabilities(places_of(self.forest, codes), codes)

    def _labels(self, codes: IntArray, words: UniformStream) -> IntArray:
        """Return a class for each row, drawn with the probabilities of the published scores."""
        n_rows = codes.shape[1]
        uniform, labels = words.fractions(n_rows) / (1 << 52), np.empty(n_rows, dtype=np.int64)
        for part in _parts(n_rows, self.forest.schema.n_classes):
            labels[part] = _at(self._chances(codes[:, part]), uniform[part])
        return labels


def _parts(n_rows: int, size: int) -> Iterator[slice]:
    """Yield parts of rows, so that rows times classes are never in memory."""
    rows = max(1, _CHANCES_AT_ONCE // size)
    for start in range(0, n_rows, rows):
        yield slice(start, start + rows)


def _sampled_classes(chances: FloatArray, words: UniformStream) -> IntArray:
    """Return a class of each row by its chances; never one that has none, shape (n_rows,)."""
    places = _at(chances, words.fractions(len(chances)) / (1 << 52))
    last = chances.shape[1] - 1 - np.argmax(chances[:, ::-1] > 0, axis=1)  # where rounding leaves the sum below 1
    return np.asarray(np.minimum(places, last), dtype=np.int64)


def _at(chances: FloatArray, uniform: FloatArray) -> IntArray:
    return np.asarray((np.cumsum(chances, axis=1)[:, :-1] <= uniform[:, np.newaxis]).sum(axis=1), dtype=np.int64)


def microdata_of(
    learned: StackedForest,
    policy: Policy,
    rng: Randomness,
    numbers: TargetHistogram | None = None,
    ruled: RuledRows | None = None,
) -> PieceSampler:
    """Return the function that draws the synthetic rows; post-processing, at no privacy loss."""
    schema, rng = learned.plan.schema, rng.child("released rows")
    ruled = shown_rules(policy, schema, numbers) if ruled is None else ruled
    world = learned.world if learned.step is not None else learned.world.blended()
    world = world.meeting(learned.totals).without_missing(learned.faint_missing)
    return PieceSampler(
        rows=StackedRows(
            forest=learned.forest, scores=learned.scores, world=world, numbers=numbers, code_rules=ruled.code_rules
        ),
        numbers=world.numbers(world.rows, UniformStream(rng)),
        domains=_shown(schema, numbers),
        policy=policy,
        randomness=rng,
        ruled=ruled.settled(),
    )


def shown_rules(policy: Policy, schema: TreeSchema, numbers: TargetHistogram | None) -> RuledRows:
    """Return the public rules over what is shown: places within cells, and the numbers of a target."""
    return RuledRows.of(policy, _shown(schema, numbers), schema.target, number_last=True)


def check_shown_rules(policy: Policy, cells: Sequence[int]) -> None:
    """Refuse rules that leave no row possible with one of so many cells, before anything is drawn.

    Raises
    ------
    PolicyError
        See `check_rules`.
    """
    for grid in GRIDS if numeric_target(policy) is not None else GRIDS[:1]:
        for own in cells:
            check_rules(policy, own * PLACES_IN_A_CELL, grid, number_last=True)


def _shown(schema: TreeSchema, numbers: TargetHistogram | None) -> Mapping[str, Categories | Grid]:
    """Return the domains of the columns as they are shown: cells of numbers have places, of integers each is one."""
    domains = {name: shown_domain(domain) for name, domain in schema.domains.items()}
    target = schema.classes if numbers is None else numbers.grid
    return {**domains, schema.target: target.grid if isinstance(target, NumberBins) else target}
