# SPDX-License-Identifier: Apache-2.0
"""The privacy-utility frontier: risk to people and model utility for several methods and parameters.

Half of the rows is released, in memory, by every method; the other half is the test set: models trained on a release
are scored on it, and what an attacker learns about its people is no fault of the release. Releases are made and
measured two at a time where there is a second process, and shown in their order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypedDict, TypeVar, Unpack

import pyarrow as pa

from anonkit.bundle.stored_release import Release
from anonkit.comparing.foreseen_release import Halves, halves_of
from anonkit.comparing.frontier import advice, comparison_fragment
from anonkit.comparing.frontier_plot import FrontierFigure
from anonkit.comparing.model_scores import MEASURE, FrontierPoint, best_scores, loss_of
from anonkit.documents import ReportPart
from anonkit.domains.coded_columns import is_ordered
from anonkit.engines.snapshots.addresses import ReadAs, source_at
from anonkit.errors import AnonkitError, GuaranteeError, ParameterError, PolicyError, option, spoken
from anonkit.ledger.account import Account, Where
from anonkit.ledger.neighbour_totals import total
from anonkit.methods import make_method, method_class, method_parameters
from anonkit.pipeline.release_path import release_table
from anonkit.pipeline.request_form import ReleaseRequest, refuse_unknown, taken
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.policy.target_task import Task, task_from_values
from anonkit.protocols import Progress, no_progress

Order = TypeVar("Order")
Made = TypeVar("Made")

Apart = Callable[..., Any]
"""Does the work of a function with its arguments in another process."""
_APART: ContextVar[tuple[Apart, Callable[[], AbstractContextManager[None]]] | None] = ContextVar("apart", default=None)


@contextmanager
def made_apart(apart: Apart, beside: Callable[[], AbstractContextManager[None]] = nullcontext) -> Iterator[None]:
    """Make some of the releases of comparisons in another process until the block ends.

    Parameters
    ----------
    apart : callable
        `apart(function, *arguments)` returns what the function gives, and may take as long as it does.
    beside : callable
        Context of what this process makes meanwhile.
    """
    token = _APART.set((apart, beside))
    try:
        yield
    finally:
        _APART.reset(token)


class Turns(Generic[Order, Made]):
    """Things to be made: this thread takes from the begin, one that waits for the other process from the end.

    Parameters
    ----------
    orders : sequence
        Arguments of `make`, in the order in which results are shown.
    make : callable
        Can be pickled where there is a second process; the same in any process.
    seen : callable
        Called in this thread with every result, in the order of `orders`.
    """

    def __init__(self, orders: Sequence[Order], make: Callable[[Order], Made], seen: Callable[[Made], None]) -> None:
        self._orders, self._make, self._seen = orders, make, seen
        self._left = list(range(len(orders)))
        self._lock = threading.Lock()
        self._made: list[Future[Made]] = [Future() for _ in orders]
        self._shown: list[Made] = []

    def work(self, begun: Callable[[Order], None]) -> None:
        """Make what is left, one after the other, and show what is made by now.

        Parameters
        ----------
        begun : callable
            Called with what is begun in this process.
        """
        while (at := self._taken(0)) is not None:
            begun(self._orders[at])
            self._made[at].set_result(self._make(self._orders[at]))
            while len(self._shown) < len(self._made) and self._made[len(self._shown)].done():
                self._show_next()

    def results(self) -> list[Made]:
        """Return all results when the last one is there.

        Raises
        ------
        Exception
            What `make` has raised in the other process.
        """
        while len(self._shown) < len(self._made):
            self._show_next()
        return self._shown

    def work_apart(self, apart: Apart, may_be_apart: Callable[[Order], bool]) -> None:
        """Have the other process make what is left, the last first, until something may not be made out of turn."""
        while (at := self._taken(-1, may_be_apart)) is not None:
            try:
                self._made[at].set_result(apart(self._make, self._orders[at]))
            except BaseException as error:
                self._made[at].set_exception(error)
                return

    @property
    def left(self) -> tuple[int, ...]:
        """Numbers of what nobody has begun."""
        return tuple(self._left)

    def stop(self) -> None:
        """Begin nothing more."""
        with self._lock:
            self._left.clear()

    def _taken(self, end: int, may_be: Callable[[Order], bool] | None = None) -> int | None:
        """Take the number of the first, or last, of what is left, if it may be taken; None where there is none."""
        with self._lock:
            if not self._left or (may_be is not None and not may_be(self._orders[self._left[end]])):
                return None
            return self._left.pop(end)

    def _show_next(self) -> None:
        self._shown.append(self._made[len(self._shown)].result())
        self._seen(self._shown[-1])


@contextmanager
def made_in_turn(
    orders: Sequence[Order],
    make: Callable[[Order], Made],
    *,
    may_be_apart: Callable[[Order], bool],
    seen: Callable[[Made], None],
) -> Iterator[Turns[Order, Made]]:
    """Make things in turn until the block ends; where there is a second process, it makes the last ones meanwhile.

    Parameters
    ----------
    orders, make, seen
        As of `Turns`.
    may_be_apart : callable
        Whether something may be made in the second process, and before what comes before it.
    """
    two, turns = _APART.get(), Turns(orders, make, seen)
    if two is None:
        yield turns
        return
    apart, beside = two
    with ThreadPoolExecutor(1) as pool:
        pool.submit(turns.work_apart, apart, may_be_apart)
        try:
            with beside():
                yield turns
        finally:
            turns.stop()


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
class Looking(ReportPart):
    """The price of a comparison."""

    epsilon: float
    charged: bool
    public_data: bool
    note: str | None


@dataclass(frozen=True, kw_only=True)
class Comparison(
    ReportPart,
    keys=(
        "format",
        "target",
        "task",
        "rows",
        "table_rows",
        "protocol",
        "raw=stated_raw",
        "points",
        "advice",
        "looking",
    ),
):
    """Methods compared on one table.

    Privacy
    -------
    Computed from the source: for the owner. A choice that follows from it depends on the source too.
    """

    format: ClassVar[str] = FORMAT
    protocol: ClassVar[str] = PROTOCOL

    target: str
    rows: int
    """Rows that were compared."""
    table_rows: int
    """Rows of the table."""
    raw: Mapping[str, Mapping[str, Any]]
    """Scores of the same models trained on the rows as they are."""
    points: tuple[FrontierPoint, ...]
    epsilon_looked_at: float
    """Sum of the epsilons of all points: the price of looking, by sequential composition."""
    charged: bool
    task: Task
    """Task of the models: classification or regression."""
    public: bool
    """True when the rows compared are public or simulated, so that looking is free."""

    @property
    def price(self) -> str | None:
        """Caution on choosing epsilon; None where nothing private was looked at for it."""
        return None if self.public or self.epsilon_looked_at == 0 else PRICE

    @property
    def advice(self) -> list[dict[str, Any]]:
        """The advised release of each kind of promise, with its reasons and a sentence that says both."""
        return advice(self)

    def figure(self) -> FrontierFigure:
        """Return the plot of measured risk against what models keep, for a notebook or, as `.svg`, for a file."""
        return FrontierFigure(document=self.to_dict())

    def _repr_html_(self) -> str:
        return comparison_fragment(self.to_dict())

    @property
    def stated_raw(self) -> dict[str, Any]:
        """Scores of the unchanged rows, the best first."""
        return {**best_scores(self.raw, MEASURE[self.task]), "models": self.raw}

    @property
    def looking(self) -> Looking:
        """The price of the comparison."""
        return Looking(epsilon=self.epsilon_looked_at, charged=self.charged, public_data=self.public, note=self.price)


class BudgetOptions(TypedDict, total=False):
    """The dataset whose budget is charged: see `Account`."""

    dataset: str | None
    budget: float | None
    budget_delta: float | None


class CompareOptions(BudgetOptions, ReadAs, total=False):
    """The further keywords of `anonkit.compare`."""

    task: str | None
    identifiers: Sequence[str]
    domains_from_data: bool
    domains_min_people: int
    charge: str | Path | None


def compare(
    source: object,
    *,
    methods: Sequence[str],
    target: str | None = None,
    k: Sequence[int] = (5, 10, 50),
    epsilon: Sequence[float] = (0.5, 1.0, 2.0, 4.0),
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    public: object = None,
    rows: int = ROWS,
    attacks: int = ATTACKS,
    seed: int = 0,
    progress: Progress = no_progress,
    seen: Callable[[FrontierPoint], None] = lambda _: None,
    **options: Unpack[CompareOptions],
) -> Comparison:
    """Release half of a table in several ways, attack each release, and train models on it.

    Parameters
    ----------
    source : path or table
    methods : sequence of str
        Those with a parameter `epsilon` run at every epsilon, others with `k` at every k, the rest once.
    target : str, optional
        What models predict; by default the target that the policy declares.
    k : sequence of int
        Each 2 or more.
    epsilon : sequence of float
        Each in (0, inf); all that were looked at add up.
    policy : Policy, mapping or path, optional
        As for `release`.
    public : path or table, optional
        Public or simulated rows with the same columns, compared instead of the source: looking at them is free.
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
    **options
        The keywords below.
    task : str, optional
        "classification" or "regression"; by default the policy's, else models do what the values of the target suggest,
        and every method what it takes the task to be.
    identifiers, domains_from_data, domains_min_people
        As for `release`.
    charge : path, optional
        Ledger in which every epsilon that is looked at is booked, under `dataset` and its `budget`.
    dataset, budget, budget_delta
        As for `release`, with `charge`.
    query, sheet, format, header_row, header, names, decimal, delimiter, skip_rows
        As for `release`, of the table that is compared.

    Raises
    ------
    ParameterError, PolicyError, BudgetError
        Nothing to compare, too few rows, no method can release the table, or looking would cost more than the budget
        has.

    Privacy
    -------
    The releases are made in memory and given to nobody. The figures are computed from the source and for its owner.
    """
    refuse_unknown("compare", options, CompareOptions.__annotations__)
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
    given: dict[str, Any] = {**options}
    declared = declared.with_roles(
        target=target, task=given.pop("task", None), identifiers=given.pop("identifiers", ())
    )
    read = source_at(source if public is None else public, **taken(given, ReadAs))
    first, second, table_rows = halves_of(read, declared, rows, seed)
    found = _task(first, declared, target)
    resolved = declared.resolve(first.column_names, target_use=TargetUse.AS_DECLARED)
    halves = Halves(
        released=first, held_out=second, policy=resolved, target=target, task=found, attacks=attacks, seed=seed
    )
    charge = given.pop("charge", None)
    account = Account(ledger=Where.NOWHERE if charge is None else charge, **taken(given, BudgetOptions))
    min_people = given.pop("domains_min_people", Policy.domains_min_people)
    settings = [setting for name in methods for setting in _settings(name, k, epsilon)]
    bench = _Bench(
        halves=halves.settled(),
        declared=declared,
        account=account,
        domains_min_people=min_people if given.pop("domains_from_data", False) else None,
    )
    dropped = [name for name in first.column_names if not declared.column(name).is_released]
    with made_in_turn(settings, bench.tried, may_be_apart=_is_free, seen=lambda tried: seen(tried.point)) as turns:
        turns.work(lambda setting: progress(setting.step, 0.0))
        progress(comparison_steps(methods, k, epsilon)[-1], 0.0)
        raw = halves.scores_of_rows(dropped)
        tried = turns.results()
    unfit = [one.unfit for one in tried if one.unfit is not None]
    if len(unfit) == len(settings):
        raise unfit[0]
    points = tuple(one.point for one in tried)
    return Comparison(
        target=target,
        rows=first.num_rows + second.num_rows,
        table_rows=table_rows,
        raw=raw,
        task=found,
        points=points,
        epsilon_looked_at=total([one.looked_at for one in tried]),
        charged=charge is not None,
        public=public is not None,
    )


def comparison_steps(methods: Sequence[str], k: Sequence[int], epsilon: Sequence[float]) -> tuple[str, ...]:
    """Return the names of the steps of a comparison, in order: one a release, and the rows as they are at the end."""
    releases = [setting.step for name in methods for setting in _settings(name, k, epsilon)]
    return (*releases, "training models on the rows as they are")


def _task(rows: pa.Table, declared: Policy, target: str) -> Task:
    """Return the task of models on the target: for the owner, who has the rows."""
    column = rows.column(target)
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    values = plain.unique().to_pylist()
    return task_from_values(declared.column(target), declared.task, values, ordered=is_ordered(plain.type)).task


@dataclass(frozen=True, kw_only=True)
class _Setting:
    """A method with the one parameter that is compared."""

    method: str
    parameter: str = ""
    """`k`, `epsilon`, or empty for the method's defaults."""
    value: float | None = None

    @property
    def step(self) -> str:
        """Label shown while it runs."""
        return self.method if self.value is None else f"{self.method} {self.value}"

    def outcome(
        self, rows: pa.Table, policy: Policy, account: Account, domains_min_people: int | None, seed: int
    ) -> Release | AnonkitError:
        """Return the release, in memory, or why there is none: a promise that cannot be kept, or rows that do not fit.

        Raises
        ------
        AnonkitError
            Something is wrong for every setting, or the budget does not allow for another look.
        """
        try:
            return release_table(rows, self._request(policy, account, domains_min_people, seed))
        except AnonkitError as error:
            if error.code in ("BUDGET", "DATASET", "PARAMETER", "LEDGER"):
                raise
            return error

    def _request(self, policy: Policy, account: Account, domains_min_people: int | None, seed: int) -> ReleaseRequest:
        return ReleaseRequest(
            method=make_method(self.method, {self.parameter: self.value} if self.parameter else {}),
            policy=policy,
            account=account,
            domains_min_people=domains_min_people,
            utility=False,  # what models keep is measured here, on the test rows
            # without noise every k hides the labels of the same rows from its search: k alone makes the difference
            seed=seed if self.parameter == "k" else None,
        )


