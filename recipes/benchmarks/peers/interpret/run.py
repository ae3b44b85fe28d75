"""DP-EBM of interpret-core: time and scores; (epsilon, delta = 1e-5). The table comes as numbers with public bounds."""

import json
import sys
import time

import numpy as np
from interpret.privacy import DPExplainableBoostingClassifier
from sklearn.metrics import roc_auc_score


def _model(data: np.lib.npyio.NpzFile, epsilon: float) -> DPExplainableBoostingClassifier:
    kinds = ["continuous" if is_number else "nominal" for is_number in data["numeric"]]
    bounds = {
        at: (float(data["low"][at]), float(data["high"][at])) for at, kind in enumerate(kinds) if kind == "continuous"
    }
    return DPExplainableBoostingClassifier(
        feature_types=kinds, privacy_bounds=bounds, epsilon=epsilon, delta=1e-5, n_jobs=1
    )


def scores(file: str, epsilons: list[float], runs: int) -> None:
    """Print accuracy and AUC, means over runs and each run's, at every epsilon."""
    data = np.load(file)
    for epsilon in epsilons:
        found = []
        for _ in range(runs):
            chances = _model(data, epsilon).fit(data["train"], data["labels"]).predict_proba(data["test"])[:, 1]
            found.append(
                (float(np.mean((chances > 0.5) == data["truth"])), float(roc_auc_score(data["truth"], chances)))
            )
        accuracy, auc = np.mean(found, axis=0)
        line = {"model": "DP-EBM", "epsilon": epsilon, "accuracy": float(accuracy), "auc": float(auc), "each": found}
        print(json.dumps(line))


def times(file: str, repeats: int) -> None:
    """Print the processor seconds of fit and predict, each repeat on its own."""
    data = np.load(file)
    for _ in range(repeats):
        begun = time.process_time()
        _model(data, 1.0).fit(data["train"], data["labels"]).predict_proba(data["test"])
        print(json.dumps({"seconds": time.process_time() - begun}))


if __name__ == "__main__":
    {"scores": scores, "times": times}[sys.argv[1]](**json.loads(sys.argv[2]))
