"""Params of randomized answers as the checks read them: what does not fit its neighbours is refused."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import pytest

from anonkit.checks.local_params import FORMAT, read_answers
from anonkit.domains.number_bins import Categories
from anonkit.errors import ReleaseFormatError
from anonkit.published.channels.category_channels import RandomizedResponse, SetResponse
from anonkit.published.channels.number_channels import ContinuousDraw, TransformedResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget
from tests.checks.test_local_matrices import band


@dataclass(frozen=True)
class Forged:
    """A change of one attribute of the params."""

    where: tuple[str, ...]
    value: Any


@pytest.mark.parametrize(
    "forged",
    [
        Forged(("parameters", "truth_weight"), 2147483647.0),
        Forged(("parameters", "truth_weight"), "2147483647"),
        Forged(("parameters", "truth_weight"), True),
        Forged(("parameters", "truth_weight"), 0),
        Forged(("parameters", "blind_weight"), -1),
        Forged(("parameters", "blind_weights"), [1, 2, 3]),
        Forged(("parameters", "categories"), 4),
        Forged(("parameters", "categories"), 10**30),
        Forged(("parameters", "word_bits"), 33),
        Forged(("mechanism",), "band-response"),
        Forged(("mechanism",), "none"),
        Forged(("epsilon",), math.nan),
        Forged(("epsilon",), -1.0),
        Forged(("epsilon",), True),
        Forged(("joint_with_target",), 0),
        Forged(("joint_with_target",), True),
        Forged(("domain",), None),
        Forged(("domain", "categories"), ["a", "b"]),
        Forged(("domain", "categories"), ["a", "b", "b"]),
        Forged(("domain", "categories"), "abc"),
        Forged(("domain", "has_missing"), "no"),
        Forged(("type",), "number"),
        Forged(("name",), 3),
    ],
    ids=lambda forged: f"{'.'.join(forged.where)} {forged.value}",
)
def test_params_that_contradict_themselves_are_refused(forged: Forged) -> None:
    """Params that are no integers, or do not fit their neighbours, are refused and not repaired."""
    attribute = PublishedAttribute(
        name="x",
        domain=Categories(values=("a", "b", "c")),
        mechanism=RandomizedResponse(truth_weight=2**31 - 1, blind_weights=((2**31 + 1) // 3,) * 3),
    )
    params = json.loads(json.dumps(PublishedTable(target=None, attributes=(attribute,)).to_params()))
    assert read_answers(params).attributes[0].words is not None
    place = params["attributes"][0]
    for key in forged.where[:-1]:
        place = place[key]
    place[forged.where[-1]] = forged.value
    with pytest.raises(ReleaseFormatError):
        read_answers(params)


UNEVEN = {"word_bits": 32, "categories": 3, "truth_weight": 1, "blind_weights": [1, (1 << 32) - 2]}


def in_sets(**change: Any) -> dict[str, Any]:
    """Params of a category under a set response, changed."""
    channel = SetResponse.from_epsilon(1.0, (0, 1, 3), segments=1, values=7)
    domain = {"categories": list("abcdefg"), "has_missing": False}
    params = {**channel.to_params(), **change.pop("parameters", {})}
    return {"name": "x", "type": "category", "domain": domain, "mechanism": "set-response", "parameters": params,
            "epsilon": channel.epsilon, "joint_with_target": False, **change}  # fmt: skip


def transformed(**change: Any) -> dict[str, Any]:
    """Params of a transformed number, changed."""
    mechanism = TransformedResponse(
        multiplier=ContinuousDraw(mean=1, variance=1), offset=ContinuousDraw(mean=0, variance=1)
    )
    return {"name": "x", "type": "number", "domain": None, "mechanism": "trr", "epsilon": None,
            "joint_with_target": False, "parameters": {**mechanism.to_params(), **change}}  # fmt: skip


TARGET = {"name": "y", "type": "category", "domain": {"categories": ["a", "b"], "has_missing": False},
          "mechanism": None, "parameters": None, "epsilon": None}  # fmt: skip


@pytest.mark.parametrize(
    ("attribute", "more", "words"),
    [
        (band(), {"format": "anonkit-randomized-7"}, "not of format"),
        (band(), {"attributes": [{}]}, "lacks a key"),
        (band(), {"target": {**TARGET, "parameters": {}}}, "without a mechanism has parameters"),
        (band(), {"target": {**transformed(), "name": "y", "epsilon": 1.0}}, "a category, or a number on a grid"),
        (band(type="text"), {}, "neither a category nor a number"),
        ({**band(), "mechanism": None, "parameters": None, "epsilon": None}, {}, "unknown mechanism"),
        (band(mechanism="rot13"), {}, "unknown mechanism"),
        (band(domain=None), {}, "do not go together"),
        (band(domain={"bounds": [0, 0], "cells": 8, "has_missing": False}), {}, "the lower first"),
        (band(parameters={"positions": 1 << 24}), {}, "more answers than anonkit writes"),
        (band(parameters={"blind_weight": 1 << 31}), {}, "add up to all words"),
        (in_sets(domain={"categories": ["a", "b"], "has_missing": False}), {}, "do not go together"),
        (in_sets(domain=None, type="number"), {}, "do not go together"),
        (in_sets(parameters={"segments": 2}), {}, "add up to all words|differ in size"),
        (in_sets(parameters={"segments": 586}), {}, "more pairs than anonkit writes"),
        (in_sets(parameters={"excess_weight": 1 << 31}), {}, "add up to all words"),
        (in_sets(parameters={"members": [0, 3, 1]}), {}, "not distinct pairs in order"),
        (in_sets(parameters={"members": [0, 1, 1]}), {}, "not distinct pairs in order"),
        (in_sets(parameters={"members": [-1, 0, 1]}), {}, "not distinct pairs in order"),
        (in_sets(parameters={"members": [0, 1, 7]}), {}, "not distinct pairs in order"),
        (in_sets(parameters={"members": "013"}), {}, "of the wrong kind"),
        (in_sets(parameters={"blind_weight": 0}), {}, "below 1"),
        (in_sets(parameters={"spare": 0}), {}, "a key too many"),
        (band(mechanism="randomized-response", parameters=UNEVEN), {}, "blind weights differ in number"),
        (transformed(scale=0), {}, "scale, step or mean"),
        (transformed(multiplier={"mean": 1, "variance": -1, "shape": "normal"}), {}, "normal or uniform"),
        (transformed(presence=RandomizedResponse.equal(3, 0.5).to_params()), {}, "between two answers"),
    ],
)  # fmt: skip
def test_columns_that_cannot_be_are_refused(attribute: dict[str, Any], more: dict[str, Any], words: str) -> None:
    """Each by what is wrong with it."""
    whole = {"format": FORMAT, "target": None, "asked_column": None, "attributes": [attribute]}
    with pytest.raises(ReleaseFormatError, match=words):
        read_answers(json.loads(json.dumps({**whole, **more})))


def test_a_target_of_too_many_classes_is_refused() -> None:
    """Randomized by itself it has as many answers as classes."""
    channel = RandomizedResponse.equal(3, 0.5)
    target = {**TARGET, "mechanism": "randomized-response", "parameters": channel.to_params(),
              "epsilon": channel.epsilon, "joint_with_target": False}  # fmt: skip
    with pytest.raises(ReleaseFormatError, match="classes differ in number"):
        read_answers({"format": FORMAT, "target": target, "asked_column": None, "attributes": [band()]})


def test_a_hidden_target_has_a_ratio_of_one() -> None:
    """It is no answer of its own."""
    channel = RandomizedResponse.equal(4, 0.5)
    attribute = PublishedAttribute(
        name="x", domain=Categories(values=("a", "b")), mechanism=channel, joint_with_target=True
    )
    target = PublishedTarget(name="y", domain=Categories(values=("no", "yes")), mechanism=None)
    params = PublishedTable(target=target, attributes=(attribute,), asked_column="q").to_params()
    table = read_answers(json.loads(json.dumps(params)))
    assert table.joint
    assert table.target is not None
    assert table.target.ratio == 1


@pytest.mark.parametrize("change", [{"truth_values": False}, {"truth_values": 1}, {"categories": ["true", "false"]}])
def test_a_domain_of_truth_values_is_written_in_one_way(change: dict[str, Any]) -> None:
    """Of false and true, in this order, and called so by true alone."""
    domain = Categories(values=("false", "true"), are_truth_values=True)
    mechanism = RandomizedResponse.equal(2, 0.5)
    params = PublishedTable(
        target=None, attributes=(PublishedAttribute(name="x", domain=domain, mechanism=mechanism),)
    ).to_params()
    (column,) = params["attributes"]
    column["domain"].update(change)
    with pytest.raises(ReleaseFormatError, match=r"truth values|of the wrong kind"):
        read_answers(json.loads(json.dumps(params)))
