"""Groups of an earlier release found again in its table, and in no other one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

import anonkit
from tests.methods.test_mdav import BATCHES, _people, released, rows_of


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
