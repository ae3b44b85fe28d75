# %% [markdown]
# # The engineer: a release as a step of a pipeline
#
# A scheduler calls this every night. It releases what is new, hands back what is there, validates before anything is
# published, and knows which errors are worth another try. Steps for Airflow, dbt, Dagster, DVC, Prefect and Snakemake
# are in `examples/pipelines`. Open this file in an editor that knows `# %%` cells, or turn it into a notebook with
# `jupytext --to ipynb engineer.py`.

# %% The table and its policy, as files
import json
from pathlib import Path
from tempfile import mkdtemp

import pyarrow.parquet as pq

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy

folder = Path(mkdtemp())
pq.write_table(bank_customers(3_000, seed=1), folder / "in.parquet")
policy = bank_customers_policy()


# %% The step: released, or handed back when nothing has changed
def step() -> anonkit.Release:
    """Release the table of the night."""
    return anonkit.release(
        folder / "in.parquet",
        method="dp-forest",
        epsilon=0.5,
        policy=policy,
        output=folder / "out.parquet",
        ledger=folder / "ledger.sqlite",
        budget=1.0,
    )


made = step()
again = step()  # the scheduler repeats a task: it gets the existing release and spends no budget
print("made anew:", not made.reused, "- handed back:", again.reused)
again

# %% What the task returns to its scheduler: paths, hashes and public figures as JSON
print(json.dumps(again.to_dict())[:300], "…")

# %% The gate before publishing: the files are checked by code that did not make them
validation = anonkit.validate(folder / "out.parquet")
if not validation.passed:
    raise SystemExit(1)

# %% The table has changed: an error says what helps, and whether to try again
pq.write_table(bank_customers(3_000, seed=2), folder / "in.parquet")
try:
    step()
except anonkit.AnonkitError as error:
    print(error.code, "- try again:", error.may_be_retried, "-", error.hint)

# %% In the form that another team reads
anonkit.export(folder / "out.parquet", folder / "out.csv")
print((folder / "out.csv").read_text(encoding="utf-8").splitlines()[0])
