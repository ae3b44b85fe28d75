"""Names of a release."""

from __future__ import annotations

import pytest

from anonkit.bundle.release_names import package_name


@pytest.mark.parametrize(("stem", "name"), [("Out 1", "out-1"), ("über", "ber"), ("...", "..."), ("", "release")])
def test_package_names_are_lower_case_and_plain(stem: str, name: str) -> None:
    """Data Package names allow letters, digits and three signs."""
    assert package_name(stem) == name
