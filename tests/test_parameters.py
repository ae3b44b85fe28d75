"""Parameters of methods: declared once, refused outside the range that the help prints, in every method."""

from __future__ import annotations

import keyword
import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.errors import ParameterError
from anonkit.methods import METHODS, make_method, method_class
from anonkit.parameters import (
    Parameter,
    check_choice,
    check_integer,
    check_number,
    check_parameters,
    field_name,
    option_name,
    parameter,
    parameters_of,
)

NAMES = st.from_regex(r"[a-z][a-z0-9]*(_[a-z0-9]+){0,3}", fullmatch=True)
ENDS = st.integers(-5, 5)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A class with parameters of every kind, and a field that is none."""

    name = "sample"
    must: float = parameter(help="needed", range="(0, 1]")
    k: int = parameter(default=3, help="a number", range="[2, inf)")
    maybe: float | None = parameter(default=None, help="a number or none", range="[0, 1]")
    word: str = parameter(default="a", help="a word", range="one of these", choices=("a", "b"))
    many: tuple[str, ...] = parameter(default=(), help="words", range="any")
    inner: int = 7


def test_parameters_are_the_declared_fields_in_their_order() -> None:
    """Kinds lose None and type arguments; a field that was not declared as a parameter is none."""
    known = parameters_of(Sample)
    assert [one.name for one in known] == ["must", "k", "maybe", "word", "many"]
    assert [one.kind for one in known] == [float, int, float, str, tuple]
    assert [one.required for one in known] == [True, False, False, False, False]
    assert [one.default for one in known] == [None, 3, None, "a", ()]
    assert [one.range for one in known] == ["(0, 1]", "[2, inf)", "[0, 1]", "one of these", "any"]
    assert [one.choices for one in known] == [(), (), (), ("a", "b"), ()]
    assert [one.help for one in known] == ["needed", "a number", "a number or none", "a word", "words"]


@given(name=NAMES)
def test_an_option_leads_back_to_its_parameter(name: str) -> None:
    """Words of Python get an underscore as parameters and lose it as options; no two names share an option."""
    field = f"{name}_" if keyword.iskeyword(name) else name
    option = option_name(field)
    assert option == "--" + name.replace("_", "-")
    assert field_name(option.removeprefix("--")) == field_name(name) == field


def test_an_unknown_parameter_is_refused_with_the_closest_name() -> None:
    """The method is named, and what was probably meant."""
    with pytest.raises(ParameterError, match="method 'sample' has no parameter 'mayby'") as refused:
        check_parameters(Sample, {"must": 1.0, "mayby": 1.0})
    assert refused.value.hint == "did you mean 'maybe'?"


def test_a_needed_parameter_is_named_as_its_option() -> None:
    """The hint is the option, its range and its help; once it is given nothing is refused, whatever its value."""
    with pytest.raises(ParameterError, match="parameter 'must' is needed") as refused:
        check_parameters(Sample, {"k": 3})
    assert refused.value.hint == "must (0, 1]: needed"
    check_parameters(Sample, {"must": 17.0})


@given(
    low=ENDS, high=ENDS, value=st.integers(-7, 7) | st.floats(-7, 7), open_low=st.booleans(), open_high=st.booleans()
)
def test_a_number_is_accepted_exactly_inside_its_interval(
    low: int, high: int, value: float, open_low: bool, open_high: bool
) -> None:
    """Compared with the interval spelled out; the message has the interval that was meant."""
    above = value > low or (value == low and not open_low)
    below = value < high or (value == high and not open_high)
    if above and below:
        check_number("x", value, low, high, open_low=open_low, open_high=open_high)
        return
    brackets = {(False, False): "[]", (True, False): "(]", (False, True): "[)", (True, True): "()"}[open_low, open_high]
    with pytest.raises(ParameterError) as refused:
        check_number("x", value, low, high, open_low=open_low, open_high=open_high)
    assert refused.value.message == f"x ({value}) must be in {brackets[0]}{low}, {high}{brackets[1]}"


@pytest.mark.parametrize("value", [True, False, math.nan, "1", None, [1], 1 + 0j])
def test_what_is_no_number_is_refused(value: object) -> None:
    """True is no 1, and not a number is in no interval."""
    with pytest.raises(ParameterError, match=r"must be in \[0, 1\]"):
        check_number("x", value, 0, 1)


@given(low=ENDS, high=st.none() | ENDS, value=st.integers(-7, 7))
def test_an_integer_is_accepted_exactly_inside_its_interval(low: int, high: int | None, value: int) -> None:
    """Both ends belong to it; without an upper one every larger integer does."""
    if low <= value and (high is None or value <= high):
        check_integer("n", value, low, high)
        return
    with pytest.raises(ParameterError) as refused:
        check_integer("n", value, low, high)
    interval = f"[{low}, inf)" if high is None else f"[{low}, {high}]"
    assert refused.value.message == f"n ({value}) must be an integer in {interval}"


@pytest.mark.parametrize("value", [True, 2.5, 3.0, math.nan, math.inf, "3", None])
def test_what_is_no_integer_is_refused(value: object) -> None:
    """A float with an integer's value is none either: it would be published as another text."""
    with pytest.raises(ParameterError, match=r"must be an integer in \[1, inf\)"):
        check_integer("n", value, 1)


