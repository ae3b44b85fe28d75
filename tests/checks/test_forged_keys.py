# SPDX-License-Identifier: Apache-2.0
"""Forgeries of keys with a k of their own: counted anew in the data, and the same in promise and params."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from checks.forgeries import Edit, Files, forged
from checks.forging import at, both, checked, stated_anew

import anonkit


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A release whose sexes are shared by thirty rows at least."""
    table = pa.table({"age": [20 + at * 7 % 40 for at in range(200)], "sex": ["fm"[at % 5 == 0] for at in range(200)]})
    out = tmp_path_factory.mktemp("keys") / "out.parquet"
    columns = {"age": {"role": "quasi_identifier"}, "sex": {"role": "quasi_identifier"}}
    policy = {"columns": columns, "keys": [{"columns": ["sex"], "k": 30}]}
    anonkit.release(
        table, method="mondrian", k=5, policy=policy, no_target=True, output=out, ledger=None, utility=False
    )
    return Files.read(out)


PROMISED = ("guarantee", "parameters", "keys")
CHECK = "k_anonymity_key:sex"
FORGERIES: dict[str, tuple[Edit, set[str]]] = {
    "k in the promise": (stated_anew(at("report", *PROMISED, 0, "k", to=10)), {"model", "verification"}),
    "k in params": (at("params", "keys", 0, "k", to=10), {"model"}),
    "columns in the promise": (
        stated_anew(at("report", *PROMISED, 0, "columns", to=["age"])),
        {"model", "verification", "k_anonymity_key:age"},
    ),
    "no key in the promise": (
        stated_anew(lambda files: files.report["guarantee"]["parameters"].pop("keys")),
        {"model", "verification"},
    ),
    "no key in params": (lambda files: files.params.pop("keys"), {"model"}),
    "rows found": (checked(CHECK, observed=199), {"verification"}),
    "not verified": (
        lambda files: files.report["verification"].update(
            checks=[each for each in files.report["verification"]["checks"] if each["name"] != CHECK]
        ),
        {"verification"},
    ),
    "a larger k everywhere": (
        both(stated_anew(at("report", *PROMISED, 0, "k", to=150)), at("params", "keys", 0, "k", to=150)),
        {"verification", CHECK},
    ),
    "a key twice": (
        stated_anew(at("report", *PROMISED, to=lambda keys: [*keys, *keys])),
        {"columns"},
    ),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_key_is_refused(made: Files, forgery: str, tmp_path: Path) -> None:
    """The rarest combination is counted, and promise, params and verification say one k."""
    edit, names = FORGERIES[forgery]
    found = anonkit.validate(forged(made, edit, tmp_path))
    assert {check.name for check in found.checks if not check.passed} == names


def test_the_release_as_it_is_keeps_its_keys(made: Files, tmp_path: Path) -> None:
    """Nothing is refused that nobody forged, also by other quasi-identifiers."""
    data = forged(made, lambda files: None, tmp_path)
    assert anonkit.validate(data).passed
    assert anonkit.validate(data, quasi_identifiers=["sex"]).passed
