"""Releases of people: what is promised, counted, published and validated is people, on every path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import anonkit
from anonkit.engines import LocalEngine
from anonkit.errors import PolicyError, UncheckedError
from anonkit.policy.declaration import Policy
from tests.checks.forgeries import Files, forged, verdict

QI = ["age", "zip"]


def visits(n_people: int = 240, seed: int = 1) -> pd.DataFrame:
    """Return visits: most people have one to four, every twentieth has 25; spelled ids, and an illness or none."""
    random = np.random.default_rng(seed)
    rows = []
    for person in range(n_people):
        age, place = int(random.integers(20, 60)), random.choice(["1010", "1020", "1030"])
        usual = random.choice(["flu", "asthma", "hiv", "ulcer"])
        for visit in range(25 if person % 20 == 0 else int(random.integers(1, 5))):
            ill = usual if random.random() < 0.6 else random.choice(["flu", "asthma", "hiv", "ulcer"])
            shown = None if random.random() < 0.04 else ill
            rows.append((f"{person}.0" if visit % 2 else f" {person}", age, place, shown, random.choice(["y", "n"])))
    return pd.DataFrame(rows, columns=["who", "age", "zip", "ill", "label"])


def released(table: Any, folder: Path | None = None, **more: Any) -> anonkit.Release:
    """Release people with the methods' own settings, quickly."""
    given: dict[str, Any] = {
        "method": "rfka", "k": 4, "l": 2, "unit": "who", "sensitive": ["ill"], "target": "label", "ledger": None,
    }  # fmt: skip
    given |= more
    if given["method"] == "rfka":
        given["trees"] = 10
    if folder is not None:
        given["output"] = folder / "out.parquet"
    return anonkit.release(table, **given)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of people nobody has touched."""
    folder = tmp_path_factory.mktemp("people")
    released(visits(), folder, t=0.9, max_suppression=0.2)
    return folder / "out.parquet"


def people_of(table: pd.DataFrame) -> pd.Series:
    """Return one key a person."""
    return table["who"].str.strip().astype(float).astype(int)


def test_the_report_counts_people(untouched: Path) -> None:
    """Class sizes and risks are those of the people in each class, found again in the source by its recoding."""
    made, source = anonkit.load(untouched), visits()
    from anonkit.published.recoding import recoding_from_dict

    cells = recoding_from_dict(made.params["recoding"]).apply(pa.RecordBatch.from_pandas(source))[0]
    shown = pd.DataFrame({name: array.to_pylist() for name, array in cells.items()})
    groups = people_of(source).groupby([shown[name] for name in shown], dropna=False)
    sizes = groups.nunique()
    in_release = {tuple(row) for row in made.to_arrow().select(list(shown)).to_pandas().itertuples(index=False)}
    sizes = sizes[[(key if isinstance(key, tuple) else (key,)) in in_release for key in sizes.index]]
    risk = made.report["disclosure_risk"]
    assert risk["counted"] == "people"
    assert risk["prosecutor"]["max"] == 1 / sizes.min()
    assert risk["prosecutor"]["mean"] == pytest.approx(len(sizes) / sizes.sum())
    assert {one["size"]: one["classes"] for one in risk["class_sizes"]} == sizes.value_counts().to_dict()
    assert risk["k_anonymity"]["people"] == sizes.min() >= 4


def test_a_release_of_people_validates_every_check(untouched: Path) -> None:
    """Nothing that was checked before writing is left out of the validation, people least of all."""
    found = anonkit.validate(untouched)
    assert found.passed
    promised = {one["name"] for one in anonkit.load(untouched).report["verification"]["checks"]}
    assert promised <= {check.name for check in found.checks}
    assert {"k_anonymity_people", "people", "people_of_values:ill"} <= {check.name for check in found.checks}
    assert anonkit.validate(untouched, k=4).passed
    assert not anonkit.validate(untouched, k=40).passed


def test_people_cannot_be_counted_otherwise_than_they_are_told(untouched: Path) -> None:
    """For other quasi-identifiers, and for columns nobody declared sensitive, nothing is passed off as checked."""
    with pytest.raises(UncheckedError, match="own quasi-identifiers only"):
        anonkit.validate(untouched, quasi_identifiers=["zip"], k=2)
    with pytest.raises(UncheckedError, match="who holds the values of column 'label' is not published"):
        anonkit.validate(untouched, sensitive=["label"], l=2)


def _put(files: Files, text: str, *path: str) -> None:
    block = files.params["people"]
    for step in path[:-1]:
        block = block[step]
    block[path[-1]] = text


def _change(text: str, at: int, by: int) -> str:
    counts = text.split()
    counts[at] = str(int(counts[at]) + by)
    return " ".join(counts)


def _fewest(files: Files, by: int) -> None:
    told = files.params["people"]["classes"]
    at = int(np.argmin([int(n) for n in told.split()]))
    _put(files, _change(told, at, by), "classes")


def _of_values(files: Files, at: int, by: int) -> None:
    _put(files, _change(files.params["people"]["sensitive"]["ill"]["values"], at, by), "sensitive", "ill", "values")


FORGERIES: dict[str, tuple[Any, int]] = {
    "no counts": (lambda f: f.params.pop("people"), 3),
    "counts that are no text": (lambda f: _put(f, [1, 2], "classes"), 3),
    "counts with a sign": (lambda f: _put(f, "+5 6", "classes"), 3),
    "a count of 19 digits": (lambda f: _put(f, "9" * 19, "classes"), 3),
    "an unknown part": (lambda f: f.params["people"].update(more=1), 3),
    "no counts of values": (lambda f: f.params["people"].update(sensitive={}), 1),
    "one class fewer": (lambda f: _put(f, f.params["people"]["classes"].rpartition(" ")[0], "classes"), 1),
    "nobody in a class": (lambda f: _fewest(f, -4), 1),
    "fewer than k": (lambda f: _fewest(f, -1), 1),
    "more people than rows": (lambda f: _fewest(f, 10_000), 1),
    "people moved between classes": (lambda f: (_fewest(f, 1), None), 1),
    "a value held by nobody": (lambda f: _of_values(f, 0, -50), 3),
    "a value held by more than have rows": (lambda f: _of_values(f, 0, 1_000), 1),
    "everybody without a value": (lambda f: f.params["people"]["sensitive"]["ill"].update(with_value=None), 1),
    "another total": (lambda f: f.params["people"]["sensitive"]["ill"].update(anybody=1), 1),
    "a total as a text": (lambda f: f.params["people"]["sensitive"]["ill"].update(anybody="9"), 3),
    "a higher k": (lambda f: f.report["guarantee"]["parameters"].update(k=30), 1),
    "risks of rows": (
        lambda f: f.report["disclosure_risk"].update(class_sizes=[{"size": 28, "classes": 1, "records": 28}]), 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_people_are_found(untouched: Path, tmp_path: Path, forgery: str) -> None:
    """All files and hashes rewritten: what the rows of the table, or the report, contradict is never a pass."""
    edit, code = FORGERIES[forgery]
    assert verdict(forged(Files.read(untouched), edit, tmp_path))[0] == code


@pytest.mark.quick_cases("250-greedy-hamdist")
@pytest.mark.parametrize("method", ["rfka", "mondrian", "greedy-hamdist"])
@pytest.mark.parametrize("rows", [pytest.param(100_000, marks=pytest.mark.slow), 250])
def test_every_path_binds_by_the_same_definition(method: str, rows: int, tmp_path: Path) -> None:
    """With all rows or a sample, the search's k, l, alpha and t of people are those of the files, and validate."""
    with LocalEngine(search_rows=rows) as engine:
        made = released(
            visits(), tmp_path, method=method, engine=engine, alpha=0.9, t=0.9, entropy_l=1.1, recursive="9,2",
            **({} if method == "mondrian" else {"max_suppression": 0.6}),
        )  # fmt: skip
    assert anonkit.validate(tmp_path / "out.parquet").passed
    assert made.report["disclosure_risk"]["l_diversity"]["ill"]["l"] >= 2


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rfka", "mondrian"])
def test_spark_binds_by_the_same_definition(method: str, spark: Any, tmp_path: Path) -> None:
    """Sampled on Spark: the recoding is the local engine's, and so are the published counts of people."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    more: dict[str, Any] = {} if method == "mondrian" else {"max_suppression": 0.6}
    made = []
    with LocalEngine(search_rows=250) as local, SparkEngine(session=spark, search_rows=250) as remote:
        for engine in (local, remote):
            given = {"method": method, "engine": engine, "alpha": 0.9, "t": 0.9, "seed": 4, **more}
            made.append(released(visits(), tmp_path, force=True, **given))
    assert made[0].params == made[1].params
    assert made[0].report["disclosure_risk"] == made[1].report["disclosure_risk"]
    assert made[0].report["rows"] == made[1].report["rows"]


def test_the_next_batch_is_counted_in_people(untouched: Path, tmp_path: Path) -> None:
    """apply: k of people in the new rows, the block of counts beside them."""
    made = anonkit.apply(
        untouched, visits(400, seed=2), output=tmp_path / "b.parquet", max_suppression=0.5, ledger=None
    )
    assert made.report["disclosure_risk"]["k_anonymity"]["people"] >= 4
    assert anonkit.validate(tmp_path / "b.parquet").passed


@pytest.mark.quick_cases("250")
@pytest.mark.parametrize("rows", [100_000, 250])
def test_rows_of_nobody_are_left_out_and_said(rows: int) -> None:
    """Rows without a unit fill no class: they go, report and terminal state their number, or the policy refuses."""
    table = visits()
    table.loc[table.index % 11 == 0, "who"] = None
    table.loc[table.index % 50 == 7, "who"] = " "
    nobody = int((table["who"].isna() | (table["who"] == " ")).sum())
    with LocalEngine(search_rows=rows) as engine:
        made = released(table, engine=engine, max_suppression=0.3)
        assert made.report["rows"]["dropped_without_unit"] == nobody
        counts = made.report["rows"]
        assert counts["in"] == counts["out"] + counts["suppressed"] + nobody + counts["dropped_missing"]
        assert any("belong to nobody who could be counted" in note for note in made.report["notes"])
        strict = Policy.from_dict({"columns": {"who": {"role": "unit", "missing": "error"}}})
        with pytest.raises(PolicyError, match=r"unit column 'who' is missing in \d+ rows"):
            released(table, engine=engine, policy=strict, unit=None)


def test_one_person_is_one_however_the_number_is_spelled() -> None:
    """Seven spellings of one number are one person: they fill no class of two."""
    spellings = ["7", "7.0", " 7", "07", "7e0", "7.00", "+7"]
    table = pd.DataFrame({"who": [*spellings, *"abcdefg"], "q": ["x"] * 7 + ["y"] * 7, "label": list("nynynyn") * 2})
    made = anonkit.release(table, method="rfka", k=2, unit="who", target="label", trees=5, ledger=None)
    assert "q" not in made.to_arrow().column_names


@pytest.mark.quick_cases("150-rfka-True")
@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("method", ["rfka", "mondrian"])
@pytest.mark.parametrize("rows", [100_000, 150])
def test_missing_is_a_sensitive_value_only_where_declared(
    method: str, rows: int, declared: bool, tmp_path: Path
) -> None:
    """Search and checker agree: a class of hiv and missing meets l = 2 only under missing = "category"."""
    cells = ["hiv", "flu", None, "hiv"] * 100
    table = pd.DataFrame({"q": ["x", "y"] * 200, "s": cells, "label": list("yn") * 200})
    how = {"missing": "category"} if declared else {}
    policy = Policy.from_dict({"columns": {"s": {"role": "sensitive", **how}}})
    with LocalEngine(search_rows=rows) as engine:
        more = {"trees": 5} if method == "rfka" else {}
        anonkit.release(
            table, method=method, k=4, l=2, policy=policy, target="label", engine=engine, ledger=None,
            output=tmp_path / "out.parquet", **more,
        )  # fmt: skip
    made = anonkit.load(tmp_path / "out.parquet")
    assert ("q" in made.to_arrow().column_names) == declared
    assert made.report["guarantee"]["parameters"]["missing_is_value"] == (["s"] if declared else [])
    assert anonkit.validate(tmp_path / "out.parquet").passed
    column = next(one for one in made.params["columns"] if one["name"] == "s")
    assert column["missing_is_value"] is declared
    again = anonkit.apply(tmp_path / "out.parquet", table, ledger=None)
    assert again.report["guarantee"]["parameters"] == made.report["guarantee"]["parameters"]
