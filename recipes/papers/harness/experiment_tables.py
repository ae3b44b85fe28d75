# SPDX-License-Identifier: Apache-2.0
"""Tables of experiments: public files known by their rows, or simulated customers; sampled, folded, balanced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.engines import open_engine
from anonkit.errors import PolicyError
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.side_files import expect, optional_text, refuse_unknown, texts
from papers.harness.public_tables import TableFile

_KEYS = (
    *("title", "train", "test", "simulate", "policy", "target", "drop", "missing", "rows", "test_rows", "folds"),
    *("released_folds", "balanced", "yes_no", "repeats"),
)
_MISSING = ("keep", "drop")


@dataclass(frozen=True, kw_only=True, eq=False)
class LearningTask:
    """Rows to learn from, rows to predict, and what is declared about them."""

    train: pa.Table
    test: pa.Table
    policy: Policy
    target: str
    inner_folds: int = 0
    """Above 0: the rows are released as a whole, and models are trained and scored on folds of the released rows."""
    fold_seed: int = 0
    """Seed of the division of the released rows; the same for all systems."""


@dataclass(frozen=True, kw_only=True)
class TableSpec:
    """A table of an experiment: where it comes from, and how it is divided."""

    name: str
    title: str
    train: TableFile | None
    test: TableFile | None
    simulate: Mapping[str, int] | None
    """`rows` and `test` of simulated bank customers, drawn anew in every repeat."""
    policy: Policy
    drop: tuple[str, ...] = ()
    missing: str = "keep"
    rows: int | None = None
    """Rows drawn at the classes' rates, anew in every repeat; None: all."""
    test_rows: int | None = None
    folds: int = 0
    """Above 0: the rows are divided so, and each part is predicted from a release of the others."""
    released_folds: int = 0
    """Above 0: all rows are released, and the released rows are divided so."""
    balanced: bool = False
    """As many rows of every class, the others left out."""
    yes_no: bool = False
    """Every attribute is cut in two at the median of the rows to learn from."""
    repeats: int | None = None
    """Number of runs of its configurations; None: the experiment's own."""
    described: Mapping[str, Any]
    """Its entries of the recipe, for the identity of runs."""

    @classmethod
    def from_dict(cls, name: str, raw: Mapping[str, Any], folder: Path, recipe: str) -> TableSpec:
        """Read a table `[data.NAME]` of a recipe.

        Raises
        ------
        PolicyError
            A key is not known or of the wrong kind; there are rows from nowhere or from two places.
        """
        where = f"{recipe}, data {name}"
        refuse_unknown(where, raw, _KEYS)
        if ("train" in raw) == ("simulate" in raw):
            raise PolicyError(f"{where} needs either train or simulate", 'train = { file = "…", sha256 = "…" }')
        if raw.get("missing", "keep") not in _MISSING:
            raise PolicyError(f"{where}: missing must be one of {', '.join(_MISSING)}")
        numbers = {key: _whole(where, key, raw[key]) for key in _COUNTS if key in raw}
        if ("test" in raw or "simulate" in raw) + ("folds" in raw) + ("released_folds" in raw) != 1:
            raise PolicyError(f"{where} needs one of test, folds and released_folds", "folds = 5")
        simulate = None
        if "simulate" in raw:
            given = expect(where, "simulate", raw["simulate"], dict)
            refuse_unknown(f"{where}, simulate", given, ("rows", "test"))
            simulate = {key: _whole(where, key, given.get(key)) for key in ("rows", "test")}
        policy, policy_text = _policy(raw, folder, where, simulated=simulate is not None)
        return cls(
            name=name,
            title=optional_text(where, "title", raw) or name,
            train=_file(raw, "train", where),
            test=_file(raw, "test", where),
            simulate=simulate,
            policy=policy,
            drop=tuple(texts(where, "drop", raw.get("drop", []))),
            missing=raw.get("missing", "keep"),
            balanced=expect(where, "balanced", raw.get("balanced", False), bool),
            yes_no=expect(where, "yes_no", raw.get("yes_no", False), bool),
            described={
                **{key: value for key, value in raw.items() if key not in ("title", "repeats")},
                "policy": policy_text,
            },
            **numbers,
        )

    @property
    def used(self) -> str:
        """Rows that take part, in words."""
        if self.simulate is not None:
            return f"{self.simulate['rows']:,} simulated rows to learn from and {self.simulate['test']:,} to predict"
        complete = " without a missing value" if self.missing == "drop" else ""
        rows = f"{'all' if self.rows is None else f'{self.rows:,}'} rows{complete}"
        if self.balanced:
            rows += ", as many of every class"
        if self.folds or self.released_folds:
            return f"{rows}, {self.folds or self.released_folds} folds"
        return f"{rows} to learn from and {'all' if self.test_rows is None else f'{self.test_rows:,}'} to predict"

    @property
    def documented(self) -> tuple[str, ...]:
        """Name and place of the description of its public tables."""
        return tuple(file.documented for file in (self.train, self.test) if file is not None and file.documented)

    def overlap(self, repeats: int) -> float:
        """Return the rows that are predicted for one that is learned from, where parts take turns; else 0.

        Where every repeat draws other rows, so much of it is left as one repeat has of all.
        """
        folds = self.folds or self.released_folds
        drawn_anew = self.rows is not None or self.balanced
        return 1 / (folds - 1) / (repeats if drawn_anew else 1) if folds else 0.0

    def tasks(self, folder: Path, repeat: int, seed: int) -> Iterator[tuple[int, LearningTask]]:
        """Yield the tasks of one repeat, each with the number of its fold.

        Parameters
        ----------
        folder : Path
            Of the tables.
        repeat, seed : int
            Which rows are drawn; the same for all systems, so that they are compared on the same rows.
        """
        random = np.random.default_rng([seed, repeat])  # which rows are drawn: tables of experiments are public
        train, test = self._opened(folder, repeat, seed)
        names = [name for name in train.column_names if name not in self.drop]
        policy = replace(self.policy, columns={k: v for k, v in self.policy.columns.items() if k not in self.drop})
        policy = policy.resolve(names)
        target = str(policy.target)
        train = self._drawn(train.select(names), target, self.rows, random)
        if test is not None:
            test = self._drawn(test.select(names), target, self.test_rows, random)
            yield 0, self._cut(LearningTask(train=train, test=test, policy=policy, target=target))
        elif self.released_folds:
            both = LearningTask(train=train, test=train, policy=policy, target=target, inner_folds=self.released_folds)
            yield 0, self._cut(replace(both, fold_seed=int(random.integers(2**31))))
        else:
            from sklearn.model_selection import StratifiedKFold

            labels = train.column(target).cast(pa.string()).to_numpy()
            folds = StratifiedKFold(self.folds, shuffle=True, random_state=int(random.integers(2**31)))
            for fold, (kept, held) in enumerate(folds.split(labels, labels)):
                yield (
                    fold,
                    self._cut(
                        LearningTask(train=train.take(kept), test=train.take(held), policy=policy, target=target)
                    ),
                )

    def _opened(self, folder: Path, repeat: int, seed: int) -> tuple[pa.Table, pa.Table | None]:
        if self.simulate is not None:
            first = 2 * (1_000 * seed + repeat) + 1
            return bank_customers(self.simulate["rows"], first), bank_customers(self.simulate["test"], first + 1)
        if self.train is None:
            raise PolicyError(f"data {self.name} has no rows", "train, or simulate")
        train = self._read(self.train, folder)
        return train, None if self.test is None else self._read(self.test, folder)

    def _read(self, file: TableFile, folder: Path) -> pa.Table:
        with file.opened(folder) as path, closing(open_engine("local")) as engine:
            source = engine.scan(path, self.policy)
            return pa.Table.from_batches(source.batches(), schema=source.schema)

    def _drawn(self, table: pa.Table, target: str, rows: int | None, random: np.random.Generator) -> pa.Table:
        """Return the rows that take part."""
        if self.missing == "drop":
            table = table.filter(reduce(pc.and_, (pc.is_valid(column) for column in table.columns)))
        if rows is None and not self.balanced:
            return table
        labels = np.unique(table.column(target).cast(pa.string()).to_numpy(), return_inverse=True)[1]
        sizes = np.bincount(labels)
        if self.balanced:
            sizes = np.full(sizes.size, sizes.min())
        if rows is not None and rows < sizes.sum():
            sizes = np.maximum(np.rint(sizes * (rows / sizes.sum())).astype(int), 1)
        kept = [random.choice(np.flatnonzero(labels == label), size, replace=False) for label, size in enumerate(sizes)]
        return table.take(np.sort(np.concatenate(kept)))

    def _cut(self, task: LearningTask) -> LearningTask:
        return in_two(task) if self.yes_no else task


