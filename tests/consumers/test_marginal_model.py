"""The mixture in a receiver's hands: rows, tables with intervals, conditions, predictions; against enumeration."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.consumers import Forest, MarginalModel, MixtureClassifier, MixtureQuestions, ReleaseRegressor
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.domains.number_bins import Grid
from anonkit.errors import ParameterError, ReleaseFormatError, SourceError
from anonkit.published.product_mixtures import SHARE_UNITS, WEIGHT_UNITS
from anonkit.published.released_codes import shown_domain
from tests.dp_trees.marginals.tables_of_pairs import batch_of, chain, forced, layout_of

SIZES = [3, 4, 2]
NAMES = ["t", "c0", "c1", "c2"]


def params_of(seed: int = 1, epsilon: float = 4.0, rows: int = 3_000) -> dict[str, Any]:
    """Params of three columns and a target that splits them, with two pairs of the tree and one further."""
    layout = layout_of(SIZES, 2)
    codes = chain(rows, SIZES, seed=2)
    labels = (np.random.default_rng(3).random(rows) < np.where(codes[1] < 2, 0.2, 0.7)).astype(np.int64)
    found = forced(layout, 2, 1, epsilon, batch_of(codes, labels), seed=seed)
    schema = found.mixtures.schema
    columns = [{"name": name, "domain": schema.domains[name].to_params()} for name in NAMES]
    return json.loads(json.dumps({
        **schema.to_params(), **found.mixtures.to_params(), "columns": columns,
        "tables": [one.to_params() for one in found.one_ways], "pairs": [one.to_params() for one in found.pairs],
    }))  # fmt: skip


def joint_of(model: MarginalModel) -> np.ndarray:
    """The rows expected of every combination of values, by plain sums over components."""
    mixtures, ends = model.mixtures, np.cumsum([0, *SIZES])
    out = np.zeros([2, *SIZES])
    for label, own in enumerate(mixtures.classes):
        for weight, shares in zip(own.weights, own.shares, strict=True):
            for values in product(*map(range, SIZES)):
                chance = np.prod([shares[ends[at] + value] / SHARE_UNITS for at, value in enumerate(values)])
                out[(label, *values)] += own.rows * weight / WEIGHT_UNITS * chance
    return out


@pytest.fixture(scope="module")
def model() -> MarginalModel:
    """One mixture, whose pairs were measured."""
    return MarginalModel(params_of())


def test_what_is_expected_is_what_the_components_add_up_to(model: MarginalModel) -> None:
    """Tables of one, two and three columns, in any order of the columns."""
    joint = joint_of(model)
    assert np.isclose(model.rows, joint.sum())
    assert np.allclose(model.marginal("c1").model, joint.sum(axis=(0, 1, 3)))
    assert np.allclose(model.marginal("c2", "t").model, joint.sum(axis=(1, 2)).T)
    assert np.allclose(model.marginal("c0", "c1", "c2").model, joint.sum(axis=0))


def test_pairs_are_those_of_the_params(model: MarginalModel) -> None:
    """Without what splits all tables."""
    assert [list(pair) for pair in model.pairs] == [one["names"] for one in params_of()["pairs"]]


def test_conditions_are_those_of_enumeration(model: MarginalModel) -> None:
    """On one column or several, on the target, on several values, one after another or at once."""
    joint = joint_of(model)
    some = model.given({"c1": ["1", "2"], "t": "1"})
    assert np.allclose(some.marginal("c0", "c2").model, joint[1, :, 1:3, :].sum(axis=1))
    assert np.allclose(some.marginal("c1").model, [0, *joint[1, :, 1:3, :].sum(axis=(0, 2)), 0])
    assert np.isclose(model.given({"c1": ["1", "2"]}).given({"t": "1"}).rows, some.rows)
    assert np.isclose(model.given({"c1": "1"}).given({"c1": ["1", "2"]}).rows, joint[:, :, 1].sum())
    assert np.isclose(model.rows, joint.sum())  # the model itself is as it was


def test_predictions_are_those_of_enumeration(model: MarginalModel) -> None:
    """Of the target and of any column; a column that is not there is summed out."""
    joint = joint_of(model)
    rows = list(product(range(2), *map(range, SIZES)))
    table = pd.DataFrame([[str(value) for value in row] for row in rows], columns=NAMES)
    target = MixtureClassifier(params_of()).fit()
    shares = joint / joint.sum(axis=0)
    assert np.allclose(target.predict_proba(table), [shares[(slice(None), *row[1:])] for row in rows], atol=1e-3)
    other = MixtureClassifier(params_of(), target="c1").fit()
    without = joint.sum(axis=3) / joint.sum(axis=(2, 3))[:, :, np.newaxis]
    assert np.allclose(other.predict_proba(table[["t", "c0"]]), [without[row[0], row[1]] for row in rows], atol=1e-3)
    again = MixtureClassifier(json.loads(other.to_json())).fit()
    assert again.target_ == "c1"
    assert np.array_equal(again.predict(table), other.predict(table))
    with pytest.warns(UserWarning, match="1 of 1 rows hold no value of its domain") as caught:
        strange = target.predict_proba(pd.DataFrame({"c0": ["secret"], "c1": ["1"], "c2": ["0"]}))
    assert "secret" not in str(caught[0].message)
    assert np.allclose(strange, target.predict_proba(pd.DataFrame({"c1": ["1"], "c2": ["0"]})))


def test_drawn_rows_are_the_model_within_sampling(model: MarginalModel) -> None:
    """All pairs of 40,000 rows, also of rows under a condition, whose values they have."""
    for asked, condition in ((model, {}), (model.given({"c0": ["0", "2"], "t": "0"}), {"c0": {"0", "2"}, "t": {"0"}})):
        rows = asked.draw(40_000, seed=7).to_pandas()
        assert len(rows) == 40_000
        assert all(set(rows[name]) == values for name, values in condition.items())
        for first, second in (("t", "c0"), ("c0", "c1"), ("c1", "c2"), ("t", "c2")):
            expected = asked.marginal(first, second).to_pandas()["model"] / asked.rows
            seen = rows.groupby([first, second], observed=False).size() / len(rows)
            assert np.abs(seen.reindex(expected.index).fillna(0) - expected).max() < 0.01


def test_the_same_seed_draws_the_same_rows_and_batches_are_bounded(model: MarginalModel) -> None:
    """Other seeds and none draw others; no row is a table too; each batch is a sample by itself."""
    assert model.draw(200, seed=1).equals(model.draw(200, seed=1))
    assert not model.draw(200, seed=1).equals(model.draw(200, seed=2))
    assert not model.draw(200).equals(model.draw(200))
    assert model.draw(0).num_rows == 0
    assert model.draw(seed=1).num_rows == round(model.rows)
    parts = list(model.batches(1_000, seed=3, batch_rows=300))
    assert [part.num_rows for part in parts] == [300, 300, 300, 100]
    shares = [np.mean(np.array(part.column("t").to_pylist()) == "1") for part in parts[:3]]
    assert np.ptp(shares) < 0.01  # each is dealt in proportion, not cut from an ordered whole


def test_two_children_of_one_parent_stay_uncorrelated_in_the_hands_of_a_receiver() -> None:
    """20,000 rows: |r| below .03 given the parent."""
    half, most = SHARE_UNITS // 2, SHARE_UNITS * 3 // 4
    shares = [
        [SHARE_UNITS, 0, most, SHARE_UNITS - most, most, SHARE_UNITS - most],
        [0, SHARE_UNITS, half, SHARE_UNITS - half, half, SHARE_UNITS - half],
    ]
    layout = layout_of([2, 2, 2])
    one_way = {"rate": 1 << 50, "counts": [[0, 0]], "groups": [0, 1]}
    params = {
        **layout.schema.to_params(), "format": "anonkit-marginals-1", "anchored": False, "pairs": [],
        "mixtures": [{"rows": 20_000, "weights": [WEIGHT_UNITS // 2] * 2, "shares": shares}],
        "tables": [{"name": f"c{at}", **one_way} for at in range(3)],
        "columns": [{"name": name, "domain": own.to_params()} for name, own in layout.schema.domains.items()],
    }  # fmt: skip
    rows = MarginalModel(params).draw(20_000, seed=4).to_pandas().astype(int)
    for value in (0, 1):
        given_parent = rows[rows["c0"] == value]
        assert abs(np.corrcoef(given_parent["c1"], given_parent["c2"])[0, 1]) < 0.03


@pytest.mark.slow
def test_the_intervals_of_releases_hold_their_rows() -> None:
    """All that is measured of a table, over 20 releases of it: at least 95 % with a hair for chance."""
    codes = chain(3_000, SIZES, seed=2)
    hits = total = 0
    for seed in range(20):
        model = MarginalModel(params_of(seed, epsilon=1.0))
        for at, size in enumerate(SIZES):
            found = model.marginal(f"c{at}")
            truth = np.bincount(codes[at], minlength=size)
            hits += int(((found.lower <= truth) & (truth <= found.upper)).sum())
            total += size
        found = model.marginal("c0", "c1", "c2")
        assert set(found.basis.ravel()) == {"model"}
        assert np.isnan(found.lower).all()
        assert np.array_equal(found.estimate, found.model)
    assert hits / total > 0.92


def test_a_table_shows_its_values_and_its_basis(model: MarginalModel) -> None:
    """As a data frame and as JSON; a level that is none is refused."""
    found = model.marginal("t", "c0")
    frame, document = found.to_pandas(), found.to_dict()
    assert frame.index.names == ["t", "c0"]
    assert list(frame.columns) == ["estimate", "lower", "upper", "model", "basis"]
    assert [cell["estimate"] for cell in document["cells"]] == frame["estimate"].tolist()
    assert document["cells"][3]["values"] == ["1", "0"]
    wide, narrow = (model.marginal("c0", level=level) for level in (0.99, 0.5))
    assert (wide.upper - wide.lower > narrow.upper - narrow.lower).all()
    with pytest.raises(ParameterError, match="level"):
        model.marginal("c0", level=1.0)
    for names in ((), ("c0", "c0"), ("t", "c0", "c1", "c2")):
        with pytest.raises(ParameterError, match="one to 3 different columns"):
            model.marginal(*names)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"c9": "0"}, "is not a column"),
        ({"c0": "9"}, "no such value"),
        ({"c0": None}, "never missing"),
        ({"c0": []}, "no rows under these conditions"),
    ],
)
def test_a_condition_that_means_nothing_is_refused(
    model: MarginalModel, condition: dict[str, object], message: str
) -> None:
    """Named by its column."""
    with pytest.raises(ParameterError, match=message):
        model.given(condition)
    with pytest.raises(ParameterError, match="rows"):
        model.draw(-1)


def test_damaged_params_are_refused() -> None:
    """A key that lacks, a table of another shape, columns that are others."""
    for damage in (
        {"pairs": [{"names": ["c0", "c1"]}]},
        {"columns": [{"name": "t"}]},
        {"tables": params_of()["tables"][:2]},
        {"format": "anonkit-noisy-tables-1"},
    ):
        with pytest.raises(ReleaseFormatError):
            MarginalModel({**params_of(), **damage})
    wrong = params_of()
    wrong["pairs"][0]["counts"][0].pop()
    with pytest.raises(ReleaseFormatError):
        MarginalModel(wrong)


TEST = bank_customers(400, seed=2)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with a target on disk."""
    output = tmp_path_factory.mktemp("mixture") / "out.parquet"
    anonkit.release(
        bank_customers(3_000, seed=1), method="dp-marginals", epsilon=8.0, bins=8, seed=1,
        policy=bank_customers_policy(), output=output,
    )  # fmt: skip
    return output


