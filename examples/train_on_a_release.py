# %% [markdown]
# # Train on a release
#
# The owner releases simulated customers; the consumer has the Parquet file alone, with pandas and scikit-learn.

# %% The owner
from pathlib import Path
from tempfile import mkdtemp

import anonkit

folder = Path(mkdtemp())
customers = anonkit.datasets.bank_customers(4_000, seed=1)
release = anonkit.release(
    customers, method="mondrian", k=10, target="customer_value", output=folder / "customers.parquet"
)
print(release.report["guarantee"]["statement"])

# %% The consumer
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_predict

frame = pd.read_parquet(folder / "customers.parquet")
features = pd.get_dummies(frame.drop(columns="customer_value").astype(str))
model = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
guessed = cross_val_predict(model, features, frame["customer_value"], cv=5)
accuracy = accuracy_score(frame["customer_value"], guessed)
print(f"accuracy on the release, five folds: {accuracy:.3f}")

# %% The next batch, recoded the same way
later = anonkit.apply(folder / "customers.params.json", anonkit.datasets.bank_customers(4_000, seed=2))
print(f"k in the next batch: {later.report['disclosure_risk']['k_anonymity']['k']}")
