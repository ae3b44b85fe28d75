# SPDX-License-Identifier: Apache-2.0
"""Great Expectations: k, l, t and the promise of a release as expectations on pandas, Spark and SQL batches.

Results hold counts and measures, never cells. Nothing passes that was not checked: a column that is not there, an empty
batch and a measure that could not be taken are failures, and `require_all` refuses a run that evaluated fewer
expectations than were declared, which Great Expectations itself reports as a success.

Import this module before loading a suite that was saved with these expectations.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from anonkit.checks.validation import validate
from anonkit.errors import AnonkitError, GuaranteeError, MissingDependencyError, ParameterError, UncheckedError
from anonkit.policy.declaration import Policy
from anonkit.promises.guarantee import Check

os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")  # earlier versions report home
try:
    from great_expectations import ExpectationSuite
    from great_expectations.checkpoint.actions import ValidationAction
    from great_expectations.compatibility import pydantic
    from great_expectations.core.suite_parameters import SuiteParameterDict
    from great_expectations.expectations.expectation import BatchExpectation

    from anonkit.checks.batch_counts import CLASSES, PAIRS
except ImportError:
    raise MissingDependencyError.of_extra("Great Expectations", "validate") from None
except SystemExit:  # pyspark without grpcio ends `python -c` with success
    raise MissingDependencyError(
        "Great Expectations cannot be imported here: pyspark lacks grpcio", "pip install grpcio, or run a file"
    ) from None

_TABLE = "table.columns"
_MISSING = "True: a missing cell is a sensitive value like any other."


# --- the expectations ----------------------------------------------------------------------------------------


class _Expectation(BatchExpectation):
    """What the expectations have in common: missing columns and empty batches fail."""

    def _refused(self, metrics: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any] | None:
        missing = [name for name in names if name not in metrics[_TABLE]]
        if missing:  # SQLite takes a quoted unknown name for a text, and counts one large class
            return _result(False, None, {"missing_columns": missing})
        sizes = metrics.get(CLASSES)
        return _result(False, None, {"rows": 0}) if sizes is not None and not sizes else None


class ExpectTableToBeKAnonymous(_Expectation):
    """Expect every combination of the quasi-identifiers to be held by at least k rows."""

    columns: list[str] = pydantic.Field(min_items=1, description="Quasi-identifiers.")
    k: int | SuiteParameterDict = pydantic.Field(description="Rows in the smallest class, at least.")

    metric_dependencies: ClassVar = (CLASSES, _TABLE)
    success_keys: ClassVar = ("columns", "k")
    args_keys: ClassVar = ("columns", "k")

    @pydantic.validator("k")
    def _k_is_a_count(cls, value: object) -> object:  # noqa: N805
        if isinstance(value, int) and value < 1:
            raise ValueError("k must be 1 or more")
        return value

    def _validate(
        self, metrics: Mapping[str, Any], runtime_configuration: object = None, execution_engine: object = None
    ) -> dict[str, Any]:
        k = int(self._get_success_kwargs()["k"])
        return self._refused(metrics, self.columns) or _anonymity(metrics[CLASSES], k)


class ExpectTableToBeLDiverse(_Expectation):
    """Expect at least l different values of a sensitive column in every class; missing is none unless declared."""

    columns: list[str] = pydantic.Field(min_items=1, description="Quasi-identifiers.")
    sensitive: str = pydantic.Field(description="What must not be learned.")
    l: float | SuiteParameterDict = pydantic.Field(description="Different values in every class, at least.")  # noqa: E741
    entropy: bool = pydantic.Field(False, description="True: exp(entropy) of the values, at least l.")
    missing_is_value: bool = pydantic.Field(False, description=_MISSING)

    metric_dependencies: ClassVar = (PAIRS, _TABLE)
    success_keys: ClassVar = ("columns", "sensitive", "l", "entropy", "missing_is_value")
    args_keys: ClassVar = ("columns", "sensitive", "l")

    def _validate(
        self, metrics: Mapping[str, Any], runtime_configuration: object = None, execution_engine: object = None
    ) -> dict[str, Any]:
        l = float(self._get_success_kwargs()["l"])  # noqa: E741
        key = "entropy_l" if self.entropy else "l"
        return self._refused(metrics, [*self.columns, self.sensitive]) or _diverse(
            metrics[PAIRS], key, lambda diversity: diversity >= l - 1e-9
        )


class ExpectTableToBeTClose(_Expectation):
    """Expect a sensitive column to be distributed in every class as in the table, up to a distance of t.

    A class in which nobody has a value is at distance 1; missing is no value unless declared.
    """

    columns: list[str] = pydantic.Field(min_items=1, description="Quasi-identifiers.")
    sensitive: str = pydantic.Field(description="What must not be learned.")
    t: float | SuiteParameterDict = pydantic.Field(description="Earth mover's distance, at most, in [0, 1].")
    missing_is_value: bool = pydantic.Field(False, description=_MISSING)

    metric_dependencies: ClassVar = (PAIRS, _TABLE)
    success_keys: ClassVar = ("columns", "sensitive", "t", "missing_is_value")
    args_keys: ClassVar = ("columns", "sensitive", "t")

    def _validate(
        self, metrics: Mapping[str, Any], runtime_configuration: object = None, execution_engine: object = None
    ) -> dict[str, Any]:
        t = float(self._get_success_kwargs()["t"])
        return self._refused(metrics, [*self.columns, self.sensitive]) or _diverse(
            metrics[PAIRS], "t", lambda diversity: diversity <= t + 1e-9
        )


class ExpectReleaseToKeepItsPromise(_Expectation):
    """Expect the files of a release to validate, and the batch to have its columns and its number of rows."""

    release: str = pydantic.Field(min_length=1, description="Path of the release.")

    metric_dependencies: ClassVar = ("table.row_count", _TABLE)
    success_keys: ClassVar = ("release",)
    args_keys: ClassVar = ("release",)

    def _validate(
        self, metrics: Mapping[str, Any], runtime_configuration: object = None, execution_engine: object = None
    ) -> dict[str, Any]:
        from anonkit.bundle.data_files import read_schema
        from anonkit.bundle.stored_release import DATA, load

        validation = validate(self.release)
        release = load(self.release)
        assert release.place is not None  # noqa: S101 - it was loaded from its files
        schema, rows = read_schema(release.place.file(DATA)), int(metrics["table.row_count"])
        expected = release.report["rows"]["out"]
        checks = [
            *validation.checks,
            Check(
                name="batch_columns",
                passed=sorted(metrics[_TABLE]) == sorted(schema.names),
                observed=len(metrics[_TABLE]),
                required=len(schema.names),
            ),
            Check(name="batch_rows", passed=rows == expected, observed=rows, required=expected),
        ]
        failed = [check.name for check in checks if not check.passed]
        details = {"failed": failed, "checks": [check.to_dict() for check in checks]}
        return _result(
            validation.passed and not failed, f"{len(checks) - len(failed)} of {len(checks)} checks", details
        )


def _result(success: bool, observed: object, details: Mapping[str, Any]) -> dict[str, Any]:
    return {"success": success, "result": {"observed_value": observed, "details": dict(details)}}


def _anonymity(sizes: Sequence[tuple[int, int]], k: int) -> dict[str, Any]:
    smallest = sizes[0][0]
    details = {
        "k": smallest,
        "classes": sum(classes for _, classes in sizes),
        "classes_below_k": sum(classes for size, classes in sizes if size < k),
        "rows_below_k": sum(size * classes for size, classes in sizes if size < k),
        "rows": sum(size * classes for size, classes in sizes),
    }
    return _result(smallest >= k, smallest, details)


def _diverse(diversity: Mapping[str, float], key: str, holds: Callable[[float], bool]) -> dict[str, Any]:
    if not diversity:
        return _result(False, None, {"rows": 0})
    return _result(bool(holds(diversity[key])), diversity[key], diversity)


# --- suites and their verdict --------------------------------------------------------------------------------


def suite_from(
    policy: Policy | str | Path,
    *,
    k: int,
    l: float | None = None,  # noqa: E741
    t: float | None = None,
    name: str = "anonkit",
) -> Any:
    """Return the suite that a policy asks for.

    Parameters
    ----------
    policy : Policy or path
        With every released column declared: its quasi-identifiers and sensitive attributes are looked at.
    k, l, t
        What every class must have; l and t for every sensitive attribute.
    name : str
        Name of the suite.

    Raises
    ------
    ParameterError
        The policy declares a unit: these expectations count rows, and would call ten rows of one person ten.
    """
    declared = policy if isinstance(policy, Policy) else Policy.load(policy)
    if declared.unit is not None:
        raise ParameterError(
            f"the policy declares the unit {declared.unit!r}, and expectations on a table count rows, not people",
            "ExpectReleaseToKeepItsPromise checks a release of people",
        )
    columns = list(declared.quasi_identifiers)
    expectations: list[Any] = [ExpectTableToBeKAnonymous(columns=columns, k=k)]
    for sensitive in declared.sensitive:
        options = {"missing_is_value": sensitive in declared.missing_is_value}
        if l is not None:
            expectations.append(ExpectTableToBeLDiverse(columns=columns, sensitive=sensitive, l=l, **options))
        if t is not None:
            expectations.append(ExpectTableToBeTClose(columns=columns, sensitive=sensitive, t=t, **options))
    return ExpectationSuite(name=name, expectations=expectations)


def require_all(result: Any, declared: int) -> list[Check]:
    """Return what a run of a checkpoint or of a validation definition found, if all of it was checked and holds.

    Parameters
    ----------
    result : CheckpointResult or ExpectationSuiteValidationResult
    declared : int
        Expectations that were declared, all suites together.

    Raises
    ------
    UncheckedError
        Fewer were evaluated than declared, or one could not be evaluated.
    GuaranteeError
        One does not hold.
    """
    runs = list(result.run_results.values()) if hasattr(result, "run_results") else [result]
    results = [expectation for run in runs for expectation in run.results]
    if declared < 1 or len(results) < declared:
        raise UncheckedError(
            f"{len(results)} expectations were evaluated, {max(declared, 1)} were declared",
            "import anonkit.checks.expectations before the suite is loaded",
        )
    broken = [expectation.expectation_config.type for expectation in results if _could_not(expectation)]
    if broken:
        raise UncheckedError(f"could not evaluate {', '.join(sorted(set(broken)))}", "are all columns in the batch?")
    checks = [
        Check(
            name=expectation.expectation_config.type,
            passed=bool(expectation.success),
            observed=expectation.result.get("observed_value"),
            required=None,
        )
        for expectation in results
    ]
    failed = [check.name for check in checks if not check.passed]
    if failed or not result.success:
        raise GuaranteeError(f"expectations do not hold: {', '.join(failed) or 'the run'}", "do not publish")
    return checks


def _could_not(result: Any) -> bool:
    """Tell a measure that could not be taken from one that was not met: both are `success: False`."""
    raised = result.exception_info or {}
    several = [value for value in raised.values() if isinstance(value, Mapping)] or [raised]
    return any(expectation.get("raised_exception") for expectation in several) or (
        not result.success and not result.result
    )


class RefusePublication(ValidationAction):
    """A checkpoint's action that writes the verdict, and deletes a go-ahead of an earlier run first.

    The file is there only after a run in which everything declared was checked and holds; a publishing step that waits
    for it cannot publish anything else.
    """

    type: Literal["anonkit_refuse_publication"] = "anonkit_refuse_publication"
    declared: int
    """Expectations that were declared."""
    go_ahead: str
    """File that says that the table may be published."""

    def run(self, checkpoint_result: Any, action_context: object = None) -> dict[str, Any]:
        """Write the go-ahead, or see to it that there is none."""
        path = Path(self.go_ahead)
        path.unlink(missing_ok=True)
        try:
            checks = require_all(checkpoint_result, self.declared)
        except AnonkitError as refusal:
            return {"go_ahead": None, "code": refusal.code, "message": refusal.message}
        path.write_text("\n".join(check.name for check in checks) + "\n", encoding="utf-8")
        return {"go_ahead": str(path)}
