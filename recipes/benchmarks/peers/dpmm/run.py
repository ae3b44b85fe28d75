"""dpmm's models of marginals: rows drawn from MST, PrivBayes or AIM."""

import json
import sys
import time

import numpy as np
import pandas as pd
from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline

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


def codes(
    file: str, out: str, epsilon: float, delta: float, megabytes: float | None = None, model: str = "aim"
) -> None:
    """Draw as many rows as the table of codes has from a model, into OUT.npy, and print the processor seconds.

    All pairs of columns are AIM's workload. Its model may take as many megabytes: its own script's 80 take hours.
    """
    stored = np.load(file)
    names = [f"c{at}" for at in range(stored["codes"].shape[1])]
    domain = dict(zip(names, map(int, stored["sizes"]), strict=True))
    begun = time.process_time()
    kinds = {"aim": AIMPipeline, "mst": MSTPipeline, "privbayes": PrivBayesPipeline}
    pipeline = kinds[model](
        epsilon=epsilon, delta=delta, max_model_size=megabytes, compress=False, disable_processing=True, n_jobs=1
    )
    pipeline.fit(pd.DataFrame(stored["codes"], columns=names), domain=domain)
    drawn = pipeline.generate(n_records=len(stored["codes"]))
    taken = time.process_time() - begun
    np.save(out, drawn[names].to_numpy(np.int64))
    print(json.dumps({"seconds": taken, "out": out}))


if __name__ == "__main__":
    {"rows": rows, "codes": codes}[sys.argv[1]](**json.loads(sys.argv[2]))
