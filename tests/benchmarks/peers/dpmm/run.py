"""dpmm's models of marginals: rows drawn from MST or PrivBayes."""

import json
import sys
import time

import numpy as np
import pandas as pd
from dpmm.pipelines import MSTPipeline, PrivBayesPipeline

BOUNDS = {
    "age": (17, 90),
    "fnlwgt": (0, 1_500_000),
    "education-num": (1, 16),
    "capital-gain": (0, 100_000),
    "capital-loss": (0, 4_500),
    "hours-per-week": (1, 99),
}
"""Public bounds of Adult's numbers, cut into 16 bins of one width."""
BINS = 16


def rows(file: str, out: str, model: str, epsilon: float, delta: float) -> None:
    """Write as many rows as the table has, numbers in the middle of their bins, and print the processor seconds."""
    table = pd.read_csv(file, keep_default_na=False)
    known = {name: sorted(table[name].astype(str).unique()) for name in table.columns if name not in BOUNDS}
    coded = {}
    for name in table.columns:
        if name in BOUNDS:
            low, high = BOUNDS[name]
            coded[name] = np.clip((table[name] - low) * BINS // (high - low), 0, BINS - 1).astype(int)
        else:
            coded[name] = pd.Categorical(table[name].astype(str), known[name]).codes.astype(int)
    domain = {name: BINS if name in BOUNDS else len(known[name]) for name in table.columns}
    kinds = {"mst": MSTPipeline, "privbayes": PrivBayesPipeline}
    begun = time.process_time()
    pipeline = kinds[model](epsilon=epsilon, delta=delta, disable_processing=True, n_jobs=1)
    pipeline.fit(pd.DataFrame(coded), domain=domain)
    drawn = pipeline.generate(n_records=len(table))
    taken = time.process_time() - begun
    for name in table.columns:
        codes = drawn[name].astype(int).to_numpy()
        if name in BOUNDS:
            low, high = BOUNDS[name]
            drawn[name] = low + (codes + 0.5) * (high - low) / BINS
        else:
            drawn[name] = np.array(known[name], dtype=object)[codes]
    drawn[list(table.columns)].to_csv(out, index=False)
    print(json.dumps({"seconds": taken}))


if __name__ == "__main__":
    {"rows": rows}[sys.argv[1]](**json.loads(sys.argv[2]))
