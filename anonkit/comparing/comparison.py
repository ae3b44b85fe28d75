# SPDX-License-Identifier: Apache-2.0
"""The privacy-utility frontier: risk to people and model utility for several methods and parameters.

Half of the rows is released, in memory, by every method; the other half is held out: models trained on a release are
scored on it, and what an attacker learns about its people is no fault of the release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.auditing import audit
from anonkit.bundle.stored_release import Release
from anonkit.checks.consumer_models import best_of, name_of_best
from anonkit.comparing.frontier import comparison_fragment
from anonkit.comparing.frontier_plot import Figure
from anonkit.comparing.model_scores import MEASURE, scores_of_release, scores_of_rows
from anonkit.domains.arrow_values import is_ordered
from anonkit.engines import open_engine
from anonkit.engines.snapshots.addresses import ReadAs, source_at
from anonkit.engines.snapshots.dispatch import snapshot
from anonkit.errors import AnonkitError, GuaranteeError, ParameterError, PolicyError, in_python, option, spoken
from anonkit.ledger.account import Account, Where
from anonkit.ledger.neighbour_totals import total
from anonkit.methods import make_method, method_class, method_parameters
from anonkit.pipeline.release_path import release_table
from anonkit.pipeline.release_request import ReleaseRequest
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.policy.person_candidates import joint_keys
from anonkit.policy.target_task import Task, task_from_values
from anonkit.promises.guarantee import loss_json
from anonkit.protocols import Progress, no_progress

ROWS = 20_000
ATTACKS = 200
FORMAT = "anonkit-comparison/1"
_METHODS = spoken(python='methods=["mondrian", "rfka"]', typed="--methods mondrian,rfka")
PROTOCOL = (
    "half of the rows (people, with a unit) released, models scored on the other half, which is also the control of "
    "the attacks"
)
PRICE = (
    "Choosing epsilon by looking at private data is a use of that data: the choice itself reveals something, and "
    "no release here accounts for it. Charge it, compare on public or simulated data, or fix epsilon first."
)


@dataclass(frozen=True, kw_only=True)
class Point:
    """One release on the frontier."""

    method: str
    parameter: str
    """`k`, `epsilon`, or empty for the method's defaults."""
    value: float | None
    scores: Mapping[str, Mapping[str, Any]]
    """By model, on held-out rows: trained on the table as it is, and `reconstructed` where the params allow it."""
    attacks: Mapping[str, Any]
    """By attack: rates, risk, limits, verdict."""
    guarantee: Mapping[str, Any]
    clear: Mapping[str, Any] | None = None
    """How many rows of the release are alone were its target and insensitive columns known too."""
    measure: str = "auc"
    """What the best model is the best by: `auc` of classes, `r2` of a number."""
    told: str | None = None
    """Why there is no release, when there is none, for either kind of reader (`anonkit.errors.spoken`)."""

    @property
    def refused(self) -> str | None:
        """Why there is no release, when there is none."""
        return None if self.told is None else in_python(self.told)

    @property
    def setting(self) -> str:
        """The parameter, and the epsilon of a whole row where that of the parameter is for one answer only."""
        if not self.parameter:
            return ""
        words = f"{'ε' if self.parameter == 'epsilon' else self.parameter} = {self.value:g}"
        loss = _loss(self)
        if self.parameter != "epsilon" or loss is None or self.value is None or loss <= 1.01 * self.value:
            return words
        return f"{words} an answer, {'∞' if math.isinf(loss) else f'{loss:.3g}'} a row"

    @property
    def label(self) -> str:
        """Name of the point in plots and tables."""
        return f"{self.method}, {self.setting}" if self.setting else self.method

    @property
    def auc(self) -> float | None:
        """AUC of the best model: the best use of the release that was tried; None where a number is predicted."""
        return best_of(self.scores)

    @property
    def best(self) -> float | None:
        """Score of the best model by the measure of the comparison."""
        return best_of(self.scores, self.measure)

    @property
    def best_model(self) -> str | None:
        """Name of that model."""
        return name_of_best(self.scores, self.measure)

    def to_dict(self) -> dict[str, Any]:
        """Return the point for JSON."""
        return {
            "label": self.label,
            "setting": self.setting,
            "method": self.method,
            "parameter": self.parameter or None,
            "value": self.value,
            **_best(self.scores, self.measure),
            "best_model": self.best_model,
            "models": {name: dict(score) for name, score in self.scores.items()},
            "attacks": dict(self.attacks),
            "with_clear_columns": self.clear,
            "promise": self.guarantee.get("kind"),
            "epsilon": self.guarantee.get("parameters", {}).get("epsilon"),
            "refused": self.refused,
        }


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Methods compared on one table.

    Privacy
    -------
    Computed from the source: for the owner. A choice that follows from it depends on the source too.
    """

    target: str
    rows: int
    raw: Mapping[str, Mapping[str, Any]]
    """Scores of the same models trained on the rows as they are."""
    points: tuple[Point, ...]
    epsilon_looked_at: float
    """Sum of the epsilons of all points: the price of looking, by sequential composition."""
    charged: bool
    task: Task
    """Whether models tell classes apart or predict a number."""
    public: bool
    """True when the rows compared are public or simulated, so that looking is free."""

    @property
    def price(self) -> str | None:
        """What must be said about choosing epsilon; None where nothing private was looked at for it."""
        return None if self.public or self.epsilon_looked_at == 0 else PRICE

    def figure(self) -> Figure:
        """Return the plot of measured risk against what models keep, for a notebook or, as `.svg`, for a file."""
        return Figure(document=self.to_dict())

    def _repr_html_(self) -> str:
        return comparison_fragment(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as a JSON document."""
        return {
            "format": FORMAT,
            "target": self.target,
            "task": str(self.task),
            "rows": self.rows,
            "protocol": PROTOCOL,
            "raw": {
                **_best(self.raw, MEASURE[self.task]),
                "models": {name: dict(score) for name, score in self.raw.items()},
            },
            "points": [point.to_dict() for point in self.points],
            "looking": {
                "epsilon": loss_json(self.epsilon_looked_at),
                "charged": self.charged,
                "public_data": self.public,
                "note": self.price,
            },
        }


