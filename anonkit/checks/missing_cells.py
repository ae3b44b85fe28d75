# SPDX-License-Identifier: Apache-2.0
"""The rule by which a column of drawn rows may show missing cells: the threshold of noisy counts, independently.

A release that states so counts missing as none where its noisy count is not above three deviations of its own noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from anonkit.checks.central_params import GAUSSIAN, PublicFacts
from anonkit.checks.gaussian_lines import gaussian_variance
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check

_ABOVE = 3
_KEY = "missing_above"


def is_thresholded(params: Mapping[str, Any]) -> bool:
    """Return True if a release states that faint counts of missing are none; earlier versions stated nothing.

    Raises
    ------
    ReleaseFormatError
        It says another number of deviations than any version wrote.
    """
    stated = params.get(_KEY)
    if stated is None:
        return False
    if type(stated) not in (int, float) or stated != _ABOVE:
        raise ReleaseFormatError("the params count missing cells by a threshold that anonkit does not write")
    return True


def is_none(tables: Sequence[tuple[Any, int]], *, gaussian: bool) -> bool:
    """Return True if noisy counts of missing are no more than noise makes.

    Parameters
    ----------
    tables : sequence of (nested lists of int, int)
        Of each table that counts missing: its counts, by class, region or value of another column, empty where there
        are none; and the rate of the noise of each, in units of 2**-52.
    gaussian : bool
        The law of the noise; else discrete Laplace.
    """
    weighed, weights = 0.0, 0.0
    for counts, rate in tables:
        flat = np.array(counts, dtype=np.float64).reshape(-1)
        loss = rate / 2**52
        variance = gaussian_variance(rate) if gaussian else 2 * math.exp(-loss) / math.expm1(-loss) ** 2
        if flat.size:
            weighed += float(flat.sum()) / (flat.size * variance)
            weights += 1 / (flat.size * variance)
    return weighed <= _ABOVE * math.sqrt(weights)


def forest_checks(params: Mapping[str, Any], facts: PublicFacts, missing: Mapping[str, int]) -> Iterator[Check]:
    """Check that rows of a forest are missing in no column whose count of missing is within its noise.

    Parameters
    ----------
    params, facts
    missing : mapping of str to int
        Rows in which each column is missing.
    """
    if not is_thresholded(params):
        return
    (line,) = (line for line in params["accounting"] if line["purpose"] == "histograms by class")
    for at, column in enumerate(facts.attributes):
        if not column.domain.has_missing:
            continue
        counts = [region[at][-1] for region in params["histograms"] if region[at]]
        if is_none([(counts, line["rate"])], gaussian=line["mechanism"] == GAUSSIAN):
            shown = missing[column.name]
            yield Check(name=f"missing:{column.name}", passed=shown == 0, observed=shown, required=0)


def shown_in_mixtures(params: Mapping[str, Any], split: PublicFacts, *, gaussian: bool) -> int:
    """Count the columns whose mixtures show missing although its count is within the noise.

    Parameters
    ----------
    params : mapping
        Its tables and mixtures fit the columns.
    split : PublicFacts
        With the columns that have tables.
    """
    if not is_thresholded(params):
        return 0
    ends = np.cumsum([column.domain.size for column in split.attributes]) - 1
    wrong = 0
    for column, table, end in zip(split.attributes, params["tables"], ends.tolist(), strict=True):
        told = [([row[-1] for row in table["counts"]], table["rate"])]
        if table["groups"].count(table["groups"][-1]) == 1:
            for pair in params["pairs"]:
                if column.name in pair["names"]:
                    of_last = np.take(pair["counts"], table["groups"][-1], axis=1 + pair["names"].index(column.name))
                    told.append((of_last, pair["rate"]))
        if column.domain.has_missing and is_none(told, gaussian=gaussian):
            wrong += any(component[end] for own in params["mixtures"] for component in own["shares"])
    return wrong
