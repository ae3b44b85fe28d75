"""The task of a target: as declared, by its values where a promise lets them decide, else by the policy alone."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.errors import PolicyError
from anonkit.policy.column_declarations import Column, ColumnType, Role
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.policy.target_task import Task, as_numbers, task_from_declaration, task_from_values

PLAIN = Column(name="y", role=Role.TARGET)


@given(st.sampled_from(Task), st.lists(st.one_of(st.none(), st.integers(), st.text()), max_size=40), st.booleans())
def test_a_declared_task_is_taken_whatever_the_values_are(task: Task, values: list[object], ordered: bool) -> None:
    """Nothing of the table enters, and nothing has to be said."""
    found = task_from_values(PLAIN, task, values, ordered=ordered)

    assert (found.task, found.reason) == (task, None)
    assert task_from_declaration(PLAIN, task) is task


@given(st.sets(st.integers(), min_size=3, max_size=60), st.booleans())
def test_numbers_are_classes_up_to_twenty(numbers: set[int], missing: bool) -> None:
    """Twenty different numbers are classes, one more is a number to predict; both are said aloud, missing or not."""
    values = [*sorted(numbers), *([None] if missing else [])]

    found = task_from_values(PLAIN, None, values, ordered=True)

    assert found.task is (Task.REGRESSION if len(numbers) > 20 else Task.CLASSIFICATION)
    assert "'y'" in str(found.reason)


def test_texts_are_a_number_where_nearly_all_are_numbers() -> None:
    """One word among 1,399 numbers does not make 1,400 classes; codes such as 01234 and plain words stay classes."""
    incomes = [*(str(17 * at) for at in range(1, 1400)), "N"]
    codes = [f"{at:05d}" for at in range(1, 1400)]
    words = [f"word {at}" for at in range(1400)]

    assert task_from_values(PLAIN, None, incomes, ordered=False).task is Task.REGRESSION
    assert task_from_values(PLAIN, None, codes, ordered=False).task is Task.CLASSIFICATION
    assert task_from_values(PLAIN, None, words, ordered=False).task is Task.CLASSIFICATION
    assert task_from_values(PLAIN, None, incomes[:20], ordered=False).task is Task.CLASSIFICATION


def test_declared_categories_are_classes_whatever_they_look_like() -> None:
    """Categories, a tree, and a type of texts or truth values decide before the values do."""
    numbers = [str(at) for at in range(1, 100)]
    listed = Column(name="y", role=Role.TARGET, categories=tuple(numbers))

    for column in (listed, Column(name="y", role=Role.TARGET, type=ColumnType.TEXT)):
        assert task_from_values(column, None, numbers, ordered=False).task is Task.CLASSIFICATION
        assert task_from_declaration(column, None) is Task.CLASSIFICATION


def test_the_declaration_alone_makes_a_number_of_bounds_and_types() -> None:
    """Without a look at any value: bounds, or a declared type of numbers; an undeclared target is classes."""
    assert task_from_declaration(Column(name="y", bounds=(0, 1)), None) is Task.REGRESSION
    assert task_from_declaration(Column(name="y", type=ColumnType.NUMBER), None) is Task.REGRESSION
    assert task_from_declaration(Column(name="y", type=ColumnType.INTEGER), None) is Task.REGRESSION
    assert task_from_declaration(Column(name="y", type=ColumnType.DATE), None) is Task.CLASSIFICATION
    assert task_from_declaration(PLAIN, None) is Task.CLASSIFICATION


def test_cells_as_numbers() -> None:
    """Numbers of every kind, texts that spell one, dates in days; all else is none."""
    day = datetime.date(2020, 1, 2)
    cells = [1, 2.5, Decimal("3.25"), "4e1", " 5", "N", None, True, math.inf, math.nan, "nan", "1e999", day]

    numbers = as_numbers(cells)

    assert numbers[:5].tolist() == [1, 2.5, 3.25, 40, 5]
    assert [math.isnan(number) for number in numbers[5:12]] == [True] * 7
    assert numbers[12] - as_numbers([datetime.date(2020, 1, 1)])[0] == 1
    noon, midnight = as_numbers([datetime.datetime(2020, 1, 1, 12), datetime.datetime(2020, 1, 1)])
    assert noon - midnight == 0.5


def test_a_number_cannot_be_declared_to_be_categories() -> None:
    """Regression with categories, a tree or a type of truth values is refused when the policy is made."""
    spec = {"columns": {"y": {"role": "target", "categories": ["1", "2"]}}}

    texts = {"columns": {"y": {"role": "target", "type": "text"}}}

    assert Policy.from_dict(spec | {"task": "classification"}).task is Task.CLASSIFICATION
    assert Policy.from_dict(texts | {"task": "regression"}).task is Task.REGRESSION  # a word among the numbers
    with pytest.raises(PolicyError, match="'y' is declared to hold categories"):
        Policy.from_dict(spec | {"task": "regression"})
    with pytest.raises(PolicyError, match="task has an unknown value"):
        Policy.from_dict({"task": "regresion"})
    with pytest.raises(PolicyError, match="task \\('guess'\\) must be one of classification, regression"):
        Policy().with_roles(task="guess")


@pytest.mark.parametrize("target_use", [TargetUse.EXPECTED, TargetUse.OPTIONAL, TargetUse.AS_DECLARED])
def test_where_there_shall_be_no_target_no_column_is_taken_for_it(target_use: TargetUse) -> None:
    """`target = false` leaves every column what it is; without it the last one without a role is the target."""
    declined = Policy.from_dict({"target": False}).resolve(["a", "b"], target_use=target_use)
    asked = Policy().with_roles(no_target=True).resolve(["a", "b"], target_use=target_use)

    assert declined.target is None
    assert declined.quasi_identifiers == ("a", "b")
    assert asked == declined
    if target_use is not TargetUse.AS_DECLARED:
        assert Policy().resolve(["a", "b"], target_use=target_use).target == "b"


def test_a_method_that_needs_a_target_refuses_to_go_without() -> None:
    """The refusal names methods that do not need one."""
    with pytest.raises(PolicyError, match="needs a target") as refused:
        Policy(without_target=True).resolve(["a", "b"], target_use=TargetUse.REQUIRED)
    assert "mondrian" in str(refused.value.hint)


def test_no_target_and_a_target_contradict_each_other() -> None:
    """A column with the role is not overruled in silence; an option with its name overrules the file."""
    with_target = {"columns": {"y": {"role": "target"}}}
    with pytest.raises(PolicyError, match="'y' has role target"):
        Policy.from_dict(with_target | {"target": False})
    with pytest.raises(PolicyError, match="'y' has role target"):
        Policy.from_dict(with_target).with_roles(no_target=True)
    with pytest.raises(PolicyError, match="exclude each other"):
        Policy().with_roles(target="y", no_target=True)
    with pytest.raises(PolicyError, match="can only be false"):
        Policy.from_dict({"target": "y"})
    assert Policy(without_target=True).with_roles(target="y").target == "y"
