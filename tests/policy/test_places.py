"""Places in a policy: two columns that become one cell, row by row; boxes, poles and the antimeridian."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.named_parts import cell_name
from anonkit.errors import MissingDependencyError, PolicyError
from anonkit.policy.declaration import Policy
from anonkit.policy.declared_cells import place_cells, settling
from anonkit.policy.places import GeographicPlace, StatedPlace, outlines
from anonkit.policy.public_domains import public_attribute

LATITUDES, LONGITUDES = st.floats(-90, 90), st.floats(-180, 180)
BERLIN, MUNICH = "831f18fffffffff", "831f8dfffffffff"
ONE = {"latitude": "lat", "longitude": "lon"}


def policy(**spec: Any) -> Policy:
    """A policy with one place."""
    return Policy.from_dict({"places": {"home": {**ONE, **spec}}})


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        ({"places": {"home": {"latitude": "lat"}}}, "needs both columns"),
        ({"places": {"home": {"latitude": "lat", "longitude": "lat"}}}, "two columns"),
        ({"places": {"home": {**ONE, "resolution": 7}}}, "unknown key"),
        ({"places": {"home": {**ONE, "resolutions": [5, 7]}}}, "finest first"),
        ({"places": {"home": {**ONE, "resolutions": [7.5]}}}, "whole numbers"),
        ({"places": {"home": {**ONE, "box": [1, 2, 3]}}}, "box must be"),
        ({"places": {"home": {**ONE, "box": [55, 5, 47, 15]}}}, "south < north"),
        ({"places": {"home": {**ONE, "box": [47, 5, 95, 15]}}}, "south < north"),
        ({"places": {"home": {**ONE, "cells": ["Berlin"]}}}, "H3 cells"),
        ({"places": {"home": {**ONE, "cells": [BERLIN, BERLIN]}}}, "each once"),
        ({"places": {"home": {**ONE, "cells": [BERLIN, "821f1ffffffffff"]}}}, "one resolution"),
        ({"places": {"home": {**ONE, "cells": [BERLIN], "box": [47, 5, 55, 15]}}}, "exclude each other"),
        ({"places": {"home": {**ONE, "outside": "clamp"}}}, "for bounds"),
        ({"places": {"home": ONE}, "columns": {"home": {}}}, "a column and a place"),
    ],
)
def test_what_is_no_place_is_refused(raw: dict[str, Any], rule: str) -> None:
    """One column, unknown keys, boxes that are none, cells that are none."""
    with pytest.raises(PolicyError, match=rule):
        Policy.from_dict(raw)


def test_a_place_needs_its_columns_and_keeps_them_from_being_released() -> None:
    """They are identifiers, whatever a command line says; the place comes behind the columns of the table."""
    resolved = policy().resolve(["lat", "lon", "y"])
    assert {name: str(column.role) for name, column in resolved.columns.items()} == {
        "lat": "identifier",
        "lon": "identifier",
        "y": "target",
        "home": "quasi_identifier",
    }
    with pytest.raises(PolicyError, match="'lon' is not in the table"):
        policy().resolve(["lat", "y"])
    with pytest.raises(PolicyError, match="called as a column"):
        policy().resolve(["lat", "lon", "home", "y"])
    with pytest.raises(PolicyError, match="may not be released"):
        policy().with_roles(quasi_identifiers=["lat"]).resolve(["lat", "lon", "y"])


def settled_places(spec: dict[str, Any], latitudes: list[Any], longitudes: list[Any], *, by_cell: bool) -> list[Any]:
    """The cells of some rows; no coordinate is left in its column."""
    table = Policy(columns=policy(**spec).columns, cell_by_cell=by_cell)
    batch = pa.record_batch({"lat": latitudes, "lon": longitudes, "y": ["a"] * len(latitudes)})
    function = settling(batch.schema, table)
    assert function is not None
    out = function(batch, 0)
    assert out.column("lat").null_count == out.column("lon").null_count == len(latitudes)
    return list(out.column("home").to_pylist())


@given(latitude=LATITUDES, longitude=LONGITUDES, finest=st.integers(3, 9), coarser=st.integers(0, 9))
def test_the_outline_of_a_cell_holds_every_place_that_is_told_by_it(
    latitude: float, longitude: float, finest: int, coarser: int
) -> None:
    """Also a place that lies beyond the corner of its ancestor: children reach a little beyond their parent."""
    coarser = min(coarser, finest)
    place = GeographicPlace(**ONE)
    (code,) = place.codes(np.array([latitude]), np.array([longitude]), finest).tolist()
    name = cell_name(code // 7 ** (finest - coarser), coarser)
    south, west, north, east = outlines([name])[name]["bounds"]
    assert south <= latitude <= north
    assert west <= longitude <= east if west <= east else longitude >= west or longitude <= east


def test_without_resolutions_a_box_has_the_finest_of_at_most_64_cells() -> None:
    """A function of the box; with them, as declared, and never more than 2000."""
    germany = [47.2, 5.8, 55.1, 15.1]
    bins = policy(box=germany).column("home").bins
    assert bins is not None
    assert 0 < len(bins.labels) <= 64
    finer = policy(box=germany, resolutions=[4, 2, 1]).column("home").bins
    assert finer is not None
    assert {len(path) for path in finer.tree} == {3}
    for resolutions in ([7], [15]):
        with pytest.raises(PolicyError, match="more than 2000"):
            public_attribute(policy(box=germany, resolutions=resolutions).column("home"))
    with pytest.raises(PolicyError, match="no public domain"):
        public_attribute(policy().column("home"))


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 4; a policy without places never needs it."""
    monkeypatch.setitem(sys.modules, "h3", None)
    monkeypatch.setitem(sys.modules, "h3.api.basic_int", None)
    with pytest.raises(MissingDependencyError, match="not installed") as refused:
        settled_places({}, [52.5], [13.4], by_cell=False)
    assert refused.value.exit_code == 4
    assert "anonkit[geo]" in str(refused.value.hint)


def test_a_place_comes_back_from_the_params() -> None:
    """`anonkit apply` reads the next batch by what the params say."""
    place = policy(box=[47, 5, 55, 15], resolutions=[6, 4]).column("home").place
    assert place is not None
    assert GeographicPlace.of(StatedPlace.from_params(place.stated.to_params()), "place 'home'") == place
    assert place_cells(policy(), ["lat"]) == ()
