"""What draws the answers of a channel is found by the kind of the channel."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.errors import ParameterError
from anonkit.mechanisms.code_randomizers import BandRandomizer, KaryRandomizer, MatrixRandomizer, randomizer_of
from anonkit.published.channels.band_response import BandResponse
from anonkit.published.channels.kary_response import RandomizedResponse
from anonkit.published.channels.response_channel import Channel
from anonkit.published.channels.response_matrix import ResponseMatrix


@pytest.mark.parametrize(
    ("channel", "kind"),
    [
        (RandomizedResponse.equal(3, 0.5), KaryRandomizer),
        (ResponseMatrix.warner(0.75), MatrixRandomizer),
        (BandResponse.piecewise(1.0, 8), BandRandomizer),
    ],
)
def test_every_channel_has_its_randomizer(channel: Channel, kind: type) -> None:
    """And keeps the channel whose answers it draws; codes come back in the range of the answers."""
    made = randomizer_of(channel)
    assert type(made) is kind
    assert made.channel is channel
    answers = made.randomize(np.arange(channel.n_inputs), key=bytes(32), stream=0)
    assert 0 <= answers.min() <= answers.max() < channel.n_outputs


def test_a_channel_of_someone_else_is_not_guessed() -> None:
    """A mechanism without a randomizer is refused by its name, and never drawn by another one."""
    kind = type("Other", (Channel,), {"mechanism": "other", **dict.fromkeys(Channel.__abstractmethods__)})
    with pytest.raises(ParameterError, match="mechanism other"):
        randomizer_of(kind())
