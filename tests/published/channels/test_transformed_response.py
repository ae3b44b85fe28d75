"""TRR as a published value: its parameters, its warning figures, and that it promises nothing."""

from __future__ import annotations

import math

import pytest
from hypothesis import strategies as st

from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.number_channels import PUBLISHED, ContinuousDraw, TransformedResponse, breach_width

KEY = bytes(range(32))
SETTINGS = st.sampled_from(sorted(PUBLISHED))


def trr(setting: str = "N(1,1)", presence: RandomizedResponse | None = None) -> TransformedResponse:
    """One of the published settings."""
    multiplier, offset = PUBLISHED[setting]
    return TransformedResponse(multiplier=multiplier, offset=offset, presence=presence)


def test_there_is_no_epsilon() -> None:
    """TRR promises nothing, and says why."""
    assert trr().epsilon == math.inf
    assert trr().assumptions[0].startswith("No formal guarantee")


def test_the_warning_figures_are_those_of_the_specification() -> None:
    """1.22 r²/√n for N(1,1), 2.47 r²/√n for N(2,10)."""
    assert trr("N(1,1)").relative_error_of_variance(1, 1) == pytest.approx(1.2247, abs=1e-4)
    expected = 2.474 * 25 / math.sqrt(25_000)
    assert trr("N(2,10)").relative_error_of_variance(5, 25_000) == pytest.approx(expected, rel=1e-3)


def test_breach_widths_are_those_of_the_table() -> None:
    """Table 2 of the paper, in standard deviations."""
    for confidence, width in ((0.999, 6.58), (0.99, 5.15), (0.95, 3.92), (0.5, 1.35)):
        assert breach_width(1.0, confidence) == pytest.approx(width, abs=0.005)
    with pytest.raises(ParameterError):
        breach_width(1.0, 1.0)


def test_a_mean_of_zero_is_refused() -> None:
    """E[y] = E[b] whatever x: the mean cannot be identified."""
    with pytest.raises(ParameterError, match="mean of a"):
        TransformedResponse(multiplier=ContinuousDraw(mean=0, variance=1), offset=ContinuousDraw(mean=0, variance=1))


@pytest.mark.parametrize(
    "change",
    [{"offset": ContinuousDraw(mean=1, variance=1)}, {"scale": 0.0}, {"step": -1.0}, {"bounds": (1.0, 1.0)}],
)
def test_impossible_parameters_are_refused(change: dict[str, object]) -> None:
    """An offset with a mean, no scale, no step, bounds in the wrong order."""
    multiplier, offset = PUBLISHED["N(1,1)"]
    with pytest.raises(ParameterError):
        TransformedResponse(**{"multiplier": multiplier, "offset": offset, **change})  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        ContinuousDraw(mean=math.nan, variance=1)
    with pytest.raises(ParameterError, match="shape"):
        ContinuousDraw(mean=0, variance=1, shape="cauchy")  # type: ignore[arg-type]


def test_params_bring_the_mechanism_back() -> None:
    """Moments and constants survive the params file; a damaged one is refused."""
    mechanism = TransformedResponse.centred(*PUBLISHED["N(2,10)"], (0, 9), presence=RandomizedResponse.rrph(0.5))
    assert TransformedResponse.from_params(mechanism.to_params()) == mechanism
    with pytest.raises(ReleaseFormatError):
        TransformedResponse.from_params({"multiplier": {}})


def test_presence_is_a_bit() -> None:
    """A randomizer of three answers cannot say whether a value is there; a damaged one in the params is named."""
    multiplier, offset = PUBLISHED["N(1,1)"]
    with pytest.raises(ParameterError, match="between two answers"):
        TransformedResponse(multiplier=multiplier, offset=offset, presence=RandomizedResponse.equal(3, 0.5))
    params = trr(presence=RandomizedResponse.rrph(0.5)).to_params()
    params["presence"]["blind_weights"] = ["x", "y"]
    with pytest.raises(ReleaseFormatError, match="randomized response"):
        TransformedResponse.from_params(params)


def test_without_a_presence_bit_a_number_is_shown_if_there_is_one() -> None:
    """And only then; with the bit a missing value is shown as one a quarter of the time at p_0 = 0.5."""
    assert TransformedResponse.clear().presence_probabilities() == (1.0, 0.0)
    shown, hidden = trr(presence=RandomizedResponse.rrph(0.5)).presence_probabilities()
    assert (shown, hidden) == pytest.approx((0.75, 0.25), abs=1e-6)
