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
    "report: utility.prediction_of_target",
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


def _places(files: Files) -> list[tuple[str, Path_, Any]]:
    """Return every leaf that a check protects."""
    return [
        (document, path, value)
        for document in ("params", "report")
        for path, value in leaves(getattr(files, document))
        if not _is_signed_only(document, path)
    ]


def others(value: Any) -> st.SearchStrategy[Any]:
    """Draw other values of a leaf: of its own type, and of another."""
    texts = st.sampled_from(["", "none", "age", "secure", "*", "[1, 2)"])
    if isinstance(value, bool) or value is None:
        drawn: st.SearchStrategy[Any] = st.sampled_from([True, False, None, 0, 1, 3, "none"])
    elif isinstance(value, int):
        drawn = st.one_of(st.integers(value - 3, value + 3), st.integers(0, 10**6), st.none(), texts)
    elif isinstance(value, float):
        drawn = st.one_of(st.sampled_from([value / 2, value * 1.001, value + 0.01, 0.0, 1.0, -1.0]), st.none(), texts)
    else:
        drawn = st.one_of(st.just(f"{value} "), st.just(value[:-1]), texts, st.none(), st.integers(0, 3))
    return drawn.filter(lambda one: type(one) is not type(value) or one != value)


def accepted(original: Files, document: str, path: Path_, value: Any) -> bool:
    """Tell whether `anonkit validate` ends with exit code 0 after one value was changed everywhere it can be."""
    with TemporaryDirectory() as folder:
        edit = forged(original, lambda files: put(getattr(files, document), path, value), Path(folder))
        return verdict(edit)[0] == 0


@pytest.mark.parametrize("method", SMALL)
@settings(max_examples=15)
@given(data=st.data())
def test_no_value_can_be_changed(releases: dict[str, Files], method: str, data: st.DataObject) -> None:
    """A drawn leaf with a drawn other value is refused."""
    document, path, value = data.draw(st.sampled_from(_places(releases[method])))

    assert not accepted(releases[method], document, path, data.draw(others(value))), _pattern(document, path)


@pytest.mark.slow
@pytest.mark.parametrize("method", SMALL)
@settings(max_examples=1)
@given(data=st.data())
def test_no_value_of_any_place_can_be_changed(releases: dict[str, Files], method: str, data: st.DataObject) -> None:
    """Each leaf in turn, with a drawn other value."""
    passing = [
        _pattern(document, path)
        for document, path, value in _places(releases[method])
        if accepted(releases[method], document, path, data.draw(others(value)))
    ]

    assert passing == []


def test_the_unprotected_leaves_are_documented(repository: Path) -> None:
    """What only a signature protects is said in the docs, leaf by leaf."""
    told = re.findall(r"^\| `(\w+)\.json` \| `([^`]+)` \|", (repository / "docs/how-to/validate.md").read_text(), re.M)

    assert {f"{document}: {leaf}" for document, leaf in told} == set(SIGNED_ONLY)
