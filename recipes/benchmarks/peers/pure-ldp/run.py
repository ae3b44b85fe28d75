"""Direct encoding (k-ary randomized response) of pure-ldp: rows a second of eight columns."""

import json
import sys
import time

import numpy as np
from pure_ldp.frequency_oracles.direct_encoding import DEClient


def k_rr(sizes: list[int], rows: int, epsilon: float, repeats: int) -> None:
    """Randomize every cell by the client; its items are counted from 1."""
    columns = [np.random.default_rng(at).integers(1, size + 1, rows).tolist() for at, size in enumerate(sizes)]
    clients = [DEClient(epsilon=epsilon, d=size) for size in sizes]
    for _ in range(repeats):
        begun = time.process_time()
        for client, column in zip(clients, columns, strict=True):
            [client.privatise(cell) for cell in column]
        print(json.dumps({"rows_per_s": rows / (time.process_time() - begun)}))


if __name__ == "__main__":
    {"k_rr": k_rr}[sys.argv[1]](**json.loads(sys.argv[2]))
