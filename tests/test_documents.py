"""Values are written and read by the declaration of their fields."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from anonkit.documents import Loss, ParamsPart, ReportPart, as_part, called, coded, left_out, named, plain, read
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


@dataclass(frozen=True, kw_only=True)
class Fixed(ParamsPart, keys=("type=type", "size"), damage="a fixed one needs a size"):
    """One of two parts that are distinguished by their type."""

    type: ClassVar[str] = "fixed"
    size: int


@dataclass(frozen=True, kw_only=True)
class Free(ParamsPart, keys=("ends", "note?"), made_by="between"):
    """The other one, made of two numbers."""

    type: ClassVar[str] = "free"
    low: int
    high: int
    note: str | None = None

    @property
    def ends(self) -> tuple[int, int]:
        """Both numbers."""
        return self.low, self.high

    @classmethod
    def between(cls, *, ends: tuple[int, int], note: str | None = None) -> Free:
        """Return the part between two numbers."""
        return cls(low=ends[0], high=ends[1], note=note)


@dataclass(frozen=True, kw_only=True)
class Tagged(ParamsPart, keys=("format", "type=own.type", "own", "**more", "loss")):
    """A document with a part of one of two types."""

    format: ClassVar[str] = "tagged-1"
    format_hint: ClassVar[str] = "others write no such document"
    own: Fixed | Free | None
    more: Inner | None
    loss: Loss = math.inf


@dataclass(frozen=True, kw_only=True)
class Either(ParamsPart):
    """A part of one of two types without a key for them."""

    own: Fixed | Free
    kinds: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Ends(ParamsPart):
    """Two numbers that stand for a range."""

    first: int
    last: int

    @classmethod
    def of(cls, numbers: range) -> Ends:
        """Return the ends of a range."""
        return cls(first=numbers.start, last=numbers.stop - 1)

    @property
    def value(self) -> range:
        """The range."""
        return range(self.first, self.last + 1)


class Mark(NamedTuple):
    """A list of two values in the document."""

    digest: bytes
    level: float


@dataclass(frozen=True, kw_only=True)
class Marked(ParamsPart):
    """A part with marks."""

    first: Mark | None
    by_digest: Mapping[bytes, Mark]


@dataclass(frozen=True, kw_only=True)
class Closed(ParamsPart, closed=True, damage="the steps are damaged"):
    """A part with a number in a form of its own, and no keys but the declared ones."""

    steps: int | None = field(metadata=coded(lambda steps: "|" * steps, len))


@dataclass(frozen=True, kw_only=True)
class Ranges(ParamsPart, keys=("own", "other", "**spread")):
    """Ranges by their ends."""

    own: range | None = field(default=None, metadata=as_part(Ends))
    other: range = field(default=range(0), metadata=as_part(Ends, left_out=True))
    spread: range = field(metadata=as_part(Ends))


TAGGED = {
    "format": "tagged-1",
    "type": "free",
    "own": {"ends": [1, 2]},
    "kind": "inner",
    "rate": 3,
    "loss": "inf",
}
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


def test_a_part_is_read_by_its_type_and_its_constructor() -> None:
    """The type is a key beside it, keys of another part are among its own, and parameters are those of the method."""
    read_again = Tagged.from_params(TAGGED)
    assert read_again == Tagged(own=Free(low=1, high=2), more=Inner(rate=3))
    assert read_again.to_params() == TAGGED
    fixed = {**TAGGED, "type": "fixed", "own": {"size": 1}, "loss": 1.5}
    assert Tagged.from_params(fixed) == Tagged(own=Fixed(size=1), more=Inner(rate=3), loss=1.5)
    assert Tagged.from_params({**TAGGED, "type": None, "own": None}).own is None
    assert Tagged(own=Free(low=1, high=2, note="n"), more=None).to_params()["own"] == {"ends": [1, 2], "note": "n"}
    assert "rate" not in Tagged(own=None, more=None).to_params()


def test_a_part_without_a_type_is_known_by_its_first_key() -> None:
    """The keys of both differ, and no other key says which one it is; sets are written in order."""
    either = Either.from_params({"own": {"ends": [1, 2]}, "kinds": ["b", "a"]})
    assert either == Either(own=Free(low=1, high=2), kinds=frozenset("ab"))
    assert either.to_params()["kinds"] == ["a", "b"]
    for damage in ({"own": {"none": 1}}, {"own": 3}, {"kinds": {}}, {"kinds": "ab"}):
        with pytest.raises(ReleaseFormatError):
            Either.from_params({"own": {"ends": [1, 2]}, "kinds": [], **damage})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "tagged-2"}, "not of format tagged-1\nHint: others write no such document"),
        ({"type": "other"}, "unknown type\nHint: known: fixed, free"),
        ({"type": ["fixed"]}, "unknown type"),
        ({"type": "fixed"}, "a fixed one needs a size"),
        ({"own": {"ends": [1]}}, "a part of the params lacks a key"),
        ({"own": {"ends": "12"}}, "a part of the params lacks a key"),
        ({"own": {"ends": {"1": 2}}}, "a part of the params lacks a key"),
        ({"loss": "-inf"}, "a part of the params lacks a key"),
    ],
)
def test_what_is_not_as_declared_is_refused_in_its_words(change: dict[str, Any], message: str) -> None:
    """Another format, an unknown type, and damage with the words of the part; no text is a list."""
    with pytest.raises(ReleaseFormatError, match=message):
        Tagged.from_params({**TAGGED, **change})


def test_a_field_may_be_a_part_in_the_document() -> None:
    """Its value is made of the part again; none stays none."""
    ranges = Ranges(own=None, spread=range(1, 3))
    assert ranges.to_params() == {"own": None, "first": 1, "last": 2}
    assert Ranges.from_params(ranges.to_params()) == ranges
    full = Ranges(own=range(2), other=range(4, 5), spread=range(1, 3))
    assert full.to_params()["other"] == {"first": 4, "last": 4}
    assert Ranges.from_params(full.to_params()) == full


def _added(*, first: int, second: int = 2) -> int:
    return first + second


def test_a_function_is_called_with_an_object() -> None:
    """Of the types of its parameters; a key that is none of them is refused unless it is passed over."""
    assert called(_added, {"first": 1}, "damaged") == 3
    assert called(_added, {"first": 1, "second": 1, "more": 0}, "damaged", closed=False) == 2
    for raw in ({"first": "1"}, {}, {"first": 1, "more": 0}, [], 3):
        with pytest.raises(ReleaseFormatError, match="damaged"):
            called(_added, raw, "damaged")


def test_a_named_tuple_is_a_list_and_bytes_are_hexadecimal() -> None:
    """Of exactly its fields, each of its type; keys of an object may be bytes too."""
    part = Marked(first=Mark(b"\x01\xff", 1.5), by_digest={b"\x02": Mark(b"", 0.0)})
    written = part.to_params()
    assert written == {"first": ["01ff", 1.5], "by_digest": {"02": ["", 0.0]}}
    assert Marked.from_params(written) == part
    assert Marked.from_params({**written, "first": None}).first is None
    for damage in (
        ["01ff"],
        ["01ff", 1.5, 2],
        ["zz", 1.5],
        [3, 1.5],
        ["01ff", "1.5"],
        {"digest": "01ff", "level": 1.5},
    ):
        with pytest.raises(ReleaseFormatError):
            Marked.from_params({**written, "first": damage})


def test_a_field_has_a_form_of_its_own_and_a_closed_part_no_other_keys() -> None:
    """Damage is what cannot be parsed, and a key that is not declared."""
    for part, written in ((Closed(steps=3), {"steps": "|||"}), (Closed(steps=None), {"steps": None})):
        assert part.to_params() == written
        assert Closed.from_params(written) == part
    for damage in ({"steps": 3}, {}, {"steps": "|", "more": 1}):
        with pytest.raises(ReleaseFormatError, match="the steps are damaged"):
            Closed.from_params(damage)
