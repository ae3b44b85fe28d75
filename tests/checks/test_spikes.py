"""Numbers that many hold are cells of their own: as frequent among drawn rows as in the table, and checked as such."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from checks.forgeries import Edit, Files, forged, verdict

import anonkit
from anonkit.domains.number_bins import Grid
from anonkit.domains.rounding_grid import WholeValues
from anonkit.errors import ParameterError, PolicyError
from anonkit.policy.column_declarations import Column
from anonkit.policy.declaration import Policy

KINDS: dict[str, dict[str, Any]] = {"dp-nb": {}, "dp-marginals": {}, "dp-forest": {}, "dp-tree": {}}
COLUMNS: dict[str, Any] = {
    "gain": {"type": "integer", "bounds": [0, 99999], "spikes": [99999, 0]},
    "price": {"step": 0.05, "bounds": [0, 20], "spikes": [9.95], "missing": "first"},
    "hours": {"type": "integer", "bounds": [1, 99]},
    "sex": {"categories": ["f", "m"], "missing": "first"},
    "ill": {"role": "target", "categories": ["no", "yes"]},
}


def people(n: int = 3_000) -> pa.Table:
    """Nine in ten have no gain, one in a hundred the most; half of the prices are one."""
    rng = np.random.default_rng(4)
    share = rng.random(n)
    gain = np.where(share < 0.9, 0, np.where(share < 0.91, 99999, rng.integers(1000, 15000, n)))
    price = np.where(rng.random(n) < 0.5, 9.95, np.round(400 * rng.random(n)) / 20)
    ill = np.where(rng.random(n) < 0.2 + 0.6 * (gain > 0), "yes", "no")
    return pa.table(
        {
            "gain": gain, "price": price, "hours": rng.integers(1, 100, n), "sex": rng.choice(["f", "m"], n),
            "ill": ill,
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    """One true release of each method."""
    found = {}
    for kind in KINDS:
        output = tmp_path_factory.mktemp("true") / "out.parquet"
        anonkit.release(
            people(), method=kind, policy={"columns": COLUMNS}, epsilon=4.0, output=output, ledger=None, **KINDS[kind]
        )
        found[kind] = Files.read(output)
    return found


@pytest.mark.quick_cases("dp-tree", "dp-forest")
@pytest.mark.parametrize("kind", KINDS)
def test_spikes_are_as_frequent_as_in_the_table(releases: dict[str, Files], kind: str, tmp_path: Path) -> None:
    """Within two in a hundred rows; without them no row has either value of the gain. The release validates."""
    truth, shown = people().to_pandas(), releases[kind].table.to_pandas()
    for name, value in (("gain", 0), ("gain", 99999), ("price", 9.95)):
        assert abs((shown[name] == value).mean() - (truth[name] == value).mean()) < 0.02, (name, value)
    assert pa.types.is_int64(releases[kind].table.schema.field("gain").type)
    (stated,) = (own["domain"] for own in releases[kind].params["columns"] if own["name"] == "gain")
    assert stated["spikes"] == [0, 99999]
    assert verdict(forged(releases[kind], lambda files: None, tmp_path)) == (0, ())
    plain = {**COLUMNS, "gain": {"type": "integer", "bounds": [0, 99999]}}
    asked = {"policy": {"columns": plain}, "epsilon": 4.0, "seed": 1, "spikes": "declared"}
    other = anonkit.release(people(), method=kind, ledger=None, **asked)
    if kind in ("dp-nb", "dp-marginals"):
        assert not (other.to_pandas()["gain"] == 0).any()


def domain(name: str, places: tuple[str, ...] = ("columns", "attributes"), **keys: Any) -> Edit:
    """Change the domain of a column in the params."""

    def edit(files: Files) -> None:
        for place in places:
            next(own for own in files.params[place] if own["name"] == name)["domain"].update(keys)

    return edit


FORGERIES: dict[str, Edit] = {
    "another value": domain("gain", spikes=[0, 99998]),
    "another value in the rows alone": domain("gain", ("columns",), spikes=[0, 99998]),
    "a value more": domain("gain", spikes=[0, 5, 99999]),
    "a value less": domain("gain", spikes=[0]),
    "no values": domain("gain", spikes=[]),
    "a value outside": domain("gain", spikes=[-1, 0]),
    "no number": domain("gain", spikes=["0"]),
    "other cells": domain("gain", bins=17),
    "no cells": domain("gain", bins=0),
    "cells in words": domain("gain", bins="16"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_spikes_are_refused(releases: dict[str, Files], name: str, tmp_path: Path) -> None:
    """On one method each in turn."""
    kind = [*KINDS][[*FORGERIES].index(name) % len(KINDS)]
    code, failed = verdict(forged(releases[kind], FORGERIES[name], tmp_path))
    assert code != 0
    assert failed


@pytest.mark.parametrize(
    "column",
    [
        {"bounds": [0, 9], "spikes": [0]},
        {"bounds": [0, 9], "type": "integer", "spikes": [0.5]},
        {"bounds": [0, 9], "type": "integer", "spikes": [10]},
        {"bounds": [0, 9], "type": "integer", "spikes": [1, 1]},
        {"categories": ["0"], "spikes": [0]},
        {"bounds": [0, 9], "type": "integer", "spikes": list(range(10)) * 6},
        {"bounds": [0, 9], "type": "integer", "spikes": [0], "role": "target"},
        {"bounds": [0, 9], "type": "integer", "spikes": 0},
    ],
)
def test_spikes_that_cannot_be_are_refused(column: dict[str, Any]) -> None:
    """In one line that names the column, before anything is drawn."""
    columns = {"gain": column, "hours": COLUMNS["hours"], "ill": COLUMNS["ill"] if "role" not in column else {}}
    with pytest.raises(PolicyError, match="'gain'"):
        anonkit.release(people(), method="dp-marginals", policy={"columns": columns}, epsilon=1.0, ledger=None)


@pytest.mark.parametrize("method", ["rr", "edprf", "dp-tables"])
def test_other_methods_say_that_they_have_none(method: str) -> None:
    """Their cells are equal, and nothing of spikes is in their files but the note."""
    release = anonkit.release(people(300), method=method, policy={"columns": COLUMNS}, epsilon=1.0, seed=1, ledger=None)
    assert any(note.startswith("The spikes of gain, price are no cells") for note in release.report["notes"])
    assert "spikes" not in str(release.params)


def test_grids_of_single_values_are_whole() -> None:
    """A grid says of how many equal cells it is, and of no others."""
    values = WholeValues.within(0, 9, 1, [3])
    assert values.cells_of(2) == 4
    for wrong in (
        {"cells": 5, "bins": 2},
        {"cells": 4, "bins": 0},
        {"cells": 4, "bins": -2},
        {"cells": 10, "bins": 11},
    ):
        with pytest.raises(ParameterError, match="single values"):
            Grid(lower=0, upper=9, values=values, **wrong)
    with pytest.raises(ParameterError, match="single values"):
        Grid(lower=0, upper=9, cells=4, bins=4)
    for spikes in ([3, 3], [10], [0.5]):
        with pytest.raises(ParameterError, match="spikes"):
            WholeValues.within(0, 9, 1, spikes)
    assert (
        Policy(columns={"n": Column(name="n", bounds=(0, 9), step=1, spikes=(0,))}).without_rules().columns["n"].spikes
        == ()
    )
