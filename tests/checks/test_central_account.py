"""The draws of central methods rebuilt from public facts: two codes agree over all methods, parameters and schemas.

The account of noise in the params: added up alike by two codes, and refused where a line is damaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from anonkit.budget_rules.model_queries import TABLE, ClippedSum
from anonkit.checks.central_account import account_checks, expected_account, published_account
from anonkit.checks.central_params import facts_of
from anonkit.checks.central_rule import rebuilt_rule
from anonkit.dp_trees.marginals.learned_marginals import planned
from anonkit.dp_trees.questions import CodedBatch
from anonkit.dp_trees.release.stacked_trees import StackedMethod
from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.mechanisms.accounting import Accounting, draw_units, sensitivity_of
from anonkit.methods import make_method
from anonkit.methods.dp_marginals import DPMarginals
from anonkit.methods.dp_nb import DPNB
from anonkit.parameters import parameters_of
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy
from anonkit.promises.guarantee import ADD_OR_REMOVE, REPLACE
from anonkit.published.noisy_tables import LAPLACE, MarginalSchema
from anonkit.published.statements.noise_statement import Bootstrap, Draw
from anonkit.published.tree_model import PublishedForest, TreeSchema
from anonkit.randomness import Randomness
from tests.checks.test_central import COLUMNS

ONE = 1 << 52
LEAF = Draw(name="leaf", query=TABLE, law=LAPLACE, rate=ONE // 4, times=2, level=1, ends_path=True)


def params(**more: Any) -> dict[str, Any]:
    """The params of a release of one line."""
    return {**Accounting(draws=(LEAF,)).to_params(), "columns": COLUMNS, **more}


DRAWS = st.builds(
    Draw,
    name=st.just("p"),
    law=st.just(LAPLACE),
    rate=st.integers(1, ONE),
    query=st.builds(ClippedSum, bound=st.integers(1, 600)),
    times=st.integers(1, 30),
    level=st.integers(0, 4),
    ends_path=st.booleans(),
)


@given(
    st.lists(DRAWS, max_size=8),
    st.integers(1, 5),
    st.sampled_from([ADD_OR_REMOVE, REPLACE]),
    st.sampled_from([None, Bootstrap(trees=2, weights=(1 << 31, 1 << 30, 1 << 30))]),
)
def test_the_account_is_added_up_alike_by_two_codes(
    draws: list[Draw], rows: int, adjacency: str, bootstrap: Bootstrap | None
) -> None:
    """The release and the check compute the same float, in any order of the paths."""
    draws = [replace(one, rate=min(one.rate, ONE // (sensitivity_of(one.query) * one.times) + 1)) for one in draws]
    account = Accounting(draws=tuple(draws), rows_per_unit=rows, adjacency=adjacency, bootstrap=bootstrap)
    found = published_account(account.to_params())
    assert found.epsilon <= account.epsilon
    assert found.epsilon == pytest.approx(account.epsilon, rel=1e-15, abs=1e-30)
    assert (found.rows_per_unit, found.adjacency) == (rows, adjacency)


@pytest.mark.parametrize(
    ("key", "value"),
    [("rate", ONE), ("rate", 0), ("sensitivity", 1.5), ("times", -1), ("mechanism", "none"), ("epsilon", 0.1)],
)
def test_an_altered_line_is_refused(key: str, value: Any) -> None:
    """A line states its own epsilon: anyone who changes one number has to change the other, and then the total."""
    told = params()
    told["accounting"][0][key] = value
    with pytest.raises(ReleaseFormatError):
        published_account(told)


@pytest.mark.parametrize("damage", ["accounting", "composition"])
def test_a_missing_part_is_refused(damage: str) -> None:
    """No account, no claim."""
    told = params()
    del told[damage]
    with pytest.raises(ReleaseFormatError):
        published_account(told)


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
    if name == "dp-marginals":
        given |= {"n_rows": draw(st.sampled_from([0, 5, 10**5])), "delta": draw(st.sampled_from([0.0, 1e-9, 1e-3]))}
    if name in STACKED:
        given |= {"n_rows": draw(st.sampled_from([0, 5, 10**5])), "depth": draw(st.integers(0, 12))}
    if given.get("stop") == "pure":
        given["stop"] = "depth"
    return given


class Rows:
    """Rows by a seed, many in one cell, as a counter: what is read of them decides which draws there are."""

    n_rows = 500 * 200

    def __init__(self, schema: MarginalSchema | TreeSchema) -> None:
        draw = np.random.default_rng(len(schema.attributes))
        codes = np.stack([draw.integers(0, attribute.codes, 500) for attribute in schema.attributes])
        codes[:, :250] = codes[:, :1]
        labels = draw.integers(0, schema.n_classes, 500)
        self.batch = CodedBatch(codes=codes.astype(np.int32), labels=labels, first_row=0)

    def sum_up(self, sums: Any) -> Any:
        """As many as there are."""
        return sums.count(self.batch) * 200

    ask = sum_up


def _of_marginals(method: DPMarginals, policy: Policy, rows: float) -> tuple[Accounting, dict[str, Any]]:
    """The draws of dp-marginals for some rows, and what it publishes besides its tables."""
    counting = method._counting
    rows = rows if counting is not None else float(method.n_rows)
    layout, drawn = method.finest_view(policy), () if counting is None else (counting,)
    left = method.left(policy, sum(draw_units(draw) for draw in drawn))
    plan, choice, _, triple = planned(
        layout, Rows(layout.schema), rows, left, method._row_units, Randomness.seeded(int(abs(rows)))
    )
    chosen = () if triple is None else (triple.draw,)
    draws = (*drawn, *(reading.draw for reading in choice.readings), *chosen, *plan.draws)
    account = Accounting(draws=draws, rows_per_unit=method.rows_per_unit, adjacency=method.neighbours)
    readings = [reading.to_params() for reading in choice.readings]
    told = {"rows": {"count": int(rows)}, "readings": readings, **method.method_entry}
    block = {} if triple is None else {"triple": triple.to_params()}
    return account, {**layout.schema.to_params(), **told, **block, "format": "anonkit-marginals-1"}


def account_of(method: Any, policy: Policy, rows: float) -> tuple[Accounting, dict[str, Any]]:
    """The method's own plan, and what it publishes of its schema."""
    if isinstance(method, DPNB):
        schema, account, kind = method.schema(policy), method.account(policy), {"kind": "disjoint", "trees": 1}
    elif isinstance(method, DPMarginals):
        return _of_marginals(method, policy, rows)
    elif isinstance(method, StackedMethod):
        plan = method.plan(policy, method.n_rows or rows, method._counting)
        questions, seeded = method.questions_of(plan), Randomness.seeded(int(abs(rows)))
        found = questions.measure(Rows(plan.schema), plan.row_units, seeded)
        plan = method.plan(policy, method.n_rows or rows, method._counting, found=found)
        schema, account, kind = plan.schema, plan.accounting(None), {"kind": "disjoint", "trees": method.n_trees}
    else:
        planned = method.plan(policy)
        schema, account, kind = planned.schema, planned.accounting, {}
    params = {**PublishedForest(schema=schema, trees=(), rows_per_tree=kind).to_params(), **method.method_entry}
    params |= {"format": "anonkit-noisy-tables-1"} if isinstance(method, DPNB) else {}
    return account, params | ({"rule": plan.stated_rule()} if isinstance(method, StackedMethod) else {})


