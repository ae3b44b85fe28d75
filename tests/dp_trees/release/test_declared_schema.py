"""The shared parts of a trusted owner's methods: one declaration of epsilon, neighbours and units, one schema."""

from __future__ import annotations

import abc
import inspect
from dataclasses import fields, replace

import pytest

from anonkit.datasets import bank_customers_policy
from anonkit.dp_trees.release.declared_schema import CentralMethod, schema_of
from anonkit.errors import ParameterError, PolicyError
from anonkit.methods import METHODS, make_method, method_class
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import public_domains
from anonkit.published.tree_model import Split

POLICY = bank_customers_policy()
CENTRAL = [name for name in METHODS if issubclass(method_class(name), CentralMethod)]


def test_every_method_of_trees_and_noisy_tables_is_one() -> None:
    """Sixteen methods with one declaration: its fields are declared nowhere else."""
    assert len(CENTRAL) == 16
    for name in CENTRAL:
        owners = [one for one in method_class(name).__mro__ if "epsilon" in inspect.get_annotations(one)]
        assert owners == [CentralMethod]


@pytest.mark.parametrize("name", CENTRAL)
def test_no_method_lacks_what_it_must_say(name: str) -> None:
    """A method that does not say how it chooses or grows cannot be made: nothing is found out at the release."""
    made = method_class(name)
    assert not getattr(made, "__abstractmethods__", None)
    assert isinstance(made, abc.ABCMeta) or name in ("dp-nb", "dp-forest", "dp-tree", "dp-tables", "dp-marginals")


@pytest.mark.parametrize("name", CENTRAL)
@pytest.mark.parametrize("wrong", [{"epsilon": 0.0}, {"epsilon": 41.0}, {"adjacency": "both"}, {"rows_per_unit": 0}])
def test_what_cannot_be_promised_is_refused(name: str, wrong: dict[str, object]) -> None:
    """The name and the range."""
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        make_method(name, {"epsilon": 1.0, **wrong})


@pytest.mark.parametrize("name", CENTRAL)
def test_the_promise_never_exceeds_what_was_asked_for_whoever_is_protected(name: str) -> None:
    """Three rows a unit, replaced: six rows change, and the epsilon of the unit is that of the parameter."""
    policy = POLICY.with_roles(unit="education")
    made = make_method(name, {"epsilon": 1.0, "rows_per_unit": 3, "adjacency": "replace"})
    assert isinstance(made, CentralMethod)
    assert made.changed_rows == 6
    promise = made.guarantee(policy)  # type: ignore[attr-defined]
    assert 0.9 < promise.epsilon <= 1.0
    assert (promise.unit, promise.rows_per_unit) == ("education", 3)
    with pytest.raises(ParameterError, match="rows_per_unit needs a unit column"):
        made.guarantee(POLICY)  # type: ignore[attr-defined]


def test_a_schema_is_made_of_public_domains_alone() -> None:
    """Numbers on a grid, categories with the split requested; a column without a domain, or no target, is refused."""
    schema = schema_of(public_domains(POLICY), 8, number=Split.CUT, category=Split.ONE_VS_REST)
    assert {one.split for one in schema.attributes if one.is_number} == {Split.CUT}
    assert {one.split for one in schema.attributes if not one.is_number} == {Split.ONE_VS_REST}
    assert {one.codes for one in schema.attributes if one.is_number} <= {8, 9}
    assert [one.name for one in schema.attributes] == sorted(one.name for one in schema.attributes)
    column = POLICY.column("age")
    unknown = replace(column, **{one.name: None for one in fields(column) if one.name in ("bounds", "categories")})
    with pytest.raises(PolicyError, match="age"):
        public_domains(replace(POLICY, columns={**POLICY.columns, "age": unknown}))
    free = {name: replace(one, role=Role.INSENSITIVE) for name, one in POLICY.columns.items() if name == POLICY.target}
    with pytest.raises(PolicyError, match="target"):
        public_domains(Policy(columns={**POLICY.columns, **free}), target_required=True)
    with pytest.raises(PolicyError, match="target"):
        schema_of(public_domains(Policy(columns={**POLICY.columns, **free})), 8, number=Split.CUT, category=Split.CUT)
