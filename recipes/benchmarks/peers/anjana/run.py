"""anjana's k-anonymity with hierarchies of two steps for categories and of three for numbers, 2 % suppression."""

import json
import sys
import time

import numpy as np
import pandas as pd
from anjana.anonymity import k_anonymity


def k_anonymous(
    file: str, out: str, columns: list[str], target: str, k: int, groups: dict[str, dict[str, str]]
) -> None:
    """Write the released table, suppressed rows as stars, and print its processor seconds."""
    table = pd.read_csv(file, keep_default_na=False)[[*columns, target]]
    hierarchies = {}
    for name in columns:
        cells = table[name].to_numpy()
        if table[name].dtype.kind in "if":
            steps = [np.array([f"[{c // w * w}, {c // w * w + w})" for c in cells]) for w in (5, 10, 20)]
        else:
            known = groups.get(name, {})
            steps = [np.array([known.get(c, "other") for c in cells])] if known else []
        levels = [cells, *steps, np.array(["*"] * len(cells))]
        hierarchies[name] = dict(enumerate(levels))
    begun = time.process_time()
    released = k_anonymity(table, [], columns, k, 2, hierarchies)
    taken = time.process_time() - begun
    released = released[[*columns, target]].astype(str)
    suppressed = len(table) - len(released)
    lost = table[target].value_counts() - released[target].value_counts().reindex(table[target].unique()).fillna(0)
    stars = pd.DataFrame({name: ["*"] * suppressed for name in columns})
    stars[target] = [label for label, n in lost.items() for _ in range(int(n))]
    pd.concat([released, stars]).to_csv(out, index=False)
    print(json.dumps({"seconds": taken, "suppressed": suppressed}))


if __name__ == "__main__":
    {"k_anonymous": k_anonymous}[sys.argv[1]](**json.loads(sys.argv[2]))
