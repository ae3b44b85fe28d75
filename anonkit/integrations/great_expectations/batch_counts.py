# SPDX-License-Identifier: Apache-2.0
"""Counts behind the expectations on pandas, SQL and Spark batches: class sizes and diversity, never cell values.

A batch on a database or on Spark is counted there. What comes to this process are sizes of classes, and for diversity
the counts of (class, value), classes and values being numbers that the engine gives them; and the different values of
the sensitive column, once, by which spellings are found to be one and numbers to be close.

Imported by `class_expectations` only, which says what to install when Great Expectations is absent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine import (
    PandasExecutionEngine,
    SparkDFExecutionEngine,
    SqlAlchemyExecutionEngine,
)
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
from great_expectations.validator.metric_configuration import MetricConfiguration

from anonkit.bundle.sql_names import own_names
from anonkit.checks.counted_as import ReadValues
from anonkit.integrations.great_expectations.expectation_words import condition_columns
from anonkit.integrations.great_expectations.value_counts import (
    ANYBODY,
    HOLDERS,
    PAIR,
    VALUE,
    ValueCounts,
    counted_cells,
    may_count_as_equal,
    numbers_that_count,
)

CLASSES = "anonkit.table.class_sizes"
PAIRS = "anonkit.table.sensitive_pairs"
ROWS = "anonkit.table.rows"
ALIKE = "anonkit.table.alike_columns"
COLUMNS = "table.columns"
"""Names under which the expectations ask for these."""


class _NamedColumns(TableMetricProvider):
    """Counts by columns: nothing where one of them is not in the batch, which the expectation then reports.

    An engine would raise, with a traceback in the data docs. Two would not: SQLite takes a quoted unknown name for a
    string, and pandas a list of names that is as long as the frame for labels.
    """

    @classmethod
    def _get_evaluation_dependencies(
        cls, metric: Any, configuration: Any = None, execution_engine: Any = None, runtime_configuration: Any = None
    ) -> dict[str, Any]:
        more = {"execution_engine": execution_engine, "runtime_configuration": runtime_configuration}
        found = super()._get_evaluation_dependencies(metric=metric, configuration=configuration, **more)
        return {**found, **{name: of_columns(name, metric.metric_domain_kwargs) for name in (COLUMNS, ALIKE)}}


def of_columns(name: str, domain: Mapping[str, Any]) -> MetricConfiguration:
    """Return a metric about the columns of a batch, whatever rows are looked at."""
    return MetricConfiguration(
        metric_name=name, metric_domain_kwargs={"batch_id": domain.get("batch_id")}, metric_value_kwargs=None
    )


class AlikeColumns(TableMetricProvider):
    """The columns of a batch that have their name in common with another.

    A query can give several columns one name. A database counts the first of them: DuckDB and
    SQLite do, in whatever case the names are, and SQLite calls the second `x:1`. PostgreSQL refuses.
    """

    metric_name = ALIKE

    @classmethod
    def _get_evaluation_dependencies(
        cls, metric: Any, configuration: Any = None, execution_engine: Any = None, runtime_configuration: Any = None
    ) -> dict[str, Any]:
        return {COLUMNS: of_columns(COLUMNS, metric.metric_domain_kwargs)}

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(cls, execution_engine, metric_domain_kwargs, metrics, **more):  # type: ignore[no-untyped-def]  # noqa: N805
        return _alike(metrics[COLUMNS], list(metrics[COLUMNS]))

    @metric_value(engine=SqlAlchemyExecutionEngine)
    def _sql(cls, execution_engine, metric_domain_kwargs, metrics, **more):  # type: ignore[no-untyped-def]  # noqa: N805
        names, dialect = [str(name) for name in metrics[COLUMNS]], execution_engine.dialect_name
        batch = execution_engine.batch_manager.active_batch_data
        folded = [name.casefold() for name in names] if dialect in ("sqlite", "duckdb") else names
        if dialect == "sqlite" and batch.source_table_name is None:
            folded = [re.sub(r":[0-9]+$", "", name) for name in folded]
        return _alike(names, folded)

    @metric_value(engine=SparkDFExecutionEngine)
    def _spark(cls, execution_engine, metric_domain_kwargs, metrics, **more):  # type: ignore[no-untyped-def]  # noqa: N805
        return _alike(metrics[COLUMNS], list(metrics[COLUMNS]))


def _alike(names: Sequence[str], folded: Sequence[str]) -> list[str]:
    return [name for name, one in zip(names, folded, strict=True) if folded.count(one) > 1]


def named_columns(domain: Mapping[str, Any], values: Mapping[str, Any]) -> list[str]:
    """Return the columns of the request, those of the row condition included."""
    names = [*values["columns"], values.get("sensitive"), values.get("unit")]
    return [*(name for name in names if name is not None), *condition_columns(domain.get("row_condition"))]


def _are_there(metrics: Mapping[str, Any], domain: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    # the names of some databases are equal in any case, but not so their hashes
    return all(name in metrics[COLUMNS] and name not in metrics[ALIKE] for name in named_columns(domain, values))


class BatchClassSizes(_NamedColumns):
    """The number of equivalence classes of each size: pairs (size, number of such classes), ascending.

    The size of a class is the number of its rows, or of the different values of the unit in it; a row without one is
    nobody's.
    """

    metric_name = CLASSES
    value_keys = ("columns", "unit")

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(cls, execution_engine, metric_domain_kwargs, metric_value_kwargs, metrics, **more):  # type: ignore[no-untyped-def]  # noqa: N805
        if not _are_there(metrics, metric_domain_kwargs, metric_value_kwargs):
            return []
        frame, unit = _batch(execution_engine, metric_domain_kwargs), metric_value_kwargs["unit"]
        names = list(metric_value_kwargs["columns"])
        classes = frame.groupby(names, dropna=False, observed=True, sort=False)
        sizes = classes.size() if unit is None else classes[unit].nunique()
        return sorted((int(size), int(number)) for size, number in sizes.value_counts().items())

    @metric_value(engine=SqlAlchemyExecutionEngine)
    def _sql(cls, execution_engine, metric_domain_kwargs, metric_value_kwargs, metrics, **more):  # type: ignore[no-untyped-def]  # noqa: N805
        if not _are_there(metrics, metric_domain_kwargs, metric_value_kwargs):
            return []
        import sqlalchemy as sa

        table, unit = _batch(execution_engine, metric_domain_kwargs), metric_value_kwargs["unit"]
        keys = _keys(execution_engine, metric_value_kwargs["columns"])
        size = sa.func.count() if unit is None else sa.func.count(_column(unit).distinct())
        classes = sa.select(size.label("n")).select_from(table).group_by(*keys).subquery("classes")
        return sorted(_fetched(execution_engine, sa.select(classes.c.n, sa.func.count()).group_by(classes.c.n)))

    @metric_value(engine=SparkDFExecutionEngine)
    def _spark(cls, execution_engine, metric_domain_kwargs, metric_value_kwargs, metrics, **more):  # type: ignore[no-untyped-def]  # noqa: N805
        if not _are_there(metrics, metric_domain_kwargs, metric_value_kwargs):
            return []
        frame, unit = _batch(execution_engine, metric_domain_kwargs), metric_value_kwargs["unit"]
        frame, own = _renamed(frame)
        keys = ", ".join(_spark_keys(frame, [own[name] for name in metric_value_kwargs["columns"]]))
        size = "count(1)" if unit is None else f"count(DISTINCT {own[unit]})"
        classes = f"(SELECT {size} AS n FROM {{batch}} GROUP BY {keys})"
        return sorted(_collected(frame, f"SELECT n, count(1) FROM {classes} GROUP BY n"))


class SensitivePairs(_NamedColumns):
    """Diversity of a sensitive column inside the classes, from counts of (class, value)."""

    metric_name = PAIRS
    value_keys = ("columns", "sensitive", "missing_is_value", "unit", "categories", "width")

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(cls, execution_engine, metric_domain_kwargs, metric_value_kwargs, metrics, **more):  # type: ignore[no-untyped-def]  # noqa: N805
        if not _are_there(metrics, metric_domain_kwargs, metric_value_kwargs):
            return {}
        sensitive, reading = metric_value_kwargs["sensitive"], _reading(metric_value_kwargs)
        frame, unit = _batch(execution_engine, metric_domain_kwargs), metric_value_kwargs["unit"]
        names = list(metric_value_kwargs["columns"])
        return ValueCounts.of_cells(
            frame.groupby(names, dropna=False, observed=True, sort=False).ngroup().to_numpy(),
            counted_cells(frame[sensitive], reading, sensitive),
            None if unit is None else frame[unit],
            metric_value_kwargs["missing_is_value"],
        ).diversity(metric_value_kwargs["missing_is_value"], reading, sensitive)

    @metric_value(engine=SqlAlchemyExecutionEngine)
    def _sql(cls, execution_engine, metric_domain_kwargs, metric_value_kwargs, metrics, **more):  # type: ignore[no-untyped-def]  # noqa: N805
        if not _are_there(metrics, metric_domain_kwargs, metric_value_kwargs):
            return {}
        import sqlalchemy as sa

        table, unit = _batch(execution_engine, metric_domain_kwargs), metric_value_kwargs["unit"]
        sensitive, reading = metric_value_kwargs["sensitive"], _reading(metric_value_kwargs)
        value = _column(sensitive)
        last = _fetched(execution_engine, _last_value(table, value))
        if _is_no_number(last):
            value = sa.func.nullif(value, sa.cast(sa.literal("NaN"), sa.Float))
        keys = _keys(execution_engine, metric_value_kwargs["columns"])
        names = {f"k{at}": key for at, key in enumerate(keys)}
        cells = sa.select(
            *(column.label(key) for key, column in names.items()),
            value.label("s"),
            (sa.null() if unit is None else _column(unit)).label("u"),
        ).select_from(table)
        ranked = _ranked(cells.cte("cells"), list(names))
        last = [row[0] for row in last]
        numbers = {}
        if may_count_as_equal(last):
            listed = sa.select(ranked.c.v, sa.func.min(ranked.c.s)).where(ranked.c.v.is_not(None)).group_by(ranked.c.v)
            numbers = dict(_fetched(execution_engine, listed))
        counted = _counted_as(ranked, numbers_that_count(numbers, reading, sensitive))
        rows = _counts(counted, unit is not None, metric_value_kwargs["missing_is_value"])
        found = ValueCounts.of_engine(_fetched(execution_engine, rows), last, numbers)
        return found.diversity(metric_value_kwargs["missing_is_value"], reading, sensitive)

    @metric_value(engine=SparkDFExecutionEngine)
    def _spark(cls, execution_engine, metric_domain_kwargs, metric_value_kwargs, metrics, **more):  # type: ignore[no-untyped-def]  # noqa: N805
        if not _are_there(metrics, metric_domain_kwargs, metric_value_kwargs):
            return {}
        frame, unit = _batch(execution_engine, metric_domain_kwargs), metric_value_kwargs["unit"]
        frame, own = _renamed(frame)
        sensitive, reading = metric_value_kwargs["sensitive"], _reading(metric_value_kwargs)
        value = own[sensitive]
        last = _collected(
            frame, f"SELECT {value} AS s FROM {{batch}} WHERE {value} IS NOT NULL ORDER BY s DESC LIMIT 1"
        )
        if _is_no_number(last):
            value = f"nullif({value}, double('NaN'))"
        names = _spark_keys(frame, [own[name] for name in metric_value_kwargs["columns"]])
        keys = ", ".join(f"k{at}" for at in range(len(names)))
        cells = "".join(f"{name} AS k{at}, " for at, name in enumerate(names))
        whose = "NULL" if unit is None else own[unit]
        valued = "" if metric_value_kwargs["missing_is_value"] else "WHERE v IS NOT NULL"
        people = "count(DISTINCT u) FROM ranked"
        rows = (
            f"SELECT {PAIR}, c, v, sum(n) FROM ranked GROUP BY c, v"
            if unit is None
            else f"SELECT {PAIR}, c, v, {people} GROUP BY c, v UNION ALL "
            f"SELECT {HOLDERS}, c, NULL, {people} {valued} GROUP BY c UNION ALL "
            f"SELECT {VALUE}, NULL, v, {people} {valued} GROUP BY v UNION ALL "
            f"SELECT {ANYBODY}, NULL, NULL, {people} {valued}"
        )
        numbered = (
            f"WITH cells AS (SELECT {cells}{value} AS s, {whose} AS u FROM {{batch}}), "
            f"counted AS (SELECT {keys}, s, u, count(1) AS n FROM cells GROUP BY {keys}, s, u), "
            f"numbered AS (SELECT dense_rank() OVER (ORDER BY {keys}) AS c, "
            "CASE WHEN s IS NOT NULL THEN dense_rank() OVER (ORDER BY s) END AS v, s, u, n FROM counted)"
        )
        last = [row[0] for row in last]
        numbers = {}
        if may_count_as_equal(last):
            numbers = dict(
                _collected(frame, f"{numbered} SELECT v, min(s) FROM numbered WHERE v IS NOT NULL GROUP BY v")
            )
        others = "".join(
            f" WHEN {number} THEN {'NULL' if other is None else other}"
            for number, other in numbers_that_count(numbers, reading, sensitive).items()
        )
        counts_as = f"CASE v{others} ELSE v END" if others else "v"
        ranked = f"{numbered}, ranked AS (SELECT c, {counts_as} AS v, u, n FROM numbered)"
        found = ValueCounts.of_engine(_collected(frame, f"{ranked} {rows}"), last, numbers)
        return found.diversity(metric_value_kwargs["missing_is_value"], reading, sensitive)


class BatchRowCount(TableMetricProvider):
    """The number of rows of a batch.

    Great Expectations has `table.row_count`, which it fetches after it has closed the connection: DuckDB 2 then has no
    rows any more.
    """

    metric_name = ROWS

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(cls, execution_engine, metric_domain_kwargs, **more):  # type: ignore[no-untyped-def]  # noqa: N805
        return len(_batch(execution_engine, metric_domain_kwargs))

    @metric_value(engine=SqlAlchemyExecutionEngine)
    def _sql(cls, execution_engine, metric_domain_kwargs, **more):  # type: ignore[no-untyped-def]  # noqa: N805
        import sqlalchemy as sa

        table = _batch(execution_engine, metric_domain_kwargs)
        return int(_fetched(execution_engine, sa.select(sa.func.count()).select_from(table))[0][0])

    @metric_value(engine=SparkDFExecutionEngine)
    def _spark(cls, execution_engine, metric_domain_kwargs, **more):  # type: ignore[no-untyped-def]  # noqa: N805
        return _batch(execution_engine, metric_domain_kwargs).count()


def _batch(execution_engine: Any, domain: Any) -> Any:
    """Return the rows that are looked at, those of the row condition if there is one."""
    batch = execution_engine.get_compute_domain(domain, domain_type=MetricDomainTypes.TABLE)[0]
    # with a condition SQLAlchemy has a SELECT here, which may not be in FROM without a name
    return batch.subquery("batch") if _is_select(execution_engine, batch) else batch


def _is_select(execution_engine: Any, batch: Any) -> bool:
    if not isinstance(execution_engine, SqlAlchemyExecutionEngine):
        return False
    import sqlalchemy as sa

    return isinstance(batch, sa.SelectBase)


def _column(name: str) -> Any:
    """Return a column by its name, quoted where the dialect needs it: spaces, capitals and words of SQL."""
    import sqlalchemy as sa

    return sa.column(name)


def _keys(execution_engine: Any, names: Sequence[str]) -> list[Any]:
    """Return the keys that separate classes: cells to the letter, since that is how they are shown.

    The collation of a column, or a type such as citext, may take `Bern` and `bern` for one: two classes would count as
    one. In databases that were not tried the collation of the columns decides.
    """
    import sqlalchemy as sa

    dialect, columns = execution_engine.dialect_name, [_column(name) for name in names]
    if dialect == "sqlite":  # a cast would shorten its numbers
        return [sa.collate(column, "BINARY") for column in columns]
    if dialect in ("postgresql", "duckdb"):
        return [sa.collate(sa.cast(column, sa.Text), "C") for column in columns]
    return columns


def _last_value(table: Any, value: Any) -> Any:
    """Query the value that sorts last.

    It alone shows whether values have an order, by its type: SQLite sorts strings after numbers. And it is not-a-number
    where there is such a value, which is missing to us.
    """
    import sqlalchemy as sa

    return sa.select(value).select_from(table).where(value.is_not(None)).order_by(value.desc()).limit(1)


def _is_no_number(last: Sequence[tuple[Any, ...]]) -> bool:
    return any(value != value for (value,) in last)


def _reading(values: Mapping[str, Any]) -> ReadValues:
    """Return the definition of a value for the sensitive column of the request."""
    name, width = values["sensitive"], values.get("width")
    return ReadValues(
        categories={name: tuple(values.get("categories") or ())}, widths={} if width is None else {name: float(width)}
    )


def _ranked(cells: Any, keys: Sequence[str]) -> Any:
    """Count the cells (keys…, s, u) by numbers of classes and values."""
    import sqlalchemy as sa

    grouped = [*(cells.c[key] for key in keys), cells.c.s, cells.c.u]
    counted = sa.select(*grouped, sa.func.count().label("n")).group_by(*grouped).cte("counted")
    return sa.select(
        sa.func.dense_rank().over(order_by=[counted.c[key] for key in keys]).label("c"),
        sa.case((counted.c.s.is_not(None), sa.func.dense_rank().over(order_by=counted.c.s))).label("v"),
        counted.c.s,
        counted.c.u,
        counted.c.n,
    ).cte("ranked")


def _counted_as(ranked: Any, others: Mapping[int, int | None]) -> Any:
    """Return the same with the numbers that values count as: spellings of one have one, marks for missing none."""
    import sqlalchemy as sa

    if not others:
        return ranked
    cases = [(ranked.c.v == number, sa.null() if other is None else other) for number, other in others.items()]
    value = sa.case(*cases, else_=ranked.c.v).label("v")
    return sa.select(ranked.c.c, value, ranked.c.u, ranked.c.n).cte("as_counted")


def _counts(ranked: Any, of_people: bool, missing_is_value: bool) -> Any:
    """Count rows, or people, by numbers of classes and values, in one statement: no other sees half a change."""
    import sqlalchemy as sa

    c, v, nothing = ranked.c.c, ranked.c.v, sa.null()
    if not of_people:
        return sa.select(sa.literal_column(str(PAIR)), c, v, sa.func.sum(ranked.c.n)).group_by(c, v)
    people, valued = sa.func.count(ranked.c.u.distinct()), sa.true() if missing_is_value else v.is_not(None)
    return sa.union_all(
        sa.select(sa.literal_column(str(PAIR)), c, v, people).group_by(c, v),
        sa.select(sa.literal_column(str(HOLDERS)), c, nothing, people).where(valued).group_by(c),
        sa.select(sa.literal_column(str(VALUE)), nothing, v, people).where(valued).group_by(v),
        sa.select(sa.literal_column(str(ANYBODY)), nothing, nothing, people).where(valued),
    )


def _fetched(execution_engine: Any, query: Any) -> list[tuple[Any, ...]]:
    # execution_engine.execute_query closes the connection before the rows are fetched, and DuckDB then has none.
    with execution_engine.get_connection() as connection:
        return [tuple(row) for row in connection.execute(query).fetchall()]


def _renamed(frame: Any) -> tuple[Any, dict[str, str]]:
    """Return a Spark frame under names of SQL's own, and these by column: Spark takes `Age` and `age` for one."""
    own = own_names(frame.columns)
    return frame.toDF(*own.values()), own


def _spark_keys(frame: Any, names: Sequence[str]) -> list[str]:
    """Return the keys that separate classes: cells to the letter, whatever the collation of a column takes for one."""
    kinds = dict(frame.dtypes)
    return [f"cast({name} AS BINARY)" if "collate" in kinds[name] else name for name in names]


def _collected(frame: Any, query: str) -> list[tuple[Any, ...]]:
    """Run a query on a Spark frame, of the classic kind or Connect's: `{batch}` in it."""
    return [tuple(row) for row in frame.sparkSession.sql(query, batch=frame).collect()]
