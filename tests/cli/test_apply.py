"""`anonkit apply`: the next batch recoded as an earlier release was, k counted anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from anonkit.bundle.stored_release import load


def test_the_next_batch_has_the_columns_of_the_release(cli: Any, table: Path, released: Path) -> None:
    """From params.json or any other file of the release; it validates by itself."""
    output = table.with_name("next.parquet")
    ran = cli("apply", "--no-ledger", released.with_name("out.params.json"), table, output, "--json")
    assert ran.code == 0, ran.err
    assert load(output).to_arrow().schema.names == load(released).to_arrow().schema.names
    assert cli("validate", output, "--quiet").code == 0


def test_a_batch_in_which_k_is_not_kept_is_refused(cli: Any, table: Path, released: Path) -> None:
    """Two rows, and k is 3: nothing is written."""
    batch, output = table.with_name("few.csv"), table.with_name("next.parquet")
    batch.write_text("\n".join(table.read_text().splitlines()[:3]) + "\n")
    ran = cli("apply", "--no-ledger", "--max-suppression", "0", released, batch, output)
    assert ran.code == 1
    assert not output.exists()


@pytest.mark.slow
def test_params_of_noise_are_no_recoding(cli: Any, table: Path, released: Path) -> None:
    """One line, no traceback."""
    params = released.with_name("out.params.json")
    params.write_text('{"format": "anonkit-randomized-1"}')
    released.with_name("out.datapackage.json").unlink()
    ran = cli("apply", "--no-ledger", params, table, table.with_name("next.parquet"))
    assert ran.code == 3
    assert "no recoding to apply" in ran.err