def _is_free(setting: _Setting) -> bool:
    """Return True if no epsilon is looked at, and no domain is needed: nothing is booked."""
    return setting.parameter == "k"


@dataclass(frozen=True, kw_only=True)
class _Tried:
    """A release that was made and measured, or a refusal."""

    point: FrontierPoint
    looked_at: float | None
    """Loss of what was looked at: of a release, or of a refusal that follows from what was drawn."""
    unfit: PolicyError | None = None
    """Why the policy fits no release of this kind."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Bench:
    """Rows to release and to score on, with all that is the same for every release."""

    halves: Halves
    declared: Policy
    account: Account
    domains_min_people: int | None

    def tried(self, setting: _Setting) -> _Tried:
        """Make a release, and measure it."""
        is_free, halves = _is_free(setting), self.halves
        account = Account(ledger=Where.NOWHERE, dataset=self.account.dataset) if is_free else self.account
        people = None if is_free else self.domains_min_people
        outcome = setting.outcome(halves.released, self.declared, account, people, halves.seed)
        point = halves.point(setting.method, setting.parameter, setting.value, outcome)
        # what is refused for what was drawn was looked at as a release is; so was a release without rows
        is_of_draws = setting.parameter == "epsilon" and isinstance(outcome, (GuaranteeError, Release))
        return _Tried(
            point=point,
            looked_at=setting.value if is_of_draws and point.refused is not None else loss_of(point),
            unfit=outcome if isinstance(outcome, PolicyError) else None,
        )


def _settings(method: str, k: Sequence[int], epsilon: Sequence[float]) -> list[_Setting]:
    names = {parameter_.name for parameter_ in method_parameters(method)}
    if "epsilon" in names:  # with a k too: epsilon is what looking costs, and what has to be charged
        return [_Setting(method=method, parameter="epsilon", value=value) for value in epsilon]
    if "k" in names:
        return [_Setting(method=method, parameter="k", value=value) for value in k]
    return [_Setting(method=method)]
