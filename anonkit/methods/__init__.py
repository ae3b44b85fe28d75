# SPDX-License-Identifier: Apache-2.0
"""The methods by name. A new one is a file here, a line in METHODS, a test and a page in docs/methods.

Other packages add methods through the entry point group `anonkit.methods`: name = "module:Class".
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from anonkit.errors import ParameterError, did_you_mean
from anonkit.parameters import check_parameters
from anonkit.protocols import Method

METHODS: Mapping[str, str] = {
    "rfka": "anonkit.methods.rfka:RFKA",
    "greedy-hamdist": "anonkit.methods.greedy_hamdist:GreedyHamdist",
    "mondrian": "anonkit.methods.mondrian:Mondrian",
    "rr": "anonkit.methods.rr:RR",
    "errph": "anonkit.methods.errph:ERRPH",
    "trr": "anonkit.methods.trr:TRR",
    "ppnb": "anonkit.methods.ppnb:PPNB",
    "dp-nb": "anonkit.methods.dp_nb:DPNB",
    "dp-forest": "anonkit.methods.dp_forest:DPForest",
    "dp-tree": "anonkit.methods.dp_tree:DPTree",
    "edprf": "anonkit.methods.edprf:EDPRF",
    "diffprfs": "anonkit.methods.diffprfs:DiffPRFs",
    "diffprf": "anonkit.methods.diffprf:DiffPRF",
    "c45-arithmetic": "anonkit.methods.c45_arithmetic:C45Arithmetic",
    "c45-halving": "anonkit.methods.c45_halving:C45Halving",
    "sulq-id3": "anonkit.methods.sulq_id3:SuLQID3",
    "pinq-id3": "anonkit.methods.pinq_id3:PINQID3",
    "diffp-id3": "anonkit.methods.diffp_id3:DiffPID3",
    "diffp-c45": "anonkit.methods.diffp_c45:DiffPC45",
    "diffgen": "anonkit.methods.diffgen:DiffGen",
    "dt-diff": "anonkit.methods.dt_diff:DTDiff",
}


def method_names() -> tuple[str, ...]:
    """Return the names of all methods, built in first."""
    return (*METHODS, *(point.name for point in _third_party() if point.name not in METHODS))


def method_class(name: str) -> type[Method]:
    """Return the class of a method.

    Raises
    ------
    ParameterError
        No method has this name.
    """
    if name in METHODS:
        module, _, attribute = METHODS[name].partition(":")
        found: type[Method] = getattr(import_module(module), attribute)
        return found
    for point in _third_party():
        if point.name == name:
            loaded: type[Method] = point.load()
            return loaded
    raise ParameterError(f"method ({name}) is not known", did_you_mean(name, method_names()))


def make_method(name: str, parameters: Mapping[str, Any], preset: str | None = None) -> Method:
    """Build a method from its name, a preset, and parameters on top of the preset.

    Raises
    ------
    ParameterError
        Unknown method, preset or parameter, or a value outside its range.
    """
    found = method_class(name)
    presets = presets_of(found)
    if preset is not None and preset not in presets:
        raise ParameterError(f"method {name!r} has no preset {preset!r}", did_you_mean(preset, presets))
    chosen = {**(presets[preset] if preset else {}), **parameters}
    check_parameters(found, chosen)
    return found(**chosen)


def presets_of(method: type[Method]) -> Mapping[str, Mapping[str, Any]]:
    """Return the named sets of choices of a method."""
    presets: Mapping[str, Mapping[str, Any]] = getattr(method, "presets", {})
    return presets


def _third_party() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group="anonkit.methods"))