def in_two(task: LearningTask) -> LearningTask:
    """Return a task whose attributes are yes or no: above the median of the rows to learn from, or not.

    Of categories the place in the declared order counts. The cuts are read from the rows: what it would cost to
    publish them is in no epsilon.
    """
    columns: dict[str, Column] = {}
    parts: dict[str, tuple[pa.Array, pa.Array]] = {}
    for name, column in task.policy.columns.items():
        if column.role in (Role.TARGET, Role.IDENTIFIER, Role.INSENSITIVE):
            columns[name] = column
            continue
        train, test = (_numbers(table.column(name), column) for table in (task.train, task.test))
        middle = float(np.median(train))
        parts[name] = tuple(pa.array(np.where(part > middle, "yes", "no")) for part in (train, test))
        columns[name] = Column(name=name, categories=("no", "yes"), role=column.role, missing=Missing.FIRST)
    train, test = task.train, task.test
    for name, (of_train, of_test) in parts.items():
        at = train.column_names.index(name)
        train, test = train.set_column(at, name, of_train), test.set_column(at, name, of_test)
    return replace(task, train=train, test=test, policy=replace(task.policy, columns=columns))


def _numbers(column: pa.ChunkedArray, declared: Column) -> NDArray[np.float64]:
    """Return numbers as they are, and categories by their place in the declared order."""
    if declared.categories is None:
        return np.asarray(column.cast(pa.float64()).to_numpy())
    place = {value: at for at, value in enumerate(declared.categories)}
    return np.array([place.get(str(value), -1) for value in column.to_pylist()], dtype=np.float64)


