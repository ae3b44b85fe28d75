"""Randomized response of OpenDP, a value a call: rows a second of eight columns."""

import json
import math
import sys
import time

import opendp.prelude as dp

dp.enable_features("contrib")


def k_rr(sizes: list[int], rows: int, epsilon: float, repeats: int) -> None:
    """Randomize every cell; the probability of the truth is that of epsilon."""
    measurements = [
        dp.m.make_randomized_response(list(range(size)), prob=math.exp(epsilon) / (math.exp(epsilon) + size - 1))
        for size in sizes
    ]
    for _ in range(repeats):
        begun = time.process_time()
        for size, measurement in zip(sizes, measurements, strict=True):
            [measurement(row % size) for row in range(rows)]
        print(json.dumps({"rows_per_s": rows / (time.process_time() - begun)}))


if __name__ == "__main__":
    {"k_rr": k_rr}[sys.argv[1]](**json.loads(sys.argv[2]))