def compare(
    source: object,
    *,
    target: str | None = None,
    task: str | None = None,
    methods: Sequence[str],
    k: Sequence[int] = (2, 5, 10, 50),
    epsilon: Sequence[float] = (0.5, 1.0, 2.0, 4.0),
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    identifiers: Sequence[str] = (),
    domains_from_data: bool = False,
    domains_min_people: int = Policy.domains_min_people,
    public: object = None,
    charge: str | Path | None = None,
    dataset: str | None = None,
    budget: float | None = None,
    budget_delta: float | None = None,
    rows: int = ROWS,
    attacks: int = ATTACKS,
    seed: int = 0,
    progress: Progress = no_progress,
    seen: Callable[[Point], None] = lambda _: None,
    **how: Unpack[ReadAs],
) -> Comparison:
    """Release half of a table in several ways, attack each release, and train models on it.

    Parameters
    ----------
    source : path or table
    target : str, optional
        What models predict; by default the target that the policy declares.
    task : str, optional
        "classification" or "regression"; by default the policy's, else models do what the values of the target suggest,
        and every method what it takes the task to be.
    methods : sequence of str
        Those with a parameter `epsilon` run at every epsilon, others with `k` at every k, the rest once.
    k : sequence of int
        Each 2 or more.
    epsilon : sequence of float
        Each in (0, inf); all that were looked at add up.
    policy, identifiers, domains_from_data, domains_min_people
        As for `release`.
    public : path or table, optional
        Public or simulated rows with the same columns, compared instead of the source: looking at them is free.
    charge : path, optional
        Ledger in which every epsilon that is looked at is booked, under `dataset` and its `budget`.
    dataset, budget, budget_delta
        As for `release`, with `charge`.
    rows : int
        Rows compared, drawn at random when there are more, in [100, inf).
    attacks : int
        People attacked in each release.
    seed : int
        Seed of the random choice of rows and people.
    progress : callable
        Called with the step and the share done.
    seen : callable
        Called with every release as soon as it is measured.
    **how
        `query`, `sheet`, `format`, `header_row`, `header`, `names`, `decimal`, `delimiter` and
        `skip_rows`, as for `release`, of the table that is compared.

    Raises
    ------
    ParameterError, PolicyError, BudgetError
        Nothing to compare, too few rows, no method can release the table, or looking would cost more than the budget
        has.

    Privacy
    -------
    The releases are made in memory and given to nobody. The figures are computed from the source and for its owner.
    """
    if not methods or rows < 100:
        raise ParameterError("compare needs methods and 100 rows or more", _METHODS)
    for name in methods:
        if not getattr(method_class(name), "publishes_rows", True):
            raise ParameterError(
                f"method {name!r} publishes tables, and models are compared on rows",
                "leave it out; see anonkit methods",
            )
    declared = Policy() if policy is None else Policy.given(policy)
    target = declared.target if target is None else target
    if target is None:
        raise ParameterError("no column is named as the target, which models predict", option("target", "COLUMN"))
    declared = declared.with_roles(target=target, task=task, identifiers=identifiers)
    first, second = _halves(source_at(source if public is None else public, **how), declared, rows, seed)
    found = _task(first, declared, target)
    halves = _Halves(released=first, held_out=second, target=target, task=found, attacks=attacks, seed=seed)
    account = Account(
        ledger=Where.NOWHERE if charge is None else charge, dataset=dataset, budget=budget, budget_delta=budget_delta
    )
    settings = [setting for name in methods for setting in _settings(name, k, epsilon)]
    points, unfit, looked = [], [], []
    for number, setting in enumerate(settings):
        progress(setting.step, number / len(settings))
        try:
            if setting.parameter == "k":  # no epsilon is looked at, and no domain is needed
                request = setting.request(declared, Account(ledger=Where.NOWHERE, dataset=dataset), None)
            else:
                request = setting.request(declared, account, domains_min_people if domains_from_data else None)
            outcome: Release | AnonkitError = release_table(first, request)
        except AnonkitError as error:
            if error.code in ("BUDGET", "DATASET", "PARAMETER", "LEDGER"):
                raise
            outcome = error  # a promise that cannot be kept, or a table that the method cannot handle
        unfit += [outcome] if isinstance(outcome, PolicyError) else []
        points.append(halves.point(setting, outcome))
        seen(points[-1])
        looked.append(setting.value if _is_of_draws(setting, outcome) else _loss(points[-1]))
    if len(unfit) == len(settings):
        raise unfit[0]
    dropped = [name for name in first.column_names if not declared.column(name).is_released]
    return Comparison(
        target=target,
        rows=first.num_rows + second.num_rows,
        raw=scores_of_rows(first.drop_columns(dropped), second.drop_columns(dropped), target, found),
        task=found,
        points=tuple(points),
        epsilon_looked_at=total(looked),
        charged=charge is not None,
        public=public is not None,
    )


