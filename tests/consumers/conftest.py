"""An owner in miniature: publishes a table as its description says, with the mechanisms and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from anonkit.consumers.column_statistics import Columns
from anonkit.domains.number_bins import Categories, Grid
from anonkit.mechanisms.randomizers import NumberRandomizer, answered_attribute, randomizer_of
from anonkit.published.channels.number_channels import TransformedResponse
from anonkit.published.channels.response_channel import Channel
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable
from anonkit.randomness import Randomness

Publish = Callable[[PublishedTable, Any, int], dict[str, np.ndarray]]

_LABEL_STREAM, _ATTRIBUTE_STREAM = 1000, 1001


def publish_table(table: PublishedTable, truth: Any, seed: int) -> dict[str, np.ndarray]:
    """Randomize a table: stream i for attribute i, one for the label, one for the choice of the attribute."""
    key, data, out = Randomness.seeded(seed).key("release"), Columns(truth), {}
    asked = None
    if table.asked_column is not None:
        asked = answered_attribute(key, _ATTRIBUTE_STREAM, 0, data.n_rows, len(table.attributes))
        out[table.asked_column] = np.array([each.name for each in table.attributes], dtype=object)[asked]
    labels = None if table.target is None else data.codes(table.target.name, table.target.domain)
    shown = labels
    if table.target is not None and table.target.mechanism is not None and labels is not None:
        shown = randomizer_of(table.target.mechanism).randomize(labels, key=key, stream=_LABEL_STREAM)
    for stream, attribute in enumerate(table.attributes):
        rows = np.arange(data.n_rows) if asked is None else np.flatnonzero(asked == stream)
        values, classes = _answers(attribute, data, labels, key, stream)
        if classes is not None and shown is not None:
            shown = shown.copy()
            shown[rows] = classes[rows]
        column = np.full(data.n_rows, None if values.dtype == object else np.nan, dtype=values.dtype)
        column[rows] = values[rows]
        out[attribute.name] = column
    if table.target is not None and shown is not None:
        out[table.target.name] = table.target.domain.decode(shown)
    return out


def _answers(
    attribute: PublishedAttribute, data: Columns, labels: np.ndarray | None, key: bytes, stream: int
) -> tuple[np.ndarray, np.ndarray | None]:
    if isinstance(attribute.mechanism, TransformedResponse):
        return NumberRandomizer(attribute.mechanism).randomize(
            data.numbers(attribute.name), key=key, stream=stream
        ), None
    assert isinstance(attribute.mechanism, Channel)
    domain, answers = attribute.domain, attribute.answers()
    assert domain is not None
    assert answers is not None
    codes: np.ndarray = (
        data.codes(attribute.name, domain)
        if isinstance(domain, Categories)
        else domain.encode(data.numbers(attribute.name)).astype(np.int64)
    )
    if not attribute.joint_with_target:
        return answers.decode(randomizer_of(attribute.mechanism).randomize(codes, key=key, stream=stream)), None
    assert labels is not None
    given = (
        randomizer_of(attribute.mechanism)
        .randomize(labels * domain.size + codes, key=key, stream=stream)
        .astype(np.int64)
    )
    classes, values = np.divmod(given, answers.size)
    return answers.decode(values), classes


@pytest.fixture(scope="session")
def publish() -> Publish:
    """Publish a table under a seed."""
    return publish_table


COLOURS = Categories(values=("red", "green", "blue"))
CLASSES = Categories(values=("no", "yes"))
HEIGHTS = Grid(lower=0, upper=12, cells=12)


def colours_by_class(n: int, seed: int, *, missing: float = 0.0) -> Mapping[str, np.ndarray]:
    """A table with one category, one number and a class, independent given the class.

    P(yes) = 0.4; colours 0.5/0.3/0.2 for no and 0.1/0.3/0.6 for yes; heights N(4, 1.5²) and N(8, 1.5²).
    """
    rng = np.random.default_rng(seed)
    yes = rng.random(n) < 0.4
    shares = np.where(yes[:, None], [[0.1, 0.3, 0.6]], [[0.5, 0.3, 0.2]])
    colour = (rng.random((n, 1)) > np.cumsum(shares, axis=1)).sum(axis=1).clip(max=2)
    height = rng.normal(np.where(yes, 8.0, 4.0), 1.5)
    names = np.array(COLOURS.values, dtype=object)[colour]
    if missing:
        names[rng.random(n) < missing] = None
        height[rng.random(n) < missing] = np.nan
    return {"colour": names, "height": height, "class": np.array(CLASSES.values, dtype=object)[yes.astype(int)]}


COLOUR_SHARES = np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])


@pytest.fixture(scope="session")
def simulate() -> Callable[..., Mapping[str, np.ndarray]]:
    """Simulate `colours_by_class`."""
    return colours_by_class


@pytest.fixture(scope="session")
def adult_columns(adult: Any) -> tuple[Any, Any, Any]:
    """Adult as training rows, test rows (the original split, missing as `?`), and the domain of each category."""
    frame = adult.to_pandas()
    text = [name for name in frame if frame[name].dtype.kind not in "iuf"]
    frame[text] = frame[text].astype(object).where(frame[text].notna(), "?")
    domains = {name: Categories(values=tuple(sorted(set(frame[name])))) for name in text}
    return frame.iloc[:32_561], frame.iloc[32_561:], domains
