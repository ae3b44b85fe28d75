# SPDX-License-Identifier: Apache-2.0
"""Great Expectations: k, l, t and the promise of a release as expectations on pandas, Spark and SQL batches.

Results hold counts and measures, never cells. Nothing passes that was not checked: a column that is not there, an empty
batch and a measure that could not be taken are failures, and `require_all` refuses a run that evaluated fewer
expectations than were declared, which Great Expectations itself reports as a success.

Import this module before loading a suite that was saved with these expectations.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from anonkit.checks.validation import validate
from anonkit.errors import AnonkitError, GuaranteeError, MissingDependencyError, UncheckedError
from anonkit.integrations.great_expectations.expectation_words import (
    UNKNOWN,
    Words,
    anonymity_words,
    closeness_words,
    diversity_words,
    found_words,
    promise_words,
    shortfall_words,
)
from anonkit.policy.declaration import Policy
from anonkit.promises.guarantee import Check

os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")  # earlier versions report home
try:
    from great_expectations import ExpectationSuite
    from great_expectations.checkpoint.actions import ValidationAction
    from great_expectations.compatibility import pydantic
    from great_expectations.core.suite_parameters import SuiteParameterDict
    from great_expectations.expectations import row_conditions
    from great_expectations.expectations.expectation import BatchExpectation, render_suite_parameter_string
    from great_expectations.expectations.model_field_types import ConditionParser
    from great_expectations.render import (
        LegacyDiagnosticRendererType,
        LegacyRendererType,
        RenderedStringTemplateContent,
    )
    from great_expectations.render.renderer.renderer import renderer
    from great_expectations.render.renderer_configuration import RendererValueType

    from anonkit.integrations.great_expectations.batch_counts import (
        ALIKE,
        CLASSES,
        COLUMNS,
        PAIRS,
        ROWS,
        named_columns,
        of_columns,
    )
except ImportError:
    raise MissingDependencyError.of_extra("Great Expectations", "validate") from None
except SystemExit:  # pyspark without grpcio ends `python -c` with success
    raise MissingDependencyError(
        "Great Expectations cannot be imported here: pyspark lacks grpcio", "pip install grpcio, or run a file"
    ) from None

_MISSING = "True: a missing cell is a sensitive value like any other."
_CATEGORIES = "Texts that are values although the published list has them among marks for a missing cell."
_WIDTH = "Numbers no further apart are one value; 0: equal ones alone. None: 5 % of their middle 90 %."
_UNIT = "Column whose different values are people; everything is then counted in people. Else rows are."
_PARTITION = "Rows that are checked; each partition of a table is checked by itself."
RowCondition: Any = getattr(row_conditions, "RowConditionType", str | None)
"""A condition, or its string: earlier versions have strings only."""


# --- the expectations ----------------------------------------------------------------------------------------


class _Expectation(BatchExpectation):
    """The common part of the expectations: words for data docs."""

    finds: ClassVar[str]
    """k, l, t or promise."""

    @classmethod
    @abstractmethod
    def _words(cls, kwargs: Mapping[str, Any]) -> Words:
        """Return the requirement in words, from the keyword arguments."""

    @classmethod
    def _prescriptive_template(cls, renderer_configuration: Any) -> Any:
        template, params = cls._words(renderer_configuration.kwargs)
        for name, value in params.items():
            renderer_configuration.add_param(name=name, param_type=RendererValueType.STRING, value=value)
        renderer_configuration.template_str = template
        return renderer_configuration

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    @render_suite_parameter_string
    def _prescriptive_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None
    ) -> list[Any]:
        template, params = cls._words((configuration or result.expectation_config).kwargs)
        return [_text(template, params, (runtime_configuration or {}).get("styling", {}))]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.OBSERVED_VALUE)
    def _diagnostic_observed_value_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None
    ) -> str:
        return (
            UNKNOWN
            if result is None or could_not_be_evaluated(result)
            else found_words(cls.finds, result.expectation_config.kwargs, result.result)
        )

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_STATEMENT)
    def _diagnostic_unexpected_statement_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None
    ) -> list[Any]:
        if result.success or could_not_be_evaluated(result):
            return list(
                super()._diagnostic_unexpected_statement_renderer(
                    configuration=configuration, result=result, runtime_configuration=runtime_configuration
                )
            )
        words = shortfall_words(cls.finds, result.expectation_config.kwargs, result.result)
        return [] if words is None else [_text("\n\n$words", {"words": words}, {"classes": ["text-danger"]})]


class _ClassExpectation(_Expectation):
    """A condition on equivalence classes: of rows or people, in the table or in a part of it.

    A column that is not there, one that shares its name with another, and a batch without rows are failures.
    """

    columns: list[str] = pydantic.Field(min_items=1, description="Quasi-identifiers.")
    unit: str | None = pydantic.Field(None, description=_UNIT)
    row_condition: RowCondition = pydantic.Field(None, description=_PARTITION)
    condition_parser: ConditionParser | None = None

    domain_keys: ClassVar = ("batch_id", "row_condition", "condition_parser")

    def get_validation_dependencies(self, execution_engine: Any = None, runtime_configuration: Any = None) -> Any:
        """Return the metrics that are needed, the columns of the whole batch among them."""
        found = super().get_validation_dependencies(
            execution_engine=execution_engine, runtime_configuration=runtime_configuration
        )
        for name in (COLUMNS, ALIKE):
            found.set_metric_configuration(name, of_columns(name, self._get_domain_kwargs()))
        return found

    def _refused(self, metrics: Mapping[str, Any], counted: object) -> dict[str, Any] | None:
        names = named_columns(self._get_domain_kwargs(), self._get_success_kwargs())
        missing = [name for name in dict.fromkeys(names) if name not in metrics[COLUMNS]]
        if missing:
            return _result(False, None, {"missing_columns": missing})
        alike = [name for name in dict.fromkeys(names) if name in metrics[ALIKE]]
        if alike:
            return _result(False, None, {"alike_columns": alike})
        return None if counted else _result(False, None, {"rows": 0})


class ExpectTableToBeKAnonymous(_ClassExpectation):
    """Expect every combination of the quasi-identifiers to be held by at least k rows, or people."""

    k: int | SuiteParameterDict = pydantic.Field(description="Rows or people in the smallest class, at least.")

    finds: ClassVar = "k"
    metric_dependencies: ClassVar = (CLASSES, COLUMNS, ALIKE)
    success_keys: ClassVar = ("columns", "k", "unit")
    args_keys: ClassVar = ("columns", "k")

    @pydantic.validator("k")
    def _k_is_a_count(cls, value: object) -> object:  # noqa: N805
        if isinstance(value, int) and value < 1:
            raise ValueError("k must be 1 or more")
        return value

    @classmethod
    def _words(cls, kwargs: Mapping[str, Any]) -> Words:
        return anonymity_words(kwargs)

    def _validate(
        self, metrics: Mapping[str, Any], runtime_configuration: object = None, execution_engine: object = None
    ) -> dict[str, Any]:
        k = int(self._get_success_kwargs()["k"])
        counted = "rows" if self.unit is None else "people"
        return self._refused(metrics, metrics[CLASSES]) or _anonymity(metrics[CLASSES], k, counted)


class ExpectTableToBeLDiverse(_ClassExpectation):
    """Expect at least l different values of a sensitive column in every class; missing is none unless declared."""

    sensitive: str = pydantic.Field(description="What must not be learned.")
    l: float | SuiteParameterDict = pydantic.Field(description="Different values in every class, at least.")  # noqa: E741
    entropy: bool = pydantic.Field(False, description="True: exp(entropy) of the values, at least l.")
    missing_is_value: bool = pydantic.Field(False, description=_MISSING)
    categories: list[str] | None = pydantic.Field(None, description=_CATEGORIES)
    width: float | None = pydantic.Field(None, description=_WIDTH)

    finds: ClassVar = "l"
    metric_dependencies: ClassVar = (PAIRS, COLUMNS, ALIKE)
    success_keys: ClassVar = ("columns", "sensitive", "l", "entropy", "missing_is_value", "unit", "categories", "width")
    args_keys: ClassVar = ("columns", "sensitive", "l")

    @classmethod
    def _words(cls, kwargs: Mapping[str, Any]) -> Words:
        return diversity_words(kwargs)

    def _validate(
        self, metrics: Mapping[str, Any], runtime_configuration: object = None, execution_engine: object = None
    ) -> dict[str, Any]:
        l = float(self._get_success_kwargs()["l"])  # noqa: E741
        key = "entropy_l" if self.entropy else "l"
        return self._refused(metrics, metrics[PAIRS]) or _diverse(
            metrics[PAIRS], key, lambda diversity: diversity >= l - 1e-9
        )


class ExpectTableToBeTClose(_ClassExpectation):
    """Expect a sensitive column to be distributed in every class as in the table, up to a distance of t.

    A class in which nobody has a value is at distance 1; missing is no value unless declared. With a row condition
    classes are compared with the rows of the condition.
    """

    sensitive: str = pydantic.Field(description="What must not be learned.")
    t: float | SuiteParameterDict = pydantic.Field(description="Earth mover's distance, at most, in [0, 1].")
    missing_is_value: bool = pydantic.Field(False, description=_MISSING)
    categories: list[str] | None = pydantic.Field(None, description=_CATEGORIES)
    width: float | None = pydantic.Field(None, description=_WIDTH)

    finds: ClassVar = "t"
    metric_dependencies: ClassVar = (PAIRS, COLUMNS, ALIKE)
    success_keys: ClassVar = ("columns", "sensitive", "t", "missing_is_value", "unit", "categories", "width")
    args_keys: ClassVar = ("columns", "sensitive", "t")

    @classmethod
    def _words(cls, kwargs: Mapping[str, Any]) -> Words:
        return closeness_words(kwargs)

    def _validate(
        self, metrics: Mapping[str, Any], runtime_configuration: object = None, execution_engine: object = None
    ) -> dict[str, Any]:
        t = float(self._get_success_kwargs()["t"])
        return self._refused(metrics, metrics[PAIRS]) or _diverse(
            metrics[PAIRS], "t", lambda diversity: diversity <= t + 1e-9
        )


class ExpectReleaseToKeepItsPromise(_Expectation):
    """Expect the files of a release to validate, and the batch to have its columns and its number of rows."""

    release: str = pydantic.Field(min_length=1, description="Path of the release.")

    finds: ClassVar = "promise"
    metric_dependencies: ClassVar = (ROWS, COLUMNS)
    success_keys: ClassVar = ("release",)
    args_keys: ClassVar = ("release",)

    @classmethod
    def _words(cls, kwargs: Mapping[str, Any]) -> Words:
        return promise_words(kwargs)

    def _validate(
        self, metrics: Mapping[str, Any], runtime_configuration: object = None, execution_engine: object = None
    ) -> dict[str, Any]:
        from anonkit.bundle.data_files import read_schema
        from anonkit.bundle.release_place import DATA
        from anonkit.bundle.stored_release import load

        validation = validate(self.release)
        release = load(self.release)
        assert release.place is not None  # noqa: S101 - it was loaded from its files
        schema, rows = read_schema(release.place.file(DATA)), int(metrics[ROWS])
        expected = release.report["rows"]["out"]
        checks = [
            *validation.checks,
            Check(
                name="batch_columns",
                passed=sorted(metrics[COLUMNS]) == sorted(schema.names),
                observed=len(metrics[COLUMNS]),
                required=len(schema.names),
            ),
            Check(name="batch_rows", passed=rows == expected, observed=rows, required=expected),
        ]
        failed = [check.name for check in checks if not check.passed]
        details = {
            "failed": failed,
            "unchecked": list(validation.unchecked),
            "checks": [check.to_dict() for check in checks],
        }
        return _result(
            validation.passed and not failed, f"{len(checks) - len(failed)} of {len(checks)} checks", details
        )


def _result(success: bool, observed: object, details: Mapping[str, Any]) -> dict[str, Any]:
    return {"success": success, "result": {"observed_value": observed, "details": dict(details)}}


def _text(template: str, params: Mapping[str, Any], styling: Mapping[str, Any]) -> Any:
    content = {"template": template, "params": dict(params), "styling": dict(styling)}
    return RenderedStringTemplateContent(content_block_type="string_template", string_template=content)


def _anonymity(sizes: Sequence[tuple[int, int]], k: int, counted: str) -> dict[str, Any]:
    smallest = sizes[0][0]
    details = {
        "k": smallest,
        "classes": sum(classes for _, classes in sizes),
        "classes_below_k": sum(classes for size, classes in sizes if size < k),
        f"{counted}_below_k": sum(size * classes for size, classes in sizes if size < k),
        counted: sum(size * classes for size, classes in sizes),
    }
    return _result(smallest >= k, smallest, details)


def _diverse(diversity: Mapping[str, float], key: str, is_met: Callable[[float], bool]) -> dict[str, Any]:
    return _result(bool(is_met(diversity[key])), diversity[key], diversity)


# --- suites and their verdict --------------------------------------------------------------------------------


def suite_from(
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    k: int,
    l: float | None = None,  # noqa: E741
    t: float | None = None,
    name: str = "anonkit",
) -> Any:
    """Return the suite that a policy asks for.

    Parameters
    ----------
    policy : Policy, mapping or path
        With every released column declared: its quasi-identifiers and sensitive attributes are looked at, and people
        are counted where it declares a unit, whose column must then be in the batch.
    k, l, t
        What every class must have; l and t for every sensitive attribute that does not ask for its own.
    name : str
        Name of the suite.
    """
    declared = Policy.given(policy)
    classes = {"columns": list(declared.quasi_identifiers), "unit": declared.unit}
    expectations: list[Any] = [ExpectTableToBeKAnonymous(**classes, k=k)]
    for sensitive in declared.sensitive:
        column = declared.column(sensitive)
        options: dict[str, Any] = {**classes, "missing_is_value": sensitive in declared.missing_is_value}
        options |= {} if column.domain_values is None else {"categories": list(column.domain_values)}
        options |= {"width": 0.0} if column.tolerance == 0 else {}
        own_l, own_t = l if column.l is None else column.l, t if column.t is None else column.t
        if own_l is not None:
            expectations.append(ExpectTableToBeLDiverse(sensitive=sensitive, l=own_l, **options))
        if own_t is not None:
            expectations.append(ExpectTableToBeTClose(sensitive=sensitive, t=own_t, **options))
    return ExpectationSuite(name=name, expectations=expectations)


def require_all(result: Any, declared: int) -> list[Check]:
    """Return the checks of a checkpoint's or validation definition's run, if all were made and passed.

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
    broken = [expectation.expectation_config.type for expectation in results if could_not_be_evaluated(expectation)]
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


def could_not_be_evaluated(result: Any) -> bool:
    """Return True if a measure could not be taken: that and one that was not met are both `success: False`.

    Great Expectations reports what was raised, by expectation or by measure, in every result format. Nothing can be
    concluded from an empty result: in the format BOOLEAN_ONLY every result is.
    """
    raised = result.exception_info or {}
    several = [value for value in raised.values() if isinstance(value, Mapping)] or [raised]
    return any(expectation.get("raised_exception") for expectation in several)


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
