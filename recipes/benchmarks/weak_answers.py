"""Prediction from one answer a row at small epsilons: one value against a set of them, and how the consumer estimates.

Run it:

    python recipes/benchmarks/weak_answers.py [--seeds 5] [--epsilons .1 .25 .5 1 2 3] [--table adult|customers|NAME]

NAME is one of the other tables of `dp_forest.py` ("seven classes"), `others` all that are named here. The constants of
the shrinkage were chosen on the simulated customers; which answers are sets follows from epsilon and the sizes of the
domains, no table had a part in it. The figures are on the page of rr.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
from dp_forest import other_tables, unseen_tables
from randomized_figures import Data, adult, bank
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from anonkit.consumers import NaiveBayes
from anonkit.engines.engine_choice import open_engine
from anonkit.methods.rr import RR
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import public_domains
from anonkit.published.channels.category_channels import RandomizedResponse, SetResponse
from anonkit.published.randomized_table import PublishedTable
from anonkit.randomized_response.randomized_draft import draft_randomized
from anonkit.randomness import Randomness

ESTIMATORS = ("likelihood", "shrunken")
OTHERS = (
    "adult, marital-status", "adult, relationship", "survey, makes ends meet", "survey, health", "seven classes",
    "nested boxes",
)  # fmt: skip
"""Tables of many rows that neither the mechanism nor the consumer was made with."""


def single(table: PublishedTable, epsilon: float) -> PublishedTable:
    """Return the description with one value answered wherever a set is."""
    return replace(
        table,
        attributes=tuple(
            replace(one, mechanism=RandomizedResponse.from_epsilon(one.mechanism.n_inputs, epsilon))
            if isinstance(one.mechanism, SetResponse)
            else one
            for one in table.attributes
        ),
    )


def named(name: str) -> Iterator[Data]:
    """Yield the tables that go by a name."""
    if name in ("adult", "customers"):
        yield {"adult": adult, "customers": bank}[name](0)
        return
    for make in (other_tables, unseen_tables):
        for one, train, test, policy, _ in make():
            if one in (OTHERS if name == "others" else (name,)):
                rows = (pa.Table.from_pandas(frame, preserve_index=False) for frame in (train, test))
                yield Data(one, *rows, policy)


def scores_of(model: NaiveBayes, data: Data) -> tuple[float, float, float]:
    """Return accuracy, balanced accuracy and AUC on the rows to predict."""
    chances = model.predict_proba(data.test)
    guessed = model.classes_[chances.argmax(axis=1)]
    if len(model.classes_) == 2:
        auc = roc_auc_score(data.truth == model.classes_[1], chances[:, 1])
    else:
        auc = roc_auc_score(data.truth, chances[:, np.argsort(model.classes_)], multi_class="ovr")
    accuracy = float((guessed == data.truth).mean())
    return accuracy, float(balanced_accuracy_score(data.truth, guessed)), float(auc)


def told(data: Data, epsilon: float, seeds: int, estimators: tuple[str, ...]) -> None:
    """Print the means over the seeds, each release with one value and with sets of them."""
    engine = open_engine("local")
    source, domains = engine.scan(data.train, Policy()), public_domains(data.policy)
    sets = RR(epsilon=epsilon).table_of(domains)
    for answered, table in (("one value", single(sets, epsilon)), ("sets", sets)):
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in estimators}
        for seed in range(seeds):
            draft = draft_randomized(source, data.policy, engine, Randomness.seeded(seed), table, domains)
            learned = NaiveBayes(table)
            for batch in draft.data.batches():
                learned.partial_fit(batch)
            for name, runs in found.items():
                model = NaiveBayes(table, estimator=name)  # type: ignore[arg-type]
                runs.append(scores_of(model.fit_statistics(learned.statistics_), data))
        for name, runs in found.items():
            mean, spread = np.mean(runs, axis=0), np.std(runs, axis=0)
            means = "accuracy {:.3f}, balanced {:.3f}, AUC {:.3f}".format(*mean)
            spreads = f"sd of accuracy {spread[0]:.3f}, AUC {spread[2]:.3f}"
            print(f"epsilon {epsilon:g}, {answered:9} {name:10} {means}; {spreads}", flush=True)


def main() -> None:
    """Print accuracy, balanced accuracy and AUC of one value and sets, means over seeds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 0.25, 0.5, 1, 2, 3])
    parser.add_argument("--table", default="adult")
    parser.add_argument("--estimators", nargs="+", choices=ESTIMATORS, default=ESTIMATORS)
    given = parser.parse_args()
    for data in named(given.table):
        commonest = np.unique(data.truth, return_counts=True)[1].max() / data.truth.size
        print(f"{data.name}: {data.train.num_rows} rows, {data.test.num_rows} to predict, commonest {commonest:.3f}")
        for epsilon in given.epsilons:
            told(data, epsilon, given.seeds, tuple(given.estimators))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
