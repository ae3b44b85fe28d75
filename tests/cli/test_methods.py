# SPDX-License-Identifier: Apache-2.0
"""`anonkit methods`: every method with its promise and its parameters."""

from __future__ import annotations

from typing import Any

from anonkit.methods import METHODS


def test_every_method_says_what_it_promises(cli: Any) -> None:
    """The list has all methods; each names a kind of promise and the words for it."""
    ran = cli("methods", "--json")

    assert ran.code == 0
    assert [one["name"] for one in ran.document["methods"]] == list(METHODS)
    for name in METHODS:
        guarantee = cli("methods", name, "--json").document["guarantee"]
        assert guarantee["kind"], name
        assert guarantee["statement"], name
        assert name in cli("methods").out
