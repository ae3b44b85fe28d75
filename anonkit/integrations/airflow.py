# SPDX-License-Identifier: Apache-2.0
"""Airflow 3: operators that release a table and validate a release.

Needs `pip install 'anonkit[airflow]'`. How to use them: docs/how-to/airflow.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from anonkit.errors import AnonkitError, MissingDependencyError
from anonkit.integrations.pipeline_step import (
    is_final,
    make_release,
    public_facts,
    refuse_failed,
    validate_release,
)

try:
    from airflow.sdk import BaseOperator
    from airflow.sdk.exceptions import AirflowFailException
except ImportError:
    raise MissingDependencyError.of_extra("Airflow 3", "airflow") from None

_T = TypeVar("_T")

_ACCOUNT = (
    *("ledger", "dataset", "budget", "budget_delta", "budget_neighbours", "budget_unit", "accept_joint_k"),
    "new_ledger",
)
"""Keywords of a release that say whose budget is charged."""


class ReleaseOperator(BaseOperator):
    """Release a table, by a recipe or by the keywords of `anonkit.release`.

    The task returns paths, hashes and figures of the release, as plain JSON types.

    Parameters
    ----------
    recipe, source : str
        One of them: the path of a recipe, or of a table.
    output_path : str, optional
        Where the release is written; needed with a source.
    ledger, dataset, budget, budget_delta, budget_neighbours, budget_unit, accept_joint_k, new_ledger : optional
        Whose budget is charged, in which ledger, as in `anonkit.release`; beside a recipe, too.
    options : mapping
        Further keywords of `anonkit.release`, such as `{"method": "rfka", "k": 10, "policy": "policy.toml"}`. Beside a
        recipe `sign`, `force`, `only_new` and `released_before`: what is released is in the recipe.
    **task
        Keywords of every operator: `task_id`, `retries`, …

    Raises
    ------
    AirflowFailException
        It failed for good; Airflow does not try it again.
    AnonkitError
        It failed, and another attempt may succeed.

    Privacy
    -------
    Airflow stores what a task returns, and its rendered fields, in its database, and shows them to its users.
    """

    template_fields: Sequence[str] = ("recipe", "source", "output_path", "ledger", "dataset", "options")
    template_fields_renderers: Mapping[str, str] = {"options": "json"}
    ui_color = "#d9ead3"

    def __init__(
        self,
        *,
        recipe: str | None = None,
        source: str | None = None,
        output_path: str | None = None,
        ledger: str | None = None,
        dataset: str | None = None,
        budget: float | None = None,
        budget_delta: float | None = None,
        budget_neighbours: str | None = None,
        budget_unit: str | None = None,
        accept_joint_k: int | None = None,
        new_ledger: bool | None = None,
        options: Mapping[str, Any] | None = None,
        **task: Any,
    ) -> None:
        super().__init__(**task)
        self.recipe = recipe
        self.source = source
        self.output_path = output_path
        self.ledger = ledger
        self.dataset = dataset
        self.budget = budget
        self.budget_delta = budget_delta
        self.budget_neighbours = budget_neighbours
        self.budget_unit = budget_unit
        self.accept_joint_k = accept_joint_k
        self.new_ledger = new_ledger
        self.options = dict(options or {})

    def execute(self, context: Any) -> dict[str, Any]:
        """Make the release and return its public facts."""
        named = {name: getattr(self, name) for name in ("recipe", "source", *_ACCOUNT)}
        described = {name: value for name, value in {**named, "output": self.output_path}.items() if value is not None}
        return public_facts(_attempted(lambda: make_release(**{**self.options, **described})))


class ValidateOperator(BaseOperator):
    """Validate a release from its files alone; a broken promise fails for good.

    Parameters
    ----------
    release : str
        Path of the release.
    options : mapping
        Keywords of `anonkit.validate`: requirements beyond the release's promise, such as `{"k": 10}`, and
        `signed_by`.
    **task
        Keywords of every operator: `task_id`, `retries`, …

    Raises
    ------
    AirflowFailException
        The release does not keep its promise, or the question is wrong; Airflow does not try it again.
    AnonkitError
        It could not be checked, and another attempt may succeed.
    """

    template_fields: Sequence[str] = ("release", "options")
    template_fields_renderers: Mapping[str, str] = {"options": "json"}
    ui_color = "#cfe2f3"

    def __init__(self, *, release: str, options: Mapping[str, Any] | None = None, **task: Any) -> None:
        super().__init__(**task)
        self.release = release
        self.options = dict(options or {})

    def execute(self, context: Any) -> list[dict[str, Any]]:
        """Return the checks, all of which passed."""
        return _attempted(self._checks)

    def _checks(self) -> list[dict[str, Any]]:
        checks = validate_release(self.release, **self.options)
        refuse_failed(checks, self.release)
        return checks


def _attempted(step: Callable[[], _T]) -> _T:
    """Do a step; a failure that would recur is raised as a failure for good."""
    try:
        return step()
    except AnonkitError as error:
        if is_final(error):
            raise AirflowFailException(f"{error.code}: {error}") from None
        raise