def _best(scores: Mapping[str, Mapping[str, Any]], measure: str) -> dict[str, float | None]:
    """Return the best model's score by AUC, None where there is none; of a number by R² too."""
    return {"auc": best_of(scores), **({"r2": best_of(scores, "r2")} if measure == "r2" else {})}


def _task(rows: pa.Table, declared: Policy, target: str) -> Task:
    """Return what models do with the target: for the owner, who has the rows."""
    column = rows.column(target)
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    values = plain.unique().to_pylist()
    return task_from_values(declared.column(target), declared.task, values, ordered=is_ordered(plain.type)).task


def _is_of_draws(setting: _Setting, outcome: Release | AnonkitError) -> bool:
    """Tell whether a refusal follows from what was drawn, and was looked at as a release is."""
    return setting.parameter == "epsilon" and isinstance(outcome, GuaranteeError)


def _loss(point: Point) -> float | None:
    epsilon = point.guarantee.get("parameters", {}).get("epsilon")
    return None if epsilon is None else float(epsilon)


def _halves(source: object, policy: Policy, rows: int, seed: int) -> tuple[pa.Table, pa.Table]:
    with closing(open_engine("local")) as engine, snapshot(source) as stays:
        opened = stays.scan(engine, policy)
        table = pa.Table.from_batches(opened.batches(), schema=opened.schema)
    policy.resolve(table.column_names)  # what is wrong for every method is no point on the frontier
    if table.num_rows < 100:
        raise ParameterError(f"the table has {table.num_rows} rows, 100 are needed to compare")
    random = np.random.default_rng(seed)
    if policy.unit is not None:
        return _halves_of_people(table, policy.names(Role.UNIT), rows, random)
    order = random.permutation(table.num_rows)[:rows]
    half = order.size // 2
    return table.take(pa.array(order[:half])), table.take(pa.array(order[half:]))


