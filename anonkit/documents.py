# SPDX-License-Identifier: Apache-2.0
"""Values as JSON and back by the declaration of their fields: no key is written out by hand.

A frozen dataclass that is a `ParamsPart` or a `ReportPart` declares its own part of a document: its fields are the
keys, in their order. `named` gives a field another key, and `left_out` leaves it out where it has its default. Where a
key is no field, the class lists all keys:

* `purpose=draw.name` writes an attribute of an attribute under the key `purpose`;
* `weight?=noise` leaves the key out where the attribute is None or false;
* `**grid` writes the keys of the attribute `grid` among the others.

Reading takes the type of each field. A field that may be of several parts is read as the one whose attribute is in the
document: `type=domain.type` says so for the field `domain`; without such an entry the `kind` of each part does, or its
first key. A class whose keys are not what makes it names a constructor by `made_by`: its parameters are the keys, with
their types. A `NamedTuple` is a list of its fields, in their order, and bytes are hexadecimal digits.

A document of another `format` than that of the class is refused, damage with the words of `damage`, and a key that is
not declared where the class is `closed`. `called` reads the parameters of a function alone, for values that are made of
a document and never written.

cattrs reads and writes the values.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from fractions import Fraction
from types import GenericAlias, MappingProxyType, NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from anonkit.errors import ReleaseFormatError, refusing_damage

if TYPE_CHECKING:
    from cattrs import Converter

_Value = TypeVar("_Value")
_KEY, _LEFT_OUT, _CODED = "key", "left_out", "coded"
_DAMAGE = "a part of the params lacks a key or has one of the wrong kind"

Loss = Annotated[float, "a privacy loss"]
"""Type of a field that may be infinite, which JSON has as the text `inf`."""


def named(key: str) -> Mapping[str, Any]:
    """Return the metadata of a field that has another key in the document."""
    return {_KEY: key}


def left_out(key: str | None = None) -> Mapping[str, Any]:
    """Return the metadata of a field that is left out where it has its default, else under this key or its own name."""
    return {_LEFT_OUT: True} if key is None else {_KEY: key, _LEFT_OUT: True}


def as_part(part: type[_Part], key: str | None = None, *, left_out: bool = False) -> Mapping[str, Any]:
    """Return the metadata of a field that the document has as a part, by its `of` and `value`.

    Parameters
    ----------
    part : type
        Its class method `of` takes the value of the field, and its property `value` gives it back; None is kept as is.
    key : str, optional
    left_out : bool
        Whether the key is left out where the field has its default.
    """
    coding = coded(part.of, lambda raw: _converter().structure(raw, part).value)  # type: ignore[attr-defined]
    return {**coding, _LEFT_OUT: left_out, **({} if key is None else {_KEY: key})}


def coded(write: Callable[[Any], Any], parse: Callable[[Any], Any]) -> Mapping[str, Any]:
    """Return the metadata of a field that the document has in a form of its own; None is kept as is.

    Parameters
    ----------
    write : callable
        Given the value of the field: what is in the document.
    parse : callable
        Given what is in the document: the value.
    """
    return {_CODED: (write, parse)}


class _Part:
    """A frozen dataclass that declares a part of a document."""

    _keys: ClassVar[tuple[str, ...]] = ()
    _made_by: ClassVar[str] = ""
    _damage: ClassVar[str] = ""
    _closed: ClassVar[bool] = False

    def __init_subclass__(
        cls, *, keys: Iterable[str] = (), made_by: str = "", damage: str = "", closed: bool = False, **rest: Any
    ) -> None:
        super().__init_subclass__(**rest)
        cls._closed = closed or cls._closed
        cls._keys = tuple(keys) or cls._keys
        cls._made_by = made_by or cls._made_by
        cls._damage = damage or cls._damage


class ParamsPart(_Part):
    """A part of the params of a release."""

    def to_params(self) -> dict[str, Any]:
        """Return the part as in `params.json`, ready for JSON."""
        return _written(self)

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Self:
        """Read the part from its JSON; a field that is no key has its default.

        Raises
        ------
        ReleaseFormatError
            A key is missing, or holds something of the wrong kind or out of its range.
        """
        return read(cls, params)


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
    with refusing_damage(_DAMAGE, contradictions=True):
        return _converter().structure(raw, kind)


def called(function: Callable[..., _Value], raw: Any, damage: str, *, closed: bool = True) -> _Value:
    """Call a function with the values of a JSON object as its keywords, of the types that they declare.

    Parameters
    ----------
    function : callable
    raw : Any
        The object.
    damage : str
        Message where a key is missing or of the wrong kind.
    closed : bool
        Whether a key that is no keyword is refused too.

    Raises
    ------
    ReleaseFormatError
        It is no such object.
    """
    arguments = _parameters(function)
    with refusing_damage(damage):
        if closed and not {each.name for each in arguments}.issuperset(raw):
            raise LookupError
        values = {each.name: _argument(raw, each) for each in arguments if each.required or each.key in raw}
    return function(**values)


@functools.cache
def _parameters(function: Callable[..., Any]) -> tuple[_Argument, ...]:
    types = get_type_hints(function, include_extras=True)
    return tuple(
        _Argument(name=name, kind=types[name], key=name, required=one.default is one.empty, tag=None, parse=None)
        for name, one in inspect.signature(function).parameters.items()
    )


def plain(value: Any) -> Any:
    """Return a value as JSON: parts by their declaration, arrays and tuples as lists, fractions as floats."""
    return _converter().unstructure(value)


def _written(part: _Part) -> dict[str, Any]:
    written: dict[str, Any] = {}
    kind: Any = type(part)
    unstructure = _converter().unstructure
    for entry in _entries(kind):
        value: Any = part
        for name in entry.path:
            value = None if value is None else getattr(value, name)
        is_default = entry.default is not dataclasses.MISSING and value == entry.default
        if entry.write is not None and value is not None and not is_default:
            value = entry.write(value)
        if entry.spread:
            written |= {} if value is None else unstructure(value)
            continue
        if not is_default and not (entry.if_any and (value is None or value is False)):
            written[entry.key] = unstructure(value)
    return written


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Entry:
    """A key of a part and its attribute, step by step."""

    key: str
    path: tuple[str, ...]
    if_any: bool
    """Left out where there is none."""
    default: Any
    """Value with which the key is left out; `MISSING`: none."""
    write: Callable[[Any], Any] | None
    """From the value to what the document has in its place; None: the value itself."""
    parse: Callable[[Any], Any] | None
    spread: bool


@functools.cache
def _entries(kind: Any) -> tuple[_Entry, ...]:
    """Return the keys of a part, in order."""
    fields = {field.name: field for field in dataclasses.fields(kind)}
    entries = []
    for declared in kind._keys or fields:
        key, _, path = declared.rpartition("=")
        attribute = path.removeprefix("**").removesuffix("?")
        field = fields.get(attribute)
        metadata: Mapping[str, Any] = {} if field is None else field.metadata
        default = dataclasses.MISSING if field is None or not metadata.get(_LEFT_OUT) else _default(field)
        coding = metadata.get(_CODED, (None, None))
        entries.append(
            _Entry(
                key=key.removesuffix("?") or metadata.get(_KEY, attribute),
                path=tuple(attribute.split(".")),
                if_any=(key or path).endswith("?"),
                default=default,
                write=coding[0],
                parse=coding[1],
                spread=path.startswith("**"),
            )
        )
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
    converter.register_unstructure_hook(bytes, bytes.hex)
    converter.register_unstructure_hook_func(_is_named_tuple, lambda values: [plain(value) for value in values])
    converter.register_unstructure_hook(frozenset, lambda values: sorted(map(plain, values)))
    converter.register_unstructure_hook(np.ndarray, lambda array: array.tolist())
    converter.register_unstructure_hook(MappingProxyType, lambda mapping: plain(dict(mapping)))
    converter.register_structure_hook_func(_reads_itself, lambda raw, kind: kind.from_params(raw))
    converter.register_structure_hook_factory(lambda kind: _is(kind, _Part) and not _reads_itself(kind), _reader)
    converter.register_structure_hook_func(lambda kind: len(_members(kind)) > 1, _structured_member)
    converter.register_structure_hook_func(lambda kind: kind == Loss, _loss)
    converter.register_structure_hook_factory(lambda kind: _is_list(get_origin(kind)), _list_reader)
    converter.register_structure_hook_func(_is_named_tuple, _named_tuple)
    converter.register_structure_hook_func(
        lambda kind: getattr(kind, "__origin__", None) is np.ndarray,
        lambda raw, kind: np.array(raw, dtype=get_args(get_args(kind)[1])[0]),
    )
    for kind in (bool, int, str):
        converter.register_structure_hook(kind, _exactly)
    converter.register_structure_hook(StrEnum, lambda raw, kind: kind(_exactly(raw, str)))
    converter.register_structure_hook(bytes, lambda raw, _: bytes.fromhex(raw))
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook(Fraction, lambda raw, kind: Fraction(str(_number(raw, kind))))
    return converter


def _is(kind: Any, base: type) -> bool:
    return isinstance(kind, type) and issubclass(kind, base)


def _is_list(origin: Any) -> bool:
    return origin is tuple or origin is frozenset or origin is list


def _is_named_tuple(kind: Any) -> bool:
    return _is(kind, tuple) and hasattr(kind, "_fields")


def _has(kind: Any, method: str) -> bool:
    return isinstance(kind, type) and callable(getattr(kind, method, None))


def _reads_itself(kind: Any) -> bool:
    """Return True if a class has a reader of its own, in place of its declaration."""
    return _is(kind, object) and any("from_params" in vars(base) for base in kind.__mro__ if base is not ParamsPart)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Argument:
    """An argument of what makes a part, and where it is in the document."""

    name: str
    kind: Any
    key: str | None
    """None: the keys of the argument are among those of the part."""
    required: bool
    tag: _Entry | None
    """Entry that says of which kind the argument is."""
    parse: Callable[[Any], Any] | None
    """From what the document has in its place to the value; None: by its type."""


def _reader(kind: Any) -> Callable[[Any, Any], Any]:
    """Return the function that makes a part from its JSON."""
    make = getattr(kind, kind._made_by) if kind._made_by else kind
    arguments, formats = _arguments(kind), _formats(kind)

    def made(raw: Any, _: Any) -> Any:
        if not isinstance(raw, Mapping):
            raise TypeError
        if formats and raw.get("format") not in formats:
            hint = getattr(kind, "format_hint", None)
            raise ReleaseFormatError(f"the params are not of format {' or '.join(formats)}", hint)
        if kind._closed and not {each.key for each in arguments}.issuperset(raw):
            raise LookupError
        values = {each.name: _argument(raw, each) for each in arguments if each.required or each.key in raw}
        return make(**values)

    def refusing(raw: Any, _: Any) -> Any:
        with refusing_damage(kind._damage, contradictions=True):
            return made(raw, _)

    return refusing if kind._damage else made


@functools.cache
def _arguments(kind: Any) -> tuple[_Argument, ...]:
    entries = _entries(kind)
    by_key = {entry.key: entry for entry in entries if not entry.spread}
    by_path = {entry.path: entry for entry in entries}
    if kind._made_by:
        make = getattr(kind, kind._made_by)
        types = get_type_hints(make, include_extras=True)
        found = {name: one.default is one.empty for name, one in inspect.signature(make).parameters.items()}
    else:
        types = get_type_hints(kind, include_extras=True)
        found = {
            field.name: not (by_path[field.name,].if_any or field.metadata.get(_LEFT_OUT))
            for field in dataclasses.fields(kind)
            if (field.name,) in by_path
        }
    arguments = []
    for name, required in found.items():
        own = by_path.get((name,)) if not kind._made_by or name not in by_key else by_key[name]
        tagged = own.path[0] if own is not None else name
        tags = [entry for entry in entries if len(entry.path) > 1 and entry.path[0] == tagged]
        arguments.append(
            _Argument(
                name=name,
                kind=types[name],
                key=name if own is None else None if own.spread else own.key,
                required=required or (own is not None and own.spread),
                tag=tags[0] if tags and len(_members(types[name])) > 1 else None,
                parse=None if own is None or kind._made_by else own.parse,
            )
        )
    return tuple(arguments)


def _argument(raw: Mapping[str, Any], argument: _Argument) -> Any:
    stored = raw if argument.key is None else raw[argument.key]
    kind, tag = argument.kind, argument.tag
    if tag is not None and not (stored is None and _allows_none(kind)):
        kind = _member(kind, tag, raw.get(tag.key) if tag.if_any else raw[tag.key])
    if argument.parse is not None and not (stored is None and _allows_none(kind)):
        return argument.parse(stored)
    return _converter().structure(stored, kind)


def _allows_none(kind: Any) -> bool:
    return NoneType in get_args(kind)


def _formats(kind: Any) -> tuple[str, ...]:
    """Return the formats of the documents that a part is read from; empty for a part that has none."""
    if not any(entry.key == "format" for entry in _entries(kind)):
        return ()
    several, one = getattr(kind, "formats", ()), getattr(kind, "format", None)
    return tuple(several) or ((one,) if isinstance(one, str) else ())


@functools.cache
def _members(kind: Any) -> tuple[Any, ...]:
    """Return the parts that a value may be of; empty where it is declared as something else."""
    if get_origin(kind) not in (Union, UnionType):
        return ()
    members = tuple(member for member in get_args(kind) if member is not NoneType)
    return members if all(_is(member, _Part) for member in members) else ()


def _member(kind: Any, tag: _Entry, stated: Any) -> Any:
    """Return the part whose attribute is the stated one."""
    members = {getattr(member, tag.path[1]): member for member in _members(kind)}
    if isinstance(stated, str | None) and stated in members:
        return members[stated]
    known = ", ".join(filter(None, members))
    raise ReleaseFormatError(f"the params name an unknown {tag.key}", f"known: {known}")


def _structured_member(raw: Any, kind: Any) -> Any:
    if raw is None and _allows_none(kind):
        return None
    for member in _members(kind):
        if isinstance(stated := getattr(member, "kind", None), str):
            fits = stated == raw["kind"]
        else:
            first = _arguments(member)[0].key
            fits = first is None or first in raw
        if fits:
            return _converter().structure(raw, member)
    raise LookupError


def _list_reader(kind: Any) -> Callable[[Any, Any], Any]:
    """Return the function that reads a list as a tuple, list or set: a text is none, nor are the keys of an object."""
    several = get_origin(kind) is not tuple or get_args(kind)[-1] is Ellipsis
    kinds = get_args(kind)[:1] if several else get_args(kind)

    def structured(raw: Any, _: Any) -> Any:
        if not isinstance(raw, list | tuple):
            raise TypeError
        structure = _converter().structure
        pairs = ((one, kinds[0]) for one in raw) if several else zip(raw, kinds, strict=True)
        return get_origin(kind)(structure(one, own) for one, own in pairs)

    return structured


def _named_tuple(raw: Any, kind: Any) -> Any:
    values: Any = GenericAlias(tuple, tuple(get_type_hints(kind).values()))
    return kind(*_converter().structure(raw, values))


def _loss(raw: Any, _: Any) -> float:
    return math.inf if raw == "inf" else _number(raw, _)


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
