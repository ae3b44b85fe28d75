"""The next batch, recoded like an earlier release."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from checks.forgeries import Files, forged, verdict

import anonkit
from anonkit.datasets import bank_customers
from anonkit.errors import GuaranteeError, PolicyError, ReleaseFormatError
from tests.methods.test_mdav import BATCHES, _people, released, rows_of

PARAMETERS: dict[str, dict[str, Any]] = {"rfka": {"trees": 10}, "mondrian": {}}


@pytest.fixture(scope="module", params=PARAMETERS)
def earlier(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of 2,000 customers, by each kind of recoding."""
    output = tmp_path_factory.mktemp("earlier") / "first.parquet"
    table = bank_customers(2_000, seed=1, customer_id=True)
    anonkit.release(
        table,
        method=request.param,
        k=8,
        target="customer_value",
        identifiers=["customer_id"],
        output=output,
        **PARAMETERS[request.param],
    )
    return output


@pytest.mark.quick_cases("rfka")
def test_the_same_table_is_recoded_to_the_same_cells(earlier: Path) -> None:
    """Applying a recoding to its own table gives the release again, and rows it left out at a coarser step."""
    again = anonkit.apply(earlier, bank_customers(2_000, seed=1, customer_id=True)).to_arrow()
    first = anonkit.load(earlier)
    columns = first.to_arrow().column_names
    rows = [Counter(map(repr, table.select(columns).to_pylist())) for table in (first.to_arrow(), again)]
    left_out = first.report["rows"]["suppressed"]

    assert again.num_rows == 2_000
    assert (rows[0] - rows[1]).total() <= 8 * left_out
    assert left_out > 0 or rows[0] == rows[1]


@pytest.mark.slow_cases("mondrian")
def test_k_is_counted_anew_in_the_next_batch(earlier: Path) -> None:
    """A later batch is recoded alike, and its own classes have k rows."""
    batch = bank_customers(3_000, seed=2)
    release = anonkit.apply(earlier, batch, max_suppression=0.5)

    assert release.report["disclosure_risk"]["k_anonymity"]["k"] >= 8
    assert release.report["method"]["name"] == "recoded"
    assert release.report["rows"]["out"] + release.report["rows"]["suppressed"] == 3_000


@pytest.mark.quick_cases("mondrian")
def test_a_batch_without_a_target_is_recoded_too(earlier: Path) -> None:
    """The value of new customers that are to be scored is unknown yet."""
    batch = bank_customers(3_000, seed=2).drop_columns(["customer_value"])
    assert "customer_value" not in anonkit.apply(earlier, batch, max_suppression=0.5).to_arrow().column_names


@pytest.mark.slow
def test_a_batch_in_another_order_gets_the_columns_of_the_recoding(earlier: Path) -> None:
    """Consumers append one batch to the other: their columns are in one order, whatever the owner's export has."""
    first = anonkit.load(earlier).to_arrow().column_names
    batch = bank_customers(600, seed=2)
    turned = batch.select(batch.column_names[::-1])
    for source in (turned, batch):
        assert anonkit.apply(earlier, source, max_suppression=0.5).to_arrow().column_names == first


def test_a_batch_too_small_for_k_is_refused(earlier: Path, tmp_path: Path) -> None:
    """Nothing is written when the promise cannot be kept."""
    with pytest.raises(GuaranteeError):
        anonkit.apply(earlier, bank_customers(6, seed=3), output=tmp_path / "out.parquet")
    assert not list(tmp_path.iterdir())


def test_columns_the_earlier_table_did_not_have_are_refused(earlier: Path) -> None:
    """A new column could be an identifier."""
    batch = bank_customers(3_000, seed=2)
    batch = batch.append_column("phone", pa.array(["1"] * batch.num_rows))
    with pytest.raises(PolicyError, match="'phone' was not in the table"):
        anonkit.apply(earlier, batch)


