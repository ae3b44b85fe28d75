"""DataSynthesizer's PrivBayes (pure epsilon): rows drawn from its Bayesian network, for columns that are codes."""

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


def codes(file: str, out: str, epsilon: float, parents: int = 2) -> None:
    """Draw as many rows as the table of codes has into OUT.npy, and print the processor seconds.

    Its seed is 0 unless one is given: one of the system's is given. Two parents are what its own examples have. What
    it selects by is counted faster than it does itself, with the same value.
    """
    stored = np.load(file)
    names = [f"c{at}" for at in range(stored["codes"].shape[1])]
    known: dict[str, np.ndarray] = {}
    PrivBayes.Pool = lambda: ThreadPool(1)
    PrivBayes.mutual_information = lambda child, parents: counted(child, parents, known)
    seed = random.SystemRandom().randrange(2**31)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        table, domains, described = (Path(folder) / name for name in ("table.csv", "domains.json", "described.json"))
        # letters, so that no column is taken for a number; every code of a domain, in the order of its length
        labels = [np.array([f"v{code:03}" for code in range(size)]) for size in map(int, stored["sizes"])]
        shown = {name: labels[at][stored["codes"][:, at]] for at, name in enumerate(names)}
        pd.DataFrame(shown).to_csv(table, index=False)
        domains.write_text(json.dumps({name: list(labels[at]) for at, name in enumerate(names)}))
        begun = time.process_time()
        describer = DataDescriber(category_threshold=100)
        describer.describe_dataset_in_correlated_attribute_mode(
            dataset_file=str(table),
            epsilon=epsilon,
            k=parents,
            attribute_to_datatype=dict.fromkeys(names, "String"),
            attribute_to_is_categorical=dict.fromkeys(names, True),
            attribute_to_is_candidate_key=dict.fromkeys(names, False),
            categorical_attribute_domain_file=str(domains),
            seed=seed,
        )
        describer.save_dataset_description_to_file(str(described))
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(len(stored["codes"]), str(described), seed=seed + 1)
        taken = time.process_time() - begun
    drawn = generator.synthetic_dataset
    np.save(out, np.column_stack([drawn[name].str[1:].astype(np.int64) for name in names]))
    print(json.dumps({"seconds": taken, "out": out}))


if __name__ == "__main__":
    {"codes": codes}[sys.argv[1]](**json.loads(sys.argv[2]))
