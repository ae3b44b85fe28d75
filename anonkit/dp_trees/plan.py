# SPDX-License-Identifier: Apache-2.0
"""The plan of a forest, made before any data is read: every draw on every path, its rate, the total loss.

A plan is a set of choices: how rows are assigned to trees, how nodes are split (`split_selection`), and what a leaf
publishes, noisy class counts or the label alone by private selection.

**Rows of a tree** are a function of a secret key and the row number. The key is drawn for one release and never
written. Since every row draws its words by itself, the law of the other rows' trees does not move when one row is left
out; a slice by position or a deal of fixed size would move it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import ClassVar, Protocol

import numpy as np

from anonkit.budget_rules.model_queries import TABLE
from anonkit.budget_rules.pair_rule import PairGrid
from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import IntArray
from anonkit.dp_trees.split_selection import LARGEST_TABLE, SplitSelection, Terms
from anonkit.errors import ParameterError
from anonkit.mechanisms.accounting import Accounting, draw_units, most_expensive_path, rate_within, shares, units_of
from anonkit.mechanisms.exact_samplers import UniformStream, noisy_counts, permute_and_flip
from anonkit.mechanisms.randomizers import answered_attribute
from anonkit.promises.guarantee import ADD_OR_REMOVE, changed_rows
from anonkit.published.noisy_tables import LAPLACE
from anonkit.published.statements.noise_statement import PERMUTE_AND_FLIP, Bootstrap, Draw
from anonkit.published.tree_model import LeafContent, Split, TreeSchema
from anonkit.randomness import keyed_words

_TREE_STREAM = 2**32 - 1
_WORD_BITS = 32


class TreeRows(Protocol):
    """Assignment of the rows of a table to the trees of a forest."""

    kind: ClassVar[str]

    @property
    def trees(self) -> int:
        """Number of trees."""
        ...

    def path_units(self, epsilon: Fraction) -> int:
        """Return the budget of a path of one tree under which a row loses at most epsilon."""
        ...

    @property
    def times(self) -> int:
        """Number of trees that hold a row, where it is fixed; 1 for a bootstrap, which counts its copies."""
        ...

    @property
    def bootstrap(self) -> Bootstrap | None:
        """The law of the copies of a row, where rows are copied."""
        ...

    def groups(self, key: bytes, first_row: int, n_rows: int) -> Iterator[tuple[IntArray, IntArray | None]]:
        """Yield, for one pass over some rows, the tree of each row and how often it takes the row (None: once)."""
        ...


@dataclass(frozen=True, kw_only=True)
class Disjoint(ParamsPart, keys=("kind", "trees")):
    """Every row is in one tree, drawn uniformly: each tree may spend the whole epsilon (parallel composition)."""

    kind: ClassVar[str] = "disjoint"
    times: ClassVar[int] = 1
    bootstrap: ClassVar[None] = None
    trees: int

    def path_units(self, epsilon: Fraction) -> int:
        """Return all of it."""
        return units_of(epsilon)

    def groups(self, key: bytes, first_row: int, n_rows: int) -> Iterator[tuple[IntArray, None]]:
        """Yield one group: each row with its tree."""
        if self.trees == 1:
            yield np.zeros(n_rows, dtype=np.int64), None
        else:
            # independent for each row: dealing by position or in fixed sizes would move other rows when one is
            # left out, and parallel composition would not hold
            yield answered_attribute(key, _TREE_STREAM, first_row, n_rows, self.trees), None


@dataclass(frozen=True, kw_only=True)
class Shared(ParamsPart, keys=("kind", "trees")):
    """Every tree sees every row: each may spend epsilon divided by the number of trees (sequential composition)."""

    kind: ClassVar[str] = "shared"
    bootstrap: ClassVar[None] = None
    trees: int

    @property
    def times(self) -> int:
        """All trees."""
        return self.trees

    def path_units(self, epsilon: Fraction) -> int:
        """Return the share of one tree."""
        return units_of(epsilon) // self.trees

    def groups(self, key: bytes, first_row: int, n_rows: int) -> Iterator[tuple[IntArray, None]]:
        """Yield all rows, once a tree."""
        for tree in range(self.trees):
            yield np.full(n_rows, tree, dtype=np.int64), None


@dataclass(frozen=True, kw_only=True)
class PoissonBootstrap(ParamsPart, keys=("kind", "trees")):
    """Every tree takes each row a Poisson(1) number of times, by 32-bit words: the bootstrap that can be accounted for.

    A bootstrap of fixed size moves when one row is left out; independent numbers of copies do not. A path that loses
    e a copy costs about exp(e) - 1 a tree, not e: copies add up.
    """

    kind: ClassVar[str] = "bootstrap"
    times: ClassVar[int] = 1
    trees: int

    @property
    def bootstrap(self) -> Bootstrap:
        """The law of the copies, in words of 32 bits."""
        return Bootstrap(trees=self.trees, weights=_poisson_weights(), word_bits=_WORD_BITS)

    def path_units(self, epsilon: Fraction) -> int:
        """Return the largest loss of one copy for which all copies in all trees lose at most epsilon."""
        units = units_of(Fraction(math.log1p(float(epsilon) / self.trees)))  # exp(e) - 1 a tree: Poisson untruncated
        # the float above is only a start; the exact loss decides
        while self._loss(units) > epsilon:
            units -= 1 + (units >> 40)
        return units

    def _loss(self, units: int) -> Fraction:
        line = Draw(name="path", query=TABLE, law=LAPLACE, rate=units)
        return Accounting(draws=(line,), bootstrap=self.bootstrap).row_loss

    def groups(self, key: bytes, first_row: int, n_rows: int) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield all rows with their copies, once a tree."""
        # inversion of the distribution function on integers: exactly the published law
        limits = np.cumsum(_poisson_weights())
        for tree in range(self.trees):
            words = keyed_words(key, tree, first_row, n_rows).reshape(-1)
            copies = np.searchsorted(limits, words.astype(np.int64), side="right")
            yield np.full(n_rows, tree, dtype=np.int64), copies.astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class PublishedBootstrap(PoissonBootstrap):
    """The Poisson bootstrap with the papers' budget, epsilon / trees a copy: a row then loses more than epsilon."""

    kind: ClassVar[str] = "published-bootstrap"

    def path_units(self, epsilon: Fraction) -> int:
        """Return the share of one tree, as if a row were in it once."""
        return units_of(epsilon) // self.trees