_COUNTS = ("rows", "test_rows", "folds", "released_folds", "repeats")


def _whole(where: str, key: str, value: object) -> int:
    least = 2 if key.endswith("folds") else 1
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    raise PolicyError(f"{where}: {key} must be a whole number from {least} on", f"such as {key} = 5")


def _file(raw: Mapping[str, Any], key: str, where: str) -> TableFile | None:
    if key not in raw:
        return None
    spec = expect(where, key, raw[key], dict)
    refuse_unknown(f"{where}, {key}", spec, ("file", "sha256"))
    if not all(isinstance(spec.get(part), str) for part in ("file", "sha256")):
        raise PolicyError(f"{where}: {key} needs file and sha256", f'{key} = {{ file = "…", sha256 = "…" }}')
    return TableFile(name=spec["file"], sha256=spec["sha256"])


def _policy(raw: Mapping[str, Any], folder: Path, where: str, *, simulated: bool) -> tuple[Policy, str]:
    """Return the policy of a table, and its text."""
    given = raw.get("policy")
    if given is None:
        policy, text = (bank_customers_policy() if simulated else Policy()), ""
    elif isinstance(given, str):
        policy, text = Policy.load(folder / given), (folder / given).read_text(encoding="utf-8")
    else:
        policy, text = Policy.from_dict(expect(where, "policy", given, dict), folder=folder), repr(given)
    target = optional_text(where, "target", raw)
    return (policy if target is None else policy.with_roles(target=target)), text
