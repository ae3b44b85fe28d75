# SPDX-License-Identifier: Apache-2.0
"""`anonkit methods`: the available methods, their guarantees and their parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from anonkit.cli.commands import KIND_NAMES, declared_parameters, option_record
from anonkit.cli.options import json_option
from anonkit.cli.outcome import Outcome

if TYPE_CHECKING:
    from anonkit.parameters import Parameter


_CHOICES = (
    (
        "rfka, mondrian",
        "Colleagues or a named institute will work with the rows: release --k 10. mondrian keeps detail in more "
        "columns.",
    ),
    ("mdav", "They need numbers as numbers, to add up or to model: release --method mdav --k 10."),
    ("dp-forest", "Anyone may download the table, to predict one column: release --epsilon 1 --target NAME."),
    ("dp-marginals", "Anyone may download the table, for any question: release --epsilon 1 --no-target."),
    ("dp-tables", "Only counts, sums and means are published."),
    ("rr", "People do not trust you with their answers: it acts before the answers are stored."),
    ("all others", "To repeat a published experiment, or where a page of the documentation points to one."),
)
"""Methods with the situation each is for: what a newcomer reads first."""


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
    from anonkit.methods import method_parameters

    if name is not None:
        parameters = method_parameters(name)
        document = describe(name)
        return Outcome(text=_details(document, parameters), document=document)
    documents = [describe(name_of_method) for name_of_method in declared_parameters()]
    formatter = click.HelpFormatter(max_width=100)
    with formatter.section("Which one to take"):
        formatter.write_dl(_CHOICES)
    for kind, group in groupby(sorted(documents, key=_kind), key=_kind):
        with formatter.section(f"Promise: {kind}"):
            formatter.write_dl([(document["name"], document["summary"]) for document in group])
    formatter.write_paragraph()
    formatter.write_text("`anonkit methods NAME` shows the promise, parameters and presets of one.")
    return Outcome(text=formatter.getvalue().rstrip("\n"), document={"methods": documents})


def describe(name: str) -> dict[str, Any]:
    """Return all there is to say about a method."""
    from anonkit.methods import claim_of, method_class, presets_of
    from anonkit.parameters import parameters_of

    method = method_class(name)
    return {
        "name": name,
        "summary": method.summary,
        "paper": method.paper,
        "guarantee": claim_of(method),
        "parameters": [_parameter(parameter) for parameter in parameters_of(method)],
        "presets": {preset: dict(chosen) for preset, chosen in presets_of(method).items()},
    }


def _kind(document: Mapping[str, Any]) -> str:
    claim = document["guarantee"]
    return str(claim["kind"]) if claim else "depends on policy and parameters"


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "option": parameter.option,
        "type": KIND_NAMES.get(parameter.kind, "YES OR NO").lower(),
        "required": parameter.required,
        "default": parameter.default,
        "range": parameter.range,
        "choices": list(parameter.choices),
        "help": parameter.help,
    }


def _details(document: Mapping[str, Any], parameters: Sequence[Parameter]) -> str:
    formatter = click.HelpFormatter(max_width=100)
    formatter.write(f"{click.style(document['name'], bold=True)}: {document['summary']}\n\n")
    guarantee = document["guarantee"]
    statement = guarantee["statement"] if guarantee else "depends on the policy and the parameters"
    formatter.write_dl([("Promise", statement), ("Paper", document["paper"])])
    with formatter.section("Parameters"):
        formatter.write_dl([option_record(parameter) for parameter in parameters])
    if document["presets"]:
        with formatter.section("Presets (--preset)"):
            formatter.write_dl([(name, _chosen_words(chosen)) for name, chosen in document["presets"].items()])
    return formatter.getvalue().rstrip("\n")


def _chosen_words(chosen: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', '-')} = {value}" for name, value in chosen.items())
