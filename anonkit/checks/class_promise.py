# SPDX-License-Identifier: Apache-2.0
"""Validation of a k-anonymity promise: classes recounted and compared with promise, report and requirements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from anonkit.bundle.stored_release import DATA, Place, Release
from anonkit.checks.agreement import budget_checks, verification_checks
from anonkit.checks.anonymity import figure_checks, model_checks, recounted, role_checks
from anonkit.checks.recoded_labels import label_checks
from anonkit.checks.requirements import Asked, Validation, refuse_unknown
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.guarantee import Check

UNCOUNTABLE = ("joint_k",)
"""Checks of a release that nobody can repeat from its files."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What the checker of a promise is given: the files of a release, and what was checked of every release before."""

    place: Place
    release: Release
    schema: pa.Schema
    """Of the data file."""
    asked: Asked
    checks: Sequence[Check]

    @property
    def repeated(self) -> list[Check]:
        """Those of the checks that were made when the release was written, too."""
        return [check for check in self.checks if check.name == "identifiers_absent"]


def validate_classes(evidence: Evidence) -> Validation:
    """Recount the classes, and compare them with the promise, the report and what is asked."""
    params, report, data = evidence.release.params, evidence.release.report, evidence.place.file(DATA)
    schema, requested = evidence.schema, evidence.asked
    promise, given = KAnonymity.from_dict(report["guarantee"]), requested.quasi_identifiers
    watched = tuple(dict.fromkeys((*promise.sensitive, *requested.sensitive)))
    refuse_unknown([*(given or ()), *requested.sensitive], schema.names)
    counted = [*role_checks(params, report, schema), *model_checks(params, report)]
    counted += label_checks(data, schema.names, params, report)
    disclosure = recounted(data, schema, promise, given, watched, params)
    promised = [*disclosure.checks, *promise.verify(disclosure)]
    if given is None:
        counted += figure_checks(report, disclosure, promise)
        counted += verification_checks(report, [*promised, *evidence.repeated], UNCOUNTABLE)
    more = [check for check in requested.checks(disclosure, watched, promise.unit) if check not in promised]
    checks = (*evidence.checks, *budget_checks(report), *promised, *counted, *more)
    return Validation(checks=checks, disclosure=disclosure)
