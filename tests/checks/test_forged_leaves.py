"""No single value of a release can be changed: every leaf of params.json and report.json is checked, or is named here.

A forger changes one scalar and makes the page, the descriptor and every hash again. docs/how-to/validate.md lists the
leaves that only a signature protects; they carry no promise.
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from checks.forgeries import SMALL, Files, Path_, forged, leaves, put, verdict
from hypothesis import given, settings
from hypothesis import strategies as st

SIGNED_ONLY = (
    "report: created",
    "report: dataset",
    "report: method.paper",
    "report: method.summary",
    "report: columns[].reason",
    "report: columns[].importance",
    "report: domains_declared_by",
    "report: notes",
    "report: search",
    "params: missing_values",
    "params: columns[].missing",
    "params: columns[].type",
)
"""Leaves, and what is below them, that no check can refuse: words, measures of usefulness, how `apply` reads."""


def _pattern(document: str, path: Path_) -> str:
    steps = "".join("[]" if isinstance(step, int) else f".{step}" for step in path)
    return f"{document}: {steps.removeprefix('.')}"


def _is_signed_only(document: str, path: Path_) -> bool:
    name = _pattern(document, path)
    return any(name == one or name.startswith((f"{one}.", f"{one}[]")) for one in SIGNED_ONLY)


SHARED = {
    "params": {"anonkit_version", "method", "preset", "method_parameters", "randomness", "assumptions", "treatment"},
    "report": {"format", "anonkit_version", "method", "guarantee", "budget", "rows", "verification", "randomness"},
}
"""Blocks that all promises share; the mechanisms have suites of their own (`test_*_forgeries.py`)."""


def _places(files: Files) -> list[tuple[str, Path_, Any]]:
    """Return every leaf that a check protects; of a table with noise, those of the blocks that all promises share."""
    noisy = files.report["guarantee"]["kind"] != "k-anonymity"
    return [
        (document, path, value)
        for document in ("params", "report")
        for path, value in leaves(getattr(files, document))
        if not _is_signed_only(document, path) and (not noisy or path[0] in SHARED[document])
    ]


def others(value: Any) -> list[Any]:
    """Return other values of a leaf: of its own type, and of another."""
    found: list[Any] = [None, "", "none", "age", "secure", "*", "[1, 2)", 0, 1, True, 3, 10**6]
    if isinstance(value, int) and not isinstance(value, bool):
        found += [value + step for step in (-3, -1, 1, 2)]
    elif isinstance(value, float):
        found += [value / 2, value * 1.001, value + 0.01, -value]
    elif isinstance(value, str):
        found += [f"{value} ", value[:-1], value.upper()]
    return [one for one in found if type(one) is not type(value) or one != value]


def accepted(original: Files, document: str, path: Path_, value: Any) -> bool:
    """Return whether `anonkit validate` ends with exit code 0 after one value was changed everywhere it can be."""
    with TemporaryDirectory() as folder:
        edit = forged(original, lambda files: put(getattr(files, document), path, value), Path(folder))
        return verdict(edit)[0] == 0


@pytest.mark.quick_cases("rfka", "rr", "dp-forest")
@pytest.mark.parametrize("method", SMALL)
@settings(max_examples=12)
@given(place=st.integers(0, 10**6), other=st.integers(0, 10**6))
def test_no_value_can_be_changed(releases: dict[str, Files], method: str, place: int, other: int) -> None:
    """A drawn leaf with a drawn other value is refused."""
    places = _places(releases[method])
    document, path, value = places[place % len(places)]
    changed = others(value)[other % len(others(value))]

    assert not accepted(releases[method], document, path, changed), (_pattern(document, path), changed)


@pytest.mark.slow
@pytest.mark.parametrize("method", SMALL)
@settings(max_examples=3)
@given(other=st.integers(0, 10**6))
def test_no_value_of_any_place_can_be_changed(releases: dict[str, Files], method: str, other: int) -> None:
    """Each leaf in turn, with a drawn other value."""
    passing = [
        (_pattern(document, path), others(value)[(other + at) % len(others(value))])
        for at, (document, path, value) in enumerate(_places(releases[method]))
        if accepted(releases[method], document, path, others(value)[(other + at) % len(others(value))])
    ]

    assert passing == []


def test_the_unprotected_leaves_are_documented(repository: Path) -> None:
    """The docs name every leaf that only a signature protects."""
    told = re.findall(r"^\| `(\w+)\.json` \| `([^`]+)` \|", (repository / "docs/how-to/validate.md").read_text(), re.M)

    assert {f"{document}: {leaf}" for document, leaf in told} == set(SIGNED_ONLY)
