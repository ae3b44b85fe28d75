# SPDX-License-Identifier: Apache-2.0
"""Households: k of them have each whole set of members, whatever the method and engine; counted, published, forged."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checks.forgeries import Edit, Files, forged
from checks.forging import at, stated_anew

import anonkit
from anonkit.errors import ParameterError, PolicyError
from anonkit.estimators.population.individual_risk import individual_risk

KNOWN = ("region", "age", "sex")
ROLES: dict[str, Any] = {
    "hid": {"role": "household"},
    "pid": {"role": "unit"},
    **{name: {"role": "quasi_identifier"} for name in KNOWN},
    "works": {"role": "insensitive"},
}


def households(n_households: int = 150, seed: int = 4) -> pa.Table:
    """Return members of households of one to four; one household has nine."""
    draw = np.random.default_rng(seed)
    sizes = [*draw.choice([1, 2, 3, 4], n_households - 1, p=[0.4, 0.35, 0.15, 0.1]).tolist(), 9]
    hid = np.repeat(np.arange(n_households), sizes)
    region = draw.choice(["north", "south"], n_households)[hid]
    rows = hid.size
    return pa.table(
        {
            "hid": hid,
            "pid": np.arange(rows) + 1000,
            "region": region,
            "age": draw.choice([20, 40, 60], rows),
            "sex": draw.choice(["f", "m"], rows),
            "works": draw.choice(["yes", "no"], rows),
        }
    )


def released(table: pa.Table, columns: dict[str, Any] = ROLES, **asked: Any) -> anonkit.Release:
    """Return a release of k = 3 households."""
    how = {
        "method": "rfka",
        "k": 3,
        "policy": {"columns": columns},
        "no_target": True,
        "ledger": None,
        "utility": False,
    }
    return anonkit.release(table, **{**how, **asked})


def sets_of(table: pa.Table, names: list[str]) -> Counter[Any]:
    """Return how many households have each multiset of members."""
    members: dict[Any, list[Any]] = defaultdict(list)
    for household, *row in zip(*(table.column(name).to_pylist() for name in ("hid", *names)), strict=True):
        members[household].append(tuple(map(str, row)))
    return Counter(tuple(sorted(rows)) for rows in members.values())


@pytest.fixture
def drafts(monkeypatch: pytest.MonkeyPatch) -> list[pa.Table]:
    """The drafts whose households are still in them, as they were counted."""
    seen: list[pa.Table] = []
    from anonkit.pipeline import output_measures

    counted = output_measures.fewest_alike

    def watched(data: Path, names: Any, unit: str) -> int:
        seen.append(pq.read_table(data))
        return counted(data, names, unit)

    monkeypatch.setattr(output_measures, "fewest_alike", watched)
    return seen


@pytest.mark.parametrize("method", ["rfka", "mondrian"])
def test_k_households_have_each_set_of_members(method: str, drafts: list[pa.Table], tmp_path: Path) -> None:
    """Counted by brute force on the draft, sizes among it; the release names neither households nor people."""
    out = tmp_path / "out.parquet"
    release = (
        released(households(), method=method, output=out, max_suppression=0.1)
        if method == "rfka"
        else released(households(), method=method, output=out)
    )
    (draft,) = drafts
    names = [name for name in KNOWN if name in draft.column_names]
    assert min(sets_of(draft, names).values()) >= 3
    assert not {"hid", "pid"} & set(pq.read_schema(out).names)
    parameters = release.report["guarantee"]["parameters"]
    assert (parameters["unit"], parameters["households"], parameters["rows_known"]) == ("hid", True, "all")
    assert "at least 3 households have exactly these" in release.report["guarantee"]["statement"]
    assert release.params["households"] is True
    found = anonkit.validate(out)
    assert found.passed, [check for check in found.checks if not check.passed]


def test_spark_counts_households_alike(spark: Any, drafts: list[pa.Table], tmp_path: Path) -> None:
    """Whole sets of members on the other engine."""
    out = tmp_path / "out.parquet"
    released(households(), output=out, max_suppression=0.1, engine="spark")
    (draft,) = drafts
    assert min(sets_of(draft, [name for name in KNOWN if name in draft.column_names]).values()) >= 3
    assert anonkit.validate(out).passed


def test_columns_of_the_household_are_recoded_once(drafts: list[pa.Table]) -> None:
    """Members of a household show one region under one recoding for all rows."""
    released(households(), max_suppression=0.1)
    (draft,) = drafts
    if "region" in draft.column_names:
        shown = set(zip(draft.column("hid").to_pylist(), map(str, draft.column("region").to_pylist()), strict=True))
        assert len(shown) == len(set(draft.column("hid").to_pylist()))


def test_by_members_alone_households_would_stand_out(tmp_path: Path) -> None:
    """The same search for k people leaves sets that fewer than three households have."""
    table = households()
    columns = {**ROLES, "hid": {"role": "insensitive", "release_as_is": True}}
    release = released(table, columns)
    rows = pa.Table.from_pandas(release.to_pandas())
    assert min(sets_of(rows, [name for name in KNOWN if name in rows.column_names]).values()) < 3


def test_the_page_speaks_of_households(tmp_path: Path) -> None:
    """Figures and sentences name what is counted."""
    out = tmp_path / "out.parquet"
    released(households(), output=out, max_suppression=0.1)
    page = (tmp_path / "out.report.html").read_text()
    assert "households in the smallest class found" in page
    assert "a household by all its members" in page
    assert "Households are counted" in page


def test_the_next_batch_counts_households(drafts: list[pa.Table], tmp_path: Path) -> None:
    """`apply` leaves out those whose set is too rare in the batch."""
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    released(households(300), output=first, max_suppression=0.1)
    batch = anonkit.apply(first, households(300, seed=9), output=second, ledger=None, max_suppression=0.6)
    assert batch.report["guarantee"]["parameters"]["households"] is True
    draft = drafts[-1]
    assert min(sets_of(draft, [name for name in KNOWN if name in draft.column_names]).values()) >= 3
    assert anonkit.validate(second).passed


def test_under_noise_a_household_is_the_unit(tmp_path: Path) -> None:
    """The loss is that of all its rows."""
    domains = {
        "region": {"role": "quasi_identifier", "categories": ["north", "south"]},
        "age": {"role": "quasi_identifier", "categories": ["20", "40", "60"]},
        "sex": {"role": "quasi_identifier", "categories": ["f", "m"]},
        "works": {"role": "target", "categories": ["yes", "no"]},
    }
    policy = {"columns": {"hid": {"role": "household"}, "pid": {"role": "unit"}, **domains}}
    release = anonkit.release(
        households(), method="dp-marginals", epsilon=1.0, rows_per_unit=2, policy=policy, ledger=None, utility=False
    )
    assert "'hid'" in release.report["guarantee"]["unit"]


def test_the_risk_of_a_household_is_that_of_its_members() -> None:
    """1 minus the product of what is left, summed over people."""
    table = households()
    found = anonkit.risk(table, policy={"columns": ROLES}, sampling_fraction=0.1)
    rows = list(zip(*(table.column(name).to_pylist() for name in KNOWN), strict=True))
    sizes = Counter(rows)
    each = {row: float(individual_risk(np.array([size]), np.array([size / 0.1]))[0]) for row, size in sizes.items()}
    left: dict[int, float] = defaultdict(lambda: 1.0)
    for household, row in zip(table.column("hid").to_pylist(), rows, strict=True):
        left[household] *= 1 - each[row]
    risks = [1 - left[household] for household in table.column("hid").to_pylist()]
    assert found.population["household"] == {"sum": pytest.approx(sum(risks)), "max": pytest.approx(max(risks))}
    assert found.counted == "rows"


@pytest.mark.parametrize(
    ("columns", "asked", "error", "words"),
    [
        ({**ROLES, "pid": {"role": "household"}}, {}, PolicyError, "one at most"),
        ({**ROLES, "works": {"role": "sensitive"}}, {"l": 2}, PolicyError, "not covered"),
        (ROLES, {"sampling_fraction": 0.1}, ParameterError, "households are counted"),
    ],
)
def test_what_cannot_be_said_of_households(
    columns: dict[str, Any], asked: dict[str, Any], error: type[Exception], words: str
) -> None:
    """Refused before anything is searched."""
    with pytest.raises(error, match=words):
        released(households(), columns, **asked)


FORGERIES: dict[str, tuple[Edit, set[str]]] = {
    "households of one row": (
        stated_anew(at("report", "guarantee", "parameters", "rows_known", to=None)),
        {"model"},
    ),
    "no households in params": (lambda files: files.params.pop("households"), {"model"}),
    "no households in the promise": (
        stated_anew(lambda files: files.report["guarantee"]["parameters"].pop("households")),
        {"model"},
    ),
    "a smaller k": (stated_anew(at("report", "guarantee", "parameters", "k", to=2)), {"model", "verification"}),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A release of households."""
    out = tmp_path_factory.mktemp("households") / "out.parquet"
    released(households(), output=out, max_suppression=0.1)
    return Files.read(out)


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_households_are_refused(files: Files, forgery: str, tmp_path: Path) -> None:
    """Promise, params and verification say one thing."""
    edit, names = FORGERIES[forgery]
    found = anonkit.validate(forged(files, edit, tmp_path))
    assert names <= {check.name for check in found.checks if not check.passed}