def test_drawn_rows_have_the_columns_and_types_of_the_release(released: Path) -> None:
    """So that what is written for the one runs on the other."""
    release, model = anonkit.load(released), MarginalModel.from_release(released)
    drawn = model.draw(500, seed=1)
    assert drawn.schema.remove_metadata().equals(release.to_arrow().schema.remove_metadata())
    age = model.domains["age"]
    assert isinstance(age, Grid)
    shown = set(drawn.column("age").to_pylist())
    assert shown <= set(shown_domain(age).decode(np.arange(shown_domain(age).size)).tolist())
    assert not shown <= set(model.marginal("age").labels[0])
    aged = model.given({"age": (30, 50)})
    assert 0 < aged.rows < model.rows
    assert np.isclose(aged.rows, model.given({"age": "30..50"}).rows)
    ((low, high),) = aged.conditions["age"].ranges
    assert all(low <= value < high for value in aged.draw(300, seed=1).column("age").to_pylist())
    assert model.given({"age": 30.0}).marginal("age").model.astype(bool).sum() == 1
    for wrong in ("old", 500.0, True):
        with pytest.raises(ParameterError, match=r"column 'age' (holds|has)"):
            model.given({"age": wrong if wrong is not True else [object()]})


def test_reconstruct_predicts_draws_and_counts(released: Path, tmp_path: Path) -> None:
    """The declared target or another column, a number by a regressor; the file holds the rows of the seed."""
    made = anonkit.reconstruct(
        released,
        test=TEST,
        predictions=tmp_path / "p.parquet",
        model=tmp_path / "m.json",
        questions=MixtureQuestions(
            draw=tmp_path / "d.parquet", rows=700, seed=5, tables=(("education",),), given={"education": "college"}
        ),
    )
    assert made.scores is not None
    assert made.scores.auc > 0.85
    assert made.drawn == 700
    asked = MarginalModel.from_release(released).given({"education": "college"})
    assert pq.read_table(tmp_path / "d.parquet").equals(asked.draw(700, seed=5))
    assert made.to_dict()["tables"][0] == asked.marginal("education").to_dict()
    again = MixtureClassifier(json.loads((tmp_path / "m.json").read_text())).fit()
    assert pq.read_table(tmp_path / "p.parquet").column("customer_value").to_pylist() == list(again.predict(TEST))
    aged = anonkit.reconstruct(released, test=TEST, questions=MixtureQuestions(target="age"))
    assert isinstance(aged.model, ReleaseRegressor)
    assert aged.is_regression
    assert aged.scores.mae < aged.scores.mean_mae
    assert np.allclose(ReleaseRegressor.from_release(released, target="age").predict(TEST), aged.model.predict(TEST))
    with pytest.raises(ParameterError, match="no form of scikit-learn's own"):
        aged.model.to_sklearn()
    with pytest.raises(SourceError, match="none of the columns"):
        made.model.predict(pa.table({"other": [1.0]}))


