"""Several tables read as one: the rows of a left join, keys that fit, and a private file that goes when it was read."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.bundle.private_files import PrivateFolder
from anonkit.engines.engine_choice import Local
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import PolicyError, SourceError
from anonkit.pipeline.recipe import Recipe
from anonkit.pipeline.recipe_sources import SeveralTables, flat_view
from tests.pipeline.test_several_tables import HEAD, hospital, private, recipe


def test_keys_that_do_not_fit_are_refused_with_a_count(tmp_path: Path) -> None:
    """Two people of one key, visits of nobody and visits without a key are refused; no key is quoted."""
    people, visits = hospital(tmp_path, 60)
    pd.concat([people, people.head(2)]).to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(PolicyError, match="has 2 rows whose key an earlier row has"):
        recipe(tmp_path).run()
    people.to_csv(tmp_path / "people.csv", index=False)
    lost = visits.head(3).assign(patient=["SECRET", None, None])
    pd.concat([visits, lost]).to_csv(tmp_path / "visits.csv", index=False)
    with pytest.raises(PolicyError, match="has 1 rows whose key is not in") as caught:
        recipe(tmp_path).run()

    assert "SECRET" not in str(caught.value)
    assert "2 without a key" in caught.value.message
    visits.drop(columns="patient").to_csv(tmp_path / "visits.csv", index=False)
    with pytest.raises(SourceError, match="is no column"):
        recipe(tmp_path, more='orphans = "drop"').run()


def test_the_flat_view_is_what_pandas_joins(tmp_path: Path) -> None:
    """With two keys of other names, a column of both tables and keys that differ by zeros alone: pandas' left join."""
    people = pd.DataFrame({"h": ["a", "a", "b", "b"], "n": ["7", "007", "7", "8"], "city": list("wxyz")})
    visits = pd.DataFrame(
        {"house": ["a", "a", "b", "c"], "no": ["7", "007", "7", "7"], "city": list("stuv"), "days": range(4)}
    )
    people.to_csv(tmp_path / "people.csv", index=False)
    visits.to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "r.toml").write_text(
        'method="rfka"\noutput="o.parquet"\n[tables.people]\nsource="people.csv"\nkey=["h","n"]\n'
        '[tables.visits]\nsource="visits.csv"\nof="people"\nkey=["house","no"]\norphans="drop"\n'
    )
    read = Recipe.load(tmp_path / "r.toml")
    assert isinstance(read.source, SeveralTables)
    with LocalEngine() as engine, closing(PrivateFolder()) as private:
        view = flat_view(read.source, read.policy, engine, private)
        table = engine.scan(view.path, read.policy)
        rows = pd.concat([batch.to_pandas() for batch in table.batches()])
        assert view.path.parent.stat().st_mode & 0o077 == 0
    merged = people.merge(visits, left_on=["h", "n"], right_on=["house", "no"], how="left", suffixes=("_p", "_v"))

    assert not view.path.exists()
    assert table.schema.names == ["h+n", "people.city", "visits.city", "days"]
    assert rows["people.city"].tolist() == merged["city_p"].tolist()
    assert rows["visits.city"].fillna("").tolist() == merged["city_v"].fillna("").tolist()
    assert rows["h+n"].nunique() == 4


@pytest.mark.slow
def test_spark_joins_the_same_rows_and_releases_them(tmp_path: Path, spark: Any) -> None:
    """The flat view is the same on Spark, and a release of whole sets and one of dp-nb validate there."""
    hospital(tmp_path, 120)
    read = recipe(tmp_path, head='engine = "spark"\n' + HEAD)
    assert isinstance(read.source, SeveralTables)
    views = []
    for choice in (read.engine, Local()):
        with choice.opened() as engine, closing(PrivateFolder()) as private:
            views.append(pq.read_table(flat_view(read.source, read.policy, engine, private).path))
    released = read.run()

    assert views[0].equals(views[1])
    assert {c["name"]: c["passed"] for c in released.report["verification"]["checks"]}["k_anonymity_whole_sets"]
    assert anonkit.validate(tmp_path / "out.parquet").passed
    (tmp_path / "r.toml").write_text(private_recipe_on_spark())
    assert anonkit.validate(Recipe.load(tmp_path / "r.toml").run()).passed


def private_recipe_on_spark() -> str:
    """Return a recipe of dp-nb on Spark."""
    return private('engine = "spark"\nrows_per_person = 2\n').replace("out.parquet", "private.parquet")
