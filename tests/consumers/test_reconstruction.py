"""Numeric targets at the receiver's side: a regressor from every kind of release with noise, its scores and files.

Reconstruction from the files of a release alone.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq
import pytest
from sklearn.base import is_regressor
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    confusion_matrix,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
)

import anonkit
from anonkit.checks.validation import validate
from anonkit.cli import anonkit as command
from anonkit.cli.boundary import run
from anonkit.consumers import Forest, NaiveBayes, ReleaseRegressor, reconstruct
from anonkit.consumers.naive_bayes import ReconstructionWarning
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import ParameterError, ReleaseFormatError, SourceError
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy
from anonkit.utility.consumer_models import RegressionScores

TEST = bank_customers(300, seed=2)
TARGET = "customer_value"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A randomized release on disk."""
    output = tmp_path_factory.mktemp("randomized") / "out.parquet"
    anonkit.release(
        bank_customers(2_000, seed=1), method="errph", p_keep=0.5, bins=8, label="clear", seed=1,
        policy=bank_customers_policy(), output=output,
    )  # fmt: skip
    return output


def test_from_release_equals_fit_on_table_and_params(released: Path) -> None:
    """The file read batch by batch gives the model of the whole table."""
    release = anonkit.load(released)
    whole = NaiveBayes().fit(release.to_arrow(), release.params)
    assert np.allclose(NaiveBayes.from_release(released).predict_proba(TEST), whole.predict_proba(TEST))


@pytest.mark.parametrize("kind", ["csv", "tsv", "csv.gz", "parquet", "arrow"])
def test_a_test_table_may_come_in_any_form(released: Path, tmp_path: Path, kind: str) -> None:
    """The same scores whatever file the true values are in."""
    path = tmp_path / f"test.{kind}"
    if kind == "parquet":
        pq.write_table(TEST, path)
    elif kind != "arrow":
        delimiter = "\t" if kind == "tsv" else ","
        with pa.output_stream(path) as out:  # the compression is that of the name
            pc_csv.write_csv(TEST, out, pc_csv.WriteOptions(delimiter=delimiter))
    scores = anonkit.reconstruct(released, test=TEST if kind == "arrow" else path).scores
    assert scores == anonkit.reconstruct(released, test=TEST).scores


def test_the_scores_are_those_of_scikit_learn(released: Path) -> None:
    """Accuracy, balanced accuracy, AUC and confusion, classes in the order of the domain."""
    made = anonkit.reconstruct(released, test=TEST)
    classes = list(made.model.classes_)
    truth = TEST.column(TARGET).cast(pa.string()).to_pylist()
    guessed, shares = made.model.predict(TEST), made.model.predict_proba(TEST)
    assert made.scores is not None
    assert made.scores.accuracy == accuracy_score(truth, guessed)
    assert made.scores.balanced_accuracy == pytest.approx(balanced_accuracy_score(truth, guessed))
    assert np.array_equal(made.scores.confusion, confusion_matrix(truth, guessed, labels=classes))
    areas = [roc_auc_score([one == name for one in truth], shares[:, at]) for at, name in enumerate(classes)]
    assert made.scores.auc == pytest.approx(np.mean(areas))


def test_without_the_target_there_are_predictions_and_no_scores(released: Path, tmp_path: Path) -> None:
    """Class and probabilities of every row, in order; the model as JSON predicts the same."""
    made = anonkit.reconstruct(
        released, test=TEST.drop_columns(TARGET), predictions=tmp_path / "p.parquet", model=tmp_path / "m.json"
    )
    written = pq.read_table(tmp_path / "p.parquet")
    again = NaiveBayes.from_json((tmp_path / "m.json").read_text())
    assert made.scores is None
    assert written.equals(made.predictions)
    assert written.column(TARGET).to_pylist() == list(again.predict(TEST))
    with pytest.raises(ParameterError, match="exists"):
        anonkit.reconstruct(released, model=tmp_path / "m.json")


def test_an_ordinary_release_needs_no_reconstruction(tmp_path: Path, small_customers: pa.Table) -> None:
    """It is said, with what to do instead."""
    anonkit.release(small_customers, method="mondrian", k=5, target=TARGET, output=tmp_path / "out.parquet")
    with pytest.raises(ParameterError, match="was not randomized") as caught:
        anonkit.reconstruct(tmp_path / "out.parquet")
    assert "ReleaseFeatures" in str(caught.value.hint)


def test_what_is_missing_or_wrong_is_named(released: Path, tmp_path: Path) -> None:
    """No release, no test table, no column, an unknown label: one line each, no cell."""
    with pytest.raises(ReleaseFormatError, match="does not exist"):
        anonkit.reconstruct(tmp_path / "none.parquet")
    with pytest.raises(SourceError, match="does not exist"):
        anonkit.reconstruct(released, test=tmp_path / "none.csv")
    with pytest.raises(SourceError, match="'age' is not in the table"):
        anonkit.reconstruct(released, test=TEST.drop_columns("age"))
    with pytest.raises(ParameterError, match="need a table to predict from"):
        anonkit.reconstruct(released, predictions=tmp_path / "p.parquet")
    at = TEST.schema.get_field_index(TARGET)
    with pytest.raises(SourceError, match="300 of 300 rows") as caught:
        anonkit.reconstruct(released, test=TEST.set_column(at, TARGET, pa.array(["secret"] * 300)))
    assert "secret" not in str(caught.value)


@pytest.mark.slow
def test_a_receiver_needs_none_of_the_owner_s_modules(released: Path) -> None:
    """Methods, engines and forests are never imported."""
    code = (
        "import sys\n"
        "from anonkit.consumers import NaiveBayes\n"
        f"NaiveBayes.from_release({str(released)!r})\n"
        "owner = [name for name in sys.modules if name.startswith(('anonkit.methods', 'anonkit.engines', 'duckdb',"
        " 'anonkit.pipeline.release_path', 'sklearn.ensemble'))]\n"
        "assert not owner, owner\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


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
