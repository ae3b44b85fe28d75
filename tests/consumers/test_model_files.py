"""A fitted model outside anonkit: JSON and a pipeline of scikit-learn's own parts."""

from __future__ import annotations

import json
import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from anonkit.consumers import NaiveBayes
from anonkit.consumers.naive_bayes import ReconstructionWarning
from anonkit.domains.number_bins import Categories, Grid
from anonkit.errors import ReleaseFormatError
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.number_channels import PUBLISHED, BandResponse, TransformedResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget

from .conftest import CLASSES, COLOURS, colours_by_class, publish_table

MISSING_COLOURS = Categories(values=(*COLOURS.values, "missing"), has_missing=True)


def described(height: str, *, classes: Categories = CLASSES) -> PublishedTable:
    """Colours that may be missing beside a number in one of its three forms, missing or not."""
    grid = Grid(lower=0, upper=12, cells=7, has_missing=height == "cells with missing")
    numbers = {
        "normal": (None, TransformedResponse(multiplier=PUBLISHED["N(1,1)"][0], offset=PUBLISHED["N(1,1)"][1])),
        "normal with missing": (
            None,
            TransformedResponse.centred(*PUBLISHED["N(1,1)"], (0, 12), presence=RandomizedResponse.rrph(0.5)),
        ),
        "cells": (grid, BandResponse.square_wave(3.0, 7)),
        "cells with missing": (grid, BandResponse.square_wave(3.0, 7, has_missing=True)),
    }
    domain, mechanism = numbers[height]
    return PublishedTable(
        target=PublishedTarget(
            name="class", domain=classes, mechanism=RandomizedResponse.from_epsilon(classes.size, 4.0)
        ),
        attributes=(
            PublishedAttribute(
                name="colour", domain=MISSING_COLOURS, mechanism=RandomizedResponse.equal(MISSING_COLOURS.size, 0.5)
            ),
            PublishedAttribute(name="height", domain=domain, mechanism=mechanism),
        ),
    )


FORMS = ["normal", "normal with missing", "cells", "cells with missing"]


def fitted(form: str) -> NaiveBayes:
    """A model on 20,000 published rows, a tenth of the cells missing where that may be."""
    truth = dict(colours_by_class(20_000, 1, missing=0.1))
    if "missing" not in form:
        truth["height"] = colours_by_class(20_000, 1)["height"]
    return NaiveBayes(described(form)).fit(publish_table(described(form), truth, 2))


def awkward_rows() -> pd.DataFrame:
    """True rows with missing, unseen and far-off values, edges of cells, and integers."""
    rng = np.random.default_rng(0)
    heights = np.concatenate([rng.uniform(-3, 15, 200), np.linspace(0, 12, 8), np.arange(12.0), [np.nan] * 5])
    colours = rng.choice(np.array([*COLOURS.values, "missing", "violet", None], dtype=object), len(heights))
    return pd.DataFrame({"colour": colours, "height": heights})


@pytest.mark.parametrize("form", FORMS)
def test_a_pipeline_predicts_the_same_without_anonkit(form: str) -> None:
    """The exported pipeline gives the same probabilities for awkward rows, and its pickle names nothing of ours."""
    model, rows = fitted(form), awkward_rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReconstructionWarning)
        expected = model.predict_proba(rows)
    pipeline = model.to_sklearn()
    assert np.allclose(pipeline.predict_proba(rows), expected, atol=1e-9)
    assert list(pipeline.classes_) == list(model.classes_)
    packed = pickle.dumps(pipeline)
    assert b"anonkit" not in packed
    assert np.allclose(pickle.loads(packed).predict_proba(rows), expected, atol=1e-9)


@pytest.mark.parametrize("labels", [("yes", "no"), ("yes", "maybe", "no")])
def test_labels_out_of_order_keep_their_probabilities(labels: tuple[str, ...]) -> None:
    """Scikit-learn sorts the classes of a pipeline: each keeps the probability the model gives it."""
    table = described("cells", classes=Categories(values=labels))
    rows = colours_by_class(5_000, 1)
    model = NaiveBayes(table).fit(publish_table(table, rows, 2))
    pipeline, true = model.to_sklearn(), pd.DataFrame({"colour": rows["colour"], "height": rows["height"]})
    assert list(pipeline.classes_) == sorted(labels)
    columns = [list(model.classes_).index(label) for label in pipeline.classes_]
    assert np.allclose(pipeline.predict_proba(true), model.predict_proba(true)[:, columns], atol=1e-9)
    assert (pipeline.predict(true) == model.predict(true)).all()