def _halves_of_people(
    table: pa.Table, unit: Sequence[str], rows: int, random: np.random.Generator
) -> tuple[pa.Table, pa.Table]:
    """Divide the people, with all their rows, as far as so many rows go; nobody is in both halves."""
    keys = pc.dictionary_encode(pa.chunked_array([joint_keys(batch, unit) for batch in table.to_batches()]))
    codes = pc.fill_null(keys.combine_chunks().indices, -1).to_numpy().astype(np.int64)
    sizes = np.bincount(codes[codes >= 0])
    order = random.permutation(sizes.size)
    reached = np.cumsum(sizes[order])
    order = order[: max(int(np.searchsorted(reached, rows, side="right")), 2)]
    half = int(np.searchsorted(np.cumsum(sizes[order]), sizes[order].sum() / 2)) + 1
    first, second = (np.isin(codes, chosen) for chosen in (order[:half], order[half:]))
    if not first.any() or not second.any():
        raise ParameterError("the table has too few people to compare", "two halves need different people")
    return table.filter(pa.array(first)), table.filter(pa.array(second))


@dataclass(frozen=True, kw_only=True)
class _Setting:
    """A method with the one parameter that is compared."""

    method: str
    parameter: str = ""
    """`k`, `epsilon`, or empty for the method's defaults."""
    value: float | None = None

    @property
    def step(self) -> str:
        """What is shown while it runs."""
        return self.method if self.value is None else f"{self.method} {self.value}"

    def request(self, policy: Policy, account: Account, domains_min_people: int | None) -> ReleaseRequest:
        """Return what is asked of the release, in memory."""
        return ReleaseRequest(
            method=make_method(self.method, {self.parameter: self.value} if self.parameter else {}),
            policy=policy,
            account=account,
            domains_min_people=domains_min_people,
        )


def _settings(method: str, k: Sequence[int], epsilon: Sequence[float]) -> list[_Setting]:
    names = {parameter_.name for parameter_ in method_parameters(method)}
    if "epsilon" in names:  # with a k too: epsilon is what looking costs, and what has to be charged
        return [_Setting(method=method, parameter="epsilon", value=value) for value in epsilon]
    if "k" in names:
        return [_Setting(method=method, parameter="k", value=value) for value in k]
    return [_Setting(method=method)]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Halves:
    """The rows that are released and those that are held out, and how a release of the first is measured."""

    released: pa.Table
    held_out: pa.Table
    target: str
    task: Task
    attacks: int
    """People attacked."""
    seed: int

    def point(self, setting: _Setting, outcome: Release | AnonkitError) -> Point:
        """Return the release on the frontier, or why there is none."""
        empty = Point(
            method=setting.method,
            parameter=setting.parameter,
            value=setting.value,
            scores={},
            attacks={},
            guarantee={},
            measure=MEASURE[self.task],
        )
        if isinstance(outcome, AnonkitError):
            message, hint = outcome.told
            refused = message if hint is None else f"{message} ({hint})"
            return replace(empty, told=refused)
        attacked = audit(outcome, self.released, control=self.held_out, attacks=self.attacks, runs=0, seed=self.seed)
        return replace(
            empty,
            scores=scores_of_release(outcome, self.held_out, self.target, self.task),
            attacks={attack.name: attack.to_dict() for attack in attacked.attacks},
            guarantee=outcome.report["guarantee"],
            clear=outcome.report["disclosure_risk"].get("with_clear_columns"),
        )
