"""Numeric targets at the receiver's side: a regressor from every kind of release with noise, its scores and files."""

from __future__ import annotations

import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from sklearn.base import is_regressor
from sklearn.metrics import mean_absolute_error, r2_score

import anonkit
from anonkit.checks.validation import validate
from anonkit.cli import anonkit as command
from anonkit.cli.boundary import run
from anonkit.consumers import Forest, ReleaseRegressor, reconstruct
from anonkit.consumers.naive_bayes import ReconstructionWarning
from anonkit.errors import ParameterError, SourceError
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy
from anonkit.utility.prediction_scores import RegressionScores

POLICY = Policy(
    columns={
        "x": Column(name="x", bounds=(0.0, 1.0), missing=Missing.FIRST),
        "c": Column(name="c", categories=("a", "b"), missing=Missing.FIRST),
        "y": Column(name="y", role=Role.TARGET, bounds=(0.0, 40.0)),
    }
)
KINDS: dict[str, dict[str, Any]] = {
    "dp-forest": {"epsilon": 4.0},
    "dp-nb": {"epsilon": 4.0},
    "edprf": {"epsilon": 8.0, "trees": 1, "depth": 3, "bins": 4},
    "rr": {"epsilon": 8.0},
    "errph": {"epsilon": 4.0, "bins": 4},
    "ppnb": {"epsilon": 4.0},
}


