"""The recoding of an earlier release: read from any of its files, refused when they were changed or have none."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import anonkit
from anonkit.errors import GuaranteeError, ReleaseFormatError
from anonkit.pipeline.earlier_recoding import applied_recoding, batch_policy, earlier_recoding
from anonkit.policy.declaration import Policy

ROWS = pa.table({"age": [20 + at % 40 for at in range(80)], "zip": [at % 4 for at in range(80)]})


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A k-anonymous release on disk."""
    output = tmp_path_factory.mktemp("earlier") / "out.parquet"
    policy = Policy.from_dict({"dataset": "people"})
    anonkit.release(ROWS, method="mondrian", k=4, policy=policy, no_target=True, output=output, ledger=None)
    return output


def test_any_file_of_a_release_leads_to_its_recoding(released: Path) -> None:
    """The data, the params or the report; the ledger learns the dataset."""
    first = earlier_recoding(released)
    for name in ("out.params.json", "out.report.json"):
        assert earlier_recoding(released.with_name(name)) == first
    assert earlier_recoding(released, max_suppression=0.25).max_suppression == 0.25
    applied = applied_recoding(released, adopt=True)
    assert (applied.dataset, applied.adopt) == ("people", True)


def test_the_next_batch_is_of_other_people(released: Path) -> None:
    """Roles and types are those of the release; of a policy neither the dataset nor the budget is taken."""
    method = earlier_recoding(released)
    plain = batch_policy(method, None, None)
    assert set(plain.columns) >= {"age", "zip"}
    declared = Policy.from_dict({"dataset": "other", "budget": 3.0, "encoding": "latin-1"})
    batch = batch_policy(method, declared, None)
    assert batch.dataset is None
    assert batch.bookkeeping.budget is None
    assert batch.columns == plain.columns
    assert batch_policy(method, declared, "utf-8").encoding != batch.encoding


def test_changed_params_are_refused(released: Path, tmp_path: Path) -> None:
    """By the hash in the descriptor; and a file that has no recoding."""
    for file in released.parent.glob("out.*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    params = tmp_path / "out.params.json"
    params.write_text(params.read_text().replace('"k": 4', '"k": 2'))
    with pytest.raises(GuaranteeError):
        earlier_recoding(params)
    with pytest.raises(ReleaseFormatError):
        earlier_recoding(tmp_path / "absent.params.json")
