# SPDX-License-Identifier: Apache-2.0
"""Usefulness of a release to whoever predicts its target, scored on the first rows of its file.

The rows of a release are in a secret random order, those first whose labels the search for the recoding did not see.
So the head of the file is all that is read, and anybody repeats the figure from the file alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.bundle.data_files import iter_batches
from anonkit.checks.sameness import none_of
from anonkit.promises.guarantee import Check
from anonkit.utility.class_utility import FEWEST_SCORED, SAMPLE, predictive_utility
from anonkit.utility.number_utility import number_utility

KEY = "scored_rows"
"""Key of the number of scored rows, in the block `utility` of the report."""
PREDICTION = "prediction_of_target"
"""Key of the figures there."""
_SHARE = 5
"""Of the rows one in so many is scored, where no search saw a label."""
_TOLERANCE = 0.005
"""By which a figure may differ: other versions of scikit-learn grow other trees. A convention."""


def rows_to_score(n_rows: int) -> int:
    """Return the number of the first rows of a table that are scored, where no search saw a label of any."""
    return min(n_rows // _SHARE, SAMPLE)


def prediction_of_first_rows(
    data: Path, features: Sequence[str], target: str, scored_rows: int, *, of_number: bool
) -> dict[str, Any] | None:
    """Score on the first rows of a file how well a model of the rows after them predicts the target.

    Parameters
    ----------
    data : path
        The Parquet file or folder, with labels.
    features : sequence of str
        The quasi-identifiers in the file.
    scored_rows : int
        How many of the first rows are scored, at most 10,000; the model learns from the 10,000 rows after them.
    of_number : bool
        Whether the target is a number; else it is a class.

    Returns
    -------
    dict or None
        As `anonkit.utility.class_utility.predictive_utility`, or `anonkit.utility.number_utility.number_utility`.
    """
    if scored_rows < FEWEST_SCORED or not features:
        return None
    n_rows, head = scored_rows + SAMPLE, pa.table({})
    with closing(iter_batches(data, [*features, target], batch_rows=n_rows)) as batches:
        for batch in batches:
            read = pa.Table.from_batches([batch])
            head = pa.concat_tables([head, read]) if head.num_rows else read
            if head.num_rows >= n_rows:
                break
    table = head.slice(0, n_rows)
    return (number_utility if of_number else predictive_utility)(table, features, target, scored_rows)


def prediction_check(
    data: Path, schema: pa.Schema, report: Mapping[str, Any], quasi_identifiers: Sequence[str], *, several_rows: bool
) -> Check:
    """Check the figures of prediction in a report against the rows of the release.

    Parameters
    ----------
    data : path
        The release with labels; `schema` is its own.
    several_rows : bool
        Whether a person has several rows: then there are no such figures, since the order of the rows would disclose
        which rows are not of one person.

    Raises
    ------
    LookupError, TypeError, ValueError
        The report is damaged.
    """
    utility = report["utility"]
    stated, scored = utility.get(PREDICTION), utility.get(KEY)
    if not isinstance(stated, Mapping):
        return none_of(PREDICTION, int(scored is not None))
    target = next((column["name"] for column in report["columns"] if column["role"] == "target"), None)
    features = features_of(schema, quasi_identifiers)
    if several_rows or not isinstance(target, str) or target not in schema.names:
        return none_of(PREDICTION, 1)
    if isinstance(scored, bool) or not isinstance(scored, int):
        return none_of(PREDICTION, 1)
    if not FEWEST_SCORED <= scored <= SAMPLE:
        return none_of(PREDICTION, 1)
    found = prediction_of_first_rows(data, features, target, scored, of_number="r2" in stated)
    if found is None:
        return none_of(PREDICTION, 1)
    error = found["of_mean"]["mae"] if "of_mean" in found else 1.0
    return none_of(PREDICTION, _differing(stated, found, error))


def no_prediction(report: Mapping[str, Any]) -> Check:
    """Check that a report has no figures of prediction, where the choice of the recoding has read every label."""
    utility = report["utility"]
    return none_of(PREDICTION, isinstance(utility.get(PREDICTION), Mapping) + (KEY in utility))


def features_of(schema: pa.Schema, quasi_identifiers: Sequence[str]) -> list[str]:
    """Return the quasi-identifiers that a file has, in the order of its columns."""
    return [name for name in schema.names if name in set(quasi_identifiers)]


def _differing(stated: Mapping[str, Any], found: Mapping[str, Any], error: float, scale: float = 1.0) -> int:
    """Count the entries that are there once, or differ by more than other trees explain.

    Parameters
    ----------
    error : float
        Size of an error, in the unit of the target.
    scale : float
        Size of other figures.
    """
    both = stated.keys() & found.keys()
    scales = {name: error if name == "mae" else scale for name in both}
    differ = (not _alike(stated[name], found[name], error, scales[name]) for name in both)
    return len(stated.keys() ^ found.keys()) + sum(differ)


def _alike(stated: object, found: object, error: float, scale: float) -> bool:
    if isinstance(stated, Mapping) and isinstance(found, Mapping):
        return not _differing(stated, found, error, scale)
    if isinstance(stated, list) and isinstance(found, list):
        return len(stated) == len(found) and all(
            _alike(one, other, error, scale) for one, other in zip(stated, found, strict=True)
        )
    if isinstance(found, float) and isinstance(stated, int | float) and not isinstance(stated, bool):
        return abs(stated - found) <= _TOLERANCE * max(scale, abs(found))
    return isinstance(stated, str) and stated == found
