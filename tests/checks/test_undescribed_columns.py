"""A column of true values beside those with noise: refused in a draft, and in files that all agree on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from checks.forgeries import NOISY, Files, forged, verdict

import anonkit
from anonkit.datasets import bank_customers_policy
from anonkit.errors import GuaranteeError
from anonkit.methods import make_method
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.promises.guarantee import Guarantee
from anonkit.protocols import Draft, Engine, Method, Progress, Source, no_progress
from anonkit.randomness import Randomness

SETTINGS: dict[str, dict[str, Any]] = {
    "rr": {"epsilon": 1.0},
    "ppnb": {"p_keep": 0.5},
    "dp-nb": {"epsilon": 1.0},
    "edprf": {"epsilon": 1.0, "trees": 2},
}


def with_names(files: Files) -> None:
    """Add the people's names, and say in every file that they are a column that was kept."""
    n_rows, treatment = files.table.num_rows, {"role": "insensitive", "sensitive": False, "action": "kept"}
    files.table = files.table.append_column("who", pa.array([f"person {number}" for number in range(n_rows)]))
    files.report["columns"].append({"name": "who", **treatment})
    files.params["treatment"]["who"] = treatment
    field = {"name": "who", "type": "string", "anonkit:role": "insensitive", "anonkit:action": "kept"}
    files.descriptor["resources"][0]["schema"]["fields"].append(field)
    files.say_everywhere()


@pytest.mark.slow_cases("rr")
@pytest.mark.parametrize("method", NOISY)
def test_a_column_that_the_params_do_not_describe_is_refused(
    releases: dict[str, Files], method: str, tmp_path: Path
) -> None:
    """All files agree that the names were kept, and no noise was ever accounted for in them."""
    code, failed = verdict(forged(releases[method], with_names, tmp_path))

    assert code == 1
    assert failed == ("undescribed_columns",)


@dataclass(frozen=True, kw_only=True)
class Leaking:
    """A method that adds a column of the source to what another one makes, as one of its own."""

    name: ClassVar[str] = "leaking"
    paper: ClassVar[str] = "none: for the tests"
    summary: ClassVar[str] = "leaves a column as it is"
    target_use: ClassVar[TargetUse] = TargetUse.REQUIRED

    inner: Method

    def guarantee(self, policy: Policy) -> Guarantee:
        """State what the other one does."""
        return self.inner.guarantee(policy)

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Add the column."""
        draft = self.inner.release(source, policy, engine=engine, rng=rng, progress=progress)
        rows = pa.Table.from_batches(draft.data.batches(), schema=draft.data.schema)
        names = _names(source, rows.num_rows)
        entry: Any = {"name": "name", "role": "insensitive", "action": "synthesized"}
        columns = [column for column in draft.columns if column["name"] != "name"]
        return replace(draft, data=engine.hold(rows.append_column("name", names)), columns=[*columns, entry])


def _names(source: Source, n_rows: int) -> pa.Array:
    def cells() -> Iterator[str]:
        for batch in source.batches():
            yield from map(str, batch.column("name").to_pylist())

    listed = list(cells())
    return pa.array([listed[row % len(listed)] for row in range(n_rows)])


@pytest.mark.parametrize("method", SETTINGS)
def test_a_method_that_leaves_a_true_column_releases_nothing(
    method: str, small_customers: pa.Table, tmp_path: Path
) -> None:
    """The draft is compared with its params, before anything is written."""
    people = [f"person {number}" for number in range(small_customers.num_rows)]
    table = small_customers.append_column("name", pa.array(people))
    policy = bank_customers_policy().with_roles(identifiers=["name"])
    inner, output = make_method(method, SETTINGS[method], None), tmp_path / "out.parquet"
    anonkit.release(table, method=inner, policy=policy, ledger=None)
    with pytest.raises(GuaranteeError, match="undescribed_columns is 1"):
        anonkit.release(table, method=Leaking(inner=inner), policy=policy, output=output, ledger=None)
    assert not output.exists()
