"""The keywords of `anonkit.release` and `anonkit.apply`: each is declared once, and belongs to one value."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

import pytest
from keywords_of_calls import keywords_of

import anonkit
from anonkit.checks.population_risk import AgainstPopulation
from anonkit.comparing import comparison
from anonkit.engines.snapshots.addresses import ReadAs, SourceAddress
from anonkit.errors import ParameterError
from anonkit.ledger.account import Account
from anonkit.methods import METHODS, method_class
from anonkit.pipeline import request_form
from anonkit.pipeline.release_space import Output
from anonkit.pipeline.request_form import BatchOptions, MethodParameters, ReleaseOptions

GROUPS = [
    group
    for group in vars(request_form).values()
    if inspect.isclass(group) and group.__module__ == request_form.__name__ and "Method" not in group.__name__
]


@pytest.mark.parametrize(("call", "most"), [(anonkit.release, 20), (anonkit.apply, 14), (anonkit.compare, 13)])
def test_a_call_names_what_many_use(call: object, most: int) -> None:
    """The others are keywords all the same."""
    assert len(inspect.signature(call).parameters) <= most  # type: ignore[arg-type]


def test_the_parameters_of_methods_are_those_of_every_method() -> None:
    """No method of anonkit has a parameter that an editor does not know, and none is declared that no method has."""
    taken = {field.name for name in METHODS for field in fields(method_class(name))}
    assert set(MethodParameters.__annotations__) == taken


@pytest.mark.parametrize(
    ("group", "value"),
    [
        (request_form.LedgerOptions, Account),
        (comparison.BudgetOptions, Account),
        (request_form.OutputOptions, Output),
        (ReadAs, SourceAddress),
    ],
)
def test_a_group_is_of_fields_of_its_value(group: type, value: type) -> None:
    """So that a new option is one line here and one field there."""
    assert set(group.__annotations__) <= {field.name for field in fields(value)}


def test_what_is_known_of_a_population_has_the_keywords_of_the_group() -> None:
    """The names of the value's fields are shorter."""
    assert set(inspect.signature(AgainstPopulation.known).parameters) == set(
        request_form.PopulationOptions.__annotations__
    )


def test_no_keyword_means_two_things() -> None:
    """One name is in one group, and no option of a release is also a parameter of a method."""
    options = keywords_of(anonkit.release)
    assert len(options) == len(set(options))
    others = set(ReleaseOptions.__annotations__) - set(MethodParameters.__annotations__)
    assert not others & {field.name for name in METHODS for field in fields(method_class(name))}


@pytest.mark.parametrize("unknown", ["owner_report", "part_row", "k"])
def test_a_keyword_that_a_call_does_not_have_is_refused(unknown: str, tmp_path: Path) -> None:
    """Before anything is read, and with the nearest one."""
    params = tmp_path / "nothing.params.json"
    with pytest.raises(ParameterError, match=f"apply has no option '{unknown}'") as refused:
        anonkit.apply(params, tmp_path / "nothing.csv", **{unknown: 3})  # type: ignore[arg-type]
    assert (refused.value.hint or "").startswith("did you mean 'part_rows'" if unknown == "part_row" else "")
    assert unknown not in BatchOptions.__annotations__


def test_a_keyword_that_nothing_has_is_refused_with_the_nearest() -> None:
    """A slip in an option of a release is no unknown parameter of the method."""
    with pytest.raises(ParameterError, match="'part_row'") as refused:
        anonkit.release([{"a": 1}], k=2, part_row=3)  # type: ignore[call-arg]
    assert refused.value.hint == "did you mean 'part_rows'?"
