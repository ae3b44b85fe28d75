"""Params of a release with noise, as a check reads them: what contradicts itself is refused."""

from __future__ import annotations

from typing import Any

import pytest

from anonkit.checks.central_params import is_boolean
from anonkit.errors import ReleaseFormatError


@pytest.mark.parametrize("change", [{"truth_values": "yes"}, {"categories": ["no", "yes"]}, {"categories": None}])
def test_booleans_are_false_and_true_and_nothing_else(change: dict[str, Any]) -> None:
    """A domain that calls other categories so would have its cells compared with those of another type."""
    domain = {"truth_values": True, "categories": ["false", "true"]}
    assert is_boolean(domain)
    assert not is_boolean({"categories": ["false", "true"]})
    with pytest.raises(ReleaseFormatError, match="truth values"):
        is_boolean({**domain, **change})
