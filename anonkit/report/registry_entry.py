# SPDX-License-Identifier: Apache-2.0
"""A draft entry for the OpenDP deployments registry: what a release states of its differential privacy, as YAML.

The fields are those of the registry's own schema. What no file of a release knows is left empty and marked for the
owner to fill in: the curator, the use, the region, the authors of the entry. Nothing is guessed.

References
----------
OpenDP, *Privacy Deployments Registry*, `schemas/deployments-schema.yaml`.
https://github.com/opendp/deployments-registry-data
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from anonkit.promises.guarantee import Guarantee

EMPTY = ""
"""Value for the owner to fill in."""
_FILL_IN = "  # to fill in"
_HOLDER = (
    "The owner holds the rows, and runs the method on them; everybody else sees the files of the release alone, and is "
    "trusted with nothing."
)
_MECHANISMS = (
    "{summary}. Published as: {paper}. Implemented in anonkit {version}, whose random words come from AES in counter "
    "mode under a key of the release that is never written. Randomness of this release: {randomness}."
)


def has_entry(promise: Guarantee) -> bool:
    """Return True if a promise is one of differential privacy with a bound, which the registry is for."""
    epsilon = promise.to_dict()["parameters"].get("epsilon")
    return isinstance(epsilon, int | float) and math.isfinite(epsilon)


def build_registry_entry(*, name: str, report: Mapping[str, Any]) -> str:
    """Return the entry as YAML.

    Parameters
    ----------
    name : str
        Package name of the release.
    report : mapping
        The privacy report of a release with an epsilon (`has_entry`).
    """
    guarantee, method, ledger = report["guarantee"], report["method"], report.get("ledger") or {}
    parameters, many = guarantee["parameters"], ledger.get("release_of_dataset", 1) > 1
    delta = parameters.get("delta") or 0
    released = [column for column in report["columns"] if column["action"] != "dropped"]
    synthetic = all(column["action"] == "synthesized" for column in released)
    names = ", ".join(column["name"] for column in released)
    entry = {
        "url_slug": name,
        "deployment": {
            "basic": {
                "name": f"Release of {report['dataset']}" if report["dataset"] else EMPTY,
                "data_curators": [{"data_curator_name": EMPTY, "data_curator_type": EMPTY}],
                "description": guarantee["statement"],
                "intended_use": EMPTY,
                "data_product_type": "Synthetic data" if synthetic else "Dataset",
                "data_product_region": EMPTY,
                "publication_date": report["created"][:10],
            },
            "dp_variant": {
                "variant_name": "Approximate DP" if delta else "Pure DP",
                "data_domain": f"Tables with the columns {names}, in their declared domains.",
                "unprotected_quantities": " ".join([*guarantee["not_protected"], *guarantee["assumptions"]]),
            },
            "privacy_loss": {
                "privacy_unit": guarantee["unit"],
                "privacy_unit_details": guarantee["adjacency"],
                "privacy_parameters": {
                    "epsilon": float(parameters["epsilon"]),
                    **({"delta": float(delta)} if delta else {}),
                },
                "privacy_parameters_details": guarantee["formal"],
            },
            "deployment_model": {
                "model_name": "Central",
                "trust_assumptions": _HOLDER,
                "release_type": "Many releases" if many else "One release",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "implementation": {
                "mechanisms": _MECHANISMS.format(
                    summary=method["summary"],
                    paper=method["paper"],
                    version=report["anonkit_version"],
                    randomness=report["randomness"],
                ),
            },
            "administrative": {"status": "Draft", "registry_authors": [EMPTY], "tier": 2},
        },
    }
    return "\n".join(_lines(entry)) + "\n"


def _lines(value: Any, indent: str = "") -> Iterator[str]:
    """Yield a document as lines of YAML: blocks of mappings and lists, strings in the quotes of JSON."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, dict | list):
                yield f"{indent}{key}:"
                yield from _lines(inner, f"{indent}  ")
            else:
                yield f"{indent}{key}: {_scalar(inner)}"
        return
    for entry in value:
        inner_lines = list(_lines(entry, f"{indent}  ")) if isinstance(entry, dict) else [f"{indent}  {_scalar(entry)}"]
        yield f"{indent}- {inner_lines[0].lstrip()}"
        yield from inner_lines[1:]


def _scalar(value: Any) -> str:
    if value == EMPTY:
        return f'""{_FILL_IN}'
    if isinstance(value, float):
        text = repr(value)  # YAML 1.1 takes 1e-06 for a text, and 1.0e-06 for a number
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    return json.dumps(value, ensure_ascii=False)
