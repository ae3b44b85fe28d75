# %% [markdown]
# # Learn from a randomized release
#
# The owner randomizes simulated customers; the consumer has the Parquet file and `params.json`. First by hand with
# pandas and scikit-learn, then in one line.

# %% The owner
from pathlib import Path
from tempfile import mkdtemp

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy

folder = Path(mkdtemp())
policy = bank_customers_policy()
release = anonkit.release(
    bank_customers(20_000, seed=1),
    method="errph",
    p_keep=0.35,
    bins=8,
    label="clear",
    policy=policy,
    output=folder / "customers.parquet",
)
print(release.report["guarantee"]["statement"])

# %% The consumer, by hand: counts per class, the noise taken out, a categorical naive Bayes
import json

import numpy as np
import pandas as pd
from sklearn.naive_bayes import CategoricalNB

frame = pd.read_parquet(folder / "customers.parquet")
params = json.loads((folder / "customers.params.json").read_text())
classes = params["target"]["domain"]["categories"]
model = CategoricalNB()
model.classes_ = np.array(classes)
model.class_count_ = frame["customer_value"].value_counts().reindex(classes).to_numpy()
model.class_log_prior_ = np.log(model.class_count_ / len(frame))
model.feature_log_prob_ = []
for attribute in params["attributes"]:
    chosen, domain = attribute["parameters"], attribute["domain"]
    p_keep, p_blind = (chosen[key] / 2 ** chosen["word_bits"] for key in ("truth_weight", "blind_weight"))
    shown = frame[attribute["name"]]
    if attribute["type"] == "number":
        low, high = domain["bounds"]
        place = (shown - low) / (high - low) * domain["cells"]
        shown = place.fillna(domain["cells"]).astype(int)  # a missing answer comes after the last bin
        values = list(range(domain["cells"]))
    else:
        values = domain["categories"]
    counts = pd.crosstab(frame["customer_value"], shown).reindex(classes, columns=values).fillna(0)
    shares = counts.div(model.class_count_, axis=0)  # of all rows of the class: some answer that the value is missing
    likely = np.clip((shares.to_numpy() - p_blind) / p_keep, 1e-4, None)
    model.feature_log_prob_.append(np.log(likely / likely.sum(axis=1, keepdims=True)))
model.n_features_in_ = len(params["attributes"])
model.n_categories_ = np.array([table.shape[1] for table in model.feature_log_prob_])


def codes(table: pd.DataFrame) -> np.ndarray:
    """Return the true cells of new customers as the codes the model knows."""
    columns = []
    for attribute in params["attributes"]:
        domain, cells = attribute["domain"], table[attribute["name"]]
        if attribute["type"] == "number":
            low, high = domain["bounds"]
            place = (cells - low) / (high - low) * domain["cells"]
            columns.append(place.clip(0, domain["cells"] - 1).astype(int).to_numpy())
        else:
            columns.append(pd.Categorical(cells, domain["categories"]).codes)
    return np.column_stack(columns)


test = bank_customers(2_000, seed=2).to_pandas()
by_hand = float((model.predict(codes(test)) == test["customer_value"].astype(str)).mean())
print(f"accuracy by hand: {by_hand:.3f}")

# %% The consumer, in one line
made = anonkit.reconstruct(folder / "customers.parquet", test=test)
print(f"accuracy by anonkit: {made.scores.accuracy:.3f} (the commonest class alone: {made.scores.majority:.3f})")
