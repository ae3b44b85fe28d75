"""DTPD and DTCRD: the older proposals, for comparison."""

from __future__ import annotations

import numpy as np
import pytest
from papers.comparators.dtcrd import AdditiveNoiseDecisionTree
from papers.comparators.dtpd import WarnerDecisionTree
from papers.comparators.flipped_records import flip_records
from papers.comparators.record_flip import RecordFlip
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from anonkit.domains.number_bins import Grid
from anonkit.errors import ParameterError
from anonkit.mechanisms.randomizers import NumberRandomizer
from anonkit.published.channels.number_channels import PUBLISHED, ContinuousDraw, TransformedResponse

KEY = bytes(range(32))
N = 20_000


def yes_no_table(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Five yes/no attributes; the class is an exclusive or of two of them with a tenth of errors."""
    rng = np.random.default_rng(seed)
    records = rng.random((N, 5)) < 0.45
    classes = records[:, 1] ^ (records[:, 3] & records[:, 0]) ^ (rng.random(N) < 0.1)
    return records, np.where(classes, "yes", "no")


def numbers(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers with two clusters each; the class is the cluster of the first, mostly."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 2, N)
    return np.stack([rng.normal(3 + 4 * classes, 1), rng.normal(5, 1.5, N)], axis=1), classes


def test_without_noise_it_is_an_ordinary_tree() -> None:
    """At p_truth = 1 it is as accurate as scikit-learn's entropy tree of the same depth."""
    (records, labels), (test, truth) = yes_no_table(0), yes_no_table(1)
    ours = WarnerDecisionTree().fit(records, labels).predict(test)
    theirs = DecisionTreeClassifier(criterion="entropy", max_depth=6).fit(records, labels).predict(test)
    assert (ours == truth).mean() == pytest.approx((theirs == truth).mean(), abs=0.005)


@pytest.mark.quick_cases("0.3", "0.9")
@pytest.mark.parametrize("p_truth", [0.1, 0.3, 0.7, 0.9])
def test_flipped_records_still_give_the_tree(p_truth: float) -> None:
    """On either side of one half, counts reconstructed from flipped records find the rule."""
    (records, labels), (test, truth) = yes_no_table(0), yes_no_table(1)
    published = flip_records(records, RecordFlip(p_truth=p_truth).coin, key=KEY, stream=0)
    model = WarnerDecisionTree(p_truth).fit(published, labels)
    assert (model.predict(test) == truth).mean() > 0.87
    shares = model.predict_proba(test)
    assert np.allclose(shares.sum(axis=1), 1)
    assert list(model.classes_) == ["no", "yes"]


def test_near_one_half_little_is_left() -> None:
    """The hole of the paper's figure 3: at 0.49 the records disclose almost nothing."""
    (records, labels), (test, truth) = yes_no_table(0), yes_no_table(1)
    published = flip_records(records, RecordFlip(p_truth=0.49).coin, key=KEY, stream=0)
    assert (WarnerDecisionTree(0.49).fit(published, labels).predict(test) == truth).mean() < 0.8


@pytest.mark.parametrize("by_class", [True, False])
def test_a_tree_grows_on_corrected_numbers(by_class: bool) -> None:
    """Noise as wide as the clusters: the tree still distinguishes them, and without noise it is perfect."""
    (x, labels), (test, truth) = numbers(0), numbers(1)
    grids = [Grid(lower=0, upper=10, cells=20)] * 2
    noise = [
        TransformedResponse(multiplier=ContinuousDraw(mean=1, variance=0), offset=ContinuousDraw(mean=0, variance=2.0))
    ] * 2
    noisy = np.stack(
        [NumberRandomizer(each).randomize(x[:, at], key=KEY, stream=at) for at, each in enumerate(noise)], axis=1
    )
    model = AdditiveNoiseDecisionTree(noise, grids, by_class=by_class).fit(noisy, labels)
    assert (model.predict(test) == truth).mean() > 0.93
    clear = AdditiveNoiseDecisionTree([TransformedResponse.clear()] * 2, grids).fit(x, labels)
    assert (clear.predict(test) == truth).mean() > 0.96
    assert clone(model).get_params()["by_class"] is by_class


def test_only_additive_noise_can_be_taken_off() -> None:
    """TRR multiplies; and every column needs its noise and its grid."""
    grid = Grid(lower=0, upper=1, cells=2)
    trr = TransformedResponse(multiplier=PUBLISHED["N(1,1)"][0], offset=PUBLISHED["N(1,1)"][1])
    with pytest.raises(ParameterError, match="additive"):
        AdditiveNoiseDecisionTree([trr], [grid]).fit(np.zeros((3, 1)), np.array([0, 1, 0]))
    with pytest.raises(ParameterError, match="per column"):
        AdditiveNoiseDecisionTree([], [grid]).fit(np.zeros((3, 1)), np.array([0, 1, 0]))