def test_what_a_mixture_cannot_answer_is_refused(released: Path, tmp_path: Path) -> None:
    """Settings of other models, rows without a file, an absent column; and a mixture with another model's options."""
    ask = MixtureQuestions
    for questions, message in (
        (ask(target="agee"), "not a column"),
        (ask(rows=3), "drawn into a file"),
        (ask(draw=tmp_path / "d.csv"), "must end in .parquet"),
        (ask(given={"age": 30.0}), "conditions are on rows"),
        (ask(tables=(("age", "age"),)), "different columns"),
    ):
        with pytest.raises(ParameterError, match=message):
            anonkit.reconstruct(released, questions=questions)
    for settings in ({"estimator": "moment"}, {"vote": "sum"}, {"smoothing": 1.0}):
        with pytest.raises(ParameterError, match="holds a mixture"):
            anonkit.reconstruct(released, **settings)
    other = tmp_path / "rr.parquet"
    policy = bank_customers_policy()
    anonkit.release(bank_customers(300, seed=1), method="rr", epsilon=8, policy=policy, seed=1, output=other)
    with pytest.raises(ParameterError, match="need a release by dp-marginals"):
        anonkit.reconstruct(other, questions=ask(tables=(("age",),)))
    with pytest.raises(ParameterError, match="holds no mixture"):
        MarginalModel.from_release(other)


