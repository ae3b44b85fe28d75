"""A method that is in the tests only: a histogram under approximate differential privacy, as its proof needs one.

Every combination of public categories is a row, with its count plus integer noise. The noise is a two-sided geometric
one cut off at the width at which what lies beyond is below delta, with weights that sum to a power of two: a uniform
word of the secure generator picks one exactly, so that the distribution is the published one and no float's.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.cell_values import codes_of_cells
from anonkit.domains.number_bins import Categories
from anonkit.dp_trees.release.synthetic_rows import column_entries, described
from anonkit.parameters import parameter
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.policy.public_domains import CategoricalAttribute, public_domains
from anonkit.promises.approximate_dp import ApproximateDP
from anonkit.protocols import Draft, Engine, Progress, Source, no_progress
from anonkit.published.released_codes import labelled
from anonkit.randomness import Randomness
from anonkit.report.blocks import Budget, Expense

WORD_BITS = 20
FORMAT = "anonkit-noisy-histogram-1"


@dataclass(frozen=True, kw_only=True)
class NoisyHistogram:
    """Publish how many rows every combination of public categories has, with noise that is cut off."""

    name: ClassVar[str] = "noisy-histogram"
    paper: ClassVar[str] = "none: for the tests"
    summary: ClassVar[str] = "noisy counts of all combinations of categories"
    target_use: ClassVar[TargetUse] = TargetUse.REQUIRED

    epsilon: float = parameter(range="(0, 5]", help="privacy loss of one row")
    width: int = parameter(default=12, range="[1, 100]", help="largest noise")

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """Weights of the noise -width, ..., width; they sum to 2**WORD_BITS."""
        total = 1 << WORD_BITS
        shares = [math.exp(-self.epsilon * abs(at)) for at in range(-self.width, self.width + 1)]
        weights = [int(total * share / math.fsum(shares)) for share in shares]
        weights[self.width] += total - sum(weights)
        return tuple(weights)

    @property
    def delta(self) -> Fraction:
        """Probability that epsilon does not cover, counted outcome by outcome; rounded up to a fraction."""
        chances = {at - self.width: weight for at, weight in enumerate(self.weights)}
        factor = Fraction(math.nextafter(math.exp(self.epsilon), 0.0))
        rest = {
            shift: sum(
                max(Fraction(0), weight - factor * chances.get(noise + shift, 0)) for noise, weight in chances.items()
            )
            for shift in (-1, 1)
        }
        return max(rest.values()) / (1 << WORD_BITS)

    @property
    def stated_delta(self) -> float:
        """The same as a float, not below it."""
        return math.nextafter(float(self.delta), 1.0)

    def guarantee(self, policy: Policy) -> ApproximateDP:
        """State the promise: a row is counted in one cell."""
        _domains(policy)
        return ApproximateDP(epsilon=float(self.epsilon), delta=self.stated_delta)

    def noise(self, randomness: Randomness, size: int) -> NDArray[np.int64]:
        """Draw integers with the published weights, shape (size,)."""
        words = randomness.words(size) >> np.uint64(64 - WORD_BITS)
        return noise_of_words(self.weights, words)

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Count, add noise, and return the account."""
        domains = _domains(policy)
        sizes = tuple(domain.size for domain in domains.values())
        counts: Counter[tuple[int, ...]] = Counter()
        for batch in source.batches(list(domains)):
            codes = [codes_of_cells(batch, name, domain) for name, domain in domains.items()]
            counts.update(zip(*(each.tolist() for each in codes), strict=True))
        cells = list(np.ndindex(sizes))
        noisy = np.array([counts[cell] for cell in cells]) + self.noise(rng.child("noise"), len(cells))
        codes = np.array(cells)
        table = pa.table(
            {
                **{name: labelled(codes[:, at], domain) for at, (name, domain) in enumerate(domains.items())},
                "count": pa.array(noisy, pa.int64()),
            }
        )
        return Draft(
            data=engine.hold(table),
            published={
                "format": FORMAT,
                "columns": [
                    *(described(name, domain) for name, domain in domains.items()),
                    {"name": "count", "type": "count", "domain": {"has_missing": False}},
                ],
            },
            statement=CountedOnce(
                cost={"name": "count", "epsilon": float(self.epsilon), "delta": self.stated_delta},
                weights=self.weights,
            ),
            columns=column_entries(policy, {name: one.size for name, one in domains.items()}, table.column_names),
        )


@dataclass(frozen=True, kw_only=True)
class CountedOnce:
    """The statement of the histogram: one draw, of which a row is in one cell."""

    cost: Expense
    weights: tuple[int, ...]

    def to_params(self) -> dict[str, Any]:
        """Return the account."""
        noise = {"mechanism": "integer-noise", "weights": list(self.weights), "sensitivity": 1, "times": 1}
        return {
            "account": [{**self.cost, **noise}],
            "composition": {"adjacency": "add or remove one record", "rows_per_unit": 1},
        }

    @property
    def budget(self) -> Budget:
        """The report's `budget` block."""
        cost = self.cost
        return {"epsilon": cost["epsilon"], "delta": cost["delta"], "per_level": [], "per_attribute": [cost]}


def _domains(policy: Policy) -> dict[str, Categories]:
    """Return the categories of each column that is counted, by name."""
    attributes = [each for each in public_domains(policy).attributes if isinstance(each, CategoricalAttribute)]
    return {attribute.name: attribute.domain for attribute in attributes}


def noise_of_words(weights: tuple[int, ...], words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the noise that uniform words below the sum of the weights represent, shape of the words."""
    ends = np.cumsum(np.array(weights, dtype=np.uint64))
    return np.searchsorted(ends, words, side="right").astype(np.int64) - len(weights) // 2
