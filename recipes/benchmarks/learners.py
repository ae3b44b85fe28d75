"""Accuracy of naive Bayes and of the trees of `reconstruct --learner` on releases of simulated customers.

Run it:  python recipes/benchmarks/learners.py
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import anonkit
from anonkit.consumers import NaiveBayes, RandomizedTree
from anonkit.datasets import bank_customers, bank_customers_policy_toml
from anonkit.policy.declaration import Policy

TARGET = "customer_value"
METHODS: tuple[tuple[str, dict[str, Any], tuple[str, ...]], ...] = (
    ("errph, 0.9, 8", {"method": "errph", "p_keep": 0.9, "bins": 8, "label": "clear"}, ("dtpd",)),
    ("errph, 0.5, 8", {"method": "errph", "p_keep": 0.5, "bins": 8, "label": "clear"}, ("dtpd",)),
    ("errph, preset rrph", {"method": "errph", "preset": "rrph"}, ("dtpd",)),
    ("ppnb, 0.5", {"method": "ppnb", "p_keep": 0.5}, ("dtpd", "dtcrd")),
)
ROWS = 20_000


def main() -> None:
    """Print the table of the documentation."""
    warnings.simplefilter("ignore")
    import tomllib

    policy = Policy.from_dict({"missing": "first", **tomllib.loads(bank_customers_policy_toml())})
    train, test = bank_customers(ROWS, 1), bank_customers(5_000, 2)
    truth = np.array(test[TARGET].to_pylist(), dtype=object)
    print("| release | naive Bayes | dtpd | dtcrd |\n| --- | --- | --- | --- |")
    for title, how, learners in METHODS:
        made = anonkit.release(train, policy=policy, seed=1, ledger=None, **how)
        models = {"naive Bayes": NaiveBayes(made.params)}
        models |= {name: RandomizedTree(made.params, learner=name) for name in learners}  # type: ignore[arg-type]
        found = {name: (model.fit(made.to_arrow()).predict(test) == truth).mean() for name, model in models.items()}
        cells = (
            f"{found[name]:.3f}".lstrip("0") if name in found else "–" for name in ("naive Bayes", "dtpd", "dtcrd")
        )
        print(f"| {title} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