def test_a_word_is_one_of_the_choices() -> None:
    """Another one is refused, with the closest; the exact word alone is accepted."""
    check_choice("word", "a", ("a", "bc"))
    for value in ("A", "", "b", None, 1):
        with pytest.raises(ParameterError, match="must be one of a, bc"):
            check_choice("word", value, ("a", "bc"))


def _declared() -> list[Any]:
    every = [(method, one) for method in METHODS for one in parameters_of(method_class(method))]
    return [pytest.param(method, one, id=f"{method} {one.option}") for method, one in every]


def _needed(method: str, name: str) -> dict[str, float]:
    """Return what the method needs besides a parameter: p_keep where one strength of several must be given."""
    known = {one.name: one for one in parameters_of(method_class(method))}
    strength = {"p_keep": 0.5} if "p_keep" in known and name not in ("p_keep", "epsilon", "p_truth") else {}
    return {**{one.name: 1.0 for one in known.values() if one.required}, **strength}


def _refusal(method: str, name: str, value: object) -> str | None:
    """Return what is said when a method is made with this value; None when it is made."""
    try:
        made = make_method(method, {**_needed(method, name), name: value})
    except ParameterError as refused:
        return refused.message
    except Exception as error:
        return f"{type(error).__name__} without a rule for {name}" if not hasattr(error, "hint") else "another rule"
    assert getattr(made, name) == value
    return None


@pytest.mark.parametrize(("method", "one"), [each for each in _declared() if each.values[1].kind in (int, float)])
def test_the_range_that_the_help_prints_is_the_range_that_is_kept(method: str, one: Parameter) -> None:
    """Numbers at closed ends are taken, at open ends and beyond them, and what is no number, refused by name."""
    printed = re.fullmatch(r"(?:0 or )?([\[(])(\d+), ([\d.]+|inf)([\])])", one.range)
    assert printed, one.range
    whole = one.kind is int
    low, high = int(printed[2]), math.inf if printed[3] == "inf" else (int if whole else float)(printed[3])
    step = 1 if whole else 1e-9
    zero = {0} if one.range.startswith("0 or") else set()
    outside = [low - step, high + step, math.inf, math.nan, "1", True, *([low + 1.5, low + 1.0] if whole else [])]
    outside += [end for end, bracket in ((low, printed[1]), (high, printed[4])) if bracket in "()"]
    inside = [end for end, bracket in ((low, printed[1]), (high, printed[4])) if bracket in "[]"]
    for value in outside:
        if value not in zero:
            said = _refusal(method, one.name, value)
            assert said is not None, f"{value!r} was taken"
            assert said.startswith(f"{one.name} ("), f"{value!r}: {said}"
    for value in [*inside, *zero, low + 1 if whole else low + 1e-6]:
        said = _refusal(method, one.name, value)
        assert said is None or not said.startswith(f"{one.name} ("), f"{value!r}: {said}"


@pytest.mark.parametrize(("method", "one"), [each for each in _declared() if each.values[1].choices])
def test_the_words_that_the_help_lists_are_the_words_that_are_known(method: str, one: Parameter) -> None:
    """Each listed word is known to the method, and another is refused with the list."""
    for word in one.choices:
        said = _refusal(method, one.name, word)
        assert said is None or "must be one of" not in said, said
    said = _refusal(method, one.name, "no-such-word")
    assert said is not None
    assert all(word in said for word in one.choices), said


@pytest.mark.parametrize("value", ["1", True, None, [1.0], np.bool_(True), Fraction(1, 3), Decimal(1)])
def test_what_is_no_number_is_refused_and_not_shown(value: object) -> None:
    """The range is no reason then; a text may be anything, and is not repeated."""
    with pytest.raises(ParameterError) as refused:
        check_number("epsilon", value, 0, 40, open_low=True)
    kind = type(value).__name__
    assert refused.value.message == f"epsilon (of type {kind}) must be a number: it must be in (0, 40]"
    assert refused.value.hint == ("without quotes" if value == "1" else None)
    with pytest.raises(ParameterError) as refused:
        check_integer("k", ["secret"], 2)
    assert refused.value.message == "k (of type list) must be an integer in [2, inf)"


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("dp-nb", {"epsilon": np.float32(0.1), "bins": np.int64(8)}, {"epsilon": 0.10000000149011612, "bins": 8}),
        ("rr", {"epsilon": np.float16(0.5)}, {"epsilon": 0.5}),
        ("safepub", {"epsilon": Fraction(1, 2), "k": np.int8(5)}, {"epsilon": 0.5, "k": 5}),
        ("errph", {"epsilon": np.float64(2.0)}, {"epsilon": 2.0}),
        ("rfka", {"k": np.uint8(5), "max_suppression": np.float32(0.5)}, {"k": 5, "max_suppression": 0.5}),
        ("mondrian", {"k": np.int64(7), "t": Fraction(1, 4)}, {"k": 7, "t": 0.25}),
    ],
)
def test_numbers_of_other_libraries_are_taken_exactly(name: str, given: dict[str, Any], meant: dict[str, Any]) -> None:
    """As Python's own, so that files state them; also where a method value is made, not named."""
    for method in (make_method(name, given), method_class(name)(**given)):
        for parameter_, value in meant.items():
            found = getattr(method, parameter_)
            assert found == value
            assert type(found) is type(value)
