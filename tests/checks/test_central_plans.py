"""The draws of central methods rebuilt from public facts: two codes agree over all methods, parameters and schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from anonkit.checks.central_account import account_checks, published_account
from anonkit.checks.central_params import facts_of
from anonkit.checks.central_plans import expected_account
from anonkit.dp_trees.release.stacked_trees import StackedMethod
from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.mechanisms.accounting import Accounting
from anonkit.methods import make_method
from anonkit.methods.dp_nb import DPNB
from anonkit.parameters import parameters_of
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy
from anonkit.published.tree_model import PublishedForest

TREES = (
    "edprf", "diffprfs", "diffprf", "c45-arithmetic", "c45-halving", "sulq-id3", "pinq-id3", "diffp-id3", "diffp-c45",
    "diffgen", "dt-diff",
)  # fmt: skip
STACKED = ("dp-forest", "dp-tree")
SMALL = {"depth": (1, 12), "trees": (1, 40), "bins": (2, 60), "steps": (1, 30), "max_rows": (1, 1 << 28)}


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Some attributes of every kind, of one code and of thousands, and a target."""
    columns = {}
    for at in range(draw(st.integers(1, 9))):
        name = f"a{at}"
        if draw(st.booleans()):
            columns[name] = Column(
                name=name, bounds=(0.0, 10.0), missing=draw(st.sampled_from([None, Missing.CATEGORY]))
            )
        else:
            size = draw(st.sampled_from([1, 2, 3, 7, 2500]))
            columns[name] = Column(name=name, categories=tuple(map(str, range(size))))
    classes = tuple(map(str, range(draw(st.integers(1, 6)))))
    columns["y"] = Column(name="y", role=Role.TARGET, categories=classes)
    unit = draw(st.booleans())
    if unit:
        columns["who"] = Column(name="who", role=Role.UNIT)
    return Policy(columns=columns)


@st.composite
def parameters(draw: st.DrawFn, name: str, unit: bool) -> dict[str, Any]:
    """Any parameters of a method."""
    given: dict[str, Any] = {"epsilon": draw(st.sampled_from([0.01, 0.3, 1.0, 2.5, 40.0]))}
    for one in parameters_of(type(make_method(name, {"epsilon": 1.0}))):
        if one.choices:
            given[one.name] = draw(st.sampled_from(one.choices))
        elif one.name in SMALL and name not in STACKED:
            given[one.name] = draw(st.integers(*SMALL[one.name]))
    given["rows_per_unit"] = draw(st.integers(1, 5)) if unit else 1
    if name in STACKED:
        given |= {"n_rows": draw(st.sampled_from([0, 5, 10**5])), "depth": draw(st.integers(0, 12))}
    if given.get("stop") == "pure":
        given["stop"] = "depth"
    return given


def account_of(method: Any, policy: Policy, rows: float) -> tuple[Accounting, dict[str, Any]]:
    """The method's own plan, and what it publishes of its schema."""
    if isinstance(method, DPNB):
        schema, account, kind = method.schema(policy), method.account(policy), {"kind": "disjoint", "trees": 1}
    elif isinstance(method, StackedMethod):
        plan = method.plan(policy, rows, method._counting)
        schema, account, kind = plan.schema, plan.accounting(None), {"kind": "disjoint", "trees": method.n_trees}
    else:
        planned = method.plan(policy)
        schema, account, kind = planned.schema, planned.accounting, {}
    return account, {**PublishedForest(schema=schema, trees=(), rows_per_tree=kind).to_params(), **method.told}


def refused(account: Accounting, params: Mapping[str, Any]) -> list[str]:
    """The checks of the account that fail."""
    told = {**params, **account.to_params()}
    facts = facts_of(told)
    return [one.name for one in account_checks(told, facts, expected_account(facts, told)) if not one.passed]


@pytest.mark.parametrize("name", [*TREES, *STACKED, "dp-nb"])
@settings(max_examples=15)
@given(data=st.data())
def test_what_a_method_plans_is_what_the_check_rebuilds(name: str, data: st.DataObject) -> None:
    """Every line, its mechanism, sensitivity, times and cost, and the composition: by two codes."""
    policy = data.draw(policies())
    given = data.draw(parameters(name, policy.unit is not None))
    try:
        account, params = account_of(make_method(name, given), policy, data.draw(st.sampled_from([-3.0, 40.0, 1e6])))
    except ParameterError:
        assume(False)  # too little epsilon for so many draws: refused before any data is seen
    wrong = refused(account, params)
    # with weights to learn their share is drawn later, from what is noisy: without these lines a path lacks it
    weights = name in STACKED and published_account({**params, **account.to_params()}).epsilon < 0.9 * given["epsilon"]
    assert wrong == (["account_spends_epsilon"] if weights else [])


def test_a_method_without_an_account_has_none_rebuilt() -> None:
    """A promise by a method that makes none, or by a look without noise, is refused."""
    policy = Policy(
        columns={
            "a": Column(name="a", categories=("0", "1")),
            "y": Column(name="y", role=Role.TARGET, categories=("0", "1")),
        }
    )
    account, params = account_of(make_method("edprf", {"epsilon": 1.0}), policy, 0)
    assert refused(account, params) == []
    for change in ({"method": "rr"}, {"parameters": {**params["parameters"], "stop": "pure"}}):
        with pytest.raises(ReleaseFormatError):
            refused(account, {**params, **change})
    del params["parameters"]
    with pytest.raises(ReleaseFormatError, match="older format"):
        refused(account, params)
