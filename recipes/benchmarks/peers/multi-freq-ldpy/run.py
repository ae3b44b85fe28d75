"""Randomized response of multi-freq-ldpy: rows a second of eight columns."""

import json
import sys
import time

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client


def k_rr(sizes: list[int], rows: int, epsilon: float, repeats: int) -> None:
    """Randomize every cell by the client's function, which is compiled before it is timed."""
    columns = [np.random.default_rng(at).integers(0, size, rows) for at, size in enumerate(sizes)]
    GRR_Client(0, sizes[0], epsilon)
    for _ in range(repeats):
        begun = time.process_time()
        for size, column in zip(sizes, columns, strict=True):
            [GRR_Client(cell, size, epsilon) for cell in column]
        print(json.dumps({"rows_per_s": rows / (time.process_time() - begun)}))


if __name__ == "__main__":
    {"k_rr": k_rr}[sys.argv[1]](**json.loads(sys.argv[2]))
