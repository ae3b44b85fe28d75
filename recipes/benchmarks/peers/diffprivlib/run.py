"""diffprivlib's forests, tree and naive Bayes: time and scores. The table comes as numbers with public bounds."""

import json
import sys
import time

import numpy as np
from diffprivlib.models import DecisionTreeClassifier, GaussianNB, RandomForestClassifier
from sklearn.metrics import roc_auc_score


def _models(epsilon: float, bounds: tuple, classes: list[int]) -> dict[str, object]:
    forest = {"epsilon": epsilon, "bounds": bounds, "classes": classes, "n_jobs": 1}
    return {
        "forest, 10 trees of depth 5": RandomForestClassifier(10, max_depth=5, **forest),
        "forest, 25 trees of depth 5": RandomForestClassifier(25, max_depth=5, **forest),
        "tree of depth 5": DecisionTreeClassifier(max_depth=5, epsilon=epsilon, bounds=bounds, classes=classes),
        "Gaussian naive Bayes": GaussianNB(epsilon=epsilon, bounds=bounds),
    }


def scores(file: str, epsilons: list[float], runs: int) -> None:
    """Print accuracy and AUC, means over runs and each run's, of every model at every epsilon."""
    data = np.load(file)
    classes = sorted(int(one) for one in np.unique(data["labels"]))
    bounds = (data["low"], data["high"])
    for epsilon in epsilons:
        found: dict[str, list[tuple[float, float]]] = {}
        for _ in range(runs):
            for name, model in _models(epsilon, bounds, classes).items():
                chances = model.fit(data["train"], data["labels"]).predict_proba(data["test"])
                truth = data["truth"]
                met = [
                    (truth == one, chances[:, at]) for at, one in enumerate(classes) if 0 < np.mean(truth == one) < 1
                ]
                areas = [roc_auc_score(*one) for one in met]
                accuracy = float(np.mean(np.array(classes)[chances.argmax(axis=1)] == truth))
                found.setdefault(name, []).append((accuracy, float(np.mean(areas))))
        for name, each in found.items():
            accuracy, auc = np.mean(each, axis=0)
            line = {"model": name, "epsilon": epsilon, "accuracy": accuracy, "auc": auc, "each": each}
            print(json.dumps(line))


def times(file: str, sizes: list[list[int]], repeats: int) -> None:
    """Print the processor seconds of fit and predict, each repeat on its own."""
    data = np.load(file)
    bounds = (data["low"], data["high"])
    for trees, depth in sizes:
        for _ in range(repeats):
            begun = time.process_time()
            model = RandomForestClassifier(trees, epsilon=1.0, bounds=bounds, classes=[0, 1], max_depth=depth, n_jobs=1)
            model.fit(data["train"], data["labels"]).predict_proba(data["test"])
            print(json.dumps({"trees": trees, "depth": depth, "seconds": time.process_time() - begun}))


def audited(epsilon: float, runs: int) -> None:
    """Print, for two neighbouring tables, how many of ten trees say what the longer table makes likely.

    The forest deals rows to trees by their position: without its last row each tree gets another row.
    """
    values = np.zeros((11, 1))
    labels = np.arange(11) % 2
    for rows in (11, 10):
        answers = []
        for _ in range(runs):
            model = RandomForestClassifier(
                10, epsilon=epsilon, bounds=(np.zeros(1), np.ones(1)), classes=[0, 1], max_depth=1, n_jobs=1
            )
            model.fit(values[:rows], labels[:rows])
            said = [int(tree.predict(values[:1])[0]) for tree in model.estimators_]
            answers.append(sum(one == (at + 1) % 2 for at, one in enumerate(said)))
        print(json.dumps({"rows": rows, "answers": answers}))


if __name__ == "__main__":
    {"scores": scores, "times": times, "audited": audited}[sys.argv[1]](**json.loads(sys.argv[2]))