def test_whole_numbers_may_come_as_integers() -> None:
    """A column of integers is a column of numbers."""
    rows = pd.DataFrame({"colour": ["red"] * 5, "height": np.arange(5)})
    model = fitted("normal")
    assert np.allclose(model.to_sklearn().predict_proba(rows), model.predict_proba(rows))


def test_a_plain_model_becomes_a_pipeline_on_arrays() -> None:
    """Without params the pipeline takes an array, with three classes too."""
    X, y = load_iris(return_X_y=True)
    model = NaiveBayes().fit(X, y)
    pipeline = model.to_sklearn()
    assert np.allclose(pipeline.predict_proba(X), model.predict_proba(X), atol=1e-9)
    assert np.array_equal(pipeline.predict(X), model.predict(X))


def test_a_left_out_attribute_stays_left_out() -> None:
    """The published form drops a number whose variance is negative; so does its pipeline."""
    truth = {**colours_by_class(2000, 3), "height": np.random.default_rng(0).normal(1000, 1, 2000)}
    table = described("normal")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReconstructionWarning)
        for seed in range(10):
            model = NaiveBayes(table, estimator="published").fit(publish_table(table, truth, seed))
            if np.isinf(model.model_.factors[1].variance).all():  # type: ignore[union-attr]
                break
        rows = pd.DataFrame({"colour": ["red", "blue"], "height": [1000.0, 0.0]})
        assert np.allclose(model.to_sklearn().predict_proba(rows), model.predict_proba(rows), atol=1e-9)
        assert json.loads(model.to_json())["model"]["attributes"][1]["variance"] == [None, None]


@pytest.mark.parametrize("form", FORMS)
def test_json_brings_a_model_back(form: str) -> None:
    """The same predictions, and further batches can be learnt."""
    model, rows = fitted(form), awkward_rows()
    again = NaiveBayes.from_json(model.to_json())
    more = publish_table(described(form), colours_by_class(500, 9), 7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReconstructionWarning)
        assert np.allclose(again.predict_proba(rows), model.predict_proba(rows), atol=1e-12)
        assert np.allclose(again.partial_fit(more).predict_proba(rows), model.partial_fit(more).predict_proba(rows))


def test_a_plain_model_survives_json() -> None:
    """Labels of numbers stay numbers."""
    X, y = load_iris(return_X_y=True)
    model = NaiveBayes().fit(X, y)
    again = NaiveBayes.from_json(model.to_json())
    assert np.array_equal(again.predict(X), model.predict(X))


def test_json_is_enough_to_predict_by_hand() -> None:
    """Readers in another language find every probability: a row's posterior follows from the file alone."""
    model = fitted("cells")
    raw = json.loads(model.to_json())["model"]
    colour, height = raw["attributes"]
    cell = int(np.digitize(5.0, height["edges"]) - 1)
    said = np.array(colour["probabilities"])[:, colour["values"].index("blue")]
    said = said * np.array(height["probabilities"])[:, cell]
    joint = np.array(raw["classes"]["expected"]) * said ** raw["weight"]
    assert raw["weight"] < 1
    expected = model.predict_proba({"colour": ["blue"], "height": [5.0]})[0]
    assert joint / joint.sum() == pytest.approx(expected)
    assert np.shape(colour["standard_errors"]) == np.shape(colour["probabilities"])


@pytest.mark.parametrize("damage", ["not json", "[]", '{"format": "anonkit-naive-bayes-1"}', '{"format": "other"}'])
def test_other_files_are_refused(damage: str) -> None:
    """A file that is not such a model is a format error."""
    with pytest.raises(ReleaseFormatError):
        NaiveBayes.from_json(damage)


@pytest.mark.parametrize(
    ("key", "value"),
    [("array_columns", "x"), ("array_columns", [2]), ("classes", 3), ("settings", []), ("statistics", 3)],
)
def test_a_key_of_the_wrong_kind_is_refused(key: str, value: object) -> None:
    """As a format error that names the file, not as an error of the code that reads it."""
    raw: Any = json.loads(NaiveBayes().fit(*load_iris(return_X_y=True)).to_json())
    with pytest.raises(ReleaseFormatError, match="model"):
        NaiveBayes.from_json(json.dumps({**raw, key: value}))


def test_altered_params_inside_a_model_are_refused() -> None:
    """The stated ε of the params is checked here too."""
    raw: Any = json.loads(fitted("normal").to_json())
    raw["params"]["attributes"][0]["epsilon"] = 0.01
    with pytest.raises(ReleaseFormatError, match="epsilon"):
        NaiveBayes.from_json(json.dumps(raw))
