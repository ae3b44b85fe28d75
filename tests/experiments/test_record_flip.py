"""Warner's model on whole records."""

from __future__ import annotations

import math

import numpy as np
import pytest
from papers.comparators.flipped_records import flip_records
from papers.comparators.record_flip import RecordFlip

from anonkit.errors import ParameterError, ReleaseFormatError

KEY = bytes(range(32))


def test_the_count_of_a_condition_comes_back() -> None:
    """Counted directly and inverted, a conjunction of three attributes is estimated without bias."""
    rng = np.random.default_rng(1)
    records = rng.random((200_000, 3)) < np.array([0.2, 0.6, 0.7])
    flip = RecordFlip(p_truth=0.3)
    published = flip_records(records, flip.coin, key=KEY, stream=0)
    wanted = np.array([True, False, True])
    direct = np.all(published == wanted, axis=1).sum()
    inverse = np.all(published != wanted, axis=1).sum()
    truth = np.all(records == wanted, axis=1).sum()
    reach = 4 * math.sqrt(200_000) * 0.5 / 0.4
    assert flip.unmix(np.array(direct), np.array(inverse)) == pytest.approx(truth, abs=reach)


def test_there_is_no_epsilon_and_one_half_is_refused() -> None:
    """One known value undoes a record; at one half nothing could be reconstructed."""
    assert RecordFlip(p_truth=0.9).epsilon == math.inf
    assert "no formal guarantee" in RecordFlip(p_truth=0.9).assumptions[0]
    with pytest.raises(ParameterError, match="must not be"):
        RecordFlip(p_truth=0.5)
    with pytest.raises(ParameterError):
        RecordFlip(p_truth=1.5)


def test_params_bring_the_mechanism_back() -> None:
    """The parameter survives the params file; a damaged one is refused."""
    assert RecordFlip.from_params(RecordFlip(p_truth=0.3).to_params()) == RecordFlip(p_truth=0.3)
    with pytest.raises(ReleaseFormatError):
        RecordFlip.from_params({})
