# SPDX-License-Identifier: Apache-2.0
"""Documents hold what anonkit writes into them, and nothing else: a reader believes `"certified": true`.

Blocks that other checks make again, key by key, are left to them here (`ANY`). A method of somebody else may add blocks
of its own to the params and to the report, and measures to `utility`; the blocks of anonkit are closed for it too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from anonkit.checks.sameness import none_of
from anonkit.promises.guarantee import Check

Leaf = Callable[[object], bool]
Shape = Mapping[str, Any]
"""Of each key its content: a shape, a leaf, or a leaf in place of a shape; `*` for keys that are names.

Of a list, what each entry is.
"""


def ANY(_: object) -> bool:  # noqa: N802 - a constant of the tables below
    """Take anything: another check looks at it."""
    return True


def _plain(value: object) -> bool:
    return not isinstance(value, Mapping)


def _absent(value: object) -> bool:
    return value is None


def _unmeasured(value: object) -> bool:
    return value == "not measured"


def _text(value: object) -> bool:
    return isinstance(value, str)


def _words(value: object) -> bool:
    return value is None or isinstance(value, str)


def _figure(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _flag(value: object) -> bool:
    return isinstance(value, bool)


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _categories(value: object) -> bool:
    return _texts(value) and bool(value) and len(set(value)) == len(value)  # type: ignore[arg-type, call-overload]


def _ends(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_figure, value)) and value[0] < value[1]


def _interval(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_figure, value)) and value[0] <= value[1]


def _moment(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


OWN = frozenset(
    {
        "c45-arithmetic", "c45-halving", "datafly", "diffgen", "diffp-c45", "diffp-id3", "diffprf", "diffprfs",
        "dp-forest", "dp-marginals", "dp-nb", "dp-tables", "dp-tree", "dt-diff", "edprf", "errph", "greedy-hamdist",
        "incognito", "mdav", "mondrian", "pinq-id3", "ppnb", "recoded", "rfka", "rr", "safepub", "sulq-id3", "trr",
    }
)  # fmt: skip
"""Methods of anonkit: what they write is known."""

_DOMAIN = {
    "bounds": _ends, "categories": _categories, "has_missing": _flag, "texts_alone": _flag, "outside": _text,
    "truth_values": _flag,
    "cells": _plain, "step": _plain, "spikes": _plain, "bins": _plain, "fine": _plain, "ends": _plain, "means": _plain,
}  # fmt: skip
_WRITTEN = {"decimal": _text, "thousands": _text, "percent": _flag, "currency": _text}
_COLUMN = {
    **dict.fromkeys(("name", "role", "sensitive", "missing_is_value", "shows", "together"), _plain),
    "relative": _flag,
    **dict.fromkeys(("l", "t", "alpha", "tolerance", "width", "accept_outside"), _figure),
    "caps": ANY,
    "type": _text,
    "missing": _text,
    "declared": _flag,
    "released_as_is": _flag,
    "keep": _flag,
    "domain": _DOMAIN,
    "written": _WRITTEN,
    "calendar": dict.fromkeys(("kind", "levels", "format", "zone", "bounds", "outside"), _plain),
    "place": dict.fromkeys(("latitude", "longitude", "resolutions", "box", "cells", "outside"), _plain),
}
_COUNTED = {
    **dict.fromkeys(("name", "type", "split", "counts", "rate", "epsilon", "mechanism", "joint_with_target"), _plain),
    "domain": (_absent, _DOMAIN),
    "histogram": dict.fromkeys(("counts", "rate", "bins"), _plain),
    "tree": ANY,
    "parameters": ANY,
}
_AXIS = {
    **dict.fromkeys(("name", "kind", "values", "cuts", "labels", "coarser", "other_label", "missing_label"), _plain),
    "missing": _flag,
    "other": _flag,
    "unit": _figure,
    "groups": {"label": _plain, "parts": _plain},
}
_LINE = dict.fromkeys(
    (
        "purpose", "mechanism", "rate", "rate_unit", "sensitivity", "times", "level", "ends_path", "epsilon", "rho",
        "delta", "threshold",
    ), _plain,
)  # fmt: skip
_PARAMS: Shape = {
    **dict.fromkeys(
        (
            "format", "anonkit_version", "method", "preset", "randomness", "assumptions", "conditions", "unit",
            "earlier_method", "max_suppression", "rows_of_people", "task", "asked_column", "anchored", "histograms",
            "class_counts", "class_rate", "independent_rows", "candidates", "target_width",
            "missing_above",
        ), _plain,
    ),
    **dict.fromkeys(
        (
            "method_parameters", "parameters", "treatment", "model", "people", "places", "binned", "account", "trees",
            "rule", "calibration", "vote", "draw", "choice", "statement", "values", "keys", "constraints",
        ), ANY,
    ),
    "weight": {"column": _text, "shows": _text, "digits": _plain, "step": _figure},
    "means": dict.fromkeys(("digits", "p_percent", "dominance", "near_end"), _figure),
    "written": {"*": _WRITTEN},
    "households": _flag,
    "surrogate": _text,
    "missing_values": _texts,
    "no_values": _texts,
    "folding": _text,
    "columns": _COLUMN,
    "recoding": {
        "kind": _plain, "merged": _plain, "axes": _AXIS, "columns": _AXIS,
        "nodes": (_absent, dict.fromkeys(("axis", "left", "children"), _plain)),
        "centroids": {
            "rows": _text, "rules": dict.fromkeys(("digits", "p_percent", "dominance"), _figure),
            **dict.fromkeys(("scale", "columns", "missing"), ANY),
        },
        "narrowed": dict.fromkeys(("sets", "boxes"), _plain),
    },
    "bounds": {"*": dict.fromkeys(("low", "high", "mean", "step", "labels"), _plain)},
    "target": (_words, _COUNTED),
    "attributes": _COUNTED,
    "groups": _COUNTED,
    "numbers": {"name": _text, "bounds": _ends, "step": _plain, "has_missing": _flag},
    "measurements": {**dict.fromkeys(("kind", "of", "by", "rate", "values"), _plain), "grid": ANY},
    "tables": dict.fromkeys(
        ("name", "statistic", "by", "of", "levels", "weight", "measured", "counts", "rate", "groups"), _plain
    ),
    "pairs": dict.fromkeys(("names", "counts", "rate", "in_tree"), _plain),
    "readings": dict.fromkeys(("purpose", "rate", "steps"), _plain),
    "triple": {
        **dict.fromkeys(("purpose", "rate", "names"), _plain),
        "table": dict.fromkeys(("groups", "rate", "counts"), _plain),
    },
    "mixtures": dict.fromkeys(("rows", "shares", "weights"), _plain),
    "spikes": dict.fromkeys(("name", "every", "counts", "rate", "threshold"), _plain),
    "rows": dict.fromkeys(("count", "rate"), _plain),
    "accounting": _LINE,
    "composition": {"adjacency": _plain, "rows_per_unit": _plain, "bootstrap": ANY},
    "rows_per_tree": {"kind": _plain, "trees": ANY},
    "scores": dict.fromkeys(("attributes", "leaves", "regions", "unit"), _plain),
    "weights": dict.fromkeys(("gradient", "curvature"), _plain),
}  # fmt: skip
_EXPENSE = dict.fromkeys(("name", "level", "part", "epsilon", "delta", "rho"), _plain)
_PREDICTION = {
    "model": _text,
    "protocol": _text,
    "ci": {"*": _interval},
    **dict.fromkeys(("auc", "balanced_accuracy", "accuracy", "majority", "r2", "mae"), _figure),
    "of_mean": {"r2": _figure, "mae": _figure},
}
_REPORT: Shape = {
    "format": _plain,
    "anonkit_version": _plain,
    "created": _moment,
    "dataset": _words,
    "source_name": _text,
    "domains_declared_by": _words,
    "randomness": _plain,
    "notes": _texts,
    "recipients": _texts,
    "method": {"name": _plain, "preset": _plain, "parameters": ANY, "paper": _words, "summary": _text},
    "guarantee": ANY,
    "budget": {
        "epsilon": _plain, "delta": _plain, "per_level": _EXPENSE, "per_attribute": _EXPENSE, "domains": _EXPENSE,
    },
    "columns": {
        **dict.fromkeys(
            (
                "name", "role", "sensitive", "action", "detail", "released_values", "values", "mechanism", "epsilon",
                "p_keep", "breach", "domain_from_data",
            ), _plain,
        ),
        "reason": _text, "taken_for": _text, "rule": _text, "coding": _text, "importance": _figure,
        "domain": ANY, "parameters": ANY, "declared": _flag, "released_as_is": _flag, "keep": _flag,
        "may_be_person": _flag, "mean": {"value": _figure, "low": _figure, "high": _figure, "of_the_rows": _flag},
    },
    "rows": dict.fromkeys(
        (
            "in", "out", "suppressed", "suppressed_fraction", "suppression_limit", "dropped_missing",
            "dropped_without_unit", "beyond_rows_per_person",
        ), _plain,
    ),
    "disclosure_risk": ANY,
    "weights": {"column": _text, "sum": _figure},
    "means": {"columns": {"*": dict.fromkeys(("classes", "middle", "missing"), _plain)}},
    "utility": {
        "discernibility": _plain, "average_equivalence_class_size": _plain, "scored_rows": _plain,
        "prediction_of_target": (_unmeasured, _PREDICTION),
    },
    "verification": {"checks": ANY},
    "ledger": dict.fromkeys(
        (
            "booked", "release_of_dataset", "epsilon_budget", "delta_budget", "budget_neighbours", "totals",
            "joint_k_accepted", "new_ledger", "people_remembered", "previous_release",
        ), ANY,
    ),
    "search": {
        **dict.fromkeys(
            ("name", "boxes", "explained", "features_kept", "importance", "loss", "steps", "trees"), _plain
        ),
        "sample": dict.fromkeys(("how", "of", "rows", "effect"), _plain),
    },
    **dict.fromkeys(("forest", "marginals", "published_measures", "shuffle", "draws"), ANY),
}  # fmt: skip
_MEASURES = ("discernibility", "average_equivalence_class_size", "scored_rows", "prediction_of_target")


def key_checks(params: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[Check]:
    """Check that params and report hold no key that is not theirs, and no leaf of another kind than it is.

    Parameters
    ----------
    params, report : mapping
        The sidecars.
    """
    is_own = report["method"]["name"] in OWN
    utility = {key: value for key, value in report["utility"].items() if is_own or key in _MEASURES}
    wrong = _strange({**params} if is_own else _without_blocks(params, _PARAMS), _PARAMS)
    wrong += _strange({**(report if is_own else _without_blocks(report, _REPORT)), "utility": utility}, _REPORT)
    wrong += sum(isinstance(value, bool) for key, value in report["utility"].items() if key not in _MEASURES)
    if "recoding" not in params:  # there are no classes
        wrong += len(utility) + (report["disclosure_risk"] != {})
    if not {"mixtures", "histograms"} & set(params):  # no noisy counts of columns
        wrong += sum("mean" in column for column in report["columns"])
    if is_own:
        wrong += sum(not _figure(value) for value in report["rows"].values())
        wrong += set(report["rows"]) != _rows_told(params) and ("draw" in params or "recoding" not in params)
    yield none_of("documents", wrong)


def _rows_told(params: Mapping[str, Any]) -> set[str]:
    """Return which numbers of rows a release with noise publishes: of a randomized table also those read."""
    return {"in", "suppressed", "out"} if "asked_column" in params else {"out"}


def _without_blocks(document: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    """Return a document without the blocks that a method of somebody else has added."""
    return {key: value for key, value in document.items() if key in shape or not isinstance(value, Mapping | list)}


def _strange(document: object, shape: Shape | Leaf | tuple[Leaf, Shape]) -> int:
    """Count the keys of a document that its shape does not have, and the leaves that are of another kind."""
    if callable(shape):
        return not shape(document)
    if isinstance(document, list):
        return sum(_strange(entry, shape) for entry in document)
    if isinstance(shape, tuple):
        in_place, shape = shape
        if in_place(document):
            return 0
    if not isinstance(document, Mapping):
        return 1
    known = {key: shape.get(key, shape.get("*")) for key in document}
    return sum(own is None or _strange(document[key], own) > 0 for key, own in known.items())
