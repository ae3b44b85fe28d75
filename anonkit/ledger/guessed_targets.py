# SPDX-License-Identifier: Apache-2.0
"""A target that nobody named, beside that of the last k-anonymous release of the dataset: a guess must not change it.

Two releases that leave different columns unchanged show more together than either; who makes them shall say which.
"""

from __future__ import annotations

from anonkit.errors import ChoiceError, option
from anonkit.ledger.packed_params import unpacked
from anonkit.ledger.standing import DatasetState
from anonkit.policy.declaration import Policy


def refuse_other_target(standing: DatasetState, policy: Policy) -> None:
    """Refuse a guessed target that is not that of the dataset's last k-anonymous release, which may have had none.

    Raises
    ------
    ChoiceError
        It is another one.
    """
    earlier = [entry for entry in standing.counted if entry.params is not None]
    if not earlier or policy.target is None or policy.target_is_declared or policy.cell_by_cell:
        return
    before = unpacked(earlier[-1].params or b"")["target"]
    if before == policy.target:
        return
    had = "had none" if before is None else f"had {before!r}"
    same = option("no_target", True) if before is None else option("target", before)
    raise ChoiceError(
        f"no target was named, {policy.target!r} would be guessed, and the last release of this dataset {had}",
        f"{same} for the same again, {option('target', policy.target)} for another",
    )
