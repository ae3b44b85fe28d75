"""Prediction from one answer a row at small epsilons: likeliest shares against shares drawn in by their noise.

Run it:  python tests/benchmarks/weak_answers.py [--seeds 10] [--epsilons .1 .25 .5 1 2 3] [--table adult|customers]
The constants of the shrinkage were chosen on the simulated customers; the figures of Adult stand on the page of rr.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from randomized_figures import adult, bank
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from anonkit.consumers import NaiveBayes
from anonkit.engines.engine_choice import open_engine
from anonkit.methods.rr import RR
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import public_domains
from anonkit.randomized_response.randomized_draft import draft_randomized
from anonkit.randomness import Randomness

ESTIMATORS = ("likelihood", "shrunken")


def main() -> None:
    """Print accuracy, balanced accuracy and AUC of both estimators, means over seeds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 0.25, 0.5, 1, 2, 3])
    parser.add_argument("--table", choices=("adult", "customers"), default="adult")
    given = parser.parse_args()
    data = {"adult": adult, "customers": bank}[given.table](0)
    engine = open_engine("local")
    source, domains = engine.scan(data.train, Policy()), public_domains(data.policy)
    for epsilon in given.epsilons:
        table = RR(epsilon=epsilon).table_of(domains)
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ESTIMATORS}
        for seed in range(given.seeds):
            randomness = Randomness.seeded(seed)
            draft = draft_randomized(source, data.policy, engine, randomness, table, domains)
            learned = NaiveBayes(table)
            for batch in draft.data.batches():
                learned.partial_fit(batch)
            for name, scores in found.items():
                model = NaiveBayes(table, estimator=name).fit_statistics(learned.statistics_)  # type: ignore[arg-type]
                chances = model.predict_proba(data.test)
                guessed = model.classes_[chances.argmax(axis=1)]
                if len(model.classes_) == 2:
                    auc = roc_auc_score(data.truth == model.classes_[1], chances[:, 1])
                else:
                    auc = roc_auc_score(data.truth, chances[:, np.argsort(model.classes_)], multi_class="ovr")
                scores.append(
                    (float((guessed == data.truth).mean()), balanced_accuracy_score(data.truth, guessed), float(auc))
                )
        for name, scores in found.items():
            mean, spread = np.mean(scores, axis=0), np.std(scores, axis=0)
            told = "accuracy {:.3f}, balanced {:.3f}, AUC {:.3f}".format(*mean)
            print(f"epsilon {epsilon:g}, {name:10} {told}; sd of the accuracy {spread[0]:.3f}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
