"""The dossier: for its owner alone, true to the source and the release, and in no file that is handed out.

Raw risk of a source table.

Pairs of columns before and after, against tables that are counted in another way.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.engines import LocalEngine
from anonkit.errors import ParameterError, SourceError
from anonkit.pipeline.dossier import MOST_COLUMNS, MOST_VALUES, pair_changes, source_risk
from anonkit.pipeline.stored_dossier import stored_dossier, write_stored_dossier
from anonkit.policy.declaration import Policy


def test_people_are_counted_where_a_unit_is_declared() -> None:
    """The raw risk is that of people then, however many rows they have."""
    table = pa.table({"who": ["1", "1", "2", "3"], "town": ["x", "x", "x", "y"]})
    policy = Policy.from_dict({"columns": {"who": {"role": "unit"}, "town": {"role": "quasi_identifier"}}})
    with closing(LocalEngine()) as engine:
        raw = source_risk(engine.scan(table, policy), engine, policy, 0.2)
        nothing = source_risk(engine.scan(table, policy), engine, Policy.from_dict({"columns": {
            "who": {"role": "identifier"}, "town": {"role": "insensitive"}}}), 0.2)  # fmt: skip

    assert (raw["counted"], raw["classes"], raw["k"], raw["uniques"]) == ("people", 2, 1, 1)
    assert raw["prosecutor"]["mean"] == pytest.approx(2 / 3)
    assert nothing == {}


Row = tuple[str | None, str | None]
ROWS = st.lists(
    st.tuples(st.none() | st.sampled_from("abc"), st.none() | st.sampled_from("xyz")), min_size=1, max_size=30
)


def drawn(*names: str, role: str = "quasi_identifier") -> list[dict[str, str]]:
    """Columns of a report whose cells are drawn from a model."""
    return [{"name": name, "role": role, "action": "synthesized"} for name in names]


def table(rows: list[Row]) -> pa.Table:
    """Two columns of text."""
    one, other = zip(*rows, strict=True)
    return pa.table({"one": pa.array(one, pa.string()), "other": pa.array(other, pa.string())})


def dependence(rows: list[Row]) -> Fraction:
    """Half the sum of what each cell's share differs by from the product of its margins."""
    joint, one, other = Counter(rows), Counter(row[0] for row in rows), Counter(row[1] for row in rows)
    n = len(rows)
    return (
        sum(
            (abs(Fraction(joint[a, b], n) - Fraction(one[a] * other[b], n * n)) for a, b in product(one, other)),
            Fraction(),
        )
        / 2
    )


@given(before=ROWS, after=ROWS)
def test_distance_and_dependence_are_those_of_exact_tables(before: list[Row], after: list[Row]) -> None:
    """Missing is a value; values that only the release has are one more, those of the source each by itself."""
    found = pair_changes(table(before), table(after), drawn("one", "other"))

    assert found is not None
    (pair,) = found["pairs"]
    known = [{row[at] for row in before} for at in (0, 1)]
    told = [tuple(v if v is None or v in known[at] else "other" for at, v in enumerate(row)) for row in after]
    first, second = Counter(before), Counter(told)
    expected = (
        sum(
            abs(Fraction(first[row], len(before)) - Fraction(second[row], len(after)))  # type: ignore[index]
            for row in {*first, *second}
        )
        / 2
    )
    assert pair["distance"] == pytest.approx(float(expected), abs=1e-4)
    assert pair["dependence"]["before"] == pytest.approx(float(dependence(before)), abs=1e-4)
    assert pair["dependence"]["after"] == pytest.approx(float(dependence(told)), abs=1e-4)  # type: ignore[arg-type]


def test_what_two_samples_of_one_table_differ_by_is_told() -> None:
    """The figure by chance is that of tables which were drawn from one distribution."""
    random = np.random.default_rng(1)
    sides = [pa.table({name: random.integers(0, 60, 4_000) / 10 for name in "abcdefgh"}) for _ in range(2)]
    found = pair_changes(*sides, drawn(*"abcdefgh"))

    assert found is not None
    assert found["by_chance"] == pytest.approx(found["mean_distance"], rel=0.15)


def test_numbers_stand_in_ranges_and_a_cell_without_one_apart() -> None:
    """A number that the release moves within its range changes nothing; one that is missing does."""
    source = pa.table({"age": [21, 22, 35, 36, None], "sum": ["1", "2", "30", "40", "none"]})
    near = pa.table({"age": [21.6, 22.4, 35.5, 36.2, float("nan")], "sum": [1.0, 2.0, 30.0, 40.0, None]})
    found = pair_changes(source, near, drawn("age", "sum"))
    assert found is not None
    assert found["mean_distance"] == 0
    binned = pa.table({"age": [25.0, 25.0, 37.5, 37.5, None], "sum": [20.0, 20.0, 20.0, 20.0, None]})
    few = pair_changes(source, binned, drawn("age", "sum"))
    assert few is not None
    assert few["mean_distance"] == 0, "a released number stands for the range around it"
    gone = near.set_column(0, "age", pa.array([None] * 5, pa.float64()))
    assert (pair_changes(source, gone, drawn("age", "sum")) or {})["mean_distance"] == pytest.approx(0.8)


