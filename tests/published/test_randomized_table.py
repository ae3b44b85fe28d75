"""The params of a randomized table: what goes in comes back, and contradictions are refused."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from anonkit.domains.number_bins import Categories, Grid
from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.published.channels.category_channels import RandomizedResponse, SetResponse
from anonkit.published.channels.number_channels import PUBLISHED, BandResponse, TransformedResponse
from anonkit.published.channels.response_channel import ResponseMatrix
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget

COLOURS = Categories(values=("red", "blue"), has_missing=True)
GRID = Grid(lower=0, upper=10, cells=8)
CLASSES = Categories(values=("no", "yes"))


def category(**change: Any) -> PublishedAttribute:
    """A category of three codes at ε = 1."""
    return PublishedAttribute(
        **{"name": "colour", "domain": COLOURS, "mechanism": RandomizedResponse.from_epsilon(3, 1.0), **change}
    )


def number() -> PublishedAttribute:
    """A number on a grid at ε = 1."""
    return PublishedAttribute(name="age", domain=GRID, mechanism=BandResponse.square_wave(1.0, 8))


def target() -> PublishedTarget:
    """A label randomized at ε = 1."""
    return PublishedTarget(name="bought", domain=CLASSES, mechanism=RandomizedResponse.from_epsilon(2, 1.0))


def joint() -> PublishedTable:
    """A table whose rows answer one attribute, jointly with the class."""
    return PublishedTable(
        target=PublishedTarget(name="bought", domain=CLASSES, mechanism=None),
        attributes=(
            category(mechanism=RandomizedResponse.from_epsilon(6, 2.0), joint_with_target=True),
            PublishedAttribute(
                name="age",
                domain=GRID,
                mechanism=BandResponse.square_wave(2.0, 8, segments=2),
                joint_with_target=True,
            ),
        ),
        asked_column="asked",
    )


def separate() -> PublishedTable:
    """A table with one attribute of each mechanism."""
    trr = TransformedResponse(multiplier=PUBLISHED["N(1,1)"][0], offset=PUBLISHED["N(1,1)"][1])
    matrix = ResponseMatrix.from_probabilities([[0.8, 0.2], [0.2, 0.8]])
    return PublishedTable(
        target=target(),
        attributes=(
            category(),
            number(),
            PublishedAttribute(name="income", domain=None, mechanism=trr),
            PublishedAttribute(name="sex", domain=Categories(values=("f", "m")), mechanism=matrix),
        ),
    )


def in_sets() -> PublishedTable:
    """A table whose rows answer one attribute by a set of classes and values."""
    sets = SetResponse.from_epsilon(0.5, (0, 1, 5), segments=2, values=3)
    return PublishedTable(
        target=PublishedTarget(name="bought", domain=CLASSES, mechanism=None),
        attributes=(category(mechanism=sets, joint_with_target=True),),
        asked_column="asked",
    )


@pytest.mark.parametrize("table", [joint(), in_sets(), separate(), PublishedTable(target=None, attributes=(number(),))])
def test_params_bring_a_table_back_through_json(table: PublishedTable) -> None:
    """Every mechanism survives the file, exactly."""
    assert PublishedTable.from_params(json.loads(json.dumps(table.to_params(), allow_nan=False))) == table


def test_the_loss_of_a_record_adds_up_over_what_it_answers() -> None:
    """All attributes and the label: the sum; one attribute: the largest; TRR: infinite."""
    both = PublishedTable(target=target(), attributes=(category(), number()))
    assert both.record_epsilon == pytest.approx(3.0, rel=1e-3)
    one = PublishedTable(target=target(), attributes=(category(), number()), asked_column="asked")
    assert one.record_epsilon == pytest.approx(2.0, rel=1e-3)
    assert joint().record_epsilon == pytest.approx(2.0, rel=1e-3)
    assert separate().record_epsilon == math.inf


def test_an_altered_epsilon_is_refused() -> None:
    """The file cannot state another ε than its integers have."""
    params = separate().to_params()
    params["attributes"][0]["epsilon"] = 0.5
    with pytest.raises(ReleaseFormatError, match="stated epsilon"):
        PublishedTable.from_params(params)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("mechanism", "magic"),
        ("parameters", {}),
        ("domain", {"categories": "red"}),
        ("epsilon", None),
        ("epsilon", "much"),
        ("name", ...),
        ("joint_with_target", True),
    ],
)
def test_damaged_params_are_refused(where: str, value: object) -> None:
    """An unknown mechanism, and missing or contradicting keys, are format errors."""
    params = separate().to_params()
    if value is ...:
        del params["attributes"][0][where]
    else:
        params["attributes"][0][where] = value
    with pytest.raises(ReleaseFormatError):
        PublishedTable.from_params(params)


@pytest.mark.parametrize("params", [{}, {"format": "other"}, {"format": "anonkit-randomized-1", "attributes": "x"}])
def test_other_files_are_refused(params: dict[str, object]) -> None:
    """A file of another format is not guessed at."""
    with pytest.raises(ReleaseFormatError):
        PublishedTable.from_params(params)


def test_mechanisms_must_fit_their_domains() -> None:
    """Sizes that differ, numbers without grid, TRR with one, bands over categories."""
    for change in (
        {"mechanism": RandomizedResponse.equal(4, 0.5)},
        {"mechanism": RandomizedResponse.equal(6, 0.5)},
        {"domain": None},
        {"mechanism": TransformedResponse.clear()},
        {"mechanism": BandResponse.square_wave(1, 3)},
        {"mechanism": SetResponse.from_epsilon(1.0, (0, 1), segments=1, values=6), "joint_with_target": True},
    ):
        with pytest.raises(ParameterError, match="colour"):
            category(**change)
    with pytest.raises(ParameterError, match="bought"):
        PublishedTarget(name="bought", domain=CLASSES, mechanism=RandomizedResponse.equal(3, 0.5))


def test_tables_must_not_contradict_themselves() -> None:
    """Repeated names, joint answers without one per row, labels randomized twice or not at all."""
    answers = joint().attributes
    unlabelled = PublishedTarget(name="bought", domain=CLASSES, mechanism=None)
    identity = ResponseMatrix.from_probabilities([[float(i == j) for j in range(6)] for i in range(6)])
    unfit = category(mechanism=identity, joint_with_target=True)
    for change in (
        {"attributes": (category(), category())},
        {"attributes": answers, "target": unlabelled},
        {"attributes": answers, "asked_column": "asked"},
        {"attributes": (number(),), "target": unlabelled},
        {"attributes": (unfit,), "target": unlabelled, "asked_column": "asked"},
        {"attributes": (answers[0], number()), "target": unlabelled, "asked_column": "asked"},
    ):
        with pytest.raises(ParameterError):
            PublishedTable(**{"target": target(), **change})


def test_a_table_without_target_keeps_the_values_channel() -> None:
    """Joint answers with the class not looked at are answers about the value alone, at the same ε or less."""
    alone = joint().without_target()
    assert [attribute.mechanism.n_inputs for attribute in alone.attributes] == [3, 8]  # type: ignore[union-attr]
    assert alone.record_epsilon <= joint().record_epsilon
    assert alone.asked_column == "asked"


def test_unknown_attributes_are_named() -> None:
    """The error offers the closest name."""
    with pytest.raises(ParameterError, match="colour"):
        separate().attribute("color")
