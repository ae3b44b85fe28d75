# %% [markdown]
# # The reviewer: read a release, and say no
#
# You were sent the files of a release and asked whether it may go out. You have no source table and need none. Open
# this file in an editor that knows `# %%` cells, or turn it into a notebook with `jupytext --to ipynb reviewer.py`.

# %% Two releases, which their owner made
from pathlib import Path
from tempfile import mkdtemp

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy

folder = Path(mkdtemp())
for k, l_diversity, name in ((10, 2, "good"), (3, None, "weak")):
    anonkit.release(
        bank_customers(1_500, seed=1),
        method="mondrian",
        k=k,
        l=l_diversity,
        policy=bank_customers_policy(),
        output=folder / f"{name}.parquet",
        ledger=None,
    )

# %% What is promised, at a glance
release = anonkit.load(folder / "good.parquet")
release

# %% Count again, from the files alone: no line of the code that made them is used
validation = anonkit.validate(folder / "good.parquet", k=10)
print("everything holds" if validation.passed else "NO")
for check in validation.checks:
    print("passed" if check.passed else "FAILED", check.name, check.observed, check.required)

# %% What it does not protect is for you to judge
for limit in release.report["guarantee"]["not_protected"]:
    print("-", limit)

# %% The other release keeps its own promise, and not the one that you ask for: no
weak = anonkit.load(folder / "weak.parquet")
print("its own promise:", anonkit.validate(folder / "weak.parquet").passed)
print("k = 10:", anonkit.validate(folder / "weak.parquet", k=10).passed)
homogeneous = {name: found["l"] for name, found in weak.report["disclosure_risk"]["l_diversity"].items()}
print("fewest different values in a group, by sensitive column:", homogeneous)

# %% A file that was changed after its release: no
import pyarrow.parquet as pq

rows = release.to_arrow()
pq.write_table(rows.slice(0, rows.num_rows - 1), folder / "good.parquet")
changed = anonkit.validate(folder / "good.parquet")
print("a row was taken out:", [check.name for check in changed.checks if not check.passed])