def test_a_column_of_another_kind_is_refused(earlier: Path) -> None:
    """Intervals are for numbers, groups for categories."""
    batch = bank_customers(3_000, seed=2)
    at = batch.schema.get_field_index("age")
    texts = batch.set_column(at, "age", batch.column("age").cast(pa.string()))
    recoded = {c["name"] for c in anonkit.load(earlier).params["recoding"].get("columns", [])}
    recoded |= {c["name"] for c in anonkit.load(earlier).params["recoding"].get("axes", [])}
    if "age" in recoded:
        with pytest.raises(PolicyError, match="column 'age' does not hold numbers"):
            anonkit.apply(earlier, texts)


def test_new_categories_are_never_shown(earlier: Path) -> None:
    """A category the earlier table did not have joins the others or its row is left out."""
    batch = bank_customers(3_000, seed=2)
    jobs = batch.column("occupation").cast(pa.string()).to_pylist()
    jobs[:3] = ["astronaut"] * 3
    at = batch.schema.get_field_index("occupation")
    changed = batch.set_column(at, "occupation", pa.array(jobs))
    release = anonkit.apply(earlier, changed, max_suppression=0.5)
    assert all("astronaut" not in map(str, column.to_pylist()) for column in release.to_arrow().columns)


@pytest.mark.slow
def test_parts_that_no_box_holds_are_not_written_again(tmp_path: Path) -> None:
    """Earlier versions named them on the left of a node; both releases validate, and the next one has them no more."""
    first, before = tmp_path / "out.parquet", tmp_path / "before"
    before.mkdir()
    anonkit.release(bank_customers(600, seed=1), method="mondrian", k=8, target="customer_value", output=first)
    params = json.loads((tmp_path / "out.params.json").read_text())
    plain = json.loads(json.dumps(params["recoding"]))

    def name_all(number: int, held: dict[int, set[int]]) -> None:
        node = params["recoding"]["nodes"][number]
        if node is None:
            return
        axis = params["recoding"]["axes"][node["axis"]]
        everything = set(
            range(len(axis.get("values", [*axis.get("cuts", []), ""])) + axis["missing"] + axis.get("other", False))
        )
        here = held.get(node["axis"], everything)
        left = set(node["left"])
        for child, side in zip(node["children"], (left, here - left), strict=True):
            name_all(child, {**held, node["axis"]: side})
        node["left"] = sorted(left | (everything - here))

    name_all(0, {})
    assert params["recoding"] != plain
    shown, _ = verdict(forged(Files.read(first), lambda files: files.params.update(params), before))
    assert shown == 0

    path, later = tmp_path / "x.params.json", tmp_path / "later.parquet"
    path.write_text(json.dumps(params))
    anonkit.apply(path, bank_customers(600, seed=1), output=later, ledger=None)
    assert json.loads((tmp_path / "later.params.json").read_text())["recoding"] == plain
    assert anonkit.validate(later).passed


def test_a_damaged_params_file_is_refused(earlier: Path, tmp_path: Path) -> None:
    """Half a recoding is no recoding."""
    params = json.loads((earlier.parent / "first.params.json").read_text())
    for broken in ({**params, "recoding": {}}, {k: v for k, v in params.items() if k != "model"}):
        path = tmp_path / "x.params.json"
        path.write_text(json.dumps(broken))
        with pytest.raises(ReleaseFormatError):
            anonkit.apply(path, bank_customers(100, seed=1))


def test_the_groups_of_a_release_are_found_again(tmp_path: Path) -> None:
    """By who has the table: an attack is scored on the rows as they are, not on the nearest centroids."""
    from anonkit.auditing.attacks.aligned import align

    place, table = tmp_path / "out.parquet", _people(300, 5)
    release = released(table, k=5, policy=BATCHES, output=place)
    aligned = align(release.params, release.to_arrow(), table)
    assert aligned is not None
    assert Counter(zip(*aligned.table.to_pydict().values(), strict=True)) == rows_of(release)
    assert (aligned.position == np.arange(300)).all()
    assert align(release.params, release.to_arrow(), table.slice(1)) is None
    audit = anonkit.audit(place, table, attacks=50, ceilings=False)
    assert audit.attack("linkability").attack.value <= 1 / 5
