"""Coverage of the 95 % intervals of a category under `rr`, for answers that are sets of values.

Run it:  python recipes/benchmarks/category_coverage.py [--releases 300] [--rows 5000]

Each release is of fresh rows of a population whose shares are known: a class of two (70 : 30), and values whose shares
fall by a constant factor, from the first on in one class and from the last on in the other, or all alike.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from anonkit.consumers import by_class, frequencies
from anonkit.domains.number_bins import Categories
from anonkit.mechanisms.randomizers import randomizer_of
from anonkit.published.channels.category_channels import SetResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget
from anonkit.randomized_response.number_response import best_category_response
from anonkit.randomness import Randomness

CLASSES = Categories(values=("no", "yes"))
OF_CLASS = np.array([0.7, 0.3])
EPSILONS = (0.25, 0.5, 1.0)
VALUES = (9, 42)
FALLS = {"even": 1.0, "uneven": 0.8}
"""By which factor each share is that of the value before."""

Array = np.ndarray[Any, np.dtype[np.float64]]


def described(epsilon: float, values: int) -> PublishedTable:
    """Return how `rr` publishes a category together with a class."""
    domain = Categories(values=tuple(f"v{at:02d}" for at in range(values)))
    answers = best_category_response(epsilon, segments=2, values=values)
    return PublishedTable(
        target=PublishedTarget(name="class", domain=CLASSES, mechanism=None),
        attributes=(PublishedAttribute(name="x", domain=domain, mechanism=answers, joint_with_target=True),),
        asked_column="asked",
    )


def within(values: int, fall: float) -> Array:
    """Return P(value | class), shape (2, values)."""
    shares = fall ** np.arange(values, dtype=np.float64)
    return np.stack([shares, shares[::-1]]) / shares.sum()


def release(table: PublishedTable, shares: Array, rows: int, seed: int) -> dict[str, Any]:
    """Return the answers of fresh rows."""
    of_value = table.attributes[0]
    assert isinstance(of_value.domain, Categories)
    pairs = (OF_CLASS[:, np.newaxis] * shares).reshape(-1)
    codes = np.random.default_rng(seed).choice(pairs.size, rows, p=pairs)
    key = Randomness.seeded(seed).key("coverage")
    given = randomizer_of(of_value.mechanism).randomize(codes, key=key, stream=0)  # type: ignore[arg-type]
    classes, values = np.divmod(given.astype(np.int64), of_value.domain.size)
    return {
        "x": of_value.domain.decode(values),
        "class": CLASSES.decode(classes),
        "asked": np.full(rows, "x", dtype=object),
    }


def covered(
    epsilon: float, values: int, fall: float, releases: int, rows: int
) -> dict[str, tuple[float, float, float]]:
    """Return, for shares and shares by class, their coverage, the least of one share, and the mean width."""
    table, shares = described(epsilon, values), within(values, fall)
    truth = {"shares": OF_CLASS @ shares, "shares by class": shares}
    hits: dict[str, list[Array]] = {kind: [] for kind in truth}
    widths: dict[str, list[float]] = {kind: [] for kind in truth}
    for seed in range(releases):
        released = release(table, shares, rows, seed)
        for kind, found in zip(truth, (frequencies(released, table, "x"), by_class(released, table, "x")), strict=True):
            hits[kind].append((found.lower <= truth[kind] + 1e-12) & (truth[kind] <= found.upper + 1e-12))
            widths[kind].append(float((found.upper - found.lower).mean()))
    rates = {kind: np.mean(one, axis=0) for kind, one in hits.items()}
    return {kind: (float(rate.mean()), float(rate.min()), float(np.mean(widths[kind]))) for kind, rate in rates.items()}


def main() -> None:
    """Print the table of the documentation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--releases", type=int, default=300)
    parser.add_argument("--rows", type=int, default=5_000)
    asked = parser.parse_args()
    print("epsilon, values, answered by, shares: kind: covered, least covered share, mean width")
    for epsilon in EPSILONS:
        for values in VALUES:
            mechanism = described(epsilon, values).attributes[0].mechanism
            size = len(mechanism.members) if isinstance(mechanism, SetResponse) else 1
            for name, fall in FALLS.items():
                rates = covered(epsilon, values, fall, asked.releases, asked.rows)
                said = "; ".join(f"{kind} {a:.3f} {b:.3f} {w:.3f}" for kind, (a, b, w) in rates.items())
                print(f"{epsilon:g}, {values}, sets of {size} of {2 * values}, {name}: {said}", flush=True)


if __name__ == "__main__":
    main()
