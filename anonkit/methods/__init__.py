# SPDX-License-Identifier: Apache-2.0
"""The methods: one published method per module, looked up by module name.

A new method is a file here, a test in tests/methods and a page in docs/methods. `mondrian.py` holds the class whose
`name` is "mondrian", `dp_nb.py` that of "dp-nb". Other packages add methods through the entry point group
`anonkit.methods`: name = "module:Class".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pkgutil import iter_modules
from typing import Any

from anonkit.errors import AnonkitError, ParameterError, did_you_mean
from anonkit.parameters import Parameter, check_parameters, parameters_of
from anonkit.policy.declaration import Policy
from anonkit.protocols import Method

METHODS: Mapping[str, str] = {
    module.name.replace("_", "-"): f"{__name__}.{module.name}" for module in iter_modules(__path__)
}
"""Module of each method that comes with anonkit, in the order of their names; nothing is imported to know them."""


def method_names() -> tuple[str, ...]:
    """Return the names of all methods, built in first."""
    return (*METHODS, *(point.name for point in _third_party() if point.name not in METHODS))


def default_method(parameters: Collection[str], *, without_target: bool) -> str:
    """Return the method that is taken when none is named.

    With an epsilon it is one of differential privacy by a trusted owner: `dp-marginals` where nothing is predicted,
    else `dp-forest`. Without one it is `rfka`.

    Parameters
    ----------
    parameters : collection of str
        Names of the parameters that were given.
    without_target : bool
        True where the caller declares that there is no target.
    """
    if "epsilon" not in parameters:
        return "rfka"
    return "dp-marginals" if without_target else "dp-forest"


def method_class(name: str) -> type[Method]:
    """Return the class of a method.

    Raises
    ------
    ParameterError
        No method has this name.
    """
    if name in METHODS:
        return _class_in(METHODS[name], name)
    for point in _third_party():
        if point.name == name:
            loaded: type[Method] = point.load()
            return loaded
    raise ParameterError(f"method ({name}) is not known", did_you_mean(name, method_names()))


def method_parameters(name: str) -> tuple[Parameter, ...]:
    """Return the parameters that a method declares, in their order.

    Raises
    ------
    ParameterError
        No method has this name.
    """
    return parameters_of(method_class(name))


def make_method(name: str, parameters: Mapping[str, Any], preset: str | None = None) -> Method:
    """Build a method from its name, a preset, and parameters on top of the preset.

    Raises
    ------
    ParameterError
        Unknown method, preset or parameter, or a value outside its range.
    """
    class_ = method_class(name)
    presets = presets_of(class_)
    if preset is not None and preset not in presets:
        hint = did_you_mean(preset, presets) if presets else "it has none: leave the preset out"
        raise ParameterError(f"method {name!r} has no preset {preset!r}", hint)
    chosen = {**(presets[preset] if preset else {}), **parameters}
    check_parameters(class_, chosen)
    return class_(**chosen)


def presets_of(method: type[Method]) -> Mapping[str, Mapping[str, Any]]:
    """Return the named sets of choices of a method."""
    presets: Mapping[str, Mapping[str, Any]] = getattr(method, "presets", {})
    return presets


def claim_of(method: type[Method]) -> Mapping[str, str] | None:
    """Return ``kind`` and ``statement`` of a method's promise, before there is a policy or a parameter.

    Where policy and parameters decide, a class says it in general terms in its attribute ``promise_words``; else the
    promise of its defaults is taken, or that of its example. None when none of them can be computed.
    """
    words: Mapping[str, str] | None = getattr(method, "promise_words", None)
    if words is not None:
        return dict(words)
    for parameters in ({}, example_of(method)):
        try:
            promise = method(**parameters).guarantee(Policy())
        except (TypeError, AnonkitError):
            continue
        return {"kind": promise.kind, "statement": promise.statement()}
    return None


def example_of(method: type[Method]) -> Mapping[str, Any]:
    """Return parameters that make a method quick on a few hundred rows, for tests and first tries.

    A class says so in its attribute ``example``; without one the defaults are taken.
    """
    example: Mapping[str, Any] = getattr(method, "example", {})
    return example


def _class_in(module: str, name: str) -> type[Method]:
    """Return the class of a module that calls itself by a method's name; a name that is inherited does not count."""
    for value in vars(import_module(module)).values():
        if isinstance(value, type) and vars(value).get("name") == name:
            method: type[Method] = value
            return method
    raise LookupError(f"{module} defines no class whose name is {name!r}")


def _third_party() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group="anonkit.methods"))
