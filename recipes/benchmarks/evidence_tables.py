"""The weight of the summed evidence of attributes: the tables that chose the overlap, and the results of each weight.

Run it:  python recipes/benchmarks/evidence_tables.py [--seeds 2] [--epsilons .25 .5 1 2 4 16] [--overlaps 0 .03 .05 .1]

Fifteen tables: simulated customers, hospital visits and bicycle trips by several targets, and tables of scikit-learn's
generator and of latent factors. None of them is on the page of rr. Printed for each epsilon and overlap, as means
over the tables: accuracy, logarithmic loss, and by how much the commonest class is missed where it is.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa
from dp_forest import _frame, policy_of
from sklearn.datasets import make_classification

from anonkit.consumers import NaiveBayes
from anonkit.consumers.column_statistics import Columns
from anonkit.datasets import bank_customers, bicycle_trips, hospital_patients, hospital_visits
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.engines.engine_choice import open_engine
from anonkit.estimators import evidence_weight
from anonkit.methods.rr import RR
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import public_domains
from anonkit.published.count_evidence import softmax
from anonkit.randomized_response.randomized_draft import draft_randomized
from anonkit.randomness import Randomness

GENERATED = {
    "two, redundant": {"n_features": 14, "n_informative": 4, "n_redundant": 8, "weights": [0.7]},
    "two, plain": {"n_features": 14, "n_informative": 7, "n_redundant": 0, "weights": [0.75]},
    "two, weak": {"n_features": 20, "n_informative": 3, "n_redundant": 10, "weights": [0.65], "class_sep": 0.4},
    "three, skewed": {
        "n_features": 12, "n_informative": 5, "n_redundant": 5, "n_classes": 3, "weights": [0.65, 0.25],
    },
    "five": {"n_features": 16, "n_informative": 6, "n_redundant": 6, "n_classes": 5},
}  # fmt: skip
"""Arguments of scikit-learn's generator."""


def tables() -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Yield the tables: name, rows, target."""
    customers = bank_customers(40_000, seed=7).to_pandas().astype({"customer_value": str})
    for target in ("customer_value", "marital_status", "education"):
        yield f"customers, {target}", customers, target
    rarest = customers.customer_value.value_counts().index[-1]
    rare = customers.assign(rare=np.where(customers.customer_value == rarest, "yes", "no"))
    yield "customers, rare value", rare.drop(columns="customer_value"), "rare"
    people = hospital_patients(15_000, seed=7).to_pandas()
    visits = hospital_visits(15_000, seed=7).to_pandas().merge(people, left_on="patient", right_on="patient_id")
    visits = visits.drop(columns=["patient", "patient_id"]).astype({"month": str})
    for target in ("readmitted", "ward"):
        yield f"visits, {target}", visits, target
    trips = bicycle_trips(4_000, seed=7).to_pandas()
    trips["hour"] = trips["clock"].astype(str).str[:2]
    trips["weekend"] = np.where(pd.to_datetime(trips["day"]).dt.dayofweek >= 5, "yes", "no")
    yield "trips, weekend", trips.drop(columns=["rider", "day", "clock"]), "weekend"
    for name, more in GENERATED.items():
        yield name, _frame(*make_classification(40_000, random_state=11, **more)), "y"
    draw = np.random.default_rng(5)
    hidden, noise = draw.normal(size=40_000), draw.normal(size=(40_000, 10))
    one = 0.8 * hidden[:, np.newaxis] + 0.6 * noise
    yield "one factor", _frame(one, (hidden + draw.normal(size=40_000) > 0.9).astype(int)), "y"
    labels = (draw.random(40_000) < 0.3).astype(int)
    yield "independent", _frame(draw.normal(size=(40_000, 10)) + 0.5 * labels[:, np.newaxis], labels), "y"
    three = draw.normal(size=(40_000, 3))
    copies = np.repeat(three, 4, axis=1) * 0.8 + 0.6 * draw.normal(size=(40_000, 12))
    yield "three factors", _frame(copies, (three.sum(axis=1) + draw.normal(size=40_000) > 1.2).astype(int)), "y"


def learned(train: pd.DataFrame, policy: Policy, epsilon: float, seed: int) -> NaiveBayes:
    """Release by rr and learn from it."""
    rows = pa.Table.from_pandas(train, preserve_index=False)
    resolved, engine = policy.resolve(rows.schema.names), open_engine("local")
    domains = public_domains(resolved)
    table = RR(epsilon=epsilon).table_of(domains)
    source, randomness = engine.scan(rows, Policy()), Randomness.seeded(seed)
    draft = draft_randomized(source, resolved, engine, randomness, table, domains)
    model = NaiveBayes(table)
    for batch in draft.data.batches():
        model.partial_fit(batch)
    return model


def scores(model: NaiveBayes, test: Columns, truth: IntArray, overlap: float) -> FloatArray:
    """Return accuracy, logarithmic loss and what is missed of the commonest class, with another overlap."""
    evidence_weight.OVERLAP = overlap
    anew = NaiveBayes(model.table_).fit_statistics(model.statistics_)
    chances = softmax(anew.model_.joint_log_likelihood(test, released=False))
    accuracy = float((chances.argmax(axis=1) == truth).mean())
    loss = float(-np.log(np.maximum(chances[np.arange(truth.size), truth], 1e-9)).mean())
    return np.array([accuracy, loss, np.bincount(truth).max() / truth.size - accuracy])


def main() -> None:
    """Print the means over the tables for every epsilon and overlap."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.25, 0.5, 1, 2, 4, 16])
    parser.add_argument("--overlaps", type=float, nargs="+", default=[0, 0.03, 0.05, 0.1])
    given = parser.parse_args()
    found: dict[tuple[float, float], list[FloatArray]] = {}
    for name, rows, target in tables():
        mixed = rows.dropna(subset=[target]).sample(frac=1, random_state=3)
        train, held = mixed[: int(0.75 * len(mixed))], mixed[int(0.75 * len(mixed)) :].head(2_500)
        policy = policy_of(mixed, target)
        for epsilon in given.epsilons:
            models = [learned(train, policy, epsilon, seed) for seed in range(given.seeds)]
            target_of = models[0].table_.target
            test = Columns(held)
            truth = test.codes(target, target_of.domain)  # type: ignore[union-attr]
            for overlap in given.overlaps:
                runs = [scores(model, test, truth, overlap) for model in models]
                found.setdefault((epsilon, overlap), []).append(np.mean(runs, axis=0))
        print(name, flush=True)
    for (epsilon, overlap), each in sorted(found.items()):
        accuracy, loss, _ = np.mean(each, axis=0)
        missed = np.maximum([one[2] for one in each], 0)
        print(
            f"epsilon {epsilon:g}, overlap {overlap:g}: accuracy {accuracy:.4f}, loss {loss:.4f}, "
            f"commonest class missed by {missed.mean():.4f}, at most {missed.max():.4f}",
            flush=True,
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
