# SPDX-License-Identifier: Apache-2.0
"""Surrogates in a k-anonymous release: one number for all rows of a person, by which whole sets are counted again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.checks.disclosure import Disclosure, measure
from anonkit.checks.identical_record_sets import fewest_alike
from anonkit.checks.people import PeopleCounts
from anonkit.checks.sameness import named, none_of, same
from anonkit.promises.anonymous_classes import ALL_ROWS, KAnonymity
from anonkit.promises.guarantee import Check

CHECK = "surrogates"
_NAME = "surrogate"


def linked_rows_check(
    schema: pa.Schema, promise: KAnonymity, params: Mapping[str, Any], report: Mapping[str, Any]
) -> Iterator[Check]:
    """Check that promise, params, roles and data name one column of surrogates; nothing where none of them does."""
    roles = [name for block in (params, report) for name, entry in named(block["columns"]) if entry["role"] == _NAME]
    stated = params.get(_NAME)
    if promise.surrogate is None and stated is None and not roles:
        return
    wrong = int(promise.surrogate != _NAME or not same(stated, _NAME) or roles != [_NAME] * 2)
    wrong += promise.rows_known != ALL_ROWS or promise.unit is None
    wrong += _NAME not in schema.names or not pa.types.is_integer(schema.field(_NAME).type)
    yield none_of(CHECK, int(wrong))


def with_whole_sets(
    data: Path, schema: pa.Schema, disclosure: Disclosure, promise: KAnonymity, params: Mapping[str, Any]
) -> tuple[Disclosure, Iterator[Check]]:
    """Return a recount with the fewest people of one whole set of rows, and a check of the people of every class.

    Parameters
    ----------
    data : path
        The data with labels; `schema` is its own. It has surrogates.
    """
    names = [name for name in promise.quasi_identifiers if name in schema.names]
    again = measure(data, names, unit=_NAME)
    people = PeopleCounts.from_params(params).classes
    differ = again.counts is None or again.counts.classes.tolist() != people.tolist()
    found = replace(disclosure, alike=fewest_alike(data, names, _NAME))
    return found, iter([none_of("people_of_surrogates", int(differ))])
