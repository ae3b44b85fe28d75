# SPDX-License-Identifier: Apache-2.0
"""Documents hold what their JSON Schemas declare, and nothing else: a reader believes `"certified": true`.

Blocks that other checks make again, key by key, are left to them. A method of somebody else may add blocks of its own
to the params and to the report, and measures to `utility`; the blocks of anonkit are closed for it too.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from anonkit.checks.sameness import none_of
from anonkit.promises.guarantee import Check
from anonkit.report.schemas import params_schema, report_schema

if TYPE_CHECKING:
    from jsonschema_rs import Validator

OWN = frozenset(
    {
        "c45-arithmetic", "c45-halving", "datafly", "diffgen", "diffp-c45", "diffp-id3", "diffprf", "diffprfs",
        "dp-forest", "dp-marginals", "dp-nb", "dp-tables", "dp-tree", "dt-diff", "edprf", "errph", "greedy-hamdist",
        "incognito", "mdav", "mondrian", "pinq-id3", "ppnb", "recoded", "rfka", "rr", "safepub", "sulq-id3", "trr",
    }
)  # fmt: skip
"""Methods of anonkit: what they write is known."""


class Order:
    """Keyword `x-order` of the schemas: numbers of a list ascend, or ascend strictly."""

    def __init__(self, _: Mapping[str, Any], value: str, path: list[str | int]) -> None:
        self._is_strict = value.startswith("strictly")

    def validate(self, instance: Any) -> None:
        """Refuse a list of numbers in another order; what is no such list is refused by its type.

        Raises
        ------
        ValueError
            Two neighbours are in the wrong order.
        """
        if not isinstance(instance, list) or not all(isinstance(entry, int | float) for entry in instance):
            return
        if any(low > high or (self._is_strict and low == high) for low, high in itertools.pairwise(instance)):
            raise ValueError("numbers are in another order")


def key_checks(params: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[Check]:
    """Check that params and report are valid under their schemas: no key that is not theirs, no leaf of another kind.

    Parameters
    ----------
    params, report : mapping
        The sidecars.
    """
    is_own = report["method"]["name"] in OWN
    wrong = _errors(_params_validator(is_own=is_own), params) + _errors(_report_validator(is_own=is_own), report)
    if "recoding" not in params:  # there are no classes
        wrong += len(_measures(report, is_own=is_own)) + (report["disclosure_risk"] != {})
    if not {"mixtures", "histograms"} & set(params):  # no noisy counts of columns
        wrong += sum("mean" in column for column in report["columns"])
    if is_own:
        wrong += any(value is None for value in report["rows"].values())
        wrong += set(report["rows"]) != _rows_published(params) and ("draw" in params or "recoding" not in params)
    yield none_of("documents", wrong)


def _measures(report: Mapping[str, Any], *, is_own: bool) -> set[str]:
    """Return the measures of usefulness that anonkit defines; of a method of anonkit all."""
    return {key for key in report["utility"] if is_own or key in report_schema()["$defs"]["utility"]["properties"]}


def _rows_published(params: Mapping[str, Any]) -> set[str]:
    """Return which numbers of rows a release with noise publishes: of a randomized table also those read."""
    return {"in", "suppressed", "out"} if "asked_column" in params else {"out"}


@functools.cache
def _params_validator(*, is_own: bool) -> Validator:
    schema = params_schema()
    return _validator({**schema, "additionalProperties": False} if is_own else schema)


@functools.cache
def _report_validator(*, is_own: bool) -> Validator:
    schema = report_schema()
    if is_own:
        schema["additionalProperties"] = schema["$defs"]["utility"]["additionalProperties"] = False
    return _validator(schema)


def _validator(schema: dict[str, Any]) -> Validator:
    import jsonschema_rs  # a library of some megabytes, for `validate` alone

    return jsonschema_rs.validator_for(schema, validate_formats=True, keywords={"x-order": Order})


def _errors(validator: Validator, document: Mapping[str, Any]) -> int:
    """Count the places of a document that are not as its schema declares."""
    try:
        return len({tuple(error.instance_path) for error in validator.iter_errors(document)})
    except UnicodeEncodeError:  # half of a character: text that no writer of UTF-8 can have written
        return 1
