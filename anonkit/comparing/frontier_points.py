# SPDX-License-Identifier: Apache-2.0
"""One release on the frontier: its setting, the scores of its models, the attacks on it, and why there may be none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anonkit.comparing.paired_scores import RowShares
from anonkit.errors import in_python
from anonkit.utility.consumer_models import best_of, name_of_best


@dataclass(frozen=True, kw_only=True)
class FrontierPoint:
    """One release on the frontier."""

    method: str
    parameter: str
    """`k`, `epsilon`, or empty for the method's defaults."""
    value: float | None
    scores: Mapping[str, Mapping[str, Any]]
    """By model, on test rows: trained on the unchanged table, and `reconstructed` where the params allow it."""
    attacks: Mapping[str, Any]
    """By attack: rates, risk, limits, verdict."""
    guarantee: Mapping[str, Any]
    clear: Mapping[str, Any] | None = None
    """Shares of rows of the release that are alone if their target and insensitive columns are known too."""
    by_row: RowShares | None = None
    """Score of the best model with what each test row contributes to it; None where there is no model."""
    protection: str | None = None
    """Name of what is promised, of releases that protect whole rows; None where no bound holds."""
    lost: tuple[str, ...] = ()
    """Columns that the release does not have any more."""
    moved: tuple[Mapping[str, Any], ...] = ()
    """Movement of the distributions of columns, as `moved_columns`."""
    left_out: Mapping[str, Any] | None = None
    """Rows of the source that are not released, by class of the target, as the owner report has them."""
    measure: str = "auc"
    """Measure of the best model: `auc` of classes, `r2` of a number."""
    told: str | None = None
    """Why there is no release, when there is none, for either kind of reader (`anonkit.errors.spoken`)."""

    @property
    def refused(self) -> str | None:
        """Why there is no release, when there is none."""
        return None if self.told is None else in_python(self.told)

    @property
    def setting(self) -> str:
        """The parameter, and the epsilon of a whole row where that of the parameter is for one answer only."""
        if not self.parameter:
            return ""
        words = f"{'ε' if self.parameter == 'epsilon' else self.parameter} = {self.value:g}"
        loss = loss_of(self)
        if self.parameter != "epsilon" or loss is None or self.value is None or loss <= 1.01 * self.value:
            return words
        return f"{words} an answer, {'∞' if math.isinf(loss) else f'{loss:.3g}'} a row"

    @property
    def label(self) -> str:
        """Name of the point in plots and tables."""
        return f"{self.method}, {self.setting}" if self.setting else self.method

    @property
    def auc(self) -> float | None:
        """AUC of the best model: the best use of the release that was tried; None where a number is predicted."""
        return best_of(self.scores)

    @property
    def best(self) -> float | None:
        """Score of the best model by the measure of the comparison."""
        return best_of(self.scores, self.measure)

    @property
    def best_model(self) -> str | None:
        """Name of that model."""
        return name_of_best(self.scores, self.measure)

    def to_dict(self) -> dict[str, Any]:
        """Return the point for JSON."""
        return {
            "label": self.label,
            "setting": self.setting,
            "method": self.method,
            "parameter": self.parameter or None,
            "value": self.value,
            **best_scores(self.scores, self.measure),
            "best_model": self.best_model,
            "models": {name: dict(score) for name, score in self.scores.items()},
            "attacks": dict(self.attacks),
            "with_clear_columns": self.clear,
            "columns_lost": list(self.lost),
            "columns_changed": [dict(move) for move in self.moved],
            "promise": self.guarantee.get("kind"),
            "epsilon": self.guarantee.get("parameters", {}).get("epsilon"),
            "refused": self.refused,
        }


def best_scores(scores: Mapping[str, Mapping[str, Any]], measure: str) -> dict[str, float | None]:
    """Return the best model's score by AUC, None where there is none; of a number by R² too."""
    return {"auc": best_of(scores), **({"r2": best_of(scores, "r2")} if measure == "r2" else {})}


def loss_of(point: FrontierPoint) -> float | None:
    """Return the privacy loss of a release in [0, inf]; None where its promise has none."""
    epsilon = point.guarantee.get("parameters", {}).get("epsilon")
    return None if epsilon is None else float(epsilon)
