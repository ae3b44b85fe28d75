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
from anonkit.consumers.release_features import ReleaseFeatures
from anonkit.errors import ParameterError, PolicyError
from anonkit.estimators.reidentification_risk import individual_risk

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


@pytest.mark.slow
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


PUBLIC: dict[str, Any] = {
    "region": {"role": "quasi_identifier", "categories": ["north", "south"]},
    "age": {"role": "quasi_identifier", "categories": ["20", "40", "60"]},
    "sex": {"role": "quasi_identifier", "categories": ["f", "m"]},
    "works": {"role": "insensitive", "categories": ["yes", "no"]},
}
LINKED: dict[str, Any] = {**ROLES, "hid": {"role": "household", "surrogate": True}}
OF_LINKED: dict[str, tuple[Edit, set[str]]] = {
    "rows of another household": (lambda files: _swap(files), {"k_anonymity_whole_sets"}),
    "rows in numbers of their own": (
        lambda files: _show(files, [*range(files.table.num_rows)]),
        {"people_of_surrogates"},
    ),
    "a row of nobody": (
        lambda files: _show(files, [None, *files.table.column("surrogate").to_pylist()[1:]]),
        {"k_anonymity_whole_sets"},
    ),
    "a role as of a column that may stay": (
        lambda files: [column.update(role="insensitive") for column in _entries(files)],
        {"surrogates", "actions"},
    ),
    "an action as of another column": (lambda files: _entries(files)[1].update(action="kept"), {"actions"}),
    "no surrogates in params": (lambda files: files.params.pop("surrogate"), {"surrogates"}),
    "no surrogates in the promise": (
        stated_anew(lambda files: files.report["guarantee"]["parameters"].pop("surrogate")),
        {"surrogates"},
    ),
    "another column in the promise": (
        stated_anew(at("report", "guarantee", "parameters", "surrogate", to="works")),
        {"surrogates"},
    ),
    "surrogates of single rows": (
        stated_anew(at("report", "guarantee", "parameters", "rows_known", to="one")),
        {"surrogates", "model"},
    ),
    "surrogates that are texts": (
        lambda files: _show(files, list(map(str, files.table.column("surrogate").to_pylist()))),
        {"surrogates", "types"},
    ),
}


def _entries(files: Files) -> list[dict[str, Any]]:
    blocks = (files.params["columns"], files.report["columns"])
    return [next(column for column in block if column["name"] == "surrogate") for block in blocks]


def _show(files: Files, numbers: list[Any]) -> None:
    at = files.table.column_names.index("surrogate")
    files.table = files.table.set_column(at, "surrogate", pa.array(numbers))


