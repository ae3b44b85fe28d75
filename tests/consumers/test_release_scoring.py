"""Scores on released rows: the channel undone, models chosen, and a warning where it was not."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

import anonkit
from anonkit.consumers import NaiveBayes
from anonkit.consumers.learned_models import learned_from
from anonkit.consumers.naive_bayes import ReleasedRowsWarning
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.domains.number_bins import Categories
from anonkit.errors import ParameterError, SourceError
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget

from .conftest import CLASSES, COLOURS, colours_by_class, publish_table

pytestmark = pytest.mark.filterwarnings("ignore::anonkit.consumers.naive_bayes.ReconstructionWarning")

TARGET = "customer_value"
SETTINGS: dict[str, dict[str, Any]] = {
    "rr": {"method": "rr", "epsilon": 4.0},
    "rr split": {"method": "rr", "epsilon": 20.0, "allocation": "split"},
    "rr clear label": {"method": "rr", "epsilon": 4.0, "label": "clear"},
    "ppnb": {"method": "ppnb", "p_keep": 0.5},
    "errph": {"method": "errph", "p_keep": 0.5, "bins": 8},
}


def customers(rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """True rows, and their classes."""
    table = bank_customers(rows, seed)
    return table.to_pandas(), np.array(table[TARGET].to_pylist(), dtype=object)


def released(rows: int, name: str, seed: int = 1) -> tuple[pd.DataFrame, Any]:
    """Rows of a release, and its params."""
    made = anonkit.release(bank_customers(rows, 0), policy=bank_customers_policy(), seed=seed, **SETTINGS[name])
    return made.to_pandas(), made.params


@pytest.mark.slow
def test_a_grid_search_on_a_release_picks_a_model_worth_the_best() -> None:
    """Within .01 of the best candidate's accuracy on true rows, with the settings apart by far more than that."""
    rows, params = released(20_000, "rr split")
    grid = {"smoothing": [0.5, 500.0, 50_000.0], "estimator": ["likelihood", "published"]}
    search = GridSearchCV(NaiveBayes(params), grid, scoring=anonkit.release_scorer(params), cv=3, refit=False)
    search.fit(rows)
    test, truth = customers(10_000, 1)
    worth = [
        float((NaiveBayes(params, **one).fit(rows).predict(test) == truth).mean())
        for one in search.cv_results_["params"]
    ]
    assert max(worth) - min(worth) > 0.03
    assert worth[search.best_index_] > max(worth) - 0.01


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rr", "rr split", "ppnb"])
def test_every_search_picks_within_a_hundredth(name: str) -> None:
    """Five releases of 50,000 rows, twelve candidates: on the average within .01 of the best on true rows."""
    from benchmarks.released_scores import searched

    setting, test = SETTINGS[name], bank_customers(10_000, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        picks = np.array([searched(50_000, seed, setting, test) for seed in range(5)])
    assert (picks[:, 2] - picks[:, 0]).mean() < 0.01


def labels_hidden(p_keep: float) -> PublishedTable:
    """Colours as they are, labels randomized."""
    return PublishedTable(
        target=PublishedTarget(name="class", domain=CLASSES, mechanism=RandomizedResponse.equal(2, p_keep)),
        attributes=(PublishedAttribute(name="colour", domain=COLOURS, mechanism=RandomizedResponse.clear(3)),),
    )


def test_with_clear_values_the_score_is_unbiased() -> None:
    """Labels alone randomized: over 60 releases the mean score is the accuracy on true rows, within 4 errors."""
    table = labels_hidden(0.5)
    model = NaiveBayes(table).fit(publish_table(table, colours_by_class(20_000, 1), 1))
    scores, naive = [], []
    for seed in range(60):
        shown = publish_table(table, colours_by_class(1_000, 100 + seed), 100 + seed)
        scores.append(anonkit.release_scorer()(model, shown))
        naive.append(float((model.predict(shown) == shown["class"]).mean()))
    true = 0.6 * 0.8 + 0.4 * 0.6  # red and green are predicted no, blue yes
    assert np.mean(scores) == pytest.approx(true, abs=4 * np.std(scores) / np.sqrt(60))
    assert np.mean(naive) < true - 0.08


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rr", "ppnb"])
def test_randomized_values_are_undone_too(name: str) -> None:
    """The cross-validated score is within .05 of the folds' accuracy on true rows, the plain one .3 below."""
    rows, params = released(20_000, name)
    test, truth = customers(10_000, 1)
    scores = cross_val_score(NaiveBayes(params, scored_on="released"), rows, cv=KFold(3))
    folds = [NaiveBayes(params).fit(rows.iloc[train]) for train, _ in KFold(3).split(rows)]
    worth = np.mean([(model.predict(test) == truth).mean() for model in folds])
    assert np.mean(scores) == pytest.approx(worth, abs=0.05)
    again = cross_val_score(NaiveBayes(params), rows, scoring=anonkit.release_scorer(params), cv=KFold(3))
    assert np.allclose(scores, again)
    with pytest.warns(ReleasedRowsWarning, match="release_scorer"):
        plain = cross_val_score(NaiveBayes(params), rows, rows[TARGET].astype(object), cv=KFold(3))
    assert np.mean(plain) < worth - 0.3


@pytest.mark.quick_cases("rr", "ppnb")
@pytest.mark.parametrize("name", list(SETTINGS))
def test_scoring_on_answers_warns_and_on_true_rows_does_not(name: str) -> None:
    """Other rows of the same release warn, in `score` and in `predict`; true rows, with and without target, do not."""
    rows, params = released(8_000, name)
    model = NaiveBayes(params).fit(rows[:6_000])
    held = rows[6_000:]
    with pytest.warns(ReleasedRowsWarning):
        model.score(held, held[TARGET].astype(object))
    with pytest.warns(ReleasedRowsWarning):
        model.predict(held)
    test, truth = customers(3_000, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ReleasedRowsWarning)
        assert model.score(test) == model.score(test, truth)
        model.predict(test.drop(columns=TARGET))
        model.predict(test[:1])
        model.predict(held, released=True)


def test_only_sums_are_needed_to_recognize_answers_of_trr() -> None:
    """Numbers with noise are recognized by their mean square."""
    numbers = ["age", "deposit", "loan", TARGET]
    whole = bank_customers_policy()
    policy = anonkit.Policy(columns={name: whole.column(name) for name in numbers})
    made = anonkit.release(bank_customers(8_000, 0).select(numbers), method="trr", policy=policy, seed=1)
    rows = made.to_pandas()
    model = NaiveBayes(made.params).fit(rows[:6_000])
    with pytest.warns(ReleasedRowsWarning):
        model.predict(rows[6_000:])
    test, _ = customers(3_000, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ReleasedRowsWarning)
        model.predict(test)


def test_the_scorer_is_an_ordinary_object() -> None:
    """It pickles, its estimator clones, equal rows get equal scores, and balanced accuracy is another number."""
    rows, params = released(4_000, "rr")
    scorer = pickle.loads(pickle.dumps(anonkit.release_scorer(params)))
    model = NaiveBayes(params, scored_on="released").fit(rows[:3_000])
    assert clone(model).scored_on == "released"
    assert scorer(model, rows[3_000:]) == scorer(model, rows[3_000:]) == model.score(rows[3_000:])
    assert anonkit.release_scorer(metric="balanced_accuracy")(model, rows[3_000:]) != model.score(rows[3_000:])
    assert "accuracy" in repr(scorer)


@pytest.mark.slow
def test_a_model_of_scikit_learn_is_scored_too() -> None:
    """Anything that predicts from a data frame of true values: the exported pipeline gets the model's own score."""
    rows, params = released(4_000, "rr")
    model = NaiveBayes(params).fit(rows[:3_000])
    scorer = anonkit.release_scorer(params)
    assert scorer(model.to_sklearn(), rows[3_000:]) == pytest.approx(scorer(model, rows[3_000:]), abs=0.01)


def test_what_cannot_be_scored_says_so() -> None:
    """Unknown settings, weights, a scorer without params, one row, labels outside the classes, noisy tables."""
    rows, params = released(500, "rr")
    model = NaiveBayes(params).fit(rows)
    for ask in (
        lambda: anonkit.release_scorer(params, metric="auc"),  # type: ignore[arg-type]
        lambda: NaiveBayes(params, scored_on="both").fit(rows).score(rows),  # type: ignore[arg-type]
        lambda: NaiveBayes(params, scored_on="released").fit(rows).score(rows, None, np.ones(500)),
        lambda: anonkit.release_scorer()(object(), rows),
    ):
        with pytest.raises(ParameterError):
            ask()
    with pytest.raises(SourceError, match="fewer than two"):
        anonkit.release_scorer(params)(model, rows[:1])
    with pytest.raises(SourceError, match="not among the classes") as caught:
        anonkit.release_scorer(params)(model, rows, ["marker"] * 500)
    assert "marker" not in str(caught.value)
    noisy = anonkit.release(bank_customers(500, 0), method="dp-nb", epsilon=1.0, policy=bank_customers_policy(), seed=1)
    with pytest.raises(ParameterError, match="no randomized rows"):
        anonkit.release_scorer(noisy.params)


def test_a_missing_label_class_and_missing_values_are_drawn() -> None:
    """Domains with missing: drawn rows hold missing values and the score stays a share."""
    domain = Categories(values=COLOURS.values, has_missing=True)
    table = PublishedTable(
        target=PublishedTarget(name="class", domain=CLASSES, mechanism=RandomizedResponse.equal(2, 0.6)),
        attributes=(PublishedAttribute(name="colour", domain=domain, mechanism=RandomizedResponse.equal(4, 0.6)),),
    )
    shown = publish_table(table, colours_by_class(6_000, 3, missing=0.2), 3)
    model = NaiveBayes(table).fit(shown)
    assert 0.6 < anonkit.release_scorer()(model, shown) < 0.75


@pytest.mark.quick_cases("300")
@pytest.mark.parametrize("n_rows", [300, 600, 1_500])
def test_true_rows_raise_no_alarm_beside_few_answers(n_rows: int) -> None:
    """A row of `rr` answers one attribute: a small release has too few to distinguish answers from the truth."""
    for seed in range(4):
        release = anonkit.release(
            bank_customers(n_rows, seed=seed + 10), method="rr", epsilon=4.0, policy=bank_customers_policy(), seed=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            learned = learned_from(release.params, release.to_arrow())
        assert learned is not None
        with warnings.catch_warnings():
            warnings.simplefilter("error", ReleasedRowsWarning)
            learned[0].predict_proba(bank_customers(600, seed=900 + seed))


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_true_rows_raise_no_alarm_where_nobody_gave_an_answer(seed: int) -> None:
    """At a large epsilon a rare answer (missing, where nothing is) may be nobody's: no share is known without error."""
    release = anonkit.release(
        bank_customers(10_000, seed=1), method="rr", epsilon=8.0, policy=bank_customers_policy(), seed=seed
    )
    model = NaiveBayes(release.params).fit(release.to_pandas())
    test, _ = customers(5_000, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ReleasedRowsWarning)
        model.predict(test)
