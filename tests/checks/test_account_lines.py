"""Spikes that were found privately: as frequent as in the table, paid for, and refused where files say otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from checks.forgeries import Edit, Files, forged, verdict
from checks.test_spikes import people

import anonkit
from anonkit.errors import ParameterError

COLUMNS: dict[str, Any] = {
    "gain": {"type": "integer", "bounds": [0, 99999]},
    "price": {"step": 0.05, "bounds": [0, 20], "missing": "first"},
    "hours": {"type": "integer", "bounds": [1, 99], "spikes": [40]},
    "sex": {"categories": ["f", "m"], "missing": "first"},
    "ill": {"role": "target", "categories": ["no", "yes"]},
}
KINDS = ("dp-nb", "dp-marginals", "dp-forest", "dp-tree")


def released(kind: str, output: Path | None = None, **asked: Any) -> Any:
    """A release at a large epsilon: two columns are searched, one has spikes of its own."""
    columns = asked.pop("columns", COLUMNS)
    return anonkit.release(
        people(), method=kind, policy={"columns": columns, **asked.pop("rules", {})}, output=output, ledger=None,
        **{"epsilon": 20.0, **asked},
    )  # fmt: skip


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    """One true release of each method."""
    found = {}
    for kind in KINDS:
        output = tmp_path_factory.mktemp("true") / "out.parquet"
        released(kind, output)
        found[kind] = Files.read(output)
    return found


@pytest.mark.slow_cases("dp-nb")
@pytest.mark.parametrize("kind", KINDS)
def test_frequent_values_are_found_and_shown(releases: dict[str, Files], kind: str, tmp_path: Path) -> None:
    """Nobody named 0, which nine in ten have; the release validates, and says what was found and what it cost."""
    files = releases[kind]
    truth, shown = people().to_pandas(), files.table.to_pandas()
    assert abs((shown["gain"] == 0).mean() - (truth["gain"] == 0).mean()) < 0.02
    assert [(one["name"], one["every"]) for one in files.params["spikes"]] == [("gain", 1000), ("price", 0.5)]
    (stated,) = (own["domain"] for own in files.params["columns"] if own["name"] == "gain")
    assert stated["spikes"] == [0]
    (note,) = (note for note in files.report["notes"] if note.startswith("Values of gain"))
    assert note.endswith(": 0.")
    costs = {line["name"]: line["epsilon"] for line in files.report["budget"]["domains"]}
    assert costs == pytest.approx({"spikes of gain": 0.4, "spikes of price": 0.4})
    assert verdict(forged(files, lambda files: None, tmp_path)) == (0, ())


def histogram(**keys: Any) -> Edit:
    """Change the histogram of the gain."""
    return lambda files: files.params["spikes"][0].update(keys)


def _without_line(files: Files) -> None:
    files.params["accounting"] = [one for one in files.params["accounting"] if one["purpose"] != "spikes of gain"]
    files.report["budget"]["domains"] = [
        one for one in files.report["budget"]["domains"] if one["name"] != "spikes of gain"
    ]


def _cheaper(files: Files) -> None:
    for one in (*files.params["accounting"], *files.params["spikes"]):
        if "spikes of gain" in one.values() or one.get("name") == "gain":
            one["rate"] //= 2


def _counted(files: Files) -> None:
    files.params["spikes"][0]["counts"][5] += 10_000


def _as_if_declared(files: Files) -> None:
    _without_line(files)
    del files.params["spikes"][0]


def _not_searched(files: Files) -> None:
    for place in (files.params["parameters"], files.params["method_parameters"], files.report["method"]["parameters"]):
        place["spikes"] = "declared"


FORGERIES: dict[str, Edit] = {
    "no line in the account": _without_line,
    "half of the rate": _cheaper,
    "another count": _counted,
    "a lower threshold": histogram(threshold=1),
    "other candidates": histogram(every=10),
    "a count too few": lambda files: files.params["spikes"][0]["counts"].pop(),
    "counts in words": histogram(counts=["1"]),
    "another column": histogram(name="hours"),
    "no column": histogram(name="sex"),
    "a key more": histogram(exact=2_700),
    "no histogram": lambda files: files.params.pop("spikes"),
    "as if the policy had named it": _as_if_declared,
    "as if nothing was searched": _not_searched,
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_search_is_refused(releases: dict[str, Files], name: str, tmp_path: Path) -> None:
    """On one method each in turn."""
    kind = KINDS[[*FORGERIES].index(name) % len(KINDS)]
    code, failed = verdict(forged(releases[kind], FORGERIES[name], tmp_path))
    assert code != 0
    assert failed


RULED = {"constraints": [{"never": {"gain": [50, 99], "sex": "f"}}]}
SEARCHED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "all of epsilon": ({"spikes": "declared"}, []),
    "a delta": ({"delta": 1e-6}, []),
    "a rule": ({"rules": RULED}, ["price"]),
    "as many bins": ({"bins": 401}, ["gain"]),
}


@pytest.mark.parametrize("name", SEARCHED)
def test_columns_that_are_not_searched(name: str, tmp_path: Path) -> None:
    """Of a release without search nothing is paid for it; all of them validate."""
    asked, expected = SEARCHED[name]
    output = tmp_path / "out.parquet"
    release = released("dp-nb", output, **asked)
    assert [one["name"] for one in release.params.get("spikes", [])] == expected
    assert verdict(output) == (0, ())


def test_cells_of_trees_are_not_searched() -> None:
    """They show no rows."""
    release = released("dp-forest", as_="cells")
    assert "spikes" not in release.params


def test_a_table_without_rows_is_searched_alike() -> None:
    """The draws that are made do not depend on the rows."""
    empty = people(1).slice(0, 0)
    release = anonkit.release(empty, method="dp-nb", policy={"columns": COLUMNS}, epsilon=1.0, seed=1, ledger=None)
    assert isinstance(empty, pa.Table)
    assert [one["name"] for one in release.params["spikes"]] == ["gain", "price"]


def test_a_note_names_a_value_with_all_of_its_digits() -> None:
    """The bound at which a third of 3,000 rows is has seven digits."""
    columns = {"weight": {"type": "integer", "bounds": [12285, 1484705]}, "ill": COLUMNS["ill"]}
    rows = pa.table({"weight": [1484705, 20_001, 30_001] * 1_000, "ill": ["no", "yes", "no"] * 1_000})
    release = anonkit.release(rows, method="dp-nb", policy={"columns": columns}, epsilon=20.0, ledger=None)
    (note,) = (note for note in release.report["notes"] if note.startswith("Values of weight"))
    assert note.endswith(": 1484705.")


def test_a_search_that_is_not_known_is_refused() -> None:
    """In one line that names the words."""
    with pytest.raises(ParameterError, match="spikes"):
        released("dp-nb", spikes="all")
