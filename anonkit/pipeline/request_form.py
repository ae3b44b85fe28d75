# SPDX-License-Identifier: Apache-2.0
"""The canonical form of a request: what a release is made of besides its rows, the same bytes when it is repeated.

Two requests have one form when the files of their releases would differ by the draw alone. So comments, the order of a
policy's keys and the place of a role (file or option) leave no trace, and neither does what only says how the work is
done or where its result goes: engine, memory, progress, force, a dry run, a signature, the owner's report, budget and
ledger.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from math import isfinite
from pathlib import PurePath
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.bundle.release_names import FORMAT
from anonkit.pipeline.release_request import ReleaseRequest
from anonkit.protocols import Engine, sample_size

_FORM = 2
"""Raised when the same words come to mean another request."""
_IN_NO_FILE = ("bookkeeping", "publication", "joint_k")
"""Fields of a policy for the ledger, and for the owner's page; of `joint_k` and the recipients, what holds is taken."""


def request_form(request: ReleaseRequest, columns: pa.Schema, engine: Engine, n_rows: int) -> bytes | None:
    """Return the form of a request; None when a release of it is not known again.

    That is a seeded one, which is not for release; one with a population file; and one of a method of another package
    with parameters that have no form (anything but numbers, strings, dates, enumerations, arrays, and collections and
    dataclasses of them).

    Parameters
    ----------
    request : ReleaseRequest
    columns : pyarrow.Schema
        Of the source: columns that nobody declared get their roles by name, order and type.
    engine : Engine
        That reads it.
    n_rows : int
        Its rows.
    """
    population = request.population
    if request.seed is not None or population.file is not None:  # a file may have changed, and no hash of it is kept
        return None
    account = request.account
    joint_k = request.policy.joint_k if account.accept_joint_k is None else account.accept_joint_k
    recipients = request.policy.publication.recipients
    try:
        document = {
            "form": [_FORM, FORMAT],
            "method": [request.method.name, request.preset, _every_field(request.method)],
            "policy": _value(request.policy),
            "dataset": account.dataset,
            "joint_k": joint_k,
            **({"only_new": True} if account.only_new else {}),
            **({"recipients": list(recipients)} if recipients else {}),
            "domains_min_people": request.domains_min_people,
            "data": request.output.form,
            "utility": request.utility,
            **({"population": _value(population)} if population.is_given else {}),
            "sample": sample_size(engine, n_rows),
            "columns": [[field.name, _type_name(field.type)] for field in columns],
        }
    except TypeError:
        return None
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _type_name(kind: pa.DataType) -> str:
    """Return the name of a column's type; categories are strings, which is what some engines read them as."""
    return str(kind.value_type if isinstance(kind, pa.DictionaryType) else kind)


def _value(value: object) -> Any:
    """Return any value of a request as JSON in which no two kinds look alike.

    Raises
    ------
    TypeError
        It has no form.
    """
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, Enum):
        return _value(value.value)
    if isinstance(value, str | PurePath):
        return str(value)
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, int | float | np.integer | np.floating):
        return {"number": _number(value)}
    return _collection(value)


def _collection(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        given = {field.name: getattr(value, field.name) for field in fields(value)}
        kept = {
            field.name: _value(given[field.name])
            for field in fields(value)
            if field.name not in _IN_NO_FILE and not _is_default(field, given[field.name])
        }
        return {"fields": [type(value).__name__, kept]}
    if isinstance(value, np.ndarray):
        return {"array": [str(value.dtype), _value(value.tolist())]}
    if isinstance(value, Mapping):
        entries = ([_value(key), _value(entry)] for key, entry in value.items())
        return {"mapping": sorted(entries, key=json.dumps)}
    if isinstance(value, Set):
        return {"set": sorted(map(_value, value), key=json.dumps)}
    if isinstance(value, Sequence):
        return [_value(entry) for entry in value]
    if hasattr(value, "isoformat"):
        return {"date": value.isoformat()}
    raise TypeError(type(value).__name__)


def _every_field(method: object) -> Any:
    """Return the parameters of a method, defaults too: a later version may have others."""
    if not is_dataclass(method) or isinstance(method, type):
        raise TypeError(type(method).__name__)
    return {field.name: _value(getattr(method, field.name)) for field in fields(method)}


def _is_default(field: Field[Any], value: object) -> bool:
    """Return True if a field is as if it were not there: it may be new, and the request older than the field."""
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return default is not MISSING and type(default) is type(value) and _value(default) == _value(value)


def _number(value: int | float | np.integer[Any] | np.floating[Any]) -> str:
    """Return a number in its one spelling, whatever type it came as: 1 and 1.0 ask for the same."""
    if isinstance(value, int | np.integer) or (isfinite(value) and value == int(value)):
        return str(int(value))
    return repr(float(value))
