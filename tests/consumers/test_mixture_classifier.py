"""Queries of a mixture as they are typed, and refused where a release has none; predictions are shares."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.consumers.mixture_classifier import MixtureClassifier, MixtureQuestions, conditions_typed, tables_typed
from anonkit.errors import ParameterError
from anonkit.policy.declaration import Policy


def test_names_and_conditions_are_read_as_typed() -> None:
    """Quotes hold commas and signs; values of one column are alternatives."""
    assert tables_typed(["age, sex", '"a, b"']) == (("age", "sex"), ("a, b",))
    assert conditions_typed(["city=Bonn", "city=Ulm", '"a=b"=']) == {"city": ["Bonn", "Ulm"], "a=b": [""]}
    with pytest.raises(ParameterError, match="condition"):
        conditions_typed(["city"])


def test_only_a_mixture_answers_queries() -> None:
    """No query is no refusal."""
    MixtureQuestions().refuse()
    for query in (MixtureQuestions(target="a"), MixtureQuestions(tables=(("a",),)), MixtureQuestions(rows=3)):
        with pytest.raises(ParameterError, match="dp-marginals"):
            query.refuse()


def test_any_column_is_predicted_from_the_others() -> None:
    """Shares of its values, and the value itself where it follows from another."""
    rng = np.random.default_rng(0)
    city = rng.choice(["Bonn", "Ulm"], 2_000)
    rows = pa.table(
        {"city": city, "land": np.where(city == "Bonn", "west", "south"), "sex": rng.choice(["f", "m"], 2_000)}
    )
    columns = {
        name: {"categories": values, "missing": "first"}
        for name, values in (("city", ["Bonn", "Ulm"]), ("land", ["west", "south"]), ("sex", ["f", "m"]))
    }
    policy = Policy.from_dict({"columns": columns})
    release = anonkit.release(
        rows, method="dp-marginals", epsilon=20.0, policy=policy, no_target=True, seed=1, ledger=None
    )
    queries = {
        "land": ({"city": ["Bonn", "Ulm"], "sex": ["f", "m"]}, ["west", "south"]),
        "city": ({"land": ["west", "south"], "sex": ["f", "f"]}, ["Bonn", "Ulm"]),
    }
    for target, (others, expected) in queries.items():
        model = MixtureClassifier(release.params, target=target).fit()
        shares = model.predict_proba(pa.table(others))
        assert np.allclose(shares.sum(axis=1), 1)
        assert (shares.max(axis=1) > 0.9).all()
        assert list(model.predict(pa.table(others))) == expected
