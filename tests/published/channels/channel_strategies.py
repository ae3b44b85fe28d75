"""Response channels drawn at random: k-ary response of every kind, bands, sets, matrices with impossible answers."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from anonkit.published.channels.category_channels import RandomizedResponse, SetResponse
from anonkit.published.channels.number_channels import BandResponse
from anonkit.randomized_response.number_response import flattest_set

KEEPS = st.floats(0.01, 1.0)
SIZES = st.integers(2, 12)


@st.composite
def kary_channels(draw: st.DrawFn) -> RandomizedResponse:
    """Equal, from ε, and skewed channels of 2 to 12 categories."""
    size = draw(SIZES)
    kind = draw(st.sampled_from(["equal", "epsilon", "skewed"]))
    if kind == "equal":
        return RandomizedResponse.equal(size, draw(KEEPS))
    if kind == "epsilon":
        return RandomizedResponse.from_epsilon(size, draw(st.floats(0.01, 12)))
    p_keep = draw(st.floats(0.05, 0.95))
    raw = np.array(draw(st.lists(st.floats(0.01, 1), min_size=size, max_size=size)))
    return RandomizedResponse.skewed(p_keep, list((1 - p_keep) * raw / raw.sum()))


@st.composite
def band_channels(draw: st.DrawFn) -> BandResponse:
    """Small channels of both kinds, with and without missing and classes."""
    make = draw(st.sampled_from([BandResponse.square_wave, BandResponse.piecewise]))
    return make(
        draw(st.floats(0.05, 11)),
        draw(st.integers(2, 24)),
        has_missing=draw(st.booleans()),
        segments=draw(st.integers(1, 3)),
    )


@st.composite
def set_channels(draw: st.DrawFn) -> SetResponse:
    """Channels of up to 3 classes and 11 values whose sets lose no frequency."""
    segments, values = draw(st.integers(1, 3)), draw(st.integers(3, 11))
    most = segments * values // 2
    sizes = [size for size in range(1, most + 1) if flattest_set(segments, values, size)[0] < 4]
    _, members = flattest_set(segments, values, draw(st.sampled_from(sizes)))
    return SetResponse.from_epsilon(draw(st.floats(0.05, 8)), members, segments=segments, values=values)


@st.composite
def stochastic_matrices(draw: st.DrawFn) -> list[list[float]]:
    """Square stochastic matrices with some exact zeros, 2 to 6 categories."""
    size = draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    raw = rng.random((size, size)) * (rng.random((size, size)) < 0.7) + np.eye(size)
    return [list(row / row.sum()) for row in raw]
