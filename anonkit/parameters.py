# SPDX-License-Identifier: Apache-2.0
"""Parameters of a method, declared once for the dataclass, the command line, the report and the docs."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from keyword import iskeyword
from numbers import Integral, Real
from typing import Any, Union, get_args, get_origin, get_type_hints

from anonkit.errors import ParameterError, did_you_mean, option


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter as users see it."""

    name: str
    kind: type
    default: Any
    required: bool
    range: str
    help: str
    choices: tuple[str, ...] = ()
    silent: bool = False
    """True when files of a release omit its default: of a parameter younger than releases that were made without it."""

    @property
    def option(self) -> str:
        """The command-line option."""
        return option_name(self.name)


def option_name(name: str) -> str:
    """Return the command-line option of a parameter; `as_` is called so because Python keeps `as` for itself."""
    return "--" + name.rstrip("_").replace("_", "-")


def field_name(option: str) -> str:
    """Return the parameter of an option written without leading dashes, as in a recipe: `n-rows`, `n_rows`, `as`."""
    name = option.replace("-", "_")
    return f"{name}_" if iskeyword(name) else name


def parameter(
    *,
    default: Any = MISSING,
    help: str,  # noqa: A002
    range: str,  # noqa: A002
    choices: Sequence[str] = (),
    silent: bool = False,
) -> Any:
    """Declare a dataclass field that is a parameter of a method.

    Parameters
    ----------
    default : object, optional
        Value when not given; without one the parameter is required.
    help : str
        One line for the command line and the docs.
    range : str
        The values allowed, in interval notation or as a list.
    choices : sequence of str
        The words allowed, for a parameter that is one of a few.
    silent : bool
        Omit its default in files of a release, which are then those of versions that did not have it.
    """
    metadata = {"help": help, "range": range, "choices": tuple(choices), "silent": silent}
    return field(metadata=metadata) if default is MISSING else field(default=default, metadata=metadata)


@cache
def parameters_of(method: type) -> tuple[Parameter, ...]:
    """Return the parameters of a method class, in the order they are declared."""
    hints = get_type_hints(method)
    return tuple(
        _parameter(declared, hints[declared.name]) for declared in fields(method) if "help" in declared.metadata
    )


def _parameter(declared: Field[Any], hint: Any) -> Parameter:
    return Parameter(
        name=declared.name,
        kind=_plain_type(hint),
        default=None if declared.default is MISSING else declared.default,
        required=declared.default is MISSING,
        range=declared.metadata["range"],
        help=declared.metadata["help"],
        choices=declared.metadata["choices"],
        silent=declared.metadata["silent"],
    )


def _plain_type(hint: Any) -> type:
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(arg for arg in get_args(hint) if arg is not type(None))
    plain: type = get_origin(hint) or hint
    return plain


def stated_parameters(method: object) -> dict[str, Any]:
    """Return the parameters of a method for files of a release: all, but for defaults that are silent."""
    of_class: type = type(method)
    values = {declared.name: (getattr(method, declared.name), declared) for declared in parameters_of(of_class)}
    stated = {name: value for name, (value, one) in values.items() if not one.silent or value != one.default}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in stated.items()}


def check_parameters(method: type, given: Mapping[str, Any]) -> None:
    """Refuse parameters the method does not have, with the closest name, and ones it needs but did not get."""
    known = {parameter_.name: parameter_ for parameter_ in parameters_of(method)}
    for name in given:
        if name not in known:
            label = getattr(method, "name", method.__name__)
            raise ParameterError(f"method {label!r} has no parameter {name!r}", did_you_mean(name, known))
    for name, parameter_ in known.items():
        if parameter_.required and name not in given:
            raise ParameterError(
                f"parameter {name!r} is needed", f"{option(name)} {parameter_.range}: {parameter_.help}"
            )


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a word that is not one of the choices."""
    if value not in choices:
        raise ParameterError(f"{name} ({value}) must be one of {', '.join(choices)}", did_you_mean(str(value), choices))


def check_integer(name: str, value: object, low: int, high: int | None = None, *, hint: str | None = None) -> None:
    """Refuse what is not an integer in [low, high]; without `high` in [low, inf).

    2.5 and 5.0 are refused too: rows, bins and levels are counted with it, and it is published as it was given.
    """
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):  # type: ignore[operator]
        interval = f"[{low}, inf)" if high is None else f"[{low}, {high}]"
        shown = value if isinstance(value, int | float) else _kind(value)
        raise ParameterError(f"{name} ({shown}) must be an integer in {interval}", hint)


def check_number(
    name: str,
    value: object,
    low: float,
    high: float,
    *,
    open_low: bool = False,
    open_high: bool = False,
    hint: str | None = None,
) -> None:
    """Refuse what is no number, and a number outside [low, high]; an end may be open."""
    interval = f"{'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(
            f"{name} ({_kind(value)}) must be a number: it must be in {interval}",
            "without quotes" if isinstance(value, str) else hint,
        )
    if not ((low < value if open_low else low <= value) and (value < high if open_high else value <= high)):
        raise ParameterError(f"{name} ({value}) must be in {interval}", hint)


def _kind(value: object) -> str:
    """Return the kind of a value that is no number; itself it may be anything."""
    return f"of type {type(value).__name__}"


def settle_numbers(value: object) -> None:
    """Put Python's own numbers in place of those of other libraries, such as numpy's, in the fields of a dataclass.

    Exactly: a number that no float is stays, to be refused.
    """
    for declared in fields(value):  # type: ignore[arg-type]
        given = getattr(value, declared.name)
        if (own := python_number(given)) is not given:
            object.__setattr__(value, declared.name, own)


def python_number(value: Any) -> Any:
    """Return a number as Python's own where that is exact, and all else as it is."""
    if isinstance(value, bool) or type(value) in (int, float) or not isinstance(value, Real):
        return value
    if isinstance(value, Integral):
        return int(value)
    own = float(value)
    return own if own == value else value
