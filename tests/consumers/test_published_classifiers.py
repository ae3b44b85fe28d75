"""The published forest as a classifier.

Queries of a mixture as they are typed, and refused where a release has none; predictions are shares.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

import anonkit
from anonkit.consumers import Forest
from anonkit.consumers.published_classifiers import (
    MixtureClassifier,
    MixtureQuestions,
    UnknownValueWarning,
    conditions_typed,
    tables_typed,
)
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import ParameterError, ReleaseFormatError, SourceError
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


TEST = bank_customers(400, seed=2)
TARGET = "customer_value"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release by trees on disk."""
    output = tmp_path_factory.mktemp("trees") / "out.parquet"
    anonkit.release(
        bank_customers(6_000, seed=1),
        method="edprf",
        epsilon=4.0,
        seed=1,
        policy=bank_customers_policy(),
        output=output,
    )
    return output


@pytest.mark.parametrize("vote", ["pooled", "majority"])
def test_it_predicts_better_than_the_commonest_class(released: Path, vote: str) -> None:
    """Shares add up to 1, and the prediction is the largest."""
    forest = Forest.from_release(released, vote=vote)
    shares = forest.predict_proba(TEST)
    truth = np.array(TEST.column(TARGET).to_pylist())
    assert shares.sum(axis=1) == pytest.approx(np.ones(400))
    assert (forest.predict(TEST) == forest.classes_[shares.argmax(axis=1)]).all()
    assert forest.score(TEST, truth) > max(np.mean(truth == one) for one in forest.classes_) + 0.05


def test_the_prediction_is_the_sum_of_the_leaves_by_hand(released: Path) -> None:
    """One row, walked through the JSON."""
    params = json.loads((released.parent / "out.params.json").read_text())
    row = TEST.slice(0, 1).to_pylist()[0]
    domains = {one["name"]: one["domain"] for one in params["attributes"]}
    total = np.zeros(len(params["target"]["domain"]["categories"]))
    for tree in params["trees"]:
        node = tree[0]
        while "children" in node:
            domain, value = domains[node["attribute"]], row[node["attribute"]]
            if "categories" in domain:
                code = domain["categories"].index(str(value))
            else:
                low, high = domain["bounds"]
                code = min(max(int((value - low) / (high - low) * domain["cells"]), 0), domain["cells"] - 1)
            node = tree[node["children"][code]]
        total += node["counts"]
    expected = np.maximum(total, 0) + 1
    assert Forest(params).fit().predict_proba(TEST.slice(0, 1))[0] == pytest.approx(expected / expected.sum())


def test_clone_and_parameters_are_those_of_scikit_learn(released: Path) -> None:
    """A clone is unfitted and predicts the same when fitted."""
    forest = Forest.from_release(released, vote="majority", smoothing=0.5)
    again = clone(forest)
    assert not hasattr(again, "classes_")
    assert np.array_equal(again.fit().predict_proba(TEST), forest.predict_proba(TEST))


def test_values_outside_the_domain_are_warned_about_without_being_shown(released: Path) -> None:
    """The column and how many, never the value."""
    strange = TEST.set_column(TEST.schema.get_field_index("income"), "income", pa.array(["MARKER"] * 400))
    with pytest.warns(UnknownValueWarning, match="'income': 400 of 400") as caught:
        Forest.from_release(released).predict(strange)
    assert "MARKER" not in str(caught[0].message)
    with pytest.raises(SourceError, match="'income' is not in the table"):
        Forest.from_release(released).predict(TEST.drop_columns(["income"]))


def test_settings_outside_their_range_are_refused(released: Path) -> None:
    """The message says the range."""
    for settings in ({"vote": "loud"}, {"smoothing": -1}):
        with pytest.raises(ParameterError):
            Forest.from_release(released, **settings)
    with pytest.raises(ParameterError, match="needs the params"):
        Forest().fit()
    with pytest.raises(ReleaseFormatError):
        Forest({"format": "other"}).fit()


def test_reconstruct_scores_the_forest(released: Path, tmp_path: Path) -> None:
    """The command's function, on the files alone, writes predictions and the model."""
    made = anonkit.reconstruct(released, test=TEST, predictions=tmp_path / "p.parquet", model=tmp_path / "model.json")
    assert made.scores is not None
    assert made.to_dict()["model"] == "forest"
    assert made.to_dict()["accuracy"] == Forest.from_release(released).score(TEST, TEST.column(TARGET).to_pylist())
    again = Forest(json.loads((tmp_path / "model.json").read_text())).fit()
    assert np.array_equal(again.predict_proba(TEST), Forest.from_release(released).predict_proba(TEST))


@pytest.mark.slow
def test_a_receiver_needs_no_code_of_the_owner(released: Path) -> None:
    """Loading and predicting imports no method, engine, check or grower."""
    code = (
        "import sys\nfrom anonkit.consumers import Forest\n"
        f"Forest.from_release({str(released)!r})\n"
        "rooms = ('methods', 'engines', 'checks', 'trees.grower', 'central_release')\n"
        "owner = tuple('anonkit.' + room for room in rooms)\n"
        "found = [name for name in sys.modules if name.startswith(owner)]\n"
        "assert not found, found\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
