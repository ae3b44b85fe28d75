# SPDX-License-Identifier: Apache-2.0
"""Noisy tables of a central release as the sufficient statistics of a naive Bayes model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from anonkit.consumers.class_statistics import ClassStatistics
from anonkit.estimators.consistent_counts import consistent_counts
from anonkit.published.channels.kary_response import RandomizedResponse
from anonkit.published.noisy_tables import FORMATS, NoisyTables
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget


def is_noisy_tables(params: object) -> bool:
    """Return True if params hold noisy tables instead of what was done to rows."""
    return isinstance(params, Mapping) and params.get("format") in FORMATS


def statistics_of_tables(params: Mapping[str, Any]) -> ClassStatistics:
    """Return the noisy counts of a release as sums, with the variance of their noise.

    Counts are made consistent first: not below 0, and with one size of each class for all attributes. As they were
    published they are kept beside: what is made consistent is no longer off by noise of that variance.

    Raises
    ------
    ReleaseFormatError
        The params are damaged.
    """
    tables = NoisyTables.from_params(params)
    described = PublishedTable(
        target=PublishedTarget(
            name=tables.target, domain=tables.classes, mechanism=RandomizedResponse.clear(tables.classes.size)
        ),
        attributes=tuple(
            PublishedAttribute(
                name=histogram.name, domain=histogram.domain, mechanism=RandomizedResponse.clear(histogram.domain.size)
            )
            for histogram in tables.tables
        ),
    )
    statistics = ClassStatistics(described)
    sizes, variances = tables.class_sizes
    statistics.label_counts = np.rint(np.maximum(sizes, 0)).astype(np.int64)
    statistics.sums = {
        histogram.name: np.rint(consistent_counts(tables, histogram)).astype(np.int64) for histogram in tables.tables
    }
    statistics.noisy = {histogram.name: histogram.counts for histogram in tables.tables}
    statistics.noise = {histogram.name: histogram.variance for histogram in tables.tables} | {
        tables.target: float(variances[0])
    }
    return statistics
