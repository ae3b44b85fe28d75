# SPDX-License-Identifier: Apache-2.0
"""JSON Schemas (2020-12) of the documents anonkit writes, as package data.

`report.schema.json` declares what every report holds. Each kind of promise has a file of its own in `promises/`, which
declares what a report of that kind holds besides, so that a new promise adds a file and changes none.
`params.schema.json` declares what the params of a release may hold. `validate` checks both documents by these files. Of
their keywords one is anonkit's own and ignored by other validators: `x-order`, numbers of a list in ascending order.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


def report_schema() -> dict[str, Any]:
    """Return the schema every `report.json` is valid under: what all hold, and what each promise holds besides."""
    schema = _read(_FOLDER / "report.schema.json")
    promises = {_kind(one): one for one in map(_read, sorted((_FOLDER / "promises").glob("*.schema.json")))}
    schema["$defs"]["guarantee"]["properties"]["kind"] |= {"enum": list(promises)}
    schema["allOf"] = [
        {"if": {"properties": {"guarantee": {"properties": {"kind": {"const": kind}}}}}, "then": promise}
        for kind, promise in promises.items()
    ]
    return schema


def params_schema() -> dict[str, Any]:
    """Return the schema every `params.json` is valid under."""
    return _read(_FOLDER / "params.schema.json")


def _kind(promise: dict[str, Any]) -> str:
    return str(promise["properties"]["guarantee"]["properties"]["kind"]["const"])


def _read(path: Path) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return schema