def test_without_a_target_there_are_rows_and_tables_and_any_column_predicts(tmp_path: Path) -> None:
    """Methods that need a target raise an error that says so."""
    policy = anonkit.Policy.from_dict({
        "target": False,
        "columns": {"job": {"categories": ["clerk", "nurse"]}, "sex": {"categories": ["F", "M"]}},
    })  # fmt: skip
    source, out = pa.table({"job": ["clerk", "nurse"] * 400, "sex": ["F", "M"] * 400}), tmp_path / "out.parquet"
    anonkit.release(source, method="dp-marginals", epsilon=8.0, policy=policy, seed=1, output=out)
    made = anonkit.reconstruct(out, questions=MixtureQuestions(tables=(("job",),)))
    assert isinstance(made.model, MarginalModel)
    assert made.to_dict()["columns"] == ["job", "sex"]
    assert len(made.to_dict()["tables"]) == 1
    for asked in ({"test": source}, {"model": tmp_path / "m.json"}):
        with pytest.raises(ParameterError, match="no column of this release is its target"):
            anonkit.reconstruct(out, **asked)
    told = anonkit.reconstruct(out, test=source, questions=MixtureQuestions(target="sex"))
    assert told.scores is not None
    assert told.scores.accuracy > 0.95


@pytest.mark.slow
def test_a_receiver_of_a_mixture_needs_none_of_the_owner_s_modules(released: Path) -> None:
    """Nor scikit-learn, to draw and count."""
    code = (
        "import sys\n"
        "from anonkit.consumers import MarginalModel\n"
        f"model = MarginalModel.from_release({str(released)!r})\n"
        "model.draw(10), model.marginal('age')\n"
        "owner = [name for name in sys.modules if name.startswith(('anonkit.methods', 'anonkit.engines', 'duckdb',"
        " 'anonkit.dp_trees', 'anonkit.mechanisms', 'anonkit.pipeline.release_path', 'sklearn'))]\n"
        "assert not owner, owner\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("consumer", ["dp-marginals", "dp-forest"])
def test_a_receiver_asks_for_means_and_shares(consumer: str) -> None:
    """The mean of the report and its interval, shares around the true ones; clear words where there are none."""
    columns: dict[str, Any] = {
        "age": {"bounds": [0, 99], "type": "integer"},
        "job": {"categories": ["a", "b"]},
        "paid": {"categories": ["x", "y"]},
        "ill": {"role": "target", "categories": ["no", "yes"]},
    }
    rules = [{"determines": {"from": "job", "to": "paid", "map": [["a", "x"], ["b", "y"]]}}]
    rng = np.random.default_rng(2)
    age, job = rng.integers(0, 100, 2_000), rng.choice(["a", "b"], 2_000, p=[0.7, 0.3])
    table = pa.table({
        "age": age, "job": job, "paid": np.where(job == "a", "x", "y"), "ill": np.where(age > 60, "yes", "no"),
    })  # fmt: skip
    release = anonkit.release(
        table, method=consumer, policy={"columns": columns, "constraints": rules}, epsilon=4, seed=1, ledger=None
    )
    model = MarginalModel(release.params) if consumer == "dp-marginals" else Forest(release.params).fit()
    mean, low, high = model.mean("age")
    assert low <= age.mean() <= high
    stated = next(column["mean"] for column in release.report["columns"] if column["name"] == "age")
    assert (mean, low, high) == pytest.approx((stated["value"], stated["low"], stated["high"]), abs=0.01)
    assert model.mean("age", level=0.5)[1] > low
    for name, true in (("job", (job == "a").mean()), ("ill", 1 - (age > 60).mean())):
        shares = model.shares(name, 0.99)
        assert shares["a" if name == "job" else "no"][1] <= true <= shares["a" if name == "job" else "no"][2], name
    for asked, said in (
        (lambda: model.mean("job"), "holds categories"),
        (lambda: model.shares("age"), "holds numbers"),
        (lambda: model.mean("agee"), "is not a column"),
        (lambda: model.mean("age", 1.0), r"must be in \(0, 1\)"),
    ):
        with pytest.raises(ParameterError, match=said):
            asked()
    if isinstance(model, MarginalModel):
        with pytest.raises(ParameterError, match="follows from 'job'"):
            model.shares("paid")
        with pytest.raises(ParameterError, match="this model has conditions"):
            model.given({"job": "a"}).mean("age")
        return
    with pytest.raises(ParameterError, match="was not counted by itself"):
        model.shares("paid")
    with pytest.raises(ParameterError, match="has no noisy counts"):
        Forest(model.forest_).fit().mean("age")