def people(n: int, seed: int) -> pa.Table:
    """A number that depends on a number and on a category."""
    rng = np.random.default_rng(seed)
    x, c = rng.random(n), rng.integers(0, 2, n)
    y = 10 + 12 * x + 6 * c + rng.normal(0, 2, n)
    return pa.table({"x": x, "c": np.array(["a", "b"])[c], "y": y})


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A release of each kind."""
    found = {}
    for method, given in KINDS.items():
        found[method] = tmp_path_factory.mktemp("out") / "out.parquet"
        anonkit.release(people(6_000, 1), method=method, policy=POLICY, output=found[method], ledger=None, **given)
    return found


@pytest.mark.slow_cases("dp-forest")
@pytest.mark.parametrize("method", KINDS)
def test_a_release_of_numbers_validates_and_gives_a_regressor(outputs: dict[str, Path], method: str) -> None:
    """Better than the mean on rows it has not seen, with the scores of scikit-learn within their intervals."""
    assert validate(outputs[method]).passed
    test = people(2_000, 2)
    with warnings.catch_warnings():
        # bins at the ends hold few rows, and the noise drowns the spread of a number in them
        warnings.simplefilter("ignore", ReconstructionWarning)
        found = reconstruct(outputs[method], test=test)
    assert isinstance(found.model, ReleaseRegressor)
    assert is_regressor(found.model)
    assert isinstance(found.scores, RegressionScores)
    truth, predicted = test.column("y").to_numpy(), found.model.predict(test)
    assert found.scores.r2 == pytest.approx(r2_score(truth, predicted))
    assert found.scores.mae == pytest.approx(mean_absolute_error(truth, predicted))
    assert found.scores.r2 > 0.3
    assert found.scores.mae < found.scores.mean_mae
    for measure, (low, high) in found.scores.intervals.items():
        assert low < getattr(found.scores, measure) < high
    assert found.model.score(test, truth) == pytest.approx(found.scores.r2)


@pytest.mark.parametrize("method", KINDS)
def test_released_targets_are_numbers_within_the_bounds(outputs: dict[str, Path], method: str) -> None:
    """The column has the type of a number, whatever was done to it."""
    column = pq.read_table(outputs[method]).column("y")
    assert pa.types.is_float64(column.type)
    assert 0 <= min(column.to_pylist()) <= max(column.to_pylist()) <= 40
    notes = json.loads(outputs[method].with_name("out.report.json").read_text())["notes"]
    assert any("'y' is a number to predict" in note for note in notes)


@pytest.mark.parametrize("method", ["dp-nb", "rr"])
def test_the_regressor_of_scikit_learn_predicts_the_same(outputs: dict[str, Path], method: str) -> None:
    """A pipeline of its own parts, which can be pickled."""
    model = ReleaseRegressor.from_release(outputs[method])
    pipeline = pickle.loads(pickle.dumps(model.to_sklearn()))
    assert is_regressor(pipeline)
    test = people(200, 3).to_pandas()
    assert pipeline.predict(test) == pytest.approx(model.predict(test))


def test_a_forest_has_no_form_of_scikit_learn(outputs: dict[str, Path]) -> None:
    """It is said, with what to use instead."""
    with pytest.raises(ParameterError, match="no form of scikit-learn"):
        ReleaseRegressor.from_release(outputs["dp-forest"]).to_sklearn()


def test_a_regressor_is_fitted_from_rows_and_params(outputs: dict[str, Path]) -> None:
    """As other estimators are: params in the constructor, in fit, or beside the rows."""
    for method in ("dp-forest", "rr"):
        params = json.loads(outputs[method].with_name("out.params.json").read_text())
        rows, test = pq.read_table(outputs[method]), people(50, 4)
        expected = ReleaseRegressor.from_release(outputs[method]).predict(test)
        assert ReleaseRegressor(params).fit(rows).predict(test) == pytest.approx(expected)
        assert ReleaseRegressor().fit(rows, params).predict(test) == pytest.approx(expected)
        assert ReleaseRegressor().fit(rows, params=params).to_json()


def test_classes_are_no_numbers(tmp_path: Path) -> None:
    """A release of classes is refused with the names of its own models; so is no release at all."""
    policy = Policy(columns={**POLICY.columns, "y": Column(name="y", role=Role.TARGET, categories=("1", "2"))})
    table = pa.table({"x": [0.1, 0.9] * 20, "c": ["a", "b"] * 20, "y": ["1", "2"] * 20})
    release = anonkit.release(table, method="dp-nb", epsilon=1.0, policy=policy, ledger=None)
    with pytest.raises(ParameterError, match="has classes"):
        ReleaseRegressor(release.params).fit()
    with pytest.raises(ParameterError, match="needs the params"):
        ReleaseRegressor().fit()


def test_a_forest_of_bins_is_a_classifier_too(outputs: dict[str, Path]) -> None:
    """A classifier predicts the bins, named by their intervals."""
    forest = Forest.from_release(outputs["dp-forest"])
    assert forest.classes_[0].startswith("[0, ")
    assert set(forest.predict(people(20, 5))) <= set(forest.classes_)


def test_numbers_are_written_told_and_scored_by_the_command(
    outputs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--predictions` holds numbers, `--json` has R² and the mean absolute error beside the mean's; so has the text."""
    test, predictions = tmp_path / "test.csv", tmp_path / "predictions.parquet"
    pa_csv.write_csv(people(300, 6), test)
    asked = ["reconstruct", str(outputs["dp-forest"]), "--test", str(test)]
    assert run(command, [*asked, "--predictions", str(predictions), "--json"], "anonkit") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["task"] == "regression"
    assert {"r2", "mae", "ci", "of_mean", "n"} <= told.keys()
    assert not {"accuracy", "auc", "confusion"} & told.keys()
    assert pa.types.is_float64(pq.read_table(predictions).column("y").type)
    assert run(command, asked, "anonkit") == 0
    text = capsys.readouterr().out
    assert "R²" in text
    assert "their mean alone" in text


def test_a_test_table_needs_numbers_that_differ(outputs: dict[str, Path]) -> None:
    """Without a number in each row, or with one number alone, nothing is scored; without the target it predicts."""
    rows = people(40, 7)
    absent = rows.set_column(2, "y", pa.array([None, *[1.0] * 39]))
    with pytest.raises(SourceError, match="1 of 40 rows"):
        reconstruct(outputs["dp-nb"], test=absent)
    with pytest.raises(SourceError, match="no rows that differ"):
        reconstruct(outputs["dp-nb"], test=rows.set_column(2, "y", pa.array([1.0] * 40)))
    assert reconstruct(outputs["dp-nb"], test=rows.drop_columns("y")).scores is None
    few = reconstruct(outputs["dp-nb"], test=rows.slice(0, 20)).scores
    assert few is not None
    assert "ci" not in few.to_dict()
