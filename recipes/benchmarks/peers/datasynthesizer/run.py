"""DataSynthesizer's PrivBayes (pure epsilon): rows drawn from its Bayesian network of a table or of codes."""

import contextlib
import json
import random
import sys
import tempfile
import time
from multiprocessing.pool import ThreadPool
from pathlib import Path

import numpy as np
import pandas as pd
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator
from DataSynthesizer.lib import PrivBayes

PARENTS = 1
"""Of a column at most. Its examples have two, which are further off on Adult at every epsilon: .36 of pairs for .08."""


def counted(child: pd.Series, parents: pd.DataFrame, known: dict[str, np.ndarray]) -> float:
    """Return the mutual information of a column and others by counting codes: its own joins their texts row by row."""
    for name in (child.name, *parents.columns):
        if name not in known:
            known[name] = pd.factorize(child if name == child.name else parents[name])[0]
    sizes = [int(known[name].max()) + 1 for name in parents.columns]
    parent = np.ravel_multi_index([known[name] for name in parents.columns], sizes)
    one = known[child.name]

    def entropy(labels: np.ndarray) -> float:
        shares = np.bincount(labels) / len(labels)
        return float(-(shares[shares > 0] * np.log(shares[shares > 0])).sum())

    return max(0.0, entropy(one) + entropy(parent) - entropy(parent * (int(one.max()) + 1) + one))


def drawn(table: pd.DataFrame, epsilon: float, known: dict[str, list[str]], bounds: dict[str, list[float]]) -> tuple:
    """Return as many rows as the table has, and the processor seconds.

    Its seed is 0 unless one is given: one of the system's is given. What it selects by is counted faster than it does
    itself, with the same value.
    """
    seen: dict[str, np.ndarray] = {}
    PrivBayes.Pool = lambda: ThreadPool(1)
    PrivBayes.mutual_information = lambda child, parents: counted(child, parents, seen)
    seed = random.SystemRandom().randrange(2**31)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        file, domains, described = (Path(folder) / name for name in ("table.csv", "domains.json", "described.json"))
        table.to_csv(file, index=False)
        domains.write_text(json.dumps(known))
        begun = time.process_time()
        describer = DataDescriber(null_values="<null>")
        describer.describe_dataset_in_correlated_attribute_mode(
            dataset_file=str(file),
            epsilon=epsilon,
            k=PARENTS,
            attribute_to_datatype={**dict.fromkeys(known, "String"), **dict.fromkeys(bounds, "Integer")},
            attribute_to_is_categorical=dict.fromkeys(known, True),
            attribute_to_is_candidate_key=dict.fromkeys(table.columns, False),
            categorical_attribute_domain_file=str(domains),
            numerical_attribute_ranges=bounds,
            seed=seed,
        )
        describer.save_dataset_description_to_file(str(described))
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(len(table), str(described), seed=seed + 1)
        return generator.synthetic_dataset[list(table.columns)], time.process_time() - begun


def codes(file: str, out: str, epsilon: float) -> None:
    """Draw rows of codes of public domains into OUT.npy, and print the processor seconds."""
    stored = np.load(file)
    # letters, so that no column is taken for a number
    labels = {f"c{at}": [f"v{code:03}" for code in range(size)] for at, size in enumerate(map(int, stored["sizes"]))}
    shown = {name: np.array(known)[stored["codes"][:, at]] for at, (name, known) in enumerate(labels.items())}
    rows, taken = drawn(pd.DataFrame(shown), epsilon, labels, {})
    np.save(out, np.column_stack([rows[name].str[1:].astype(np.int64) for name in labels]))
    print(json.dumps({"seconds": taken, "out": out}))


def rows(file: str, out: str, epsilon: float, known: dict[str, list[str]], bounds: dict[str, list[float]]) -> None:
    """Draw rows of a CSV file into OUT, numbers in its own twenty bins, and print the processor seconds."""
    found, taken = drawn(pd.read_csv(file, keep_default_na=False), epsilon, known, bounds)
    found.to_csv(out, index=False)
    print(json.dumps({"seconds": taken, "out": out}))


if __name__ == "__main__":
    {"codes": codes, "rows": rows}[sys.argv[1]](**json.loads(sys.argv[2]))
