"""The dossier: for its owner alone, true to the source and the release, and in no file that is handed out."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import anonkit
from anonkit.engines import LocalEngine
from anonkit.errors import ParameterError, SourceError
from anonkit.ledger.source_rows import SourceRows
from anonkit.pipeline.example_rows import example_rows
from anonkit.pipeline.stored_dossier import stored_dossier, write_stored_dossier
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness

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


# --- example rows ----------------------------------------------------------------------------------------------------


def test_examples_show_what_the_release_shows(released: Path) -> None:
    """A recoded row has a row in the release that looks like it, or is said to be left out; noise has no such rows."""
    release = anonkit.load(released / "out" / "town-2026.parquet")
    declared = Policy.from_dict(FAMILIES[release.report["method"]["name"]][0])
    with closing(LocalEngine()) as engine:
        policy = declared.resolve(people().column_names)
        rows = SourceRows(table=engine.scan(people(), policy), engine=engine, policy=policy)
        shown = example_rows(rows, release.to_arrow(), release.params, Randomness.seeded(1), 60)

    assert all("who" not in row for row in shown["before"])
    assert len(shown["before"]) == 60
    if "recoding" not in release.params:
        assert shown["corresponds"] is False
        assert len(shown["after"]) == min(60, release.to_arrow().num_rows)
        return
    names = [name for name in release.to_arrow().column_names if name not in ("sum", "label")]
    there = Counter(tuple(row[name] for name in names) for row in release.to_arrow().to_pylist())
    told = Counter(tuple(row[name] for name in names) for row in shown["after"] if row is not None)
    assert told == there
    assert shown["after"].count(None) == 60 - release.to_arrow().num_rows


def test_examples_stand_on_the_page_and_nowhere_else(tmp_path: Path) -> None:
    """They are cells of people: in the page when they are requested, never in the JSON."""
    anonkit.release(
        people(), method="mondrian", k=3, policy=Policy.from_dict(DECLARED), output=tmp_path / "out" / "x.parquet",
        owner_report=tmp_path / "own", examples=60, ledger=None,
    )  # fmt: skip

    assert ONCE in (tmp_path / "own" / "x.dossier.html").read_text(encoding="utf-8")
    assert WHO not in (tmp_path / "own" / "x.dossier.html").read_text(encoding="utf-8")
    assert ONCE not in (tmp_path / "own" / "owner.report.json").read_text(encoding="utf-8")
    with pytest.raises(ParameterError, match="example rows are only in the dossier"):
        anonkit.release(people(), policy=Policy.from_dict(DECLARED), examples=3, ledger=None)


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
