# SPDX-License-Identifier: Apache-2.0
"""Counts behind the expectations on pandas, SQL and Spark batches: class sizes and diversity, never cell values.

Imported by `anonkit.checks.expectations` only, which says what to install when Great Expectations is absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine import (
    PandasExecutionEngine,
    SparkDFExecutionEngine,
    SqlAlchemyExecutionEngine,
)
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

from anonkit.checks.diversity import diversity_of

CLASSES = "anonkit.table.class_sizes"
PAIRS = "anonkit.table.sensitive_pairs"
"""Names under which the expectations ask for these."""


class ClassSizes(TableMetricProvider):
    """How many equivalence classes there are of each size: pairs (rows in the class, number of such classes)."""

    metric_name = CLASSES
    value_keys = ("columns",)

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(cls, execution_engine, metric_domain_kwargs, metric_value_kwargs, **more):  # type: ignore[no-untyped-def]  # noqa: N805
        frame = _batch(execution_engine, metric_domain_kwargs)
        names = list(metric_value_kwargs["columns"])
        require_columns(names, frame.columns)
        sizes = frame.groupby(names, dropna=False, observed=True, sort=False).size()
        return sorted((int(size), int(classes)) for size, classes in sizes.value_counts().items())

    @metric_value(engine=SqlAlchemyExecutionEngine)
    def _sql(cls, execution_engine, metric_domain_kwargs, metric_value_kwargs, **more):  # type: ignore[no-untyped-def]  # noqa: N805
        import sqlalchemy as sa

        table = _batch(execution_engine, metric_domain_kwargs)
        keys = [sa.column(name) for name in metric_value_kwargs["columns"]]
        classes = sa.select(sa.func.count().label("n")).select_from(table).group_by(*keys).subquery("classes")
        return sorted(_fetched(execution_engine, sa.select(classes.c.n, sa.func.count()).group_by(classes.c.n)))

    @metric_value(engine=SparkDFExecutionEngine)
    def _spark(cls, execution_engine, metric_domain_kwargs, metric_value_kwargs, **more):  # type: ignore[no-untyped-def]  # noqa: N805
        frame = _batch(execution_engine, metric_domain_kwargs)
        sizes = frame.groupBy(*map(_ticked, metric_value_kwargs["columns"])).count().select("count")
        rows = sizes.withColumnRenamed("count", "n").groupBy("n").count().collect()
        return sorted((int(row[0]), int(row[1])) for row in rows)


class SensitivePairs(TableMetricProvider):
    """Diversity of a sensitive column inside the classes, from counts of (class, value)."""

    metric_name = PAIRS
    value_keys = ("columns", "sensitive", "missing_is_value")

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(cls, execution_engine, metric_domain_kwargs, metric_value_kwargs, **more):  # type: ignore[no-untyped-def]  # noqa: N805
        frame = _batch(execution_engine, metric_domain_kwargs)
        names = [*metric_value_kwargs["columns"], metric_value_kwargs["sensitive"]]
        require_columns(names, frame.columns)
        counted = frame.groupby(names, dropna=False, observed=True, sort=False).size()
        return _diversity(
            [(*_as_tuple(key), int(n)) for key, n in counted.items()], metric_value_kwargs["missing_is_value"]
        )

    @metric_value(engine=SqlAlchemyExecutionEngine)
    def _sql(cls, execution_engine, metric_domain_kwargs, metric_value_kwargs, **more):  # type: ignore[no-untyped-def]  # noqa: N805
        import sqlalchemy as sa

        table = _batch(execution_engine, metric_domain_kwargs)
        names = [*metric_value_kwargs["columns"], metric_value_kwargs["sensitive"]]
        keys = [sa.column(name) for name in names]
        query = sa.select(*keys, sa.func.count()).select_from(table).group_by(*keys)
        return _diversity(_fetched(execution_engine, query), metric_value_kwargs["missing_is_value"])

    @metric_value(engine=SparkDFExecutionEngine)
    def _spark(cls, execution_engine, metric_domain_kwargs, metric_value_kwargs, **more):  # type: ignore[no-untyped-def]  # noqa: N805
        frame = _batch(execution_engine, metric_domain_kwargs)
        names = [*metric_value_kwargs["columns"], metric_value_kwargs["sensitive"]]
        rows = [tuple(row) for row in frame.groupBy(*map(_ticked, names)).count().collect()]
        return _diversity(rows, metric_value_kwargs["missing_is_value"])


def _batch(execution_engine: Any, domain: Any) -> Any:
    return execution_engine.get_compute_domain(domain, domain_type=MetricDomainTypes.TABLE)[0]


def _fetched(execution_engine: Any, query: Any) -> list[tuple[Any, ...]]:
    # execution_engine.execute_query closes the connection before the rows are fetched, and DuckDB then has none.
    with execution_engine.get_connection() as connection:
        return [tuple(row) for row in connection.execute(query).fetchall()]


def require_columns(names: Sequence[str], columns: Iterable[str]) -> None:
    """Refuse names that are no columns: pandas takes a list as long as the frame for labels, and counts those."""
    if not set(names) <= set(columns):
        raise ValueError("a column is not in the batch")


def _ticked(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _as_tuple(key: object) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _diversity(rows: Sequence[tuple[Any, ...]], missing_is_value: bool) -> dict[str, float]:
    """Return l, entropy l, t and alpha from rows (class columns…, sensitive value, count); nothing for no rows."""
    import numpy as np

    if not rows:
        return {}
    classes: dict[tuple[Any, ...], int] = {}
    for row in rows:
        classes.setdefault(tuple(None if x != x else x for x in row[:-2]), len(classes))
    pairs = [
        (classes[tuple(None if x != x else x for x in row[:-2])], None if row[-2] != row[-2] else row[-2], row[-1])
        for row in rows
    ]
    pairs = [pair for pair in pairs if missing_is_value or pair[1] is not None]
    present = [value for value in dict.fromkeys(value for _, value, _ in pairs) if value is not None]
    ordered = bool(present) and not any(isinstance(value, str | bool | np.bool_) for value in present)
    place = {value: at for at, value in enumerate(sorted(present) if ordered else present)}
    some = sorted({at for at, _, _ in pairs})
    dense = {at: number for number, at in enumerate(some)}
    return diversity_of(
        np.array([dense[at] for at, _, _ in pairs], dtype=np.int64),
        np.array([place.get(value, len(place)) for _, value, _ in pairs], dtype=np.int64),
        np.array([n for _, _, n in pairs], dtype=np.float64),
        ordered,
        some_have_none=len(some) < len(classes),
    )
