# %% [markdown]
# # The consumer: learn from three kinds of releases
#
# Somebody has handed you Parquet files with their `params.json`. You have pandas and scikit-learn; of anonkit you need
# nothing, except where it says so. Open this file in an editor that knows `# %%` cells, or turn it into a notebook with
# `jupytext --to ipynb consumer.py`.

# %% The owner, whose part is played here: one table, released in three ways
from pathlib import Path
from tempfile import mkdtemp

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy

folder = Path(mkdtemp())
policy = bank_customers_policy()
customers = bank_customers(8_000, seed=1)
anonkit.release(customers, method="mondrian", k=10, policy=policy, output=folder / "grouped.parquet", ledger=None)
anonkit.release(customers, method="dp-forest", epsilon=1.0, policy=policy, output=folder / "drawn.parquet", ledger=None)
anonkit.release(
    customers, method="errph", p_keep=0.35, bins=8, label="clear", policy=policy,
    output=folder / "randomized.parquet", ledger=None,
)  # fmt: skip

# %% [markdown]
# ## k-anonymous rows
#
# Cells are sets and ranges. A transformer of anonkit makes numbers and shares of them by the params of the release, and
# recodes new customers as the table was. What the release promises is seen at a glance.

# %%
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline

from anonkit.consumers import ReleaseFeatures

fresh = bank_customers(4_000, seed=2).to_pandas()  # customers who were not in the table
truth = fresh["customer_value"].astype(str)
print(f"the commonest class alone: {truth.value_counts(normalize=True).max():.3f}")

frame = pd.read_parquet(folder / "grouped.parquet")
model = make_pipeline(
    ReleaseFeatures(folder / "grouped.parquet"),
    RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
)
model.fit(frame, frame["customer_value"].astype(str))
print(f"forest trained on k-anonymous rows: {accuracy_score(truth, model.predict(fresh)):.3f}")
anonkit.load(folder / "grouped.parquet")

# %% [markdown]
# ## Rows drawn from a differentially private model
#
# No row is anybody's; they are used like any table.


# %%
def features(table: pd.DataFrame) -> pd.DataFrame:
    """Return numbers as they are, categories as one column each."""
    return pd.get_dummies(table.drop(columns="customer_value"))


frame = pd.read_parquet(folder / "drawn.parquet")
known = features(frame)
forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
forest.fit(known, frame["customer_value"].astype(str))
guessed = forest.predict(features(fresh).reindex(known.columns, axis=1, fill_value=0))
print(f"forest trained on rows drawn under epsilon 1: {accuracy_score(truth, guessed):.3f}")

# %% [markdown]
# ## Randomized answers
#
# Every cell may be a random answer. What is known is how random: `params.json` has the exact chances, so that counts
# can be corrected. First by hand, then in one line.

# %% Learn from randomized answers, by hand: counts per class, the noise taken out, a categorical naive Bayes
import json

import numpy as np
from sklearn.naive_bayes import CategoricalNB

frame = pd.read_parquet(folder / "randomized.parquet")
params = json.loads((folder / "randomized.params.json").read_text())
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


by_hand = float((model.predict(codes(fresh)) == fresh["customer_value"].astype(str)).mean())
print(f"accuracy by hand: {by_hand:.3f}")

# %% The same in one line
made = anonkit.reconstruct(folder / "randomized.parquet", test=fresh)
print(f"accuracy by anonkit: {made.scores.accuracy:.3f}")