def test_rare_values_are_one_and_a_wide_table_is_cut() -> None:
    """At most so many values and columns are compared."""
    values = [f"v{at:02d}" for at in range(MOST_VALUES + 5)]
    shown = pa.table({"a": values + values[:20], "b": ["x", "y"] * 22 + ["x"]})
    rare = [*values[:20], *([values[-1]] * 5), *values[:20]]
    found = pair_changes(shown, shown.set_column(0, "a", pa.array(rare)), drawn("a", "b"))
    assert found is not None
    assert found["mean_distance"] == 0
    names = [f"c{at}" for at in range(MOST_COLUMNS + 3)]
    wide = pa.table({name: ["x", "y"] for name in names})
    cut = pair_changes(wide, wide, drawn(*names))
    assert cut is not None
    assert (len(cut["columns"]), len(cut["pairs"])) == (MOST_COLUMNS, MOST_COLUMNS * (MOST_COLUMNS - 1) // 2)


@pytest.mark.parametrize(
    "columns",
    [
        drawn("one"),
        [*drawn("one"), {"name": "other", "role": "quasi_identifier", "action": "randomized"}],
        [*drawn("one"), *drawn("other", role="unit")],
        drawn("one", "absent"),
    ],
    ids=["one column", "not drawn", "names people", "not released"],
)
def test_there_is_nothing_to_compare(columns: list[dict[str, Any]]) -> None:
    """Two columns at least are drawn from a model and name nobody."""
    assert pair_changes(table([("a", "x")]), table([("a", "x")]), columns) is None
    assert pair_changes(table([("a", "x")]), table([("a", "x")]).slice(1), drawn("one", "other")) is None


NAMES = ("cook", "nurse", "smith", "miller")
ONCE = "unheard-of trade"
"""A value that one row has and nobody declared."""
WHO = "Ann Example "

DECLARED: dict[str, Any] = {
    "dataset": "people of the town",
    "publication": {"recipients": ["the archive"], "purpose": "a history of the town"},
    "columns": {
        "who": {"role": "identifier"},
        "age": {"bounds": [20, 59]},
        "job": {"role": "quasi_identifier"},
        "sum": {"role": "sensitive"},
        "label": {"role": "target", "categories": ["a", "b"]},
    },
}
NOISY: dict[str, Any] = {
    **DECLARED,
    "columns": {
        **DECLARED["columns"],
        "job": {"categories": list(NAMES)},
        "sum": {"role": "sensitive", "bounds": [0, 100]},
    },
}
FAMILIES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "mondrian": (DECLARED, {"k": 3}),
    "datafly": (DECLARED, {"k": 3, "max_suppression": 0.3}),
    "rr": (NOISY, {"epsilon": 4.0}),
    "dp-nb": (NOISY, {"epsilon": 2.0}),
}


def people(job: str = ONCE) -> pa.Table:
    """Sixty people, one with a trade of their own."""
    return pa.table(
        {
            "who": [f"{WHO}{at}" for at in range(60)],
            "age": [20 + at % 40 for at in range(60)],
            "job": [job, *(NAMES[at % 4] for at in range(59))],
            "sum": [float(at % 7) for at in range(60)],
            "label": ["ab"[at % 2] for at in range(60)],
        }
    )


