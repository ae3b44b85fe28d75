# SPDX-License-Identifier: Apache-2.0
"""anonkit: release sensitive tables under a privacy promise that has been verified.

To declare what a table holds:  `Policy`, `Column`, `Role`.
To release:                     `release(source, method="rfka", k=10)` gives a `Release`.
To read a release:              `load("out.parquet")`.
To learn from a randomized one: `reconstruct("out.parquet", test="test.csv")`.
To choose a model by cross-validation on such a release: `release_scorer(params)`.
To recode the next batch:       `apply("out.params.json", new)`.
To look at a release:           `validate("out.parquet")`.
To hand it out in another form: `export("out.parquet", "out.xlsx")`.
To attack it, as its owner:     `audit("out.parquet", "in.csv")`.
To compare methods:             `compare("in.csv", target="income", methods=["mondrian", "rfka"])`.
To find what makes people unique: `risk("in.csv", policy="policy.toml")`.
To draft a policy:              `draft_policy(table)`.
To try without data:            `datasets.bank_customers(n, seed)`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.2.0"

if TYPE_CHECKING:
    from anonkit import datasets as datasets
    from anonkit.auditing import audit as audit
    from anonkit.bundle.stored_release import Release as Release
    from anonkit.bundle.stored_release import load as load
    from anonkit.comparing.comparison import compare as compare
    from anonkit.consumers.reconstruction import reconstruct as reconstruct
    from anonkit.consumers.release_scoring import release_scorer as release_scorer
    from anonkit.drafting.policy_draft import draft_policy as draft_policy
    from anonkit.errors import AnonkitError as AnonkitError
    from anonkit.pipeline.exporting import export as export
    from anonkit.pipeline.python_calls import apply as apply
    from anonkit.pipeline.python_calls import release as release
    from anonkit.pipeline.risk_before_release import risk as risk
    from anonkit.pipeline.validating import validate as validate
    from anonkit.policy.column_declarations import Column as Column
    from anonkit.policy.column_declarations import Role as Role
    from anonkit.policy.declaration import Policy as Policy

_HOME = {
    "AnonkitError": "anonkit.errors",
    "Column": "anonkit.policy.column_declarations",
    "Policy": "anonkit.policy.declaration",
    "Release": "anonkit.bundle.stored_release",
    "Role": "anonkit.policy.column_declarations",
    "apply": "anonkit.pipeline.python_calls",
    "audit": "anonkit.auditing",
    "compare": "anonkit.comparing.comparison",
    "draft_policy": "anonkit.drafting.policy_draft",
    "export": "anonkit.pipeline.exporting",
    "load": "anonkit.bundle.stored_release",
    "reconstruct": "anonkit.consumers.reconstruction",
    "release": "anonkit.pipeline.python_calls",
    "release_scorer": "anonkit.consumers.release_scoring",
    "risk": "anonkit.pipeline.risk_before_release",
    "validate": "anonkit.pipeline.validating",
}
__all__ = ["__version__", *_HOME, "datasets"]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that `import anonkit` stays instant."""
    if name == "datasets":
        return import_module("anonkit.datasets")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'anonkit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
