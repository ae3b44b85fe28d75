"""The strength of answers of a category: p_0, epsilon, Warner's p, own weights, own matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.consumers import NaiveBayes, frequencies
from anonkit.domains.number_bins import Categories
from anonkit.errors import ParameterError, PolicyError
from anonkit.methods.errph import ERRPH
from anonkit.methods.ppnb import PPNB
from anonkit.policy.declaration import Policy
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.response_channel import ResponseMatrix
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable
from anonkit.randomized_response.randomized_draft import AnswerAccounting


def _policy(**column: Any) -> Policy:
    return Policy.from_dict({"columns": {"c": {"categories": ["u", "v", "w"], **column}}})


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=9), st.floats(0.05, 8))
def test_weighted_answers_keep_epsilon_and_their_proportions(weights: list[float], epsilon: float) -> None:
    """The realised loss is at most the target and close to it; blind answers come in proportion to the weights."""
    channel = RandomizedResponse.weighted(weights, epsilon=epsilon)
    assert channel.epsilon <= epsilon
    assert channel.epsilon == pytest.approx(epsilon, rel=1e-2)
    blind = channel.blind_probabilities / channel.blind_probabilities.sum()
    assert np.allclose(blind, np.array(weights) / np.sum(weights), rtol=1e-3, atol=1e-6)


def test_weights_cost_what_the_rarest_blind_answer_costs() -> None:
    """p_0 = 0.4 and weights 1, 2, 3: ln(1 + 0.4 / 0.1) = ln 5."""
    assert ERRPH(p_keep=0.4).guarantee(_policy(answer_weights=[1, 2, 3])).epsilon == pytest.approx(math.log(5))


def test_a_weight_of_zero_leaves_no_bound_and_says_so() -> None:
    """With p_keep the loss is infinite, and the column is named; with epsilon it is refused."""
    policy = _policy(answer_weights=[1, 1, 0])
    promise = ERRPH(p_keep=0.4).guarantee(policy)
    assert math.isinf(promise.epsilon)
    assert promise.unbounded == ("c",)
    assert promise.clear == ()
    assert "No bound holds" in promise.statement()
    assert any("rules those out for certain" in text for text in promise.not_protected())
    with pytest.raises(PolicyError, match="column 'c': a weight of 0 betrays everyone"):
        ERRPH(epsilon=1.0).guarantee(policy)


@given(st.floats(0.51, 0.99))
def test_warner_and_rrph_are_reached_by_p_truth(p_truth: float) -> None:
    """On two categories --p-truth p is RRPH with p_0 = 2 p - 1, which is Warner's model: ln(p / (1 - p))."""
    policy = Policy.from_dict({"columns": {"c": {"categories": ["u", "v"], "missing": "first"}}})
    mechanism = ERRPH(p_truth=p_truth).published(policy).attribute("c").mechanism
    assert isinstance(mechanism, RandomizedResponse)
    ours, theirs = np.array(mechanism.weights()), np.array(ResponseMatrix.warner(p_truth).weights())
    assert np.abs(ours - theirs).max() <= 2
    assert mechanism.epsilon == pytest.approx(math.log(p_truth / (1 - p_truth)), rel=1e-6)


def test_p_truth_must_beat_a_blind_answer() -> None:
    """Among three categories 0.3 is less than a guess, and 0.25 among three and missing."""
    with pytest.raises(PolicyError, match=r"column 'c': p_truth \(0.3\) must be above 1 / 3"):
        ERRPH(p_truth=0.3).guarantee(_policy(missing="first"))
    with pytest.raises(PolicyError, match=r"column 'c': p_truth \(0.25\) must be above 1 / 4"):
        ERRPH(p_truth=0.25).guarantee(_policy())
    with pytest.raises(ParameterError, match="p_keep and p_truth are given"):
        ERRPH(p_truth=0.6, p_keep=0.5)


MATRIX = [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]]


def test_an_own_matrix_is_published_and_undone() -> None:
    """Its loss is the worst ratio within a column, ln 7; the receiver gets the shares of the source back."""
    policy = _policy(response_matrix=MATRIX)
    table = pa.table({"c": ["u"] * 20_000 + ["v"] * 15_000 + ["w"] * 5_000})
    release = anonkit.release(table, method="errph", p_keep=0.5, policy=policy, seed=1)
    assert release.report["budget"]["epsilon"] == pytest.approx(math.log(7), rel=1e-6)
    found = frequencies(release.to_arrow(), release.params, "c")
    assert np.all(np.abs(found.estimate - [0.5, 0.375, 0.125]) < 5 * found.error)


