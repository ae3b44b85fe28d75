# %% [markdown]
# # The owner: from a raw table to a release
#
# You answer for a table about people. You declare what it holds, look at what methods cost on simulated rows, release,
# and look at what you are about to hand out. Open this file in an editor that knows `# %%` cells, or turn it into a
# notebook with `jupytext --to ipynb owner.py`.

# %% Declare
from pathlib import Path
from tempfile import mkdtemp

import anonkit
from anonkit import Column, Policy, Role
from anonkit.datasets import bank_customers

folder = Path(mkdtemp())
policy = Policy(
    dataset="bank-customers",
    declared_by="the simulation",
    columns={
        "customer_id": Column(name="customer_id", role=Role.IDENTIFIER),
        "age": Column(name="age", ladder=(5, 10, 20)),
        "loan": Column(name="loan", role=Role.SENSITIVE),
        "customer_value": Column(name="customer_value", role=Role.TARGET),
    },
)
customers = bank_customers(3_000, seed=3, customer_id=True)

# %% Look at what a method costs, on simulated rows: looking at the table itself would be a use of it
simulated = bank_customers(300, seed=9, customer_id=True)
compared = anonkit.compare(
    customers, public=simulated, target="customer_value", policy=policy, methods=["mondrian"], k=[10], attacks=10
)
compared

# %% The plot alone, as a file
(folder / "compared.svg").write_text(compared.figure().svg)

# %% Try without writing anything: this is what would be promised
anonkit.release(customers, method="mondrian", k=10, l=3, policy=policy, dry_run=True, ledger=None)

# %% Release, with a ledger that remembers it
release = anonkit.release(
    customers,
    method="mondrian",
    k=10,
    l=3,
    policy=policy,
    output=folder / "customers.parquet",
    ledger=folder / "ledger.sqlite",
)
release

# %% What is yours alone: computed from the source, in none of the files
for name in release.owner:
    print(name)

# %% What the reviewer will read
report = release.report
print(report["guarantee"]["statement"])
for limit in report["guarantee"]["not_protected"]:
    print("not protected:", limit)
for column in report["columns"]:
    print(column["name"], column["action"], column.get("reason", ""))
