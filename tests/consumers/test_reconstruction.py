"""Reconstruction from the files of a release alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, confusion_matrix, roc_auc_score

import anonkit
from anonkit.consumers import NaiveBayes
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import ParameterError, ReleaseFormatError, SourceError

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
