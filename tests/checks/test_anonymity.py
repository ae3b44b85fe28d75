"""Figures, roles and promises of every k-anonymous release: a forged one of them is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from checks.forgeries import ANONYMOUS, Edit, Files, over, refused
from checks.forging import (
    at,
    both,
    cells,
    checked,
    declared,
    entry,
    forget,
    on_first,
    recounted,
    source_cells,
    stated_anew,
)

from tests.checks.test_class_promise import figure

ANY_ANONYMOUS: dict[str, tuple[Edit, str]] = {
    "k lower in the report": (stated_anew(at("report", "guarantee", "parameters", "k", to=2)), "model"),
    "k lower in params": (at("params", "model", "k", to=2), "model"),
    "k higher in params": (at("params", "model", "k", to=50), "model"),
    "k of the method": (at("report", "method", "parameters", "k", to=2), "model"),
    "l in params": (at("params", "model", "l", to=4), "model"),
    "entropy l in params": (at("params", "model", "entropy_l", to=4), "model"),
    "recursive in params": (at("params", "model", "recursive", to="3,2"), "model"),
    "t in params": (at("params", "model", "t", to=0.1), "model"),
    "alpha in params": (at("params", "model", "alpha", to=0.5), "model"),
    "t promised in the report": (
        stated_anew(lambda files: files.report["guarantee"]["parameters"].update(t_closeness=1.0)),
        "model",
    ),
    "alpha promised in the report": (
        stated_anew(lambda files: files.report["guarantee"]["parameters"].update(alpha_k_anonymity=1.0)),
        "model",
    ),
    "limit in params": (at("params", "max_suppression", to=0.9), "model|suppression"),
    "limit in the report": (at("report", "rows", "suppression_limit", to=0.9), "suppression"),
    "share suppressed": (at("report", "rows", "suppressed_fraction", to=0.0001), "suppression"),
    "rows suppressed": (at("report", "rows", "suppressed", to=lambda rows: rows + 1), "rows_accounted"),
    "rows dropped": (at("report", "rows", "dropped_missing", to=3), "rows_accounted"),
    "rows read": (at("report", "rows", "in", to=lambda rows: rows + 40), "rows_accounted"),
    "rows read and suppressed": (
        both(
            at("report", "rows", "in", to=lambda rows: rows + 4000),
            at("report", "rows", "suppressed", to=lambda rows: rows + 4000),
        ),
        "suppression",
    ),
    "source cells, no quasi-identifiers": (
        recounted(
            both(
                on_first(source_cells),
                lambda files: files.report["guarantee"]["parameters"].update(quasi_identifiers=[]),
            )
        ),
        "roles",
    ),
    "source cells in a column that is none": (recounted(both(on_first(source_cells), on_first(forget))), "roles"),
    "a quasi-identifier less": (recounted(on_first(forget)), "roles"),
    "role in the report": (on_first(lambda name: entry(name, role="insensitive")), "roles"),
    "role in params": (on_first(lambda name: declared(name, role="insensitive")), "roles"),
    "role in promise and report": (
        recounted(both(on_first(forget), on_first(lambda name: entry(name, role="insensitive", action="kept")))),
        "roles",
    ),
    "role in all but the recoding": (
        recounted(
            both(
                on_first(forget),
                on_first(lambda name: declared(name, role="insensitive")),
                on_first(lambda name: entry(name, role="insensitive")),
            )
        ),
        "actions",
    ),
    "sensitive in the report": (entry("customer_value", sensitive=None), "roles"),
    "sensitive in params": (declared("age", sensitive=True), "roles"),
    "another target": (at("params", "target", to=None), "roles"),
    "people in params": (at("params", "unit", to="age"), "roles"),
    "action": (on_first(lambda name: entry(name, action="kept")), "actions"),
    "detail": (on_first(lambda name: entry(name, detail="full")), "actions"),
    "highest risk": figure("prosecutor", "max", to=0.001),
    "mean risk": figure("prosecutor", "mean", to=0.001),
    "share at risk": figure("prosecutor", "share_at_risk", to=0.5),
    "threshold of risk": figure("prosecutor", "risk_threshold", to=0.9),
    "journalist": figure("journalist", "max", to=0.001),
    "journalist's mean": figure("journalist", "mean", to=0.001),
    "marketer": figure("marketer", "success_rate", to=0.001),
    "uniques": figure("uniques", to=7),
    "classes": figure("classes", to=3),
    "records of a class": figure("class_sizes", 0, "records", to=1000),
    "smallest class found": figure("k_anonymity", "k", to=50),
    "people in it": figure("k_anonymity", "people", to=50),
    "kind of risk": figure("basis", to="population"),
    "k with the target known": figure("with_clear_columns", "k", to=50),
    "share alone with the target known": figure("with_clear_columns", "share_alone", to=0.0005),
    "share below k with the target known": figure("with_clear_columns", "share_below_k", to=0.0005),
    "columns that may be known": figure("with_clear_columns", "columns", to=[]),
    "nothing that may be known": (
        lambda files: files.report["disclosure_risk"].pop("with_clear_columns"),
        "disclosure_risk",
    ),
    "width of the target": (at("params", "target_width", to=1000.0), "disclosure_risk"),
    "confidence in a value": figure("by_value", "customer_value", 0, "highest_confidence", to=0.1),
    "base rate of a value": figure("by_value", "customer_value", 0, "base_rate", to=0.9),
    "lift of a value": figure("by_value", "customer_value", 0, "lift", to=1.0),
    "holders above a half": figure("by_value", "customer_value", 0, "share_above_half", to=0.0005),
    "holders above nine tenths": figure("by_value", "customer_value", 0, "share_above_nine_tenths", to=0.0005),
    "a value of another name": figure("by_value", "customer_value", 0, "value", to="nobody's"),
    "a value left out": (
        lambda files: files.report["disclosure_risk"]["by_value"]["customer_value"].pop(0),
        "disclosure_risk",
    ),
    "a column of values left out": (
        lambda files: files.report["disclosure_risk"]["by_value"].pop("customer_value"),
        "disclosure_risk",
    ),
    "classes of another size": (at("report", "disclosure_risk", "class_sizes", 0, "size", to=60), "class_sizes"),
    "k found": (checked("k_anonymity", observed=50), "verification"),
    "k asked": (checked("k_anonymity", required=2), "verification"),
    "discernibility": (at("report", "utility", "discernibility", to=1), "utility"),
    "size of classes": (at("report", "utility", "average_equivalence_class_size", to=1.5), "utility"),
    "values that can be released": (
        on_first(lambda name: entry(name, released_values=1000)),
        "told:",
    ),
    "a label nobody made": (
        recounted(on_first(lambda name: cells(name, lambda c: pa.array(["[1, 2)"] * len(c), pa.string())))),
        "domain:",
    ),
    "another type of cells": (
        on_first(lambda name: cells(name, lambda c: c.cast(pa.large_string()))),
        "types",
    ),
}
"""Edits of a k-anonymous release."""


@pytest.mark.parametrize(("forgery", "method"), over(ANY_ANONYMOUS, ANONYMOUS))
def test_a_forged_k_anonymous_release_is_refused(
    releases: dict[str, Files], method: str, forgery: str, tmp_path: Path
) -> None:
    """All that the report states of the classes is recounted, or agrees with the params."""
    refused(releases[method], ANY_ANONYMOUS[forgery], tmp_path)
