"""Cells of a randomized table counted anew: clear numbers, order of categories, files that are none.

Answers that cannot come from the stated mechanism are found; sound releases pass.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import chdtrc

import anonkit
from anonkit.checks.local_matrices import BlindAndNear, set_or_blind, truth_or_blind
from anonkit.checks.local_params import ListedCategories, PublishedAnswers, read_answers
from anonkit.checks.local_table import cell_checks, chi_square_tail, consistency, count_answers, response_rate_checks
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.domains.number_bins import Categories
from anonkit.errors import ReleaseFormatError
from anonkit.policy.declaration import Policy
from anonkit.published.channels.category_channels import RandomizedResponse, SetResponse
from anonkit.published.channels.number_channels import TransformedResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable
from anonkit.randomized_response.number_response import best_category_response


@pytest.fixture(scope="module")
def channel() -> BlindAndNear:
    """Randomized response over four values at about ε = 1: e + 3 parts, of which the truth has e − 1 more."""
    blind = 751_056_850
    return truth_or_blind(32, (1 << 32) - 4 * blind, [blind] * 4)


@pytest.mark.parametrize("shares", [(0.25, 0.25, 0.25, 0.25), (1, 0, 0, 0), (0.6, 0.4, 0, 0), (0.97, 0.01, 0.01, 0.01)])
def test_what_the_mechanism_gives_is_consistent(channel: BlindAndNear, shares: tuple[float, ...]) -> None:
    """60 tables of each kind: none is unlikelier than one in a thousand, skewed truths included."""
    draws = np.random.default_rng(1).multinomial(3000, channel.forward(np.array(shares)), size=60)
    p_values = np.array([consistency(counts.astype(float), channel) for counts in draws])
    assert (p_values > 1e-3).all()


@pytest.mark.parametrize("epsilon", [0.25, 1.0])
def test_what_sets_give_is_consistent(epsilon: float) -> None:
    """60 tables with nearly all rows of one pair: the fit gets to where none is unlikelier than one in a thousand."""
    channel = best_category_response(epsilon, segments=2, values=9)
    assert isinstance(channel, SetResponse)
    words = set_or_blind(
        channel.word_bits, classes=2, values=9, members=channel.members, blind=channel.blind_weight,
        excess=channel.excess_weight,
    )  # fmt: skip
    shares = np.array([0.9, *[0.1 / 17] * 17])
    draws = np.random.default_rng(1).multinomial(3000, words.forward(shares), size=60)
    assert all(consistency(counts.astype(float), words) > 1e-3 for counts in draws)
    # the truth itself in the cells, and no answer of a set
    assert consistency(3000 * shares, words) < 1e-6


def test_too_few_blind_answers_are_not(channel: BlindAndNear) -> None:
    """A value that hardly occurs although every row may answer it blindly."""
    blind = channel.blind[0] / 2**32
    rare = np.array([1.0, 0, 0, 0]) * (1 - 3 * blind / 4) + np.array([0, 1, 1, 1]) * blind / 4
    assert consistency(3000 * rare, channel) < 1e-6


def _checks(release: Path) -> dict[str, Any]:
    table = read_answers(json.loads(release.with_name("out.params.json").read_text()))
    return {check.name: check.passed for check in response_rate_checks(table, count_answers(release, table))}


@pytest.mark.quick_cases("errph-more3", "rr-more1", "ppnb-more4")
@pytest.mark.parametrize(
    ("method", "more"),
    [("rr", {"epsilon": 1.0}), ("rr", {"epsilon": 4.0}), ("rr", {"epsilon": 4.0, "allocation": "split"}),
     ("errph", {"p_keep": 0.2, "bins": 8}), ("ppnb", {"p_keep": 0.4})],
)  # fmt: skip
def test_sound_releases_pass(method: str, more: dict[str, Any], tmp_path: Path) -> None:
    """Every column with a response matrix is looked at."""
    output = tmp_path / "out.parquet"
    anonkit.release(
        bank_customers(3000, seed=1), method=method, policy=bank_customers_policy(), output=output, ledger=None, **more
    )
    found = _checks(output)
    assert len(found) >= 5
    assert all(found.values())


def test_a_column_without_blind_answers_fails(tmp_path: Path) -> None:
    """A column without its blind answers: every cell is in its domain, and the rates give it away."""
    table, output = bank_customers(3000, seed=1), tmp_path / "out.parquet"
    release = anonkit.release(
        table, method="errph", p_keep=0.2, policy=bank_customers_policy(), output=output, ledger=None, bins=8
    )
    released = release.to_arrow()
    known = next(one.domain for one in read_answers(release.params).attributes if one.name == "education")
    assert isinstance(known, ListedCategories)
    value = known.values[0]
    same = pa.array([value] * 3000)
    pq.write_table(released.set_column(released.column_names.index("education"), "education", same), output)
    found = _checks(output)
    assert not found["response_rates:education"]
    assert all(passed for name, passed in found.items() if name != "response_rates:education")


def test_categories_that_no_row_shows_are_no_failure(tmp_path: Path) -> None:
    """A data file lists the categories that occur only: those of a sound release are in order, and it passes."""
    output = tmp_path / "out.parquet"
    domain = [f"v{at}" for at in range(60)]
    policy = Policy.from_dict({"columns": {"x": {"role": "quasi_identifier", "categories": domain}}})
    table = pa.table({"x": pa.array([domain[at % 5 * 12] for at in range(80)])})
    anonkit.release(table, method="errph", p_keep=0.9, policy=policy, output=output, ledger=None)
    assert len(pq.read_table(output).column("x").chunk(0).dictionary) < 60
    assert anonkit.validate(output).passed


def test_a_fit_that_does_not_settle_is_taken_as_it_stands() -> None:
    """Answers that hardly depend on the truth leave the shares open: after the last round the p-value is a bound."""
    weak = truth_or_blind(32, 1 << 10, [((1 << 32) - (1 << 10)) // 4] * 4)
    assert 0 <= consistency(np.array([5000.0, 1, 1, 1]), weak) < 1e-6


def test_a_label_that_is_not_there_is_not_compared(tmp_path: Path) -> None:
    """If answers hide the class and the class is not in the file, each column is checked by itself."""
    output = tmp_path / "out.parquet"
    anonkit.release(
        bank_customers(1000, seed=1), method="rr", epsilon=2.0, policy=bank_customers_policy(), output=output,
        ledger=None,
    )  # fmt: skip
    whole = _checks(output)
    released = pq.read_table(output)
    label = "customer_value"
    assert any(name.startswith(f"response_rates:{label} with ") for name in whole)
    pq.write_table(released.drop_columns([label]), output)
    assert set(_checks(output)) == {name for name in whole if not name.startswith(f"response_rates:{label}")}


@given(st.floats(0, 5_000), st.integers(1, 4_000))
@example(0.0, 1)
@example(1e-300, 2)
@example(5_000.0, 3)
def test_the_tail_is_that_of_the_chi_square_distribution(statistic: float, degrees: int) -> None:
    """The finite series and scipy's incomplete gamma function, two ways to one figure, agree far into the tail."""
    assert math.isclose(chi_square_tail(statistic, degrees), chdtrc(degrees, statistic), rel_tol=1e-9, abs_tol=1e-300)


