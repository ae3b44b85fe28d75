"""The learners of `reconstruct` besides naive Bayes: what they find, and what a release must carry for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.consumers import RandomizedTree
from anonkit.consumers.naive_bayes import ReconstructionWarning
from anonkit.errors import ParameterError
from anonkit.utility.consumer_models import Scores

N = 4_000
YES_NO = ("no", "yes")


def rows(seed: int) -> pa.Table:
    """Three yes/no columns of which two decide by an exclusive or, which naive Bayes cannot see, and two numbers."""
    rng = np.random.default_rng(seed)
    bits = rng.random((N, 3)) < (0.5, 0.45, 0.5)
    classes = (bits[:, 0] ^ bits[:, 1]) ^ (rng.random(N) < 0.05)
    names = {f"q{at}": np.where(bits[:, at], "yes", "no") for at in range(3)}
    high = np.clip(rng.normal(3 + 4 * classes, 1), 0, 10).round(3)
    return pa.table(
        {**names, "level": high, "age": rng.uniform(0, 10, N).round(3), "class": np.where(classes, "a", "b")}
    )


def released(folder: Path, method: str, columns: list[str], **parameters: Any) -> Path:
    """A release of some columns and the class."""
    kinds = {
        name: {"role": "quasi_identifier", "categories": list(YES_NO)}
        if name.startswith("q")
        else {"role": "quasi_identifier", "bounds": [0, 10]}
        for name in columns
    }
    declared = {**kinds, "class": {"role": "target", "categories": ["a", "b"]}}
    lines = ['missing = "first"', "[columns]"]
    lines += [
        f"{name} = {{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in column.items()) + " }"
        for name, column in declared.items()
    ]
    (folder / "policy.toml").write_text("\n".join(lines))
    anonkit.release(
        rows(1).select([*columns, "class"]), method=method, policy=folder / "policy.toml", seed=1,
        output=folder / "out.parquet", ledger=folder / "ledger", **parameters,
    )  # fmt: skip
    return folder / "out.parquet"


@pytest.mark.parametrize("label", ["clear", "randomize"])
def test_dtpd_sees_what_naive_bayes_cannot(tmp_path: Path, label: str) -> None:
    """An exclusive or behind values, and a label, that were randomized one by one."""
    output = released(tmp_path, "errph", ["q0", "q1", "q2"], p_keep=0.8, label=label)
    tree = anonkit.reconstruct(output, test=rows(2), learner="dtpd")
    bayes = anonkit.reconstruct(output, test=rows(2))
    assert isinstance(tree.scores, Scores)
    assert isinstance(bayes.scores, Scores)
    assert tree.scores.accuracy > 0.9
    assert bayes.scores.accuracy < 0.7
    assert tree.to_dict()["model"] == "decision tree (dtpd)"
    assert tree.power == bayes.power


def test_dtcrd_learns_from_numbers_that_were_multiplied(tmp_path: Path) -> None:
    """A centred release by trr: far better than the commonest class."""
    output = released(tmp_path, "trr", ["level", "age"])
    made = anonkit.reconstruct(output, test=rows(2), learner="dtcrd", model=tmp_path / "tree.json")
    assert isinstance(made.scores, Scores)
    assert made.scores.accuracy > made.scores.majority + 0.2
    document = json.loads((tmp_path / "tree.json").read_text())
    assert document["classes"] == ["a", "b"]
    assert document["tree"]["column"] == "level"
    assert 3 < document["tree"]["at_least"] < 8


def test_each_takes_its_own_columns_of_a_mixed_release(tmp_path: Path) -> None:
    """A release by ppnb has categories for one and numbers for the other; the columns left out are named."""
    output = released(tmp_path, "ppnb", ["q0", "q1", "level"], p_keep=0.8)
    with pytest.warns(ReconstructionWarning, match="leaves out 'level'"):
        of_categories = RandomizedTree.from_release(output, learner="dtpd")
    with pytest.warns(ReconstructionWarning, match="leaves out 'q0', 'q1'"):
        of_numbers = RandomizedTree.from_release(output, learner="dtcrd")
    assert of_categories.described().attributes == ["q0", "q1"]
    assert of_numbers.described().attributes == ["level"]


def test_a_value_outside_the_domain_passes_no_test(tmp_path: Path) -> None:
    """It is predicted as its complement is, and nothing fails."""
    output = released(tmp_path, "errph", ["q0", "q1", "q2"], p_keep=0.9)
    tree = RandomizedTree.from_release(output, learner="dtpd")
    known = pa.table({"q0": ["no"], "q1": ["no"], "q2": ["no"]})
    unknown = pa.table({"q0": ["maybe"], "q1": [None], "q2": ["no"]})
    assert np.allclose(tree.predict_proba(known), tree.predict_proba(unknown))
    assert np.allclose(tree.predict_proba(rows(2)).sum(axis=1), 1)


@pytest.mark.parametrize(
    ("method", "columns", "parameters", "learner", "message"),
    [
        ("rr", ["q0", "q1"], {"epsilon": 4.0}, "dtpd", "each row answers one"),
        ("errph", ["q0", "q1"], {"p_keep": 0.5}, "dtcrd", "numbers by trr, and the release has none"),
        ("trr", ["level", "age"], {}, "dtpd", "whose response matrix has an inverse, and the release has none"),
        (
            "trr",
            ["level", "age"],
            {"center": False},
            "dtcrd",
            "the public bounds of 'age'|the public bounds of 'level'",
        ),
        ("ppnb", ["level"], {"p_keep": 0.5, "label": "randomize"}, "dtcrd", "randomized label"),
        ("dp-nb", ["q0", "q1"], {"epsilon": 1.0}, "dtpd", "rows that were randomized one by one"),
    ],
)
def test_a_release_without_what_the_learner_needs_is_refused(
    tmp_path: Path, method: str, columns: list[str], parameters: dict[str, Any], learner: str, message: str
) -> None:
    """In one line that names what is missing."""
    output = released(tmp_path, method, columns, **parameters)
    with pytest.raises(ParameterError, match=message):
        anonkit.reconstruct(output, learner=learner)


def test_choices_of_other_models_and_unknown_learners_are_refused(tmp_path: Path) -> None:
    """An estimator is naive Bayes', a vote a forest's."""
    output = released(tmp_path, "errph", ["q0", "q1"], p_keep=0.5)
    with pytest.raises(ParameterError, match="estimator is for other models"):
        anonkit.reconstruct(output, learner="dtpd", estimator="moment")
    with pytest.raises(ParameterError, match="must be one of dtpd, dtcrd"):
        anonkit.reconstruct(output, learner="oracle")
    with pytest.raises(ParameterError, match="needs the params"):
        RandomizedTree().fit(pq.read_table(output))