def test_a_model_learns_from_an_own_matrix_and_weights() -> None:
    """Naive Bayes gives P(value | class) back from both, the label randomized too."""
    policy = Policy.from_dict(
        {
            "columns": {
                "c": {"categories": ["u", "v", "w"], "response_matrix": MATRIX},
                "d": {"categories": ["x", "y"], "answer_weights": [3, 1]},
                "t": {"categories": ["0", "1"], "role": "target"},
            }
        }
    )
    rng = np.random.default_rng(0)
    t = rng.integers(0, 2, 60_000)
    table = pa.table(
        {
            "c": np.array(["u", "v", "w"])[np.where(t == 1, 0, rng.integers(0, 3, t.size))],
            "d": np.array(["x", "y"])[(rng.random(t.size) < 0.2 + 0.6 * t).astype(int)],
            "t": np.array(["0", "1"])[t],
        }
    )
    release = anonkit.release(table, method="errph", p_keep=0.6, policy=policy, seed=1)
    factors = NaiveBayes().fit(release.to_arrow(), release.params).model_.factors
    assert np.allclose(factors[0].probabilities, [[1 / 3, 1 / 3, 1 / 3], [1, 0, 0]], atol=0.03)  # type: ignore[union-attr]
    assert np.allclose(factors[1].probabilities, [[0.8, 0.2], [0.2, 0.8]], atol=0.03)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("method", "column", "said"),
    [
        (ERRPH(p_keep=0.5), {"response_matrix": [[0.5, 0.5], [0.5, 0.5]]}, "is for 2 values, its domain has 3"),
        (ERRPH(p_keep=0.5), {"response_matrix": [[0.2, 0.4, 0.4]] * 3}, "has no inverse"),
        (ERRPH(epsilon=1.0), {"response_matrix": MATRIX}, "more than epsilon"),
        (ERRPH(p_truth=0.5), {"answer_weights": [1, 2, 3]}, "differs by category"),
        (PPNB(p_keep=0.5), {"categories": None, "bounds": [0, 1], "answer_weights": [1, 2]}, "does not go with"),
    ],
)
def test_a_design_that_does_not_go_is_refused(method: ERRPH | PPNB, column: dict[str, Any], said: str) -> None:
    """Column and rule are named."""
    spec = {key: value for key, value in {"categories": ["u", "v", "w"], **column}.items() if value is not None}
    with pytest.raises(PolicyError, match="column 'c'") as caught:
        method.guarantee(Policy.from_dict({"columns": {"c": spec}}))
    assert said in caught.value.message


def test_a_design_for_a_clear_label_is_refused() -> None:
    """It would protect nothing without anybody noticing."""
    label = {"role": "target", "categories": ["0", "1"], "answer_weights": [1, 1]}
    policy = Policy.from_dict({"columns": {"c": {"categories": ["u"]}, "t": label}})
    with pytest.raises(PolicyError, match="column 't': answer_weights is for a label that is randomized"):
        PPNB(p_keep=0.5).guarantee(policy)
    assert ERRPH(p_keep=0.5).guarantee(policy).attributes["t"] == pytest.approx(math.log(3))


def test_missing_for_the_whole_policy_counts() -> None:
    """A table-wide `missing = "first"` leaves missing out of every domain, unless the column says otherwise."""
    columns = {"c": {"categories": ["u", "v"]}, "d": {"categories": ["x", "y"], "missing": "category"}}
    table = ERRPH(p_keep=0.5).published(Policy.from_dict({"missing": "first", "columns": columns}))
    assert [one.mechanism.n_inputs for one in table.attributes] == [2, 3]  # type: ignore[union-attr]
    undeclared = ERRPH(p_keep=0.5).published(Policy.from_dict({"columns": columns}))
    assert [one.mechanism.n_inputs for one in undeclared.attributes] == [3, 3]  # type: ignore[union-attr]


def test_answers_are_their_own_statement() -> None:
    """The params are the mechanisms, and each is a line of the budget."""
    jobs = PublishedAttribute(
        name="job", domain=Categories(values=("a", "b")), mechanism=RandomizedResponse.from_epsilon(2, 1.0)
    )
    account = AnswerAccounting(table=PublishedTable(attributes=(jobs,), target=None))
    assert account.to_params() == account.table.to_params()
    (line,) = account.budget["per_attribute"]
    assert line == {"name": "job", "epsilon": account.table.record_epsilon}
    assert account.budget["epsilon"] == account.table.record_epsilon <= 1.0
