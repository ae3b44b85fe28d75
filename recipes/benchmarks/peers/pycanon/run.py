"""pycanon's seven measures of a table, with the time of each."""

import json
import sys
import time

import pandas as pd
from pycanon import anonymity


def seven(file: str, rows: int, columns: list[str], sensitive: str) -> None:
    """Print the seconds, by the clock, of k, alpha, l, entropy l, recursive (c, l), basic beta and t."""
    table = pd.read_csv(file, keep_default_na=False).head(rows)
    measures = {
        "k": lambda: anonymity.k_anonymity(table, columns),
        "alpha": lambda: anonymity.alpha_k_anonymity(table, columns, [sensitive]),
        "l": lambda: anonymity.l_diversity(table, columns, [sensitive]),
        "entropy l": lambda: anonymity.entropy_l_diversity(table, columns, [sensitive]),
        "recursive (c, l)": lambda: anonymity.recursive_c_l_diversity(table, columns, [sensitive]),
        "basic beta": lambda: anonymity.basic_beta_likeness(table, columns, [sensitive]),
        "t": lambda: anonymity.t_closeness(table, columns, [sensitive]),
    }
    for name, measure in measures.items():
        begun = time.perf_counter()
        measure()
        print(json.dumps({"measure": name, "seconds": time.perf_counter() - begun}))


if __name__ == "__main__":
    {"seven": seven}[sys.argv[1]](**json.loads(sys.argv[2]))
