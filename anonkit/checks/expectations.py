# SPDX-License-Identifier: Apache-2.0
"""The expectations of Great Expectations: k, l, t and the promise of a release, at their documented import path.

The documented import path of `anonkit.integrations.great_expectations.class_expectations`, which defines every name.
Import this module before loading a suite that was saved with these expectations.
"""

from __future__ import annotations

from anonkit.integrations.great_expectations.class_expectations import (
    ExpectReleaseToKeepItsPromise,
    ExpectTableToBeKAnonymous,
    ExpectTableToBeLDiverse,
    ExpectTableToBeTClose,
    RefusePublication,
    RowCondition,
    could_not_be_evaluated,
    require_all,
    suite_from,
)

__all__ = [
    "ExpectReleaseToKeepItsPromise",
    "ExpectTableToBeKAnonymous",
    "ExpectTableToBeLDiverse",
    "ExpectTableToBeTClose",
    "RefusePublication",
    "RowCondition",
    "could_not_be_evaluated",
    "require_all",
    "suite_from",
]
