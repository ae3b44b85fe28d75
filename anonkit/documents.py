# SPDX-License-Identifier: Apache-2.0
"""Values as JSON and back by the declaration of their fields: no key is written out by hand.

A frozen dataclass that is a `ParamsPart` or a `ReportPart` declares its own part of a document: its fields are the
keys, in their order. `named` gives a field another key, and `left_out` leaves it out where it has its default. Where a
key is no field, the class lists all keys, each with its attribute where that has another name, as in
`class Reading(ParamsPart, keys=("purpose=draw.purpose", "steps"))`. cattrs reads and writes the values.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, get_args

from anonkit.errors import refusing_damage

if TYPE_CHECKING:
    from cattrs import Converter

_Value = TypeVar("_Value")
_KEY, _LEFT_OUT = "key", "left_out"


def named(key: str) -> Mapping[str, Any]:
    """Return the metadata of a field that has another key in the document."""
    return {_KEY: key}


def left_out(key: str | None = None) -> Mapping[str, Any]:
    """Return the metadata of a field that is left out where it has its default, else under this key or its own name."""
    return {_LEFT_OUT: True} if key is None else {_KEY: key, _LEFT_OUT: True}


class _Part:
    """A frozen dataclass that declares a part of a document."""

    _keys: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, *, keys: Iterable[str] = (), **rest: Any) -> None:
        super().__init_subclass__(**rest)
        cls._keys = tuple(keys) or cls._keys


class ParamsPart(_Part):
    """A part of the params of a release."""

    def to_params(self) -> dict[str, Any]:
        """Return the part as in `params.json`, ready for JSON."""
        return _written(self)

    @classmethod
    def from_params(cls, params: Mapping[str, Any], **given: Any) -> Self:
        """Read the part from its JSON.

        Parameters
        ----------
        params : mapping
            The part.
        **given
            Fields that are not in the document.

        Raises
        ------
        ReleaseFormatError
            A key is missing, or holds something of the wrong kind or out of its range.
        """
        value = read(cls, params)
        return dataclasses.replace(value, **given) if given else value  # type: ignore[type-var]


class ReportPart(_Part):
    """A part of a report, or of what a command prints."""

    def to_dict(self) -> dict[str, Any]:
        """Return the part as in the report, ready for JSON."""
        return _written(self)


def read(kind: type[_Value], raw: Any) -> _Value:
    """Read a declared value from its JSON.

    Raises
    ------
    ReleaseFormatError
        A key is missing, or holds something of the wrong kind or out of its range.
    """
    with refusing_damage("a part of the params lacks a key or has one of the wrong kind", contradictions=True):
        return _converter().structure(raw, kind)


def plain(value: Any) -> Any:
    """Return a value as JSON: parts by their declaration, arrays and tuples as lists, fractions as floats."""
    return _converter().unstructure(value)


def _written(part: _Part) -> dict[str, Any]:
    written = {}
    kind: Any = type(part)
    unstructure = _converter().unstructure
    for key, path, default in _entries(kind):
        value: Any = part
        for name in path:
            value = None if value is None else getattr(value, name)
        if default is dataclasses.MISSING or value != default:
            written[key] = unstructure(value)
    return written


@functools.cache
def _entries(kind: Any) -> tuple[tuple[str, tuple[str, ...], Any], ...]:
    """Return of each key its attribute, step by step, and the value with which it is left out."""
    fields = {field.name: field for field in dataclasses.fields(kind)}
    entries = []
    for entry in kind._keys or fields:
        key, _, path = entry.rpartition("=")
        field = fields.get(path)
        metadata: Mapping[str, Any] = {} if field is None else field.metadata
        default = dataclasses.MISSING if field is None or not metadata.get(_LEFT_OUT) else _default(field)
        entries.append((key or metadata.get(_KEY, path), tuple(path.split(".")), default))
    return tuple(entries)


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


@functools.cache
def _converter() -> Converter:
    import numpy as np
    from cattrs import Converter  # imported with the first document: `--help` needs none

    converter = Converter(detailed_validation=False, unstruct_collection_overrides={tuple: list})
    converter.register_unstructure_hook_func(lambda kind: _has(kind, "to_dict"), lambda value: value.to_dict())
    converter.register_unstructure_hook_func(lambda kind: _has(kind, "to_params"), lambda value: value.to_params())
    converter.register_unstructure_hook(float, lambda value: "inf" if value == math.inf else value)
    converter.register_unstructure_hook(StrEnum, lambda member: member.value)
    converter.register_unstructure_hook(Fraction, float)
    converter.register_unstructure_hook(np.ndarray, lambda array: array.tolist())
    converter.register_unstructure_hook(MappingProxyType, lambda mapping: plain(dict(mapping)))
    converter.register_structure_hook_func(_reads_itself, lambda raw, kind: kind.from_params(raw))
    converter.register_structure_hook_factory(lambda kind: _is(kind, _Part) and not _reads_itself(kind), _reader)
    converter.register_structure_hook_func(
        lambda kind: getattr(kind, "__origin__", None) is np.ndarray,
        lambda raw, kind: np.array(raw, dtype=get_args(get_args(kind)[1])[0]),
    )
    for kind in (bool, int, str):
        converter.register_structure_hook(kind, _exactly)
    converter.register_structure_hook(StrEnum, lambda raw, kind: kind(_exactly(raw, str)))
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook(Fraction, lambda raw, kind: Fraction(str(_number(raw, kind))))
    return converter


def _is(kind: Any, base: type) -> bool:
    return isinstance(kind, type) and issubclass(kind, base)


def _has(kind: Any, method: str) -> bool:
    return isinstance(kind, type) and callable(getattr(kind, method, None))


def _reads_itself(kind: Any) -> bool:
    """Return whether a class has a reader of its own, in place of its declaration."""
    return _is(kind, object) and any("from_params" in vars(base) for base in kind.__mro__ if base is not ParamsPart)


def _reader(kind: Any) -> Callable[[Any, Any], Any]:
    from cattrs.gen import make_dict_structure_fn, override

    names = {path[0]: key for key, path, _ in _entries(kind)}
    overrides = {
        field.name: override(rename=names[field.name]) if field.name in names else override(omit=True)
        for field in dataclasses.fields(kind)
    }
    return make_dict_structure_fn(kind, _converter(), **overrides)  # type: ignore[arg-type]


def _exactly(raw: Any, kind: type) -> Any:
    """Take a value of this kind and no other: a float, a text or a truth value is no integer."""
    if type(raw) is not kind:
        raise TypeError
    return raw


def _number(raw: Any, _: Any) -> float:
    """Take a finite number; a whole one stays an integer, so that it is written again as it was."""
    if type(raw) not in (int, float) or not math.isfinite(raw):
        raise TypeError
    return raw  # type: ignore[no-any-return]
