"""Domains read from a table: common categories and round bounds, whatever a single person holds."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.drafting.table_domains import bounds_of_people, with_domains_of
from anonkit.engines import open_engine
from anonkit.errors import ParameterError, PolicyError
from anonkit.policy.column_declarations import Column, ColumnType, Role
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.policy.target_task import Task
from anonkit.protocols import Engine

MARK = "Xqvwj"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """One engine for all tables."""
    with open_engine("local") as opened:
        yield opened


def domains(
    engine: Engine, table: pa.Table, least: int, declared: Policy | None = None, use: TargetUse = TargetUse.AS_DECLARED
) -> Policy:
    """The policy with the domains of a table."""
    policy = (declared or Policy()).resolve(table.column_names, target_use=use)
    return with_domains_of(policy, engine.scan(table, Policy()), engine, least)


# --- any table -------------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 60), st.sampled_from("abcdefgh") | st.none()), max_size=120),
    least=st.integers(2, 12),
)
def test_every_category_is_shared_by_enough_people(
    engine: Engine, rows: list[tuple[int, str | None]], least: int
) -> None:
    """Counted in Python: exactly the categories that enough different people have are in the domain."""
    table = pa.table(
        {"who": pa.array([f"p{who}" for who, _ in rows]), "x": pa.array([cell for _, cell in rows], pa.string())}
    )
    found = domains(engine, table, least, Policy(columns={"who": Column(name="who", role=Role.UNIT)}))

    holders: dict[str, set[int]] = defaultdict(set)
    for who, cell in rows:
        if cell is not None:
            holders[cell].add(who)
    common = tuple(sorted(cell for cell, people in holders.items() if len(people) >= least))
    if common:
        assert found.column("x").categories == common
        assert found.domains_from_data == ("x",)
    else:
        assert found.column("x").role is Role.IDENTIFIER
        assert found.identifiers_from_data == ("x",)


@settings(max_examples=200, deadline=None)
@given(
    cells=st.lists(
        st.tuples(
            st.integers(0, 60),
            st.floats(-1e9, 1e9, allow_nan=False)
            | st.integers(-30, 30).map(float)
            | st.sampled_from([1e300, math.inf]),
        ),
        min_size=1,
        max_size=150,
    ),
    least=st.integers(2, 12),
)
def test_enough_people_lie_beyond_every_bound(cells: list[tuple[int, float]], least: int) -> None:
    """At either end as many different people as requested have a number at or beyond the bound, or there is none."""
    whose = np.array([who for who, _ in cells])
    numbers = np.array([number for _, number in cells])
    bounds = bounds_of_people(numbers, whose, least)

    people = len({who for who, number in cells if math.isfinite(number)})
    if bounds is None:
        assert people < 2 * least or len({number for _, number in cells}) < len(cells) or people < 4 * least
        return
    low, high = bounds
    assert low < high
    assert len({who for who, number in cells if number <= low and math.isfinite(number)}) >= least
    assert len({who for who, number in cells if number >= high and math.isfinite(number)}) >= least


@settings(max_examples=60, deadline=None)
@given(extreme=st.floats(2e3, 1e12), few=st.integers(1, 9), seed=st.integers(0, 99))
def test_what_fewer_people_hold_moves_no_bound(extreme: float, few: int, seed: int) -> None:
    """Nine people who earn more than everybody else leave the bounds within the range of the others."""
    r = random.Random(seed)
    numbers = [r.uniform(0, 1000) for _ in range(200)] + [extreme + at for at in range(few)]
    bounds = bounds_of_people(np.array(numbers), np.arange(len(numbers)), 10)

    assert bounds is not None
    assert 0 <= bounds[0] < bounds[1] <= 1000


def test_bounds_are_round() -> None:
    """Of the numbers between the tenth and the twentieth person, the roundest: no cell of the table."""
    r = random.Random(1)
    cells = [r.lognormvariate(10, 0.5) for _ in range(5_000)]
    bounds = bounds_of_people(np.array(cells), np.arange(5_000), 10)

    assert bounds is not None
    assert not set(bounds) & set(cells)
    assert all(bound % 10 == 0 for bound in bounds)


# --- what becomes of columns -----------------------------------------------------------------------------------


def test_a_table_too_large_to_hold_is_read_from_a_sample() -> None:
    """Every category and bound of the sample holds for the table, and two runs read the same domains."""
    r = random.Random(3)
    table = pa.table(
        {
            "income": [r.lognormvariate(10, 1) for _ in range(3_000)],
            "job": [r.choice("aabbbccd") for _ in range(2_995)] + [MARK] * 5,
        }
    )
    with open_engine("local", search_rows=500) as engine:
        first, second = domains(engine, table, 10), domains(engine, table, 10)
    low, high = first.column("income").bounds or (0, 0)

    assert first == second
    assert first.column("job").categories == ("a", "b", "c", "d")
    assert sum(cell <= low for cell in table["income"].to_pylist()) >= 10
    assert sum(cell >= high for cell in table["income"].to_pylist()) >= 10


def test_people_are_counted_by_what_their_key_spells(engine: Engine) -> None:
    """12, 12.0 and 012 are one person: nine people who write their number in two ways are nine."""
    keys = [f"{at}" for at in range(9)] + [f"{at}.0" for at in range(9)] + [f"x{at}" for at in range(20)]
    table = pa.table({"who": keys, "x": [MARK] * 18 + ["common"] * 20})
    found = domains(engine, table, 10, Policy(columns={"who": Column(name="who", role=Role.UNIT)}))

    assert found.column("x").categories == ("common",)


def test_texts_of_one_number_are_one_category(engine: Engine) -> None:
    """Under the name that most people write; a policy with both would be refused."""
    found = domains(engine, pa.table({"x": ["1"] * 8 + ["1.0"] * 30 + ["one"] * 12}), 10)

    assert found.column("x").categories == ("1.0", "one")


def test_codes_of_digits_are_no_numbers(engine: Engine) -> None:
    """Postal codes with a leading zero are categories; texts of plain numbers have bounds."""
    found = domains(engine, pa.table({"zip": ["01234", "12345"] * 20, "x": [f"{at}.5" for at in range(40)]}), 10)

    assert found.column("zip").categories == ("01234", "12345")
    assert found.column("x").bounds is not None


def test_numbers_that_hardly_vary_get_categories(engine: Engine) -> None:
    """If the bounds would meet, the numbers that enough people have are categories."""
    found = domains(engine, pa.table({"x": [0] * 95 + [7] * 5, "y": [0, 1] * 50}), 10)

    assert found.column("x").categories == ("0",)
    assert found.column("y").bounds == (0.0, 1.0)


def test_rare_classes_of_the_target_are_no_classes(engine: Engine) -> None:
    """Classes that enough people have; with fewer than two of them the table is refused with a way out."""
    table = pa.table({"x": ["a", "b"] * 50, "y": ["ill"] * 48 + ["well"] * 47 + [MARK] * 5})
    assert domains(engine, table, 10, use=TargetUse.REQUIRED).column("y").categories == ("ill", "well")

    alone = pa.table({"x": ["a", "b"] * 50, "y": ["ill"] * 95 + [MARK] * 5})
    with pytest.raises(PolicyError, match="fewer than two classes that 10 rows share") as refusal:
        domains(engine, alone, 10, use=TargetUse.REQUIRED)
    assert MARK not in str(refusal.value)


def test_a_declared_column_without_a_common_value_is_refused(engine: Engine) -> None:
    """A column to which the owner gave a role is not dropped silently."""
    table = pa.table({"x": [f"{MARK}{at}" for at in range(40)], "y": ["a", "b"] * 20})
    declared = Policy(columns={"x": Column(name="x", role=Role.QUASI_IDENTIFIER)})
    with pytest.raises(PolicyError, match="'x' has no value that 10 rows share") as refusal:
        domains(engine, table, 10, declared)
    assert MARK not in str(refusal.value)


# --- releases --------------------------------------------------------------------------------------------------

RARE = pa.table(
    {
        "city": ["Rome", "Oslo"] * 145 + [f"{MARK}{at // 3}" for at in range(10)],
        "income": [1_000.0 + 7.31 * at for at in range(299)] + [987_654_321.25],
        "ill": ["yes", "no", "no"] * 97 + [f"{MARK}s"] * 9,
    }
)


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("rr", {"epsilon": 4.0, "target": "ill"}),
        ("dp-nb", {"epsilon": 4.0}),
        ("dp-forest", {"epsilon": 4.0}),
        ("ppnb", {"p_keep": 0.5, "target": "ill"}),
        ("edprf", {"epsilon": 4.0}),
    ],
)
def test_what_few_people_hold_is_in_no_file(tmp_path: Path, method: str, parameters: dict[str, Any]) -> None:
    """Rare categories, a rare class, and the exact largest and smallest number are in no file of a release."""
    anonkit.release(
        RARE, method=method, output=tmp_path / "out.parquet", domains_from_data=True, ledger=None, **parameters
    )

    for file in tmp_path.iterdir():
        content = file.read_bytes()
        assert MARK.encode() not in content, file.name
        assert b"987654321" not in content, file.name
        assert b"987,654,321" not in content, file.name


def test_the_claim_says_how_domains_were_read() -> None:
    """The condition names columns and the number of people, and says that it is no differential privacy."""
    release = anonkit.release(RARE, method="dp-nb", epsilon=1.0, domains_from_data=True, domains_min_people=20)
    said = " ".join(release.report["guarantee"]["assumptions"])

    assert "20 rows" in said
    assert "no differential privacy" in said
    assert release.params["conditions"][0] in said


@pytest.mark.parametrize("least", [1, 0, -3])
def test_one_person_is_never_enough(least: int) -> None:
    """With one person a category would be that person's own."""
    with pytest.raises(ParameterError, match="domains_min_people"):
        anonkit.release(RARE, method="dp-nb", epsilon=1.0, domains_from_data=True, domains_min_people=least)


