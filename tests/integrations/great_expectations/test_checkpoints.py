"""Checkpoints on every backend: one that passes and one that fails, partitions, and what data docs say of them."""

from __future__ import annotations

import html
import re
import runpy
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
import sqlalchemy

import anonkit
from anonkit.checks.disclosure import measure
from anonkit.errors import GuaranteeError
from tests.integrations.great_expectations.gx_batches import (
    BACKENDS,
    COLUMNS,
    address_of,
    batch_of,
    quiet_context,
    run,
    two_regions,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("great_expectations_is_there", "duckdb_engine_is_there"),
]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 customers in classes of five; two columns have a space or a capital in their names."""
    path = tmp_path_factory.mktemp("release") / "out.parquet"
    customers = anonkit.datasets.bank_customers(300, seed=1)
    names = [{"age": "Age group", "education": "Education"}.get(name, name) for name in customers.column_names]
    anonkit.release(customers.rename_columns(names), method="mondrian", k=5, output=path, ledger=None)
    return path


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """A thousand rows in two regions."""
    return two_regions()


def _definition(context: Any, batch: Any, expectations: list[Any]) -> Any:
    import great_expectations as gx

    suite = context.suites.add(gx.ExpectationSuite("privacy", expectations=expectations))
    return context.validation_definitions.add(gx.ValidationDefinition(name="privacy", data=batch, suite=suite))


def _of_release(path: Path) -> tuple[list[Any], pd.DataFrame]:
    from anonkit.checks import expectations as ax

    release = anonkit.load(path)
    frame = release.to_pandas()
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = frame[name].astype(object)
    columns = [name for name in release.report["guarantee"]["parameters"]["quasi_identifiers"] if name in frame]
    return [
        ax.ExpectTableToBeKAnonymous(columns=columns, k={"$PARAMETER": "k"}),
        ax.ExpectTableToBeLDiverse(columns=columns[1:], sensitive=columns[0], l=1, categories=["*"]),
        ax.ExpectTableToBeTClose(columns=columns[1:], sensitive=columns[0], t=1.0),
        ax.ExpectReleaseToKeepItsPromise(release=str(path)),
    ], frame


SPARK = pytest.param("spark", marks=pytest.mark.slow)
"""Every query of a small table takes Spark a second: its counts are compared in the gate, its checkpoints beside it."""


@pytest.mark.quick_cases("SUMMARY-pandas", "BOOLEAN_ONLY-sqlite")
@pytest.mark.parametrize("backend", [*BACKENDS[:-1], SPARK])
@pytest.mark.parametrize("shown", ["SUMMARY", "BOOLEAN_ONLY"])
def test_a_checkpoint_passes_and_fails(
    backend: str, shown: str, released: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """With the k of the release a go-ahead is written, with a greater one it is gone, and the verdict is a broken
    promise in the format BOOLEAN_ONLY too, in which results are empty.
    """
    from great_expectations.checkpoint import Checkpoint

    from anonkit.checks import expectations as ax

    context, go_ahead = quiet_context(), tmp_path / "go-ahead"
    expectations, frame = _of_release(released)
    batch, parameters = batch_of(context, backend, frame, tmp_path, request)
    action = ax.RefusePublication(name="go-ahead", declared=len(expectations), go_ahead=str(go_ahead))
    definition = _definition(context, batch, expectations)
    checkpoint = Checkpoint(name="publish", validation_definitions=[definition], actions=[action], result_format=shown)

    passed = checkpoint.run(batch_parameters=parameters or None, expectation_parameters={"k": 5})
    assert passed.success
    assert len(ax.require_all(passed, 4)) == 4
    assert go_ahead.exists()
    failed = checkpoint.run(batch_parameters=parameters or None, expectation_parameters={"k": 500})
    assert not failed.success
    assert not go_ahead.exists()
    with pytest.raises(GuaranteeError, match=r"do not hold: expect_table_to_be_k_anonymous\n"):
        ax.require_all(failed, 4)


@pytest.mark.slow_cases("duckdb", "postgresql")
@pytest.mark.pinned
@pytest.mark.parametrize("backend", [*BACKENDS[:-1], SPARK])
def test_a_partition_is_looked_at_by_itself(
    backend: str, frame: pd.DataFrame, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """With a row condition k and t are those of its rows alone, at conditions of every kind."""
    from great_expectations.expectations.row_conditions import Column

    from anonkit.checks import expectations as ax

    region = Column("select")
    south, old = frame["select"] == "south", frame["Age group"] > 5
    parts = [
        (region == "north", ~south),
        ((region == "south") & Column("sex").is_null(), south & frame["sex"].isna()),
        (region.is_in(["south"]) | (Column("Age group") > 5), south | old),
    ]
    expected, expectations = [], []
    for condition, rows in parts:
        own = measure(pa.Table.from_pandas(frame[rows], preserve_index=False), COLUMNS, sensitive=["illness"])
        expected += [own.k, own.sensitive["illness"]["t"]]
        part = {"columns": COLUMNS, "row_condition": condition}
        expectations += [
            ax.ExpectTableToBeKAnonymous(**part, k=own.k),
            ax.ExpectTableToBeTClose(**part, sensitive="illness", t=own.sensitive["illness"]["t"]),
        ]
    context = quiet_context()
    result = run(context, batch_of(context, backend, frame, tmp_path, request), expectations)
    assert [one.result["observed_value"] for one in result.results] == pytest.approx(expected)
    assert len(ax.require_all(result, 6)) == 6


@pytest.mark.quick_cases("misspelt-*", "text-sqlite", "nobody-pandas")
@pytest.mark.pinned
@pytest.mark.parametrize("backend", ["pandas", "sqlite", "duckdb"])
@pytest.mark.parametrize("condition", ["misspelt", "text", "nobody"])
def test_a_partition_that_is_not_there_is_no_success(
    backend: str, condition: str, frame: pd.DataFrame, tmp_path: Path
) -> None:
    """SQLite takes a misspelt column for a text, which differs from every region: all rows would be looked at."""
    from great_expectations.expectations.row_conditions import Column

    from anonkit.checks import expectations as ax

    if condition == "text":
        part: dict[str, Any] = {"row_condition": 'col("regin") != "north"', "condition_parser": "great_expectations"}
    else:
        part = {"row_condition": Column("regin") != "north" if condition == "misspelt" else Column("select") == "east"}
    context = quiet_context()
    asked = [ax.ExpectTableToBeKAnonymous(columns=COLUMNS, k=1, **part)]
    result = run(context, batch_of(context, backend, frame, tmp_path), asked)
    details = result.results[0].result["details"]
    assert details == ({"rows": 0} if condition == "nobody" else {"missing_columns": ["regin"]})
    with pytest.raises(GuaranteeError):
        ax.require_all(result, 1)


@pytest.mark.quick_cases("duckdb")
@pytest.mark.parametrize("backend", ["duckdb", "postgresql", "spark"])
def test_not_a_number_is_a_missing_value(
    backend: str, released: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """As on pandas, which has no other missing number; so is a text that reads so. And six rows are no release."""
    from anonkit.checks import expectations as ax

    frame = pd.DataFrame({"q": ["x"] * 3 + ["y"] * 3, "v": [1.0, 2.0, 3.0] * 2, "s": ["NaN", "a", "b"] * 2})
    context = quiet_context()
    batch = batch_of(context, backend, frame, tmp_path, request)
    if backend == "spark":
        columns = ["q", "CASE WHEN v = 3 THEN double('NaN') ELSE v END AS v", "s"]
        batch = (batch[0], {"dataframe": batch[1]["dataframe"].selectExpr(*columns)})
    else:
        engine = sqlalchemy.create_engine(address_of(backend, tmp_path, request))
        with engine.begin() as connection:
            connection.exec_driver_sql(f"UPDATE \"t_{tmp_path.name}\" SET v = 'NaN' WHERE v = 3")
        engine.dispose()
    classes: dict[str, Any] = {"columns": ["q"], "sensitive": "v"}
    result = run(
        context,
        batch,
        [
            ax.ExpectTableToBeLDiverse(**classes, l=1),
            ax.ExpectTableToBeLDiverse(**classes, l=1, missing_is_value=True),
            ax.ExpectTableToBeLDiverse(columns=["q"], sensitive="s", l=1),
            ax.ExpectReleaseToKeepItsPromise(release=str(released)),
        ],
    )
    assert [one.result["observed_value"] for one in result.results[:3]] == [2, 3, 2]
    rows = next(one for one in result.results[3].result["details"]["checks"] if one["name"] == "batch_rows")
    assert rows == {"name": "batch_rows", "passed": False, "observed": 6, "required": 300}


@pytest.mark.pinned
def test_data_docs_speak_in_words(frame: pd.DataFrame, released: Path, tmp_path: Path) -> None:
    """The pages state expectations and results with the names of columns and the figures, without cells."""
    from great_expectations.checkpoint import Checkpoint, UpdateDataDocsAction
    from great_expectations.expectations.row_conditions import Column

    from anonkit.checks import expectations as ax

    context = quiet_context(tmp_path)
    marked = frame.assign(illness=["MARKER", *frame["illness"][1:]])
    batch, parameters = batch_of(context, "pandas", marked, tmp_path)
    definition = _definition(
        context,
        batch,
        [
            ax.ExpectTableToBeKAnonymous(columns=COLUMNS, k={"$PARAMETER": "k"}, unit="who"),
            ax.ExpectTableToBeKAnonymous(columns=COLUMNS, k=2, row_condition=Column("select") == "south"),
            ax.ExpectTableToBeLDiverse(columns=COLUMNS, sensitive="illness", l=9),
            ax.ExpectTableToBeTClose(columns=["nowhere"], sensitive="illness", t=0.5),
            ax.ExpectReleaseToKeepItsPromise(release=str(released)),
        ],
    )
    actions = [UpdateDataDocsAction(name="docs")]
    checkpoint = Checkpoint(name="publish", validation_definitions=[definition], actions=actions)
    checkpoint.run(batch_parameters=parameters, expectation_parameters={"k": 100})
    docs = tmp_path / "gx" / "uncommitted" / "data_docs" / "local_site"
    told = {
        kind: re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", next(docs.glob(place)).read_text("utf-8"))))
        for kind, place in {"suite": "expectations/*.html", "run": "validations/**/*.html"}.items()
    }
    for sentence in (
        "Every combination of Age group and sex must be shared by at least",
        "In the rows with select = south , every combination of",
        f"the number of rows of the release {released} , whose files must validate: the cells of the table",
        "In every combination of Age group and sex , illness must have 9 different values or more.",
    ):
        assert sentence in told["run"]
        assert sentence in told["suite"]
    assert "the run's parameter 'k'" in told["suite"]
    assert re.search(r"\d of 9 combinations are shared by fewer than 100 people\.", told["run"])
    assert "The least diverse combination has l = 2; 9 was required." in told["run"]
    counted = re.search(
        r"These checks do not hold: batch_columns, batch_rows\. (\d+) of (\d+) checks hold", told["run"]
    )
    assert counted is not None
    assert int(counted[1]) == int(counted[2]) - 2 > 40
    assert "Nothing was counted: a named column is not in the table. not in the table: nowhere" in told["run"]
    assert not any("MARKER" in page.read_text("utf-8") for page in docs.rglob("*.html"))


@pytest.mark.slow
@pytest.mark.pinned
def test_the_page_runs(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The code of the how-to, block after block, in an empty folder."""
    page = (repository / "docs" / "how-to" / "check-in-great-expectations.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    exec(compile(code, "check-in-great-expectations.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == [
        "['expect_table_to_be_k_anonymous', 'expect_release_to_keep_its_promise'] passed",
        "2 expectations",
        "2 checks passed in the database",
    ]
    assert (tmp_path / "go-ahead").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("temporary")
def test_the_example_blocks_publication(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The go-ahead is there after the run that holds and gone after the one that does not."""
    runpy.run_path(str(repository / "examples" / "pipelines" / "gx_checkpoint.py"))
    assert capsys.readouterr().out.splitlines() == [
        "k = 10: checkpoint passed; publish: True",
        "k = 500: checkpoint failed; publish: False",
    ]


def test_an_expectation_is_rendered_for_a_page_of_its_own(frame: pd.DataFrame, tmp_path: Path) -> None:
    """With the same words, whose names represent something."""
    from anonkit.checks import expectations as ax

    context = quiet_context()
    asked = ax.ExpectTableToBeLDiverse(columns=COLUMNS, sensitive="illness", l=2)
    result = run(context, batch_of(context, "pandas", frame, tmp_path), [asked]).results[0]
    result.render()
    rendered = next(one for one in result.expectation_config.rendered_content if one.value_type == "StringValueType")
    said = re.sub(r"\$(\w+)", lambda name: str(rendered.value.params[name[1]]["value"]), rendered.value.template)
    assert said == "In every combination of Age group and sex, illness must have 2 different values or more."


@pytest.mark.quick_cases("None-postgresql", "who-pandas", "who-sqlite")
@pytest.mark.parametrize("backend", [*BACKENDS[:-1], SPARK])
@pytest.mark.parametrize("unit", [None, "who"])
def test_marks_spellings_and_close_numbers_are_no_different_values(
    backend: str, unit: str | None, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """As in the recount of a release, on every backend; where a mark is a declared category it is a value."""
    from anonkit.checks import expectations as ax

    ill = ["hiv", "HIV", "hiv ", "unknown", "Flu", "flu"]
    rows = pd.DataFrame(
        {"q": ["x"] * 4 + ["y"] * 2, "ill": ill, "pay": [1.0, 1.5, 9.0, 9.5, 4.0, 90.0], "who": [1, 2, 3, 4, 5, 6]}
    ).assign(day=pd.date_range("2020-01-01", periods=6))
    context = quiet_context()
    batch = batch_of(context, backend, rows, tmp_path, request)
    of_ill: dict[str, Any] = {"columns": ["q"], "sensitive": "ill", "unit": unit}
    of_pay: dict[str, Any] = {"columns": ["q"], "sensitive": "pay", "unit": unit}
    result = run(
        context,
        batch,
        [
            ax.ExpectTableToBeLDiverse(**of_ill, l=1),
            ax.ExpectTableToBeLDiverse(**of_ill, l=1, missing_is_value=True),
            ax.ExpectTableToBeLDiverse(**of_pay, l=1, width=0.6),
            ax.ExpectTableToBeLDiverse(**of_pay, l=1, width=0),
            ax.ExpectTableToBeTClose(**of_ill, t=1),
            ax.ExpectTableToBeLDiverse(columns=["q"], sensitive="day", l=1),
        ],
    )
    assert [one.result["observed_value"] for one in result.results[:4]] == [1, 1, 2, 2]
    assert result.results[5].result["observed_value"] == 2
    assert result.results[2].result["details"]["alpha"] == 0.5
    assert result.results[0].result["details"]["alpha"] == 1.0
    assert result.results[3].result["details"]["alpha"] == 0.5
