"""Cases that other tools get wrong: our checker finds the right number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import GuaranteeError


def found(frame: object, **asked: object) -> dict[str, tuple[bool, object]]:
    """Return the checks of a table by name: (passed, observed)."""
    validation = anonkit.validate(frame, **asked)  # type: ignore[arg-type]
    return {check.name: (check.passed, check.observed) for check in validation.checks}


def test_labels_of_an_index_are_no_positions() -> None:
    """A re-ordered frame with l = 1 and t = .5, of which a peer says l = 3 and t = .15."""
    frame = pd.DataFrame({"q": ["a", "a", "b", "b"], "s": ["x", "x", "y", "z"]}, index=[3, 0, 2, 1])
    seen = found(frame, quasi_identifiers=["q"], sensitive=["s"], k=2, l=2, t=0.15)
    assert seen["l_diversity:s"] == (False, 1.0)
    assert seen["t_closeness:s"] == (False, 0.5)


def test_a_filtered_frame_is_counted() -> None:
    """A filtered frame is counted; a peer raises IndexError."""
    frame = pd.DataFrame({"q": ["a"] * 4 + ["b"] * 4, "s": list("xyxyxyxy")}).query("q == 'b'")
    assert found(frame, quasi_identifiers=["q"], sensitive=["s"], k=4, l=2)["k_anonymity"] == (True, 4)


def test_a_missing_quasi_identifier_is_a_value() -> None:
    """A single NaN in a single column: k is 1, not 3."""
    frame = pd.DataFrame({"q": ["a", "a", "a", None]})
    assert found(frame, quasi_identifiers=["q"], k=2)["k_anonymity"] == (False, 1)


def test_t_closeness_is_looked_at() -> None:
    """Classes at t = .512 pass as t <= .1 where the threshold is overwritten."""
    rows = [("a", "x")] * 244 + [("b", "y")] * 256
    seen = found(pd.DataFrame(rows, columns=["q", "s"]), quasi_identifiers=["q"], sensitive=["s"], k=2, t=0.1)
    assert seen["t_closeness:s"] == (False, pytest.approx(0.512))


def test_a_row_number_that_was_left_in_is_found() -> None:
    """After suppression a release gained a column `index`: the original row numbers, with gaps."""
    rows = [number for number in range(60) if number % 5]
    frame = pd.DataFrame({"index": rows, "q": ["a", "b"] * (len(rows) // 2)})
    seen = found(frame, quasi_identifiers=["q"], k=5)
    assert seen["k_anonymity"][0]
    assert seen["identifiers_in_clear"] == (False, 1)
    kinds = frame[["q"]].assign(kind=["x", "y", "z"] * (len(rows) // 3))
    assert found(kinds, quasi_identifiers=["q"], k=5)["identifiers_in_clear"] == (True, 0)


@pytest.mark.slow
def test_rows_with_missing_values_do_not_vanish(tmp_path: Path) -> None:
    """600 rows in, 550 out without a word: here every row is released or counted as suppressed."""
    table = pa.table({"age": [None if at % 12 == 0 else at % 40 for at in range(600)], "label": ["a", "b"] * 300})
    given = {"method": "mondrian", "k": 5, "target": "label"}
    release = anonkit.release(table, output=tmp_path / "out.parquet", **given)
    assert release.report["rows"]["out"] + release.report["rows"]["suppressed"] == 600
    pq.write_table(pq.read_table(tmp_path / "out.parquet").slice(50), tmp_path / "out.parquet")
    failed = {check.name for check in anonkit.validate(tmp_path / "out.parquet").checks if not check.passed}
    assert "rows" in failed


def test_cells_that_are_lists_are_counted() -> None:
    """A release whose cells are one-element lists, on which a group-by fails."""
    table = pa.table({"q": [["a"], ["a"], ["b"]]})
    assert found(table, quasi_identifiers=["q"], k=2)["k_anonymity"] == (False, 1)


def test_what_cannot_be_carried_out_raises() -> None:
    """No message with an empty frame: a promise that cannot be kept is an error."""
    with pytest.raises(GuaranteeError):
        anonkit.release(pa.table({"q": ["a", "b"], "y": ["x", "y"]}), method="mondrian", k=5, target="y")


def test_more_models_of_the_same_table() -> None:
    """(alpha, k) and basic beta-likeness, by hand: x is 3 of 4 in class a and half of the table."""
    frame = pd.DataFrame({"q": list("aaaabbbb"), "s": list("xxxyxyyy")})
    seen = found(frame, quasi_identifiers=["q"], sensitive=["s"], alpha=0.7, beta=0.6)
    assert seen["alpha_k_anonymity:s"] == (False, 0.75)
    assert seen["basic_beta_likeness:s"] == (True, pytest.approx(0.5))
    assert found(frame, quasi_identifiers=["q"], sensitive=["s"], beta=0.4)["basic_beta_likeness:s"][0] is False


def test_a_missing_text_among_quasi_identifiers_is_released_without_a_hierarchy() -> None:
    """A peer raises TypeError for None and KeyError for a column without a written hierarchy."""
    table = pa.table({"town": [None, "a", "b"] * 20, "sex": ["F", "M"] * 30, "y": ["u", "v"] * 30})
    release = anonkit.release(table, method="mondrian", k=5, target="y", ledger=None)
    assert release.report["disclosure_risk"]["k_anonymity"]["k"] >= 5
    assert release.to_arrow().num_rows == 60
    seen = found(release.to_arrow(), quasi_identifiers=["town", "sex"], k=5)
    assert seen["k_anonymity"] == (True, release.report["disclosure_risk"]["k_anonymity"]["k"])


def test_columns_do_not_vanish(tmp_path: Path) -> None:
    """A peer drops every column that is no quasi-identifier: here each is released, and its loss is found."""
    table = pa.table({"q": ["a", "b"] * 20, "note": ["n"] * 40, "y": ["u", "v", "v", "u"] * 10})
    path = tmp_path / "out.parquet"
    anonkit.release(table, method="mondrian", k=5, target="y", insensitive=["note"], output=path, ledger=None)
    assert set(pq.read_schema(path).names) == {"q", "note", "y"}
    pq.write_table(pq.read_table(path).drop_columns(["note"]), path)
    assert "columns" in {check.name for check in anonkit.validate(path).checks if not check.passed}


def test_suppressed_rows_are_a_class_of_their_size() -> None:
    """Rows of nothing but stars hide nobody when they are few: one such row is a class of one."""
    frame = pd.DataFrame({"q": ["a"] * 5 + ["*"], "r": ["b"] * 5 + ["*"]})
    assert found(frame, quasi_identifiers=["q", "r"], k=2)["k_anonymity"] == (False, 1)


def test_names_with_spaces_and_quotes_are_names() -> None:
    """A peer stops at such names after half of the work, or counts a quoted name as a string."""
    frame = pd.DataFrame({"marital status": ["a", "a", "b"], 'the "second"': ["x", "x", "x"]})
    assert found(frame, quasi_identifiers=list(frame.columns), k=2)["k_anonymity"] == (False, 1)
    assert found(frame, quasi_identifiers=['the "second"'], k=3)["k_anonymity"] == (True, 3)


def test_a_bit_that_is_never_cleared_has_no_epsilon() -> None:
    """RAPPOR that only ever writes ones: anyone who shows a zero did not have the bit. Claimed is 4.39."""
    rng = np.random.default_rng(1)
    without, having = rng.random(20_000) < 0.25, np.ones(20_000, dtype=bool)
    assert lower_bound(without, having).lower_bound > 4.39


def test_rows_that_are_told_apart_by_their_position_are_caught() -> None:
    """Trees given rows by position: a row that goes moves every other, which no epsilon of one tree pays for."""
    rng = np.random.default_rng(2)
    answers = [np.array([f"{a}{b}" for a, b in rng.random((5_000, 2)) < p]) for p in ((0.73, 0.73), (0.27, 0.27))]
    assert lower_bound(*answers).lower_bound > 1.0  # each of the two answers alone has epsilon 1


def test_two_releases_of_one_second_share_no_noise() -> None:
    """A generator seeded by the clock repeats itself; here two releases of one process differ."""
    table, policy = bank_customers(50, seed=1), bank_customers_policy()
    given: dict[str, Any] = {"method": "rr", "epsilon": 1.0, "policy": policy, "ledger": None}
    assert not anonkit.release(table, **given).to_arrow().equals(anonkit.release(table, **given).to_arrow())
