"""The scores of a consumer's models on a k-anonymous Adult: one-hot labels against `ReleaseFeatures`.

The train table is released once a method; models are fitted on the released rows alone and scored on Adult's own test
rows, which no release has seen. Test rows are recoded as the release was, whether or not k holds among them, or left in
their original values. The last lines are models of the original train rows, as the upper end.

Run it:  python recipes/benchmarks/release_features.py [--k 10] [--methods rfka mondrian]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import anonkit
from anonkit.consumers import ReleaseFeatures
from anonkit.published.recoding import recoding_from_dict

DATA = Path(__file__).parents[3] / "shared" / "data"
TARGET = "income"


def models() -> dict[str, Any]:
    """Return the models, as their users set them up who set up nothing."""
    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
        "forest": RandomForestClassifier(100, min_samples_leaf=5, n_jobs=2, random_state=0),
        "boosting": HistGradientBoostingClassifier(random_state=0),
    }


def recoded(params: dict[str, Any], frame: pd.DataFrame) -> pd.DataFrame:
    """Return rows as the release shows such rows; a row of which the recoding knows nothing shows `*`."""
    batch = pa.RecordBatch.from_pandas(frame, preserve_index=False)
    cells, unknown = recoding_from_dict(params["recoding"]).apply(batch)
    shown = pd.DataFrame({name: array.to_pandas() for name, array in cells.items()})
    shown[unknown] = "*"
    kept = [name for name in frame.columns if name in shown]
    return shown[kept]


def dummies(train: pd.DataFrame, test: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return `pd.get_dummies` of the released labels; labels of the test rows that no released row has are dropped."""
    bits = pd.get_dummies(train, dtype=np.uint8)
    return bits, pd.get_dummies(test, dtype=np.uint8).reindex(columns=bits.columns, fill_value=0)


def scores(train: Any, labels: Any, tests: dict[str, Any], truth: Any) -> Iterator[tuple[str, str, float]]:
    """Yield the AUC of each model on each set of test features."""
    for name, model in models().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(train, labels)
        for what, test in tests.items():
            yield what, name, float(roc_auc_score(truth, model.predict_proba(test)[:, 1]))


def print_line(head: str, n_features: int, found: list[tuple[str, str, float]], what: str) -> None:
    """Print one line of the table."""
    figures = " | ".join(f"{score:.4f}" for test, _, score in found if test == what)
    print(f"| {head} | {n_features:,} | {figures} |", flush=True)


def main() -> None:
    """Print the table of the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--methods", nargs="*", default=["rfka", "mondrian"])
    given = parser.parse_args()
    train = pd.read_csv(DATA / "adult_train.csv.gz", keep_default_na=False)
    test = pd.read_csv(DATA / "adult_test.csv", keep_default_na=False)
    truth = (test[TARGET] == ">50K").to_numpy()
    print("| release, features, test rows | features | logistic | forest | boosting |\n| --- | --- | --- | --- | --- |")
    for method in given.methods:
        release = anonkit.release(train, method=method, k=given.k, target=TARGET)
        frame = release.to_pandas()
        labels = (frame[TARGET] == ">50K").to_numpy()
        cells, test_cells = frame.drop(columns=TARGET), recoded(dict(release.params), test)
        bits, test_bits = dummies(cells, test_cells[list(cells.columns)])
        found = list(scores(bits, labels, {"recoded": test_bits}, truth))
        print_line(f"{method}, `pd.get_dummies`, recoded", bits.shape[1], found, "recoded")
        features = ReleaseFeatures(release, recode=False).fit(cells)
        numbers = features.transform(cells)
        again = ReleaseFeatures(release).fit(cells)
        tests = {"recoded": again.transform(test), "original": features.transform(test)}
        assert np.array_equal(tests["recoded"], features.transform(test_cells))
        found = list(scores(numbers, labels, tests, truth))
        for what in tests:
            print_line(
                f"{method}, `ReleaseFeatures{'' if what == 'recoded' else '(…, recode=False)'}`, {what}",
                numbers.shape[1],
                found,
                what,
            )
    plain = train.drop(columns=TARGET)
    bits, test_bits = dummies(plain, test.drop(columns=TARGET))
    found = list(scores(bits, (train[TARGET] == ">50K").to_numpy(), {"original": test_bits}, truth))
    print_line("original rows, `pd.get_dummies`, original", bits.shape[1], found, "original")


if __name__ == "__main__":
    main()
