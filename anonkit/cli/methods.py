# SPDX-License-Identifier: Apache-2.0
"""`anonkit methods`: what exists, what it guarantees, its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from anonkit.cli.method_options import KIND_NAMES, declared_parameters, option_record
from anonkit.cli.options import json_option
from anonkit.cli.outcome import Outcome
from anonkit.errors import AnonkitError

if TYPE_CHECKING:
    from anonkit.parameters import Parameter
    from anonkit.promises.guarantee import Guarantee


@click.command(name="methods")
@click.argument("name", metavar="[NAME]", required=False)
@json_option
def command(name: str | None) -> Outcome:
    """List the methods, or all about one.

    \b
    anonkit methods
    anonkit methods rfka
    anonkit methods --json
    """
    from anonkit.methods import method_class
    from anonkit.parameters import parameters_of

    if name is not None:
        parameters = parameters_of(method_class(name))
        document = describe(name)
        return Outcome(text=_details(document, parameters), document=document)
    documents = [describe(each) for each in declared_parameters()]
    formatter = click.HelpFormatter(max_width=100)
    formatter.write_dl([(one["name"], one["summary"]) for one in documents])
    formatter.write_text("`anonkit methods NAME` tells promise, parameters and presets.")
    return Outcome(text=formatter.getvalue().rstrip("\n"), document={"methods": documents})


def describe(name: str) -> dict[str, Any]:
    """Return all there is to say about a method."""
    from anonkit.methods import method_class, presets_of
    from anonkit.parameters import parameters_of

    method = method_class(name)
    promise = _promise(method)
    return {
        "name": name,
        "summary": method.summary,
        "paper": method.paper,
        "guarantee": _claim(method, promise),
        "parameters": [_parameter(one) for one in parameters_of(method)],
        "presets": {preset: dict(chosen) for preset, chosen in presets_of(method).items()},
    }


def _promise(method: Any) -> Guarantee | None:
    """Return what the method promises with its defaults; None where that depends on the policy or on a parameter."""
    from anonkit.policy.declaration import Policy

    try:
        promise: Guarantee = method().guarantee(Policy())
    except (TypeError, AnonkitError):
        return None
    return promise


def _claim(method: Any, promise: Guarantee | None) -> dict[str, Any] | None:
    """Return kind and words of the promise; in general terms where the method has such and the policy decides."""
    general: Mapping[str, str] | None = getattr(method, "promise_words", None)
    if general is not None:
        return dict(general)
    return None if promise is None else {"kind": promise.kind, "statement": promise.statement()}


def _parameter(one: Parameter) -> dict[str, Any]:
    return {
        "name": one.name,
        "option": one.option,
        "type": KIND_NAMES.get(one.kind, "YES OR NO").lower(),
        "required": one.required,
        "default": one.default,
        "range": one.range,
        "choices": list(one.choices),
        "help": one.help,
    }


def _details(document: Mapping[str, Any], parameters: Sequence[Parameter]) -> str:
    formatter = click.HelpFormatter(max_width=100)
    formatter.write(f"{click.style(document['name'], bold=True)}: {document['summary']}\n\n")
    guarantee = document["guarantee"]
    statement = guarantee["statement"] if guarantee else "depends on the policy and the parameters"
    formatter.write_dl([("Promise", statement), ("Paper", document["paper"])])
    with formatter.section("Parameters"):
        formatter.write_dl([option_record(one) for one in parameters])
    if document["presets"]:
        with formatter.section("Presets (--preset)"):
            formatter.write_dl([(name, _chosen_words(chosen)) for name, chosen in document["presets"].items()])
    return formatter.getvalue().rstrip("\n")


def _chosen_words(chosen: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', '-')} = {value}" for name, value in chosen.items())
