"""Values are written and read by the declaration of their fields."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from anonkit.documents import ParamsPart, ReportPart, left_out, named, plain, read
from anonkit.errors import ParameterError, ReleaseFormatError


class Law(StrEnum):
    """Laws of noise."""

    LAPLACE = "laplace"


@dataclass(frozen=True, kw_only=True)
class Inner(ParamsPart, keys=("kind", "rate")):
    """A part inside another, with a key that is no field."""

    kind: ClassVar[str] = "inner"
    rate: int


@dataclass(frozen=True, kw_only=True)
class Hand:
    """A part whose JSON is written by hand."""

    at: int

    def to_params(self) -> dict[str, Any]:
        """Return the part."""
        return {"place": self.at}

    @classmethod
    def from_params(cls, params: dict[str, Any]) -> Hand:
        """Read the part."""
        return cls(at=params["place"])


@dataclass(frozen=True, kw_only=True, eq=False)
class Outer(ParamsPart):
    """A part with every kind of field."""

    name: str
    has_missing: bool = field(metadata=named("missing"))
    law: Law = Law.LAPLACE
    level: Fraction = Fraction(1, 4)
    size: float = 1.0
    inner: Inner | None = field(default=None, metadata=left_out())
    hand: Hand | None = field(default=None, metadata=left_out("by_hand"))
    notes: tuple[str, ...] = field(default_factory=tuple, metadata=left_out())
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, dtype=np.int64))

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ParameterError("the size must be at least 0")


@dataclass(frozen=True, kw_only=True)
class Shown(ReportPart, keys=("loss", "rate=inner.rate", "twice", "more")):
    """A block of a report with keys that follow from others."""

    loss: float
    inner: Inner | None
    more: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({"of": (1, 2)}))

    @property
    def twice(self) -> float:
        """Twice the loss."""
        return 2 * self.loss


LEAST = {"name": "n", "missing": True, "law": "laplace", "level": 0.25, "size": 1.0, "counts": [0, 0]}
FULL = {**LEAST, "inner": {"kind": "inner", "rate": 3}, "by_hand": {"place": 7}, "notes": ["a"], "counts": [1, 2]}


def test_fields_are_the_keys_in_their_order() -> None:
    """Under their own names or those given, without what has its default where that is left out."""
    assert list(Outer(name="n", has_missing=True).to_params().items()) == list(LEAST.items())


@pytest.mark.parametrize("document", [LEAST, FULL])
def test_what_is_read_is_written_again(document: dict[str, Any]) -> None:
    """Also parts inside, declared or with a reader of their own, and keys of a reader's future are passed over."""
    value = Outer.from_params({**document, "unknown": 1})
    assert value.to_params() == document
    assert value.counts.dtype == np.int64


def test_a_whole_number_is_written_as_it_was_read() -> None:
    """A file that is read and written again has the same bytes."""
    assert repr(Outer.from_params({**LEAST, "size": 2}).to_params()["size"]) == "2"


def test_a_reader_may_be_given_fields() -> None:
    """In place of what the document holds, or does not hold."""
    assert Outer.from_params(LEAST, name="given").name == "given"


@pytest.mark.parametrize(
    "change",
    [
        {"name": 3},
        {"missing": 1},
        {"level": "a"},
        {"size": True},
        {"size": math.nan},
        {"law": "other"},
        {"inner": {"kind": "inner", "rate": 1.0}},
        {"inner": {"rate": True}},
        {"inner": []},
        {"by_hand": {}},
        {"counts": ["x"]},
    ],
)
def test_a_damaged_part_is_refused(change: dict[str, Any]) -> None:
    """In one sentence, whatever the damage is."""
    with pytest.raises(ReleaseFormatError, match=r"^a part of the params lacks a key or has one of the wrong kind"):
        Outer.from_params({**LEAST, **change})


@pytest.mark.parametrize("document", [{}, [], None, "text"])
def test_another_document_is_refused(document: Any) -> None:
    """A part without its keys, or that is no object."""
    with pytest.raises(ReleaseFormatError):
        Outer.from_params(document)


def test_a_part_that_contradicts_itself_is_refused_in_its_own_words() -> None:
    """The reason is that of the value."""
    with pytest.raises(ReleaseFormatError, match="contradict themselves: the size must be at least 0"):
        Outer.from_params({**LEAST, "size": -1})


def test_keys_may_follow_from_fields() -> None:
    """By a property or a path of attributes; a loss without a bound is a text, as JSON has no infinity."""
    shown = Shown(loss=math.inf, inner=Inner(rate=3))
    assert shown.to_dict() == {"loss": "inf", "rate": 3, "twice": "inf", "more": {"of": [1, 2]}}
    assert Shown(loss=1.0, inner=None).to_dict()["rate"] is None


def test_plain_values_and_lists_of_parts() -> None:
    """Values in lists and mappings are made plain too."""
    assert plain([Inner(rate=1), (Hand(at=2),), {"at": Law.LAPLACE}]) == [
        {"kind": "inner", "rate": 1},
        [{"place": 2}],
        {"at": "laplace"},
    ]
    assert type(plain(Law.LAPLACE)) is str
    assert read(tuple[Inner, ...], [{"rate": 1}]) == (Inner(rate=1),)