def test_a_target_that_is_declared_a_number_gets_bounds_and_texts_among_it_none(engine: Engine) -> None:
    """By its task or type alone: one text cell changes neither that nor the bounds; others get classes as before."""
    numbers = [str(at % 100) for at in range(1_000)]
    for cells in (numbers, ["N" if at == 50 else cell for at, cell in enumerate(numbers)]):
        source = engine.scan(pa.table({"y": cells, "a": ["x"] * 1_000}), Policy())
        for task, kind in ((Task.REGRESSION, None), (None, ColumnType.NUMBER)):
            target = Column(name="y", role=Role.TARGET, type=kind)
            policy = Policy(columns={"a": Column(name="a"), "y": target}, task=task)
            assert with_domains_of(policy, source, engine).columns["y"].bounds == (0.0, 99.0)
        plain = Policy(columns={"a": Column(name="a"), "y": Column(name="y", role=Role.TARGET)})
        assert with_domains_of(plain, source, engine).columns["y"].bounds is None


def test_a_number_to_predict_without_enough_people_at_its_bounds_is_refused(engine: Engine) -> None:
    """No bounds are made up; the message names the column and the remedy."""
    source = engine.scan(pa.table({"y": ["N"] * 40, "a": ["x"] * 40}), Policy())
    policy = Policy(columns={"a": Column(name="a"), "y": Column(name="y", role=Role.TARGET)}, task=Task.REGRESSION)
    with pytest.raises(PolicyError, match="too few numbers to read bounds") as refused:
        with_domains_of(policy, source, engine)
    assert refused.value.hint is not None
    assert "bounds" in refused.value.hint
