# SPDX-License-Identifier: Apache-2.0
"""Statements and values as JSON and back, by the declaration of their fields: no key is written out by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from anonkit.domains.attribute_domains import Categories, Grid
from anonkit.errors import ReleaseFormatError, refusing_damage
from anonkit.published.statements.noise_statement import FORMAT, Statement, Value

_DAMAGED = "the params hold no statement of noise that anonkit writes"


def to_params(statement: Statement, values: tuple[Value, ...]) -> dict[str, Any]:
    """Return the blocks `format`, `statement` and `values` of params, ready for JSON."""
    return {"format": FORMAT, "statement": to_json(statement), "values": to_json(values)}


def from_params(params: Mapping[str, Any]) -> tuple[Statement, tuple[Value, ...]]:
    """Read a statement and its values from params.

    Raises
    ------
    ReleaseFormatError
        The params hold none, or one that contradicts itself.
    """
    with refusing_damage(_DAMAGED, contradictions=True):
        statement: Statement = _read(Statement, params["statement"])
        values: tuple[Value, ...] = _read(tuple[Value, ...], params["values"])
    sizes = {value.draw: len(value.numbers) for value in values}
    if len(values) != len(sizes) or sizes != {draw.name: statement.numbers_of(draw) for draw in statement.draws}:
        raise ReleaseFormatError("the values of the params are not those of its draws")
    return statement, values


def to_json(value: Any) -> Any:
    """Return a frozen value as JSON: an object of its fields, with its `kind` where several could be in its place."""
    if isinstance(value, Categories | Grid):
        return {"type": "number" if isinstance(value, Grid) else "category", **value.to_params()}
    if dataclasses.is_dataclass(value):
        kind: str | None = getattr(type(value), "kind", None)
        fields = {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return fields if kind is None else {"kind": kind, **fields}
    return [to_json(entry) for entry in value] if isinstance(value, tuple) else value


def _read(kind: Any, raw: Any) -> Any:
    """Return the value of a declared type from its JSON."""
    if kind == Categories | Grid:
        return (Grid if raw["type"] == "number" else Categories).from_params(raw)
    if isinstance(kind, UnionType):
        chosen = next((member for member in get_args(kind) if member.kind == raw["kind"]), None)  # None is no type
        return _read(chosen, {key: value for key, value in raw.items() if key != "kind"})
    if get_origin(kind) is tuple:
        return tuple(_read(get_args(kind)[0], entry) for entry in raw)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        types = get_type_hints(kind)
        return kind(**{field.name: _read(types[field.name], raw[field.name]) for field in dataclasses.fields(kind)})
    if type(raw) is not kind:
        raise TypeError
    return raw