def table_of(domain: Any, mechanism: Any) -> PublishedAnswers:
    """The params of a table of one column, as the checks read them."""
    made = PublishedTable(target=None, attributes=(PublishedAttribute(name="x", domain=domain, mechanism=mechanism),))
    return read_answers(json.loads(json.dumps(made.to_params())))


def checks_of(folder: Path, table: PublishedAnswers, cells: Any) -> dict[str, bool]:
    """Return the checks that a file of these cells passes."""
    pq.write_table(pa.table({"x": cells}), folder / "t.parquet")
    counts = count_answers(folder / "t.parquet", table)
    return {check.name: check.passed for check in cell_checks(table, counts)}


def test_a_file_that_is_none_is_an_error_without_cells(tmp_path: Path) -> None:
    """The file is named, nothing of what it holds."""
    path = tmp_path / "t.parquet"
    path.write_bytes(b"secret")
    with pytest.raises(ReleaseFormatError, match="not a readable Parquet file") as found:
        count_answers(path, table_of(Categories(values=("a", "b")), RandomizedResponse.equal(2, 0.5)))
    assert "secret" not in str(found.value)


@pytest.mark.parametrize(("cells", "passed"), [([1.5, 2.25, None], True), ([1.5, math.inf], False)])
def test_a_clear_number_may_be_any_finite_one(tmp_path: Path, cells: list[float | None], passed: bool) -> None:
    """It is on no grid and may be missing; what is infinite is no number."""
    assert checks_of(tmp_path, table_of(None, TransformedResponse.clear()), pa.array(cells))["domain:x"] is passed


@pytest.mark.parametrize("truth_values", [False, True])
def test_cells_are_booleans_where_their_domain_says_so_and_there_alone(tmp_path: Path, truth_values: bool) -> None:
    """Words of truth values are no answers of booleans, nor booleans those of words."""
    domain = Categories(values=("false", "true"), are_truth_values=truth_values)
    table = table_of(domain, RandomizedResponse.equal(2, 0.5))
    for cells in (pa.array([True, False]), pa.array(["true", "false"])):
        is_boolean = bool(pa.types.is_boolean(cells.type))
        assert checks_of(tmp_path, table, cells)["domain:x"] is (is_boolean == truth_values)


@pytest.mark.parametrize("length", [1, 20_000])
def test_the_order_of_categories_is_looked_at_where_a_file_keeps_it(tmp_path: Path, length: int) -> None:
    """Of another order is refused; categories of more than 32,768 letters in all are not kept in the data file."""
    values = ("a" * length, "b" * length)
    table = table_of(Categories(values=values), RandomizedResponse.equal(2, 0.5))
    swapped = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1], pa.int32()), pa.array(values[::-1]), ordered=True)
    found = checks_of(tmp_path, table, swapped)
    assert found["domain:x"]
    assert found.get("category_order:x", True) is (length > 1)
