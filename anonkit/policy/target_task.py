# SPDX-License-Identifier: Apache-2.0
"""The task of consumers on the target: classification or regression; by declaration, or by its values.

There are two ways to an undeclared task. `task_from_values` looks at the target, for methods whose promise
lets what is chosen depend on the table. `task_from_declaration` looks at the policy alone: under differential privacy
one row more must not make another task of the same column.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from anonkit.domains.cell_values import exact_decimal
from anonkit.domains.coded_columns import FloatArray
from anonkit.errors import PolicyError, did_you_mean, option
from anonkit.policy.side_files import member

if TYPE_CHECKING:
    from anonkit.policy.column_declarations import Column

KEYS = ("task", "target")
"""Keys of a policy that are read here."""
MOST_CLASSES = 20
"""Different numbers that are still classes when nobody declared the task."""
_PLAIN_CLASSES = 2  # different numbers of which it goes without saying that they are classes
_SHARE_OF_NUMBERS = 0.9  # of the different values of a text column that is taken for a number to predict
_SECONDS_OF_A_DAY = 86_400.0


class Task(StrEnum):
    """The task of consumers on the target."""

    CLASSIFICATION = "classification"
    """Distinguish its values: classes."""
    REGRESSION = "regression"
    """They predict it as a number."""


@dataclass(frozen=True, kw_only=True)
class FoundTask:
    """A task with the reason for it, in words that may be in a release."""

    task: Task
    reason: str | None
    """Reason to report; None where it is evident, and where the owner declared it."""


def declared_task(raw: Mapping[str, Any]) -> Task | None:
    """Return the key `task` of a policy file; None where it is absent."""
    return None if "task" not in raw else member(Task, "policy", "task", raw["task"])


def task_of_params(params: Mapping[str, Any]) -> Task | None:
    """Return the task that the params of a k-anonymous release state: of a number alone."""
    return Task.REGRESSION if params.get("task") == Task.REGRESSION else None


def named_task(name: str) -> Task:
    """Return the task of an option.

    Raises
    ------
    PolicyError
        There is none of that name.
    """
    try:
        return Task(name)
    except ValueError:
        raise PolicyError(f"task ({name!r}) must be one of {', '.join(Task)}", did_you_mean(name, list(Task))) from None


def declares_no_target(raw: Mapping[str, Any]) -> bool:
    """Return True if a policy file declares that there is no target: `target = false`.

    Raises
    ------
    PolicyError
        The key has another value.
    """
    if "target" not in raw:
        return False
    if raw["target"] is False:
        return True
    raise PolicyError(
        "policy: the key target can only be false, which says that there is no target",
        'a target is a column with role = "target"',
    )


def refuse_contradicting(target: Column | None, task: Task | None, *, without_target: bool) -> None:
    """Refuse a target where there shall be none, and a number to predict that is declared to be categories.

    Raises
    ------
    PolicyError
    """
    if target is None:
        return
    if without_target:
        raise PolicyError(
            f"column {target.name!r} has role target, and there shall be no target",
            f"take {option('no_target', True)} or target = false back, or give the column another role",
        )
    if task is Task.REGRESSION and (target.domain_values is not None or _is_boolean(target)):
        raise PolicyError(
            f"column {target.name!r} is declared to hold categories: {option('task', 'regression')} needs numbers",
            f"leave its categories, tree and type out, or {option('task', 'classification')}",
        )


def task_from_declaration(target: Column, task: Task | None) -> Task:
    """Return the task by what is declared and by nothing else: for promises that allow no look at the table.

    Parameters
    ----------
    target : Column
    task : Task, optional
        As the policy declares it; else bounds, or a declared type of numbers, make it regression.
    """
    if task is not None:
        return task
    is_number = target.bounds is not None or (target.type is not None and target.type.value in ("integer", "number"))
    return Task.REGRESSION if is_number and not _is_categorical(target) else Task.CLASSIFICATION


def task_from_values(target: Column, task: Task | None, values: Sequence[object], *, ordered: bool) -> FoundTask:
    """Return the task by the declaration, and where it leaves the task open by the values of the target.

    More than 20 different numbers or dates are a number to predict, and so are more than 20 different strings of which
    nine in ten are numbers. All else is classes.

    Parameters
    ----------
    target : Column
    task : Task, optional
        As the policy declares it.
    values : sequence
        The different values of the target, None for missing.
    ordered : bool
        Whether its column is one of numbers or dates.

    Privacy
    -------
    The task, and so whatever is chosen by it, depends on the table: for k-anonymity, not for differential privacy.
    """
    if task is not None:
        return FoundTask(task=task, reason=None)
    named = f"The target {target.name!r}"
    classes, number = (f"{option('task', str(other))} says otherwise." for other in Task)
    there = [value for value in values if value is not None]
    many = len(there) > MOST_CLASSES
    if ordered and many:
        reason = (
            f"{named} has more than {MOST_CLASSES} different numbers: its task was taken to be regression; {classes}"
        )
        return FoundTask(task=Task.REGRESSION, reason=reason)
    if ordered and len(there) > _PLAIN_CLASSES:
        reason = f"{named} has {MOST_CLASSES} different numbers or fewer, so they count as classes; {number}"
        return FoundTask(task=Task.CLASSIFICATION, reason=reason)
    if many and not _is_categorical(target):
        n_numbers = sum(_spelled_as_number(value) for value in there)
        if n_numbers >= _SHARE_OF_NUMBERS * len(there):
            reason = (
                f"{named} has more than {MOST_CLASSES} different values, at least nine in ten of them numbers: its "
                f"task was taken to be regression, and cells that are no numbers guide nothing; {classes}"
            )
            return FoundTask(task=Task.REGRESSION, reason=reason)
    return FoundTask(task=Task.CLASSIFICATION, reason=None)


def as_numbers(values: Sequence[object]) -> FloatArray:
    """Return values as numbers, shape (n_values,): dates in days, NaN for what is none and for what is not finite."""
    return np.array([_number(value) for value in values], dtype=np.float64)


def _number(value: object) -> float:
    number = math.nan
    if isinstance(value, str):
        decimal = exact_decimal(value)
        number = math.nan if decimal is None else float(decimal)
    elif isinstance(value, datetime.datetime):
        number = value.replace(tzinfo=value.tzinfo or datetime.UTC).timestamp() / _SECONDS_OF_A_DAY
    elif isinstance(value, datetime.date):
        number = float(value.toordinal())
    elif isinstance(value, int | float | Decimal | np.integer | np.floating) and not isinstance(value, bool):
        number = float(value)
    return number if math.isfinite(number) else math.nan


def _spelled_as_number(value: object) -> bool:
    """Return True if a string is a number, and no code such as 01234."""
    text = str(value).strip()
    is_code = text.lstrip("+-")[:2].isdigit() and text.lstrip("+-").startswith("0")
    return exact_decimal(text) is not None and not is_code


def _is_categorical(target: Column) -> bool:
    return target.domain_values is not None or target.compares_texts or _is_boolean(target)


def _is_boolean(target: Column) -> bool:
    return target.type is not None and target.type.value == "boolean"
