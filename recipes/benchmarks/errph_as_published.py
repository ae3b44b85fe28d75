"""ERRPH as published (p_0 = 0.35, clear labels): naive Bayes on the categories of the customers and of Adult.

Numbers are left out: ERRPH is for categories, and TRR (`randomized_figures.py`) answers for them in the paper.

Run it:  python recipes/benchmarks/errph_as_published.py [--draws 3]
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from anonkit.methods import make_method
from anonkit.methods.errph import ERRPH
from anonkit.policy.column_declarations import Role
from benchmarks.randomized_figures import Data, accuracy, adult, bank, plain_accuracy


def of_categories(data: Data) -> Data:
    """The same tables with their numbers left out of the release."""
    columns = {
        name: column if column.bounds is None else replace(column, role=Role.INSENSITIVE)
        for name, column in data.policy.columns.items()
    }
    return replace(data, policy=replace(data.policy, columns=columns))


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--draws", type=int, default=3)
    draws = parser.parse_args().draws
    for make in (bank, adult):
        found: dict[str, list[float]] = {"plain": [], "paper": [], "paper, likelihood": []}
        for draw in range(draws):
            data = of_categories(make(draw))
            method = make_method("errph", {}, "paper")
            assert isinstance(method, ERRPH)
            table = method.published(data.policy)
            found["plain"].append(plain_accuracy(data))
            found["paper"].append(accuracy(data, table, draw, estimator="published"))
            found["paper, likelihood"].append(accuracy(data, table, draw))
        losses = table.losses
        attributes = [losses[attribute.name] for attribute in table.attributes]
        print(data.name, {name: round(float(np.mean(values)), 4) for name, values in found.items()})
        print("  epsilon of an attribute", round(min(attributes), 2), "to", round(max(attributes), 2), end="; ")
        print("of all of them", round(sum(attributes), 1))


if __name__ == "__main__":
    main()
