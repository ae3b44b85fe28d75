"""Every written form through every source and method: under a seed the rows of the same values as typed columns.

Noise reads forms that the policy declares. Under k-anonymity they are found. Each release is compared with the release
of a table whose columns are numbers, dates and moments, declared as such; the same seed makes the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.methods import example_of, make_method, method_class, method_names, method_parameters
from anonkit.policy.declaration import Policy
from tests.drafting.test_found_forms import SOURCES

N = 240
NOISY = [name for name in method_names() if "k" not in {one.name for one in method_parameters(name)}]
OF_NUMBERS = {"trr"}
"""Methods that take numbers alone."""

FORMS: dict[str, tuple[dict[str, Any], Callable[[Any], str]]] = {
    "1,234.50": ({"thousands": ","}, lambda x: f"{x:,.2f}"),
    "1.234,50": ({"decimal": ",", "thousands": "."}, lambda x: f"{x:,.2f}".translate(str.maketrans(",.", ".,"))),
    "1 234,50": ({"decimal": ",", "thousands": " "}, lambda x: f"{x:,.2f}".replace(",", "\u202f").replace(".", ",")),
    "1'234.50": ({"thousands": "'"}, lambda x: f"{x:,.2f}".replace(",", "'")),
    "$1,234.50": ({"thousands": ",", "currency": "$"}, lambda x: f"${x:,.2f}"),
    "1234.50 €": ({"currency": "€"}, lambda x: f"{x:.2f} €"),
    "12.3%": ({"percent": True}, lambda x: f"{x:.2f}%"),
    "−5": ({"decimal": "."}, lambda x: f"{-x:.2f}".replace("-", "\u2212")),
    "31.01.2020": ({"format": "%d.%m.%Y"}, lambda x: x.strftime("%d.%m.%Y")),
    "01/31/2020": ({"format": "%m/%d/%Y"}, lambda x: x.strftime("%m/%d/%Y")),
    "2020/01/31": ({"format": "%Y/%m/%d"}, lambda x: x.strftime("%Y/%m/%d")),
    "20200131": ({"format": "%Y%m%d"}, lambda x: x.strftime("%Y%m%d")),
    "31-Jan-20": ({"format": "%d-%b-%y"}, lambda x: x.strftime("%d-%b-%y")),
    "2020-01-31 10:00": ({"type": "datetime"}, lambda x: x.strftime("%Y-%m-%d %H:%M")),
    "31.01.2020 10:00": ({"type": "datetime", "format": "%d.%m.%Y %H:%M"}, lambda x: x.strftime("%d.%m.%Y %H:%M")),
}
MOMENTS = {form for form, (keys, _) in FORMS.items() if keys.get("type") == "datetime"}
DATES = {form for form, (keys, _) in FORMS.items() if "format" in keys} - MOMENTS


def _values(form: str) -> list[Any]:
    random = np.random.default_rng(sorted(FORMS).index(form))
    parts = zip(random.integers(2018, 2021, N), random.integers(1, 13, N), random.integers(13, 23, N), strict=True)
    days = [date(int(year), int(month), int(day)) for year, month, day in parts]
    if form in MOMENTS:
        return [datetime(day.year, day.month, day.day, 9, 30) for day in days]
    return days if form in DATES else [round(float(x), 1) + 1000.0 for x in random.uniform(0, 9000, N)]


def _typed(forms: list[str]) -> pa.Table:
    columns = {form: _values(form) for form in forms}
    if "−5" in columns:
        columns["−5"] = [-x for x in columns["−5"]]
    return pa.table({**columns, "label": ["no", "yes", "yes"] * (N // 3)})


def _written(forms: list[str]) -> pa.Table:
    cells = {form: [FORMS[form][1](value) for value in _values(form)] for form in forms}
    return pa.table({**cells, "label": ["no", "yes", "yes"] * (N // 3)})


def _declared(forms: list[str], *, noisy: bool, written: bool) -> Policy:
    """Declare what a method needs: under noise the domains, and of written cells the form."""
    columns: dict[str, Any] = {}
    for form in forms:
        kind = {"type": "date"} if form in DATES else {"type": "datetime"} if form in MOMENTS else {}
        columns[form] = {"role": "quasi_identifier", **({} if written and not noisy else kind)}
        if noisy:
            moment, day = ["2018-01-01T00:00", "2020-12-31T23:59"], ["2018-01-01", "2020-12-31"]
            number = [-10_000, 0] if form == "−5" else [0, 10_000]
            columns[form]["bounds"] = moment if form in MOMENTS else day if form in DATES else number
            columns[form] |= FORMS[form][0] if written else {}
    columns["label"] = {"role": "target", **({"categories": ["no", "yes"]} if noisy else {})}
    return Policy.from_dict({"columns": columns})


def same_rows(method: str, source: str, folder: Path, forms: list[str]) -> None:
    """Assert that written and typed cells make one release."""
    noisy = method in NOISY or method == "safepub"
    given: dict[str, Any] = dict(example_of(method_class(method)))
    given |= {"epsilon": 8.0} if "epsilon" in given and not noisy else {}
    made = [
        anonkit.release(
            table,
            method=make_method(method, given),
            policy=_declared(forms, noisy=noisy, written=written),
            seed=5,
            utility=False,
            ledger=None,
        )
        for table, written in ((SOURCES[source](folder / "t", _written(forms)), True), (_typed(forms), False))
    ]
    one, other = (release.to_arrow() for release in made)
    assert one.column_names == other.column_names
    assert one.to_pylist() == other.to_pylist(), method


def forms_of(method: str) -> list[str]:
    """Return the forms of the columns that a method takes."""
    return [form for form in FORMS if form not in DATES | MOMENTS] if method in OF_NUMBERS else list(FORMS)


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("method", method_names())
def test_every_form_in_every_source_and_method(method: str, source: str, tmp_path: Path) -> None:
    """All forms are columns of one table."""
    same_rows(method, source, tmp_path, forms_of(method))


@pytest.mark.quick_cases("rr")
@pytest.mark.parametrize("method", ["rr", "mondrian"])
def test_forms_are_read_as_the_values_they_are(method: str, tmp_path: Path) -> None:
    """Two methods, a text file."""
    same_rows(method, "csv", tmp_path, ["1.234,50", "12.3%", "31.01.2020"])
