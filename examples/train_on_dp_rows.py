# %% [markdown]
# # Train on rows that a differentially private release has drawn
#
# The owner spends one epsilon; the consumer has the Parquet file alone, with pandas and scikit-learn.

# %% The owner
from pathlib import Path
from tempfile import mkdtemp

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy

folder = Path(mkdtemp())
release = anonkit.release(
    bank_customers(8_000, seed=1),
    method="dp-forest",
    epsilon=1.0,
    policy=bank_customers_policy(),
    output=folder / "customers.parquet",
)
print(release.report["guarantee"]["statement"])

# %% The consumer
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score

frame = pd.read_parquet(folder / "customers.parquet")
fresh = bank_customers(4_000, seed=2).to_pandas()  # customers who were not in the table


def features(table: pd.DataFrame) -> pd.DataFrame:
    """Return numbers as they are, categories as one column each."""
    return pd.get_dummies(table.drop(columns="customer_value"))


known = features(frame)
forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0).fit(known, frame["customer_value"].astype(str))
guessed = forest.predict(features(fresh).reindex(known.columns, axis=1, fill_value=0))
truth = fresh["customer_value"].astype(str)
print(f"majority: {truth.value_counts(normalize=True).max():.3f}")
print(f"forest trained on the released rows: {accuracy_score(truth, guessed):.3f}")