@cache
def _poisson_weights() -> tuple[int, ...]:
    """Return the numbers of 2**32 words that give 0, 1, 2, ... copies: Poisson(1), the remainder given to 0."""
    weights = [math.floor((1 << _WORD_BITS) * math.exp(-1) / math.factorial(copies)) for copies in range(13)]
    weights = [weight for weight in weights if weight]
    weights[0] += (1 << _WORD_BITS) - sum(weights)
    return tuple(weights)


ROWS: dict[str, type[Disjoint] | type[Shared] | type[PoissonBootstrap]] = {
    each.kind: each for each in (Disjoint, Shared, PoissonBootstrap, PublishedBootstrap)
}


Histograms = Callable[[IntArray, IntArray], Iterable[tuple[int, IntArray, IntArray]]]
"""Nodes and attributes of shape (n, m) to (attribute, positions among the nodes, counts (n, codes, classes))."""


LEAF_COUNTS = "class counts of a leaf"
"""Purpose of the draws of a leaf's class counts, with their level behind it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Leaves:
    """The leaves of one level with their exact counts, which must be noised before any other use."""

    level: int
    units: int
    """Privacy loss of a row in the leaf, allowed for its draws."""
    schema: TreeSchema
    nodes: IntArray
    totals: IntArray
    """Class counts, shape (n_leaves, n_classes)."""
    histograms: Histograms
    """Requests class counts by attribute value: one pass over the rows."""


class Leaf(Protocol):
    """A way to fill leaves, with the draws it plans."""

    name: ClassVar[str]

    def draws(self, level: int, units: int, schema: TreeSchema) -> tuple[Draw, ...]:
        """Return the draws in a leaf of this level that cost `units` at most, each with `ends_path`."""
        ...

    def fill(self, leaves: Leaves, words: UniformStream) -> Sequence[LeafContent]:
        """Draw the contents, at the rates of `draws`."""
        ...


@dataclass(frozen=True, kw_only=True)
class NoisyClassCounts:
    """Class counts with discrete Laplace noise; a row is in one count, so each count gets all of the units."""

    name: ClassVar[str] = "counts"

    def draws(self, level: int, units: int, schema: TreeSchema) -> tuple[Draw, ...]:
        """Return the one line."""
        rate = rate_within(units, 1)
        purpose = f"{LEAF_COUNTS} at level {level}"
        return (Draw(name=purpose, query=TABLE, law=LAPLACE, rate=rate, level=level, ends_path=True),)

    def fill(self, leaves: Leaves, words: UniformStream) -> Sequence[LeafContent]:
        """Noise the counts."""
        rate = self.draws(leaves.level, leaves.units, leaves.schema)[0].rate
        return [LeafContent(counts=tuple(row)) for row in noisy_counts(leaves.totals, rate, words).tolist()]


@dataclass(frozen=True, kw_only=True)
class LabelOnly:
    """The label alone, by permute-and-flip on the class counts (eDPRF): a row that comes adds 1 to one of them."""

    name: ClassVar[str] = "label"
    slack: int = 1
    """Divides the rate: 2 is what papers spend that do not use that counts only rise when a row comes."""

    def draws(self, level: int, units: int, schema: TreeSchema) -> tuple[Draw, ...]:
        """Return the one line."""
        rate = rate_within(units, self.slack)
        purpose = f"label of a leaf at level {level}"
        return (Draw(name=purpose, query=TABLE, law=PERMUTE_AND_FLIP, rate=rate, level=level, ends_path=True),)

    def fill(self, leaves: Leaves, words: UniformStream) -> Sequence[LeafContent]:
        """Choose the labels."""
        rate = self.draws(leaves.level, leaves.units, leaves.schema)[0].rate
        return [LeafContent(label=label) for label in permute_and_flip(leaves.totals, rate, words).tolist()]


LEAVES: dict[str, type[NoisyClassCounts] | type[LabelOnly]] = {
    leaf.name: leaf for leaf in (NoisyClassCounts, LabelOnly)
}


MOST_LEVELS = 24

Threshold = Callable[[float, TreeSchema], float]
"""The epsilon of a noisy count of rows, and the schema, to the count below which a node is a leaf."""


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The choices that make the tree of one paper."""

    rows: TreeRows
    levels: int
    """Levels of a tree, the root's and the leaves' included; 1 is a root that is a leaf."""
    weights: tuple[Fraction, ...]
    """Shares of a path's budget, one a level."""
    selection: SplitSelection
    leaf: Leaf
    count_shares: tuple[Fraction, ...] = ()
    """Share of each level's budget that is spent on a noisy count of the node's rows; none when empty."""
    threshold: Threshold | None = None
    """Noisy count below which a node is a leaf; needs `count_shares`."""
    min_rows: int = 0
    """Rows below which a node is a leaf, by the noisy counts that its parent was split by; 0: whatever they say."""
    align: bool = False
    """True: a leaf spends all that its path has not spent; False: its level's share, and the rest is dropped."""
    square_root: bool = False
    """True: a node chooses among the square root of the attributes, drawn without a look at the data."""
    noiseless_purity: bool = False
    """True: a node whose rows have one class is a leaf, as papers do; a look at the data for which no bound holds."""
    vote: str | None = None
    """Vote by which receivers combine the trees; None where the method has one tree, or states none."""
    max_rows: int = LARGEST_TABLE
    """Rows of a node up to which an entropy is scored exactly; public."""
    lead: PairGrid | None = None
    """Splits of the first levels, which are public and cost nothing; for one tree whose nodes are not counted."""

    def __post_init__(self) -> None:
        if not 1 <= self.levels <= MOST_LEVELS or len(self.weights) != self.levels:
            raise ParameterError(f"a tree must have 1 to {MOST_LEVELS} levels and a weight for each")
        if self.count_shares and (len(self.count_shares) != self.levels or max(self.count_shares) >= 1):
            raise ParameterError("counts of rows need a share below 1 for each level")
        if self.threshold is not None and not self.count_shares:
            raise ParameterError("a threshold on the rows of a node needs a share of the budget for counting them")
        if self.lead is not None and (self.rows.trees > 1 or self.count_shares or self.n_public_levels >= self.levels):
            raise ParameterError("a public grid leads one tree, which has more levels, and no counts of nodes")

    @property
    def n_public_levels(self) -> int:
        """Levels whose splits are public."""
        return 0 if self.lead is None else len(self.lead.levels)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A set of choices with a schema and a budget: every draw is known before any data is read.

    Budgets are integers in units of 2**-52 of epsilon, so that sums of draws are exact.
    """

    choices: Choices
    schema: TreeSchema
    epsilon: float
    """Epsilon of the unit of privacy that the owner gives."""
    rows_per_unit: int = 1
    adjacency: str = ADD_OR_REMOVE

    def __post_init__(self) -> None:
        if any(attribute.paths for attribute in self.schema.attributes):
            raise ParameterError("taxonomies are for top-down specialization")

    @property
    def levels(self) -> int:
        """Levels of a tree."""
        return self.choices.levels

    @cached_property
    def path_units(self) -> int:
        """Privacy loss of a row on a path of one tree, in units of 2**-52."""
        return self.choices.rows.path_units(Fraction(self.epsilon) / changed_rows(self.rows_per_unit, self.adjacency))

    @cached_property
    def level_units(self) -> list[int]:
        """Privacy loss of a row on each level."""
        return shares(self.path_units, self.choices.weights)

    @cached_property
    def terms(self) -> Terms:
        """Public facts that decide what a choice of a split costs."""
        splittable = [attribute for attribute in self.schema.attributes if attribute.n_splits]
        candidates = len(splittable)
        if self.choices.square_root and candidates:
            candidates = max(1, math.isqrt(candidates))
        # these are never used up, and each costs a draw of its cut
        numbers = sum(attribute.split is Split.CUT for attribute in splittable)
        # among so many random candidates at least these are numeric: the categories are too few for all places
        fewest = max(0, min(numbers, candidates - (len(splittable) - numbers)))
        numbers = min(candidates, numbers)
        return Terms(
            candidates=candidates,
            fewest_numbers=fewest,
            numbers=numbers,
            reused=sum(attribute.is_cut for attribute in splittable),
            n_classes=self.schema.n_classes,
            max_rows=self.choices.max_rows,
        )

    def count_units(self, level: int) -> int:
        """Return the privacy loss of the noisy count of a node's rows; 0 when it is not counted."""
        shares_of_levels = self.choices.count_shares
        return math.floor(self.level_units[level] * shares_of_levels[level]) if shares_of_levels else 0

    def split_units(self, level: int) -> int:
        """Return the largest privacy loss of the choice of a split."""
        return self.level_units[level] - self.count_units(level)

    def split_draws(self, level: int) -> tuple[Draw, ...]:
        """Return the draws of a split; none where it is public."""
        if level < self.choices.n_public_levels:
            return ()
        return self.choices.selection.draws(level, self.split_units(level), self.terms)

    def leaf_units(self, level: int) -> int:
        """Return the largest privacy loss of the contents of a leaf at this level, after its count."""
        if not self.choices.align:
            return self.level_units[level] - self.count_units(level)
        # a path that ends here has spent only its counts and splits above; the leaf gets all the rest (eDPRF). Spent
        # is what the paper charges: with its rate, which costs less, a leaf gets no more
        charged = [
            self.choices.selection.slack * sum(draw_units(draw) for draw in self.split_draws(at)) for at in range(level)
        ]
        above = sum(self.count_units(at) + charged[at] for at in range(level))
        return self.path_units - above - self.count_units(level)

    def leaf_draws(self, level: int) -> tuple[Draw, ...]:
        """Return the draws in a leaf."""
        return self.choices.leaf.draws(level, self.leaf_units(level), self.schema)

    def count_draw(self, level: int, *, ends_path: bool) -> Draw:
        """Return the draw of a node's count, on a path that goes on or ends there."""
        return Draw(
            name=f"rows of a {'leaf' if ends_path else 'node'} at level {level}",
            query=TABLE,
            law=LAPLACE,
            rate=rate_within(self.count_units(level), 1),
            level=level,
            ends_path=ends_path,
        )

    @cached_property
    def path_limit(self) -> int:
        """Upper limit of the loss on a path of one tree: `path_units`, or more where a paper does not divide them."""
        draws = [(draw.level, draw.ends_path, draw_units(draw)) for draw in self._draws]
        return max(self.path_units, most_expensive_path(draws))

    @cached_property
    def can_split(self) -> bool:
        """True when some attribute can be split at all."""
        return self.terms.candidates > 0

    @cached_property
    def accounting(self) -> Accounting:
        """Every draw on the path of a row, for all levels at which it may end."""
        rows = self.choices.rows
        return Accounting(
            draws=tuple(_times(draw, rows.times) for draw in self._draws),
            bootstrap=rows.bootstrap,
            rows_per_unit=self.rows_per_unit,
            adjacency=self.adjacency,
            by_level=True,
        )

    @cached_property
    def _draws(self) -> list[Draw]:
        """Every draw on the path of a row in one tree."""
        draws: list[Draw] = []
        # without an attribute to split by, the root is the only leaf
        levels = range(self.levels if self.can_split else 1)
        for level in levels:
            counted = self.count_units(level) > 0
            if level < len(levels) - 1:
                draws += [self.count_draw(level, ends_path=False)] if counted else []
                draws += self.split_draws(level)
            draws += [self.count_draw(level, ends_path=True)] if counted else []
            draws += self.leaf_draws(level)
        return draws


def _times(draw: Draw, trees: int) -> Draw:
    """Return the line of a draw that is made in so many trees on the same rows."""
    if trees == 1:
        return draw
    return replace(draw, times=draw.times * trees)