def _swap(files: Files) -> None:
    """Give all rows of one household with two to the next two that are alone, in numbers of their own."""
    numbers = files.table.column("surrogate").to_pylist()
    sizes = Counter(numbers)
    two = next(number for number in numbers if sizes[number] == 2)
    alone = next(number for number in numbers if sizes[number] == 1)
    numbers[numbers.index(two)] = alone
    _show(files, numbers)


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A release of households whose rows are linked."""
    out = tmp_path_factory.mktemp("linked") / "out.parquet"
    released(households(), LINKED, output=out, max_suppression=0.1)
    return Files.read(out)


@pytest.mark.parametrize("forgery", OF_LINKED)
def test_forged_surrogates_are_refused(linked: Files, forgery: str, tmp_path: Path) -> None:
    """By surrogates anybody counts whole sets and the people of every class."""
    edit, names = OF_LINKED[forgery]
    found = anonkit.validate(forged(linked, edit, tmp_path))
    assert names <= {check.name for check in found.checks if not check.passed}


def test_surrogates_link_the_rows_of_a_household_and_tell_nothing_else(drafts: list[pa.Table], tmp_path: Path) -> None:
    """Each number stands for one household, drawn anew for each release; k of them show each set."""
    orders = []
    for seed in (1, 2):
        orders.append(_linked_numbers(tmp_path / f"{seed}.parquet", drafts, seed=seed))
    assert orders[0] != orders[1]


@pytest.mark.slow
def test_spark_numbers_households_alike(spark: Any, drafts: list[pa.Table], tmp_path: Path) -> None:
    """On the other engine, too, a number is that of a household."""
    _linked_numbers(tmp_path / "out.parquet", drafts, engine="spark")


def _linked_numbers(out: Path, drafts: list[pa.Table], **how: Any) -> list[int]:
    """Return the surrogates of a release whose sets are those of its draft."""
    release = released(households(), LINKED, output=out, max_suppression=0.1, **how)
    rows, draft = release.to_arrow(), drafts[-1]
    names = [name for name in KNOWN if name in rows.column_names]
    shown = rows.rename_columns(["hid" if name == "surrogate" else name for name in rows.column_names])
    numbers: list[int] = rows.column("surrogate").to_pylist()
    assert sets_of(shown, names) == sets_of(draft, names)
    assert min(sets_of(shown, names).values()) >= 3
    assert sorted(set(numbers)) == [*range(1, 1 + len(set(draft.column("hid").to_pylist())))]
    found = anonkit.validate(out)
    assert {check.name for check in found.checks if not check.passed} <= {"randomness"}
    assert "k_anonymity_whole_sets" in {check.name for check in found.checks}
    assert "anybody can count this again" in release.report["guarantee"]["statement"]
    return numbers


def test_surrogates_are_a_function_of_the_draw_and_of_no_key() -> None:
    """With other keys in the same order a seed gives the same numbers."""
    table = households()
    other = pa.array([f"h{number + 1000}" for number in table.column("hid").to_pylist()])
    keyed = table.set_column(0, "hid", pa.array([f"{number + 1000}" for number in table.column("hid").to_pylist()]))
    first, second = (
        released(each, LINKED, max_suppression=0.1, seed=3).to_arrow()
        for each in (keyed, table.set_column(0, "hid", other))
    )
    assert sorted(map(str, first.to_pylist())) == sorted(map(str, second.to_pylist()))


def test_surrogates_are_no_feature_and_are_drawn_anew_for_a_batch(tmp_path: Path) -> None:
    """Consumers leave them out; `apply` numbers the households of the batch."""
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    released(households(300), LINKED, output=first, max_suppression=0.1)
    batch = anonkit.apply(first, households(300, seed=9), output=second, ledger=None, max_suppression=0.6)
    assert batch.report["guarantee"]["parameters"]["surrogate"] == "surrogate"
    assert anonkit.validate(second).passed
    names = ReleaseFeatures(first).fit(pq.read_table(first).to_pandas()).get_feature_names_out()
    assert not any("surrogate" in name for name in names)
    assert "everybody sees which rows are one household" in (tmp_path / "first.report.html").read_text()


@pytest.mark.parametrize(
    ("columns", "how", "words"),
    [
        ({**ROLES, "pid": {"role": "unit", "surrogate": True}}, {}, "whole sets of rows"),
        ({**ROLES, "works": {"role": "insensitive", "surrogate": True}}, {}, "whole sets of rows"),
        (
            {**LINKED, **PUBLIC},
            {"method": "dp-marginals", "epsilon": 1.0, "rows_per_unit": 2, "k": None},
            "with an epsilon",
        ),
        ({**LINKED, "surrogate": {"role": "insensitive"}}, {"more": "surrogate"}, "shown under this name"),
    ],
)
def test_surrogates_that_would_promise_nothing_are_refused(
    columns: dict[str, Any], how: dict[str, Any], words: str
) -> None:
    """Of people one by one, under noise, or where a column has their name."""
    table = households()
    if "more" in how:
        table = table.append_column(how["more"], table.column("works"))
    asked = {"method": "rfka", "k": 3, **how}
    asked = {key: value for key, value in asked.items() if value is not None and key != "more"}
    with pytest.raises(PolicyError, match=words):
        anonkit.release(table, policy={"columns": columns}, no_target=True, ledger=None, **asked)


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
