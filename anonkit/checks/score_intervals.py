# SPDX-License-Identifier: Apache-2.0
"""95 % intervals of scores from parts of the same rows, whose models share most of what they were trained on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

INTERVAL = "95% intervals: corrected resampled t (Nadeau and Bengio 2003)"
GAIN, LOSS, NOTHING_SHOWN = "gain", "loss", "no difference that these rows can show"
"""What a difference shows; the last where its interval includes 0."""
_DIGITS = 4


def score_interval(
    scores: Sequence[float], test_per_train: float, *, least: float = 0.0, most: float = 1.0
) -> tuple[float, float]:
    """Return the 95 % interval of the mean of scores from several parts: the corrected resampled t interval.

    Scores of folds are not independent: their models are trained on mostly the same rows. The variance of the mean is
    therefore (1/J + n_test/n_train) s², where the naive one is s²/J.

    Parameters
    ----------
    scores : sequence of float
        Score of each part, two or more; for a comparison the difference of two models on the same part.
    test_per_train : float
        Rows of a part by rows the model was trained on, in (0, inf): 1/4 for five folds.
    least, most : float
        Least and largest value that the mean can have: 0 and 1 for a share, -1 and 1 for a difference of shares.

    Returns
    -------
    tuple of float
        Ends rounded outwards to four digits behind the point; of small numbers to five significant ones.

    References
    ----------
    Nadeau, Bengio: Inference for the Generalization Error. Machine Learning 52 (2003), 239-281.
    """
    from scipy.special import stdtrit

    values = np.asarray(scores, dtype=np.float64)
    spread = math.sqrt((1 / values.size + test_per_train) * values.var(ddof=1))
    half, middle = float(stdtrit(values.size - 1, 0.975)) * spread, float(values.mean())
    unit = 10 ** _digits(abs(middle) if most > 1 else 1.0)
    low, high = (math.floor((middle - half) * unit + 1e-6) / unit, math.ceil((middle + half) * unit - 1e-6) / unit)
    return max(low, least), min(high, most)


def _digits(size: float) -> int:
    """Return how many digits behind the point a number of this size is told with."""
    return _DIGITS if size == 0 else max(_DIGITS, _DIGITS - math.floor(math.log10(size)))


def paired_difference(
    scores: Sequence[float],
    others: Sequence[float],
    test_per_train: float,
    *,
    bounded: bool = True,
    less_is_better: bool = False,
) -> dict[str, Any]:
    """Compare two models by their scores on the same parts of the same rows.

    Parameters
    ----------
    scores, others : sequence of float
        Scores of either model, part by part; shape (n_parts,) each.
    test_per_train : float
        As for `score_interval`.
    bounded : bool
        Whether scores are in [0, 1], so that their difference is in [-1, 1].
    less_is_better : bool
        Whether the scores are errors: then a lower one is a gain.

    Returns
    -------
    dict
        `value`: mean of `scores` minus mean of `others`; `ci`: its 95 % interval; `shows`: `gain` or `loss` of the
        first against the second, or that the interval includes 0.
    """
    differences = [one - other for one, other in zip(scores, others, strict=True)]
    largest = 1.0 if bounded else math.inf
    low, high = score_interval(differences, test_per_train, least=-largest, most=largest)
    above, below = (LOSS, GAIN) if less_is_better else (GAIN, LOSS)
    shows = above if low > 0 else below if high < 0 else NOTHING_SHOWN
    value = float(np.mean(differences))
    return {"value": round(value, _DIGITS if bounded else _digits(abs(value))), "ci": [low, high], "shows": shows}