def refused(account: Accounting, params: Mapping[str, Any]) -> list[str]:
    """The checks of the account that fail."""
    told = {**params, **account.to_params()}
    facts = facts_of(told)
    return [one.name for one in account_checks(told, facts, expected_account(facts, told)) if not one.passed]


@pytest.mark.parametrize("name", [*TREES, *STACKED, "dp-nb", "dp-marginals"])
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
    # with weights to learn, or a calibration, their share is drawn later, from what is noisy: a path lacks these lines
    later = name in STACKED and (params["rule"]["weights"] or params["rule"]["calibration"])
    assert wrong == (["account_spends_epsilon"] if later else [])


@settings(max_examples=60)
@given(data=st.data())
def test_the_rule_follows_from_public_facts_and_the_published_number_of_rows(data: st.DataObject) -> None:
    """Depth, regions, bins and weights, rebuilt from the params alone, are those of the plan: by two codes."""
    policy, name = data.draw(policies()), data.draw(st.sampled_from(STACKED))
    given = data.draw(parameters(name, policy.unit is not None))
    rows = data.draw(st.sampled_from([-3.0, 4.0, 60.0, 1500.0, 3e4, 2e5, 1e7]))
    try:
        account, params = account_of(make_method(name, given), policy, rows)
    except ParameterError:
        assume(False)
    params = {**params, **account.to_params()}
    rule = rebuilt_rule(facts_of(params), params)
    assert rule.block(params["rule"]["rows"]) == params["rule"]


@pytest.mark.parametrize(
    ("rows", "spent", "is_read"),
    [(2_000, 9_000, False), (2_000, 4_000, True), (2_000, 1_200, True), (200_000, 1_200, True), (2_000, 300, False)],
)
def test_a_reading_of_the_target_is_rebuilt_too(rows: int, spent: float, is_read: bool) -> None:
    """The dependence on the target is measured if a split by it is neither free nor drowned by noise."""
    columns = {f"a{at:02}": Column(name=f"a{at:02}", categories=tuple(map(str, range(16)))) for at in range(12)}
    columns["y"] = Column(name="y", role=Role.TARGET, categories=("0", "1", "2"))
    method = make_method("dp-marginals", {"epsilon": spent / rows, "n_rows": rows})
    account, params = account_of(method, Policy(columns=columns), 0)
    assert refused(account, params) == []
    assert is_read == ("dependence on the target" in [reading["purpose"] for reading in params["readings"]])


@pytest.mark.parametrize("name", ["edprf", "diffprf", "diffp-c45", "pinq-id3"])
def test_where_nothing_can_be_split_no_choice_is_rebuilt(name: str) -> None:
    """Of attributes of one value trees are leaves."""
    columns = {
        "a": Column(name="a", categories=("x",), missing=Missing.FIRST),
        "y": Column(name="y", role=Role.TARGET, categories=("0", "1")),
    }
    account, params = account_of(make_method(name, {"epsilon": 1.0}), Policy(columns=columns), 0)
    assert refused(account, params) == []
    assert not [line for line in account.to_params()["accounting"] if "split" in line["purpose"]]


def test_the_last_of_many_tables_may_have_what_rounding_left_of_all() -> None:
    """Fifteen hundred columns share so little that rounding is a millionth of a share, and one column has all of it."""
    columns = {f"c{at}": Column(name=f"c{at}", categories=("a", "b", "c")) for at in range(1500)}
    target = Column(name="y", role=Role.TARGET, categories=("no", "yes"))
    policy = Policy(columns={**columns, "y": target})
    account, params = account_of(DPNB(epsilon=1e-6), policy, 100.0)
    assert refused(account, params) == []
    assert len({draw.rate for draw in account.draws[1:]}) == 2


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
    for change in (
        {"format": "anonkit-randomized-1"},
        {"format": "anonkit-noisy-tables-1"},
        {"parameters": {**params["parameters"], "stop": "pure"}},
    ):
        with pytest.raises(ReleaseFormatError):
            refused(account, {**params, **change})
    del params["parameters"]
    with pytest.raises(ReleaseFormatError, match="older format"):
        refused(account, params)
