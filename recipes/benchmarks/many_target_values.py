"""Peak memory of every method with a target of 100,000 different values; not run by the tests.

    python recipes/benchmarks/many_target_values.py [METHOD ...]

A million rows of three attributes, the target a number or a text of which ten rows share each value. Each release runs
in a process of its own, whose largest resident set is printed beside the outcome: the rows released, or the refusal.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Any

ROWS, VALUES = 1_000_000, 100_000
NOISY: dict[str, dict[str, Any]] = {
    "dp-forest": {"epsilon": 1.0},
    "dp-tree": {"epsilon": 1.0},
    "dp-nb": {"epsilon": 1.0},
    "edprf": {"epsilon": 1.0},
    "diffprfs": {"epsilon": 1.0},
    "c45-arithmetic": {"epsilon": 1.0},
    "rr": {"epsilon": 2.0},
    "ppnb": {"p_keep": 0.5},
    "errph": {"p_keep": 0.5, "bins": 8},
    "trr": {},
}
KINDS = ("number", "number, 100,000 classes", "text, 100,000 classes", "text, 900 classes")


def measure(method: str, kind: str) -> dict[str, Any]:
    """Release once, in this process."""
    import numpy as np
    import pyarrow as pa

    import anonkit
    from anonkit.errors import AnonkitError
    from anonkit.policy.column_declarations import Column, Missing, Role
    from anonkit.policy.declaration import Policy

    rng = np.random.default_rng(1)
    values = rng.permutation(np.repeat(np.arange(VALUES), ROWS // VALUES))
    listed = [str(value) if kind.startswith("number") else f"text {value}" for value in range(VALUES)]
    listed = listed[:900] if "900" in kind else listed
    target = pa.array(values)
    if kind.startswith("text"):
        target = pa.DictionaryArray.from_arrays(pa.array(values % len(listed), pa.int32()), pa.array(listed))
    columns = {
        "x": Column(name="x", bounds=(-4.0, 4.0), missing=Missing.FIRST),
        "z": Column(name="z", bounds=(0.0, 1.0), missing=Missing.FIRST),
        "c": Column(name="c", categories=("a", "b", "c", "d"), missing=Missing.FIRST),
        "y": Column(name="y", role=Role.TARGET, bounds=(0.0, float(VALUES)))
        if kind == "number"
        else Column(name="y", role=Role.TARGET, categories=tuple(listed)),
    }
    table = {"x": rng.normal(size=ROWS), "z": rng.random(ROWS), "c": np.array(list("abcd"))[rng.integers(0, 4, ROWS)]}
    if method == "trr":
        columns.pop("c")
        table.pop("c")
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    try:
        policy = Policy(columns=columns)
        release = anonkit.release(
            pa.table({**table, "y": target}), method=method, policy=policy, ledger=None, **NOISY[method]
        )
        outcome = f"{release.to_arrow().num_rows:,} rows"
    except AnonkitError as error:
        outcome = f"refused: {error.message}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "outcome": outcome,
        "peak": peak / 1024,
        "of_table": before / 1024,
        "seconds": time.process_time() - begun,
    }


def main(methods: list[str]) -> None:
    """Print a line a method and a kind of target."""
    for method in methods or list(NOISY):
        for kind in KINDS:
            run = subprocess.run(
                [sys.executable, __file__, "--one", method, kind], capture_output=True, text=True, check=False
            )
            told = json.loads(run.stdout) if run.returncode == 0 else None
            line = (
                f"ended with {run.returncode}: {run.stderr[-300:]}"
                if told is None
                else f"{told['peak']:6,.0f} MiB (table {told['of_table']:,.0f})  {told['seconds']:5.1f} s  "
                f"{told['outcome']}"
            )
            print(f"{method:15} {kind:24} {line}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(sys.argv[2], sys.argv[3])))
    else:
        main(sys.argv[1:])
