"""Coverage and width of the 95 % intervals of a number under `rr`.

Run it:  python recipes/benchmarks/interval_coverage.py [--releases 300] [--rows 5000]

Each release is of fresh rows of a population whose shares are known, answered as `rr` answers for a number: drawn
together with a class of two, by the mechanism its rule takes at this epsilon.
"""

from __future__ import annotations

import argparse
from statistics import NormalDist
from typing import Any

import numpy as np

from anonkit.consumers import by_class, frequencies, moments
from anonkit.domains.number_bins import Categories, Grid
from anonkit.mechanisms.randomizers import randomizer_of
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget
from anonkit.randomized_response.number_response import best_number_response
from anonkit.randomness import Randomness

CLASSES = Categories(values=("no", "yes"))
SHARE_OF_YES = 0.3
FINE = 640
"""Equal steps of the bounds on which populations are described: a multiple of every number of cells."""
EPSILONS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)

Array = np.ndarray[Any, np.dtype[np.float64]]


def _bell(middle: float, spread: float) -> Array:
    bell = NormalDist(middle, spread)
    edges = np.array([bell.cdf(place) for place in np.linspace(0, 1, FINE + 1)])
    return np.diff(edges) / (edges[-1] - edges[0])


def _spike(share: float, place: float) -> Array:
    out = np.zeros(FINE)
    out[int(place * FINE)] = share
    return out


def populations() -> dict[str, Array]:
    """Return P(step | class), shape (2, FINE): a bell, money (most have none), two narrow groups; none was tuned on."""
    place = (np.arange(FINE) + 0.5) / FINE
    tail = np.exp(-place / 0.12)
    tail = tail / tail.sum()
    return {
        "bell": np.stack([_bell(0.42, 0.12), _bell(0.58, 0.12)]),
        "money": np.stack([_spike(0.9, 0) + 0.1 * tail, _spike(0.6, 0) + 0.4 * tail]),
        "groups": np.stack(
            [0.8 * _bell(0.3, 0.02) + 0.2 * _bell(0.8, 0.02), 0.3 * _bell(0.3, 0.02) + 0.7 * _bell(0.8, 0.02)]
        ),
    }


def described(epsilon: float) -> PublishedTable:
    """Return how `rr` publishes a number between 0 and 1 together with a class."""
    cells, mechanism = best_number_response(epsilon, segments=2, has_missing=False)
    number = PublishedAttribute(
        name="x", domain=Grid(lower=0, upper=1, cells=cells), mechanism=mechanism, joint_with_target=True
    )
    target = PublishedTarget(name="class", domain=CLASSES, mechanism=None)
    return PublishedTable(target=target, attributes=(number,), asked_column="asked")


def release(table: PublishedTable, steps: Array, rows: int, seed: int) -> dict[str, Any]:
    """Return the answers of fresh rows."""
    rng = np.random.default_rng(seed)
    number = table.attributes[0]
    grid, answers = number.domain, number.answers()
    assert isinstance(grid, Grid)
    assert isinstance(answers, Grid)
    classes = (rng.random(rows) < SHARE_OF_YES).astype(np.int64)
    code = np.empty(rows, dtype=np.int64)
    for one in (0, 1):
        found = np.searchsorted(np.cumsum(steps[one]), rng.random((classes == one).sum()))
        code[classes == one] = np.minimum(found, FINE - 1) // (FINE // grid.cells)
    key = Randomness.seeded(seed).key("coverage")
    given = randomizer_of(number.mechanism).randomize(classes * grid.cells + code, key=key, stream=0)  # type: ignore[union-attr]
    shown, places = np.divmod(given.astype(np.int64), answers.size)
    return {"x": answers.decode(places), "class": CLASSES.decode(shown), "asked": np.full(rows, "x", dtype=object)}


def bins_of(table: PublishedTable) -> int:
    """Return into how many bins the cells are merged: 8, or 4 where there are no more."""
    grid = table.attributes[0].domain
    assert isinstance(grid, Grid)
    return min(8, grid.cells)


def truths(table: PublishedTable, steps: Array) -> dict[str, Array]:
    """Return the true shares of cells, in all rows and by class, and the moments of the cells' middles."""
    grid = table.attributes[0].domain
    assert isinstance(grid, Grid)
    cells = steps.reshape(2, grid.cells, -1).sum(axis=2)
    whole = np.array([1 - SHARE_OF_YES, SHARE_OF_YES]) @ cells
    mean = whole @ grid.midpoints()
    return {
        "shares": whole,
        "shares by class": cells,
        "bins": whole.reshape(bins_of(table), -1).sum(axis=1),
        "bins by class": cells.reshape(2, bins_of(table), -1).sum(axis=2),
        "mean, variance": np.array([mean, whole @ (grid.midpoints() - mean) ** 2]),
    }


def found(table: PublishedTable, released: dict[str, Any]) -> dict[str, Any]:
    """Return lower and upper ends of the intervals of `truths`."""
    whole, within = frequencies(released, table, "x"), by_class(released, table, "x")
    bins = bins_of(table)
    coarse, coarse_within = frequencies(released, table, "x", bins=bins), by_class(released, table, "x", bins=bins)
    both = moments(released, table, "x")
    return {
        "shares": (whole.lower, whole.upper),
        "shares by class": (within.lower, within.upper),
        "bins": (coarse.lower, coarse.upper),
        "bins by class": (coarse_within.lower, coarse_within.upper),
        "mean, variance": (both.lower[:2], both.upper[:2]),
    }


def covered(epsilon: float, steps: Array, releases: int, rows: int) -> dict[str, tuple[float, float, float]]:
    """Return, for each kind of interval, the share of true ones, the least of one number, and the mean width."""
    table = described(epsilon)
    truth = truths(table, steps)
    hits: dict[str, list[Array]] = {kind: [] for kind in truth}
    widths: dict[str, list[float]] = {kind: [] for kind in truth}
    for seed in range(releases):
        for kind, (lower, upper) in found(table, release(table, steps, rows, seed)).items():
            hits[kind].append((lower <= truth[kind] + 1e-12) & (truth[kind] <= upper + 1e-12))
            widths[kind].append(float((upper - lower).mean()))
    rates = {kind: np.mean(one, axis=0) for kind, one in hits.items()}
    return {kind: (float(rate.mean()), float(rate.min()), float(np.mean(widths[kind]))) for kind, rate in rates.items()}


def main() -> None:
    """Print the table of the documentation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=300)
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--epsilons", type=float, nargs="*", default=EPSILONS)
    asked = parser.parse_args()
    print("epsilon, mechanism, population: kind: covered, least covered number, mean width")
    for epsilon in asked.epsilons:
        mechanism = described(epsilon).attributes[0].mechanism
        band = getattr(mechanism, "band", None)
        name = f"{mechanism.n_inputs // 2} bins" if band is None else f"band of {band} of 64"
        for population, steps in populations().items():
            rates = covered(epsilon, steps, asked.releases, asked.rows)
            said = "; ".join(f"{kind} {a:.3f} {b:.3f} {w:.3f}" for kind, (a, b, w) in rates.items())
            print(f"{epsilon:g}, {name}, {population}: {said}", flush=True)


if __name__ == "__main__":
    main()
