# %% [markdown]
# # Declare, release, look
#
# A policy in Python, a release with l-diversity, and what the reviewer reads.

# %% Declare
import anonkit
from anonkit import Column, Policy, Role

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

# %% Release
customers = anonkit.datasets.bank_customers(3_000, seed=3, customer_id=True)
release = anonkit.release(customers, method="rfka", k=10, l=3, policy=policy)

# %% Look
report = release.report
print(report["guarantee"]["statement"])
for limit in report["guarantee"]["not_protected"]:
    print("not protected:", limit)
for column in report["columns"]:
    print(column["name"], column["action"], column.get("reason", ""))
