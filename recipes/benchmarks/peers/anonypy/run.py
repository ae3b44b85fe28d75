"""anonypy's Mondrian."""

import json
import sys
import time

import anonypy
import pandas as pd


def k_anonymous(file: str, out: str, columns: list[str], target: str, k: int, groups: object) -> None:
    """Write the released table, a line a row, and print its processor seconds."""
    table = pd.read_csv(file, keep_default_na=False)[[*columns, target]]
    for name in table.columns:
        if table[name].dtype.kind not in "if":
            table[name] = table[name].astype("category")
    begun = time.process_time()
    counted = pd.DataFrame(anonypy.Preserver(table, columns, target).anonymize_k_anonymity(k=k))
    taken = time.process_time() - begun
    for name in columns:
        counted[name] = counted[name].map(
            lambda cell: "|".join(map(str, cell)) if isinstance(cell, list) else str(cell)
        )
    rows = counted.loc[counted.index.repeat(counted["count"])][[*columns, target]]
    rows.to_csv(out, index=False)
    print(json.dumps({"seconds": taken, "suppressed": len(table) - len(rows)}))


if __name__ == "__main__":
    {"k_anonymous": k_anonymous}[sys.argv[1]](**json.loads(sys.argv[2]))