@pytest.fixture(scope="module", params=FAMILIES)
def released(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a source, a release of each family in `out`, and its dossier in `own`."""
    folder = tmp_path_factory.mktemp("dossier")
    declared, parameters = FAMILIES[request.param]
    pyarrow.csv.write_csv(people(), folder / "town.csv")
    anonkit.release(
        folder / "town.csv", method=request.param, output=folder / "out" / "town-2026.parquet",
        policy=Policy.from_dict(declared), owner_report=folder / "own", ledger=None, **parameters,
    )  # fmt: skip
    return folder


@pytest.mark.quick_cases("datafly", "dp-nb")
def test_only_the_owner_can_read_it_and_nothing_of_it_is_handed_out(released: Path) -> None:
    """Files 0600 in a folder 0700 that was made for them; no file of the release, and no signature, knows of it."""
    own, out = released / "own", released / "out"

    assert own.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in own.iterdir()} == {
        "owner.report.json": 0o600, "town-2026.dossier.html": 0o600,
    }  # fmt: skip
    for path in out.iterdir():
        assert b".dossier.html" not in path.read_bytes()
        assert b"raw_risk" not in path.read_bytes()
        assert b"a history of the town" not in path.read_bytes()
    assert anonkit.validate(out / "town-2026.parquet").passed


def test_it_names_the_dataset_and_the_real_files(released: Path) -> None:
    """The title is the dataset's name; release and source are there by the names of their files."""
    page = (released / "own" / "town-2026.dossier.html").read_text(encoding="utf-8")

    assert "<h1><bdi>people of the town</bdi></h1>" in page
    assert "<code>town-2026.parquet</code>" in page
    assert "<code>town.csv</code>" in page
    assert "out.parquet" not in page
    assert "DO NOT PUBLISH" in page
    assert "the archive" in page
    assert page.count("<div>Signature</div>") == 2


def test_no_cell_of_few_rows_is_in_it(released: Path) -> None:
    """Without examples neither a name nor a value that one row has is in the page or in the figures."""
    for path in (released / "own").iterdir():
        text = path.read_text(encoding="utf-8")
        assert ONCE not in text
        assert WHO not in text


def test_raw_risk_is_that_of_the_source(released: Path) -> None:
    """Counted here row by row: groups of the quasi-identifiers, the smallest, those alone, and every risk."""
    owner = json.loads((released / "own" / "owner.report.json").read_text(encoding="utf-8"))
    groups = Counter(zip(*(people().column(name).to_pylist() for name in ("age", "job")), strict=True))
    raw = owner["raw_risk"]

    assert raw["quasi_identifiers"] == ["age", "job"]
    assert (raw["rows"], raw["classes"], raw["k"]) == (60, len(groups), min(groups.values()))
    assert raw["uniques"] == sum(size == 1 for size in groups.values())
    assert raw["prosecutor"]["max"] == 1 / min(groups.values())
    assert raw["prosecutor"]["mean"] == pytest.approx(len(groups) / 60)
    assert raw["prosecutor"]["share_at_risk"] == sum(size for size in groups.values() if size < 5) / 60
    assert raw["marketer"]["success_rate"] == pytest.approx(len(groups) / 60)


def test_a_stored_release_has_the_same_dossier(released: Path) -> None:
    """Made again from the files and the source: the same risk and the same columns, and nothing of it was drawn."""
    release = anonkit.load(released / "out" / "town-2026.parquet")
    method = release.report["method"]["name"]
    before = {path.name: path.read_bytes() for path in (released / "out").iterdir()}

    made = stored_dossier(release, released / "town.csv", policy=Policy.from_dict(FAMILIES[method][0]))
    _, page = write_stored_dossier(made, release, released / "again")
    first, again = (
        json.loads((released / folder / "owner.report.json").read_text(encoding="utf-8")) for folder in ("own", "again")
    )

    for key in ("raw_risk", "column_changes", "publication", "data_sha256", "source_table", "source"):
        assert first.get(key) == again.get(key), key
    assert {path.name: path.read_bytes() for path in (released / "out").iterdir()} == before
    assert page.read_text(encoding="utf-8").count("<figure>") == 5


def test_what_the_release_tells_is_enough_to_read_the_source(released: Path) -> None:
    """Without the policy the same groups are counted; nobody is named as a recipient, and lines are left to fill in."""
    release = anonkit.load(released / "out" / "town-2026.parquet")
    first = json.loads((released / "own" / "owner.report.json").read_text(encoding="utf-8"))

    made = stored_dossier(release, released / "town.csv")

    assert made.figures["raw_risk"] == first["raw_risk"]
    assert made.figures["publication"]["recipients"] == []


def test_another_table_is_refused(released: Path) -> None:
    """A column too many or too few is named."""
    release = anonkit.load(released / "out" / "town-2026.parquet")

    with pytest.raises(SourceError, match="knows no column 'extra'"):
        stored_dossier(release, people().append_column("extra", pa.array(range(60))))
    with pytest.raises(SourceError, match="lacks column 'age'"):
        stored_dossier(release, people().drop_columns(["age"]))


@pytest.mark.parametrize("inside", ["out/x/mine", "out/x/x.parquet/mine", "y.parquet/mine"])
def test_no_folder_that_is_handed_out_takes_it(tmp_path: Path, inside: str) -> None:
    """Neither below a release that has a folder for itself, nor among the files of a folder of data."""
    output, part_rows = (tmp_path / "y.parquet", 10) if inside.startswith("y") else (f"{tmp_path}/out/x/", None)

    with pytest.raises(ParameterError, match="folder of the release"):
        anonkit.release(
            people(), policy=Policy.from_dict(DECLARED), k=3, output=output, part_rows=part_rows,
            owner_report=tmp_path / inside, ledger=None,
        )  # fmt: skip
    assert not list(tmp_path.iterdir())


def test_a_release_in_memory_has_a_dossier(tmp_path: Path) -> None:
    """Of no file: the page has no name of a release and no hash to decide on, and it is not made later."""
    made = anonkit.release(
        people(), method="mondrian", k=3, policy=Policy.from_dict(DECLARED), owner_report=tmp_path / "own", ledger=None
    )

    page = (tmp_path / "own" / "release.dossier.html").read_text(encoding="utf-8")
    assert "a table in memory" in page
    assert "SHA-256" not in page
    with pytest.raises(ParameterError, match="in memory"):
        stored_dossier(made, people())
