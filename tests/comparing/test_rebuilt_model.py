"""The reconstructed model of a release, beside the models trained on its rows as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.bundle.stored_release import Release
from anonkit.comparing.rebuilt_model import RECONSTRUCTED, scores_of_reconstruction
from anonkit.consumers.learned_models import learned_from
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.utility.consumer_models import best_of, name_of_best, scores_of_models

TARGET = "customer_value"
TEST = bank_customers(600, seed=2)


def _released(method: str, n: int = 600, **chosen: Any) -> Release:
    table, policy = bank_customers(n, seed=1), bank_customers_policy()
    return anonkit.release(table, method=method, policy=policy, seed=3, **chosen)


def _both(made: Release, test: pa.Table = TEST) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    return scores_of_models(made.to_arrow(), test, TARGET), scores_of_reconstruction(made, test, TARGET)


def test_undoing_the_noise_of_answers_beats_the_best_model_trained_on_them() -> None:
    """By AUC on the same held-out rows; on 3,000 rows, because on a few hundred chance decides."""
    ordinary, found = _both(_released("ppnb", 3_000, p_keep=0.35), bank_customers(3_000, seed=2))
    best = best_of(ordinary)
    assert best is not None
    assert found[RECONSTRUCTED]["auc"] > best + 0.01


def test_rows_of_noisy_counts_are_as_good_as_the_counts() -> None:
    """They hold the counts already, up to the drawing."""
    ordinary, found = _both(_released("dp-nb", epsilon=1.0))
    assert found[RECONSTRUCTED]["auc"] == pytest.approx(best_of(ordinary), abs=0.03)
    both = {**ordinary, **found}
    assert both[name_of_best(both) or ""]["auc"] == max(one["auc"] for one in both.values())


@pytest.mark.filterwarnings("ignore::anonkit.consumers.learning_power.NothingLearnedWarning")
@pytest.mark.parametrize(
    ("method", "chosen"),
    [
        ("rr", {"epsilon": 4.0}),
        ("dp-forest", {"epsilon": 2.0}),
        ("dp-nb", {"epsilon": 2.0}),
        ("edprf", {"epsilon": 2.0, "vote": "sum"}),
    ],
)
def test_the_scores_are_those_of_reconstruct(method: str, chosen: dict[str, Any], tmp_path: Any) -> None:
    """The same model as `anonkit reconstruct` makes from the files, by the same accuracy."""
    made = _released(method, **chosen)
    scores = scores_of_reconstruction(made, TEST, TARGET)[RECONSTRUCTED]
    made.save(tmp_path / "out.parquet")
    told = anonkit.reconstruct(tmp_path / "out.parquet", test=TEST).scores
    assert told is not None
    assert scores["accuracy"] == pytest.approx(told.accuracy, abs=1e-4)
    assert scores["balanced_accuracy"] == pytest.approx(told.balanced_accuracy, abs=1e-4)


def test_an_ordinary_table_has_no_such_model() -> None:
    """Nothing to undo without params of noise, and nothing to score for a column the model does not predict."""
    assert learned_from({"format": "anonkit-params/2"}, TEST) is None
    assert scores_of_reconstruction(_released("ppnb", p_keep=0.5), TEST, "income") == {}


def test_a_label_that_is_no_class_of_the_release_is_never_guessed() -> None:
    """Its rows count as wrong, however the model guesses; a table of such labels has no score."""
    made = _released("ppnb", p_keep=0.5)
    plain = TEST.set_column(TEST.schema.get_field_index(TARGET), TARGET, TEST.column(TARGET).cast(pa.string()))
    foreign = plain.slice(0, 50).set_column(plain.num_columns - 1, TARGET, pa.array(["another"] * 50))
    more = pa.concat_tables([plain, foreign])
    with_them, without = (scores_of_reconstruction(made, table, TARGET)[RECONSTRUCTED] for table in (more, plain))
    assert with_them["accuracy"] == pytest.approx(without["accuracy"] * 600 / 650, abs=1e-4)
    assert with_them["balanced_accuracy"] == pytest.approx(without["balanced_accuracy"] * 3 / 4, abs=1e-4)
    assert scores_of_reconstruction(made, foreign, TARGET) == {}
    assert np.isfinite(scores_of_reconstruction(made, plain, TARGET)[RECONSTRUCTED]["auc"])
