# SPDX-License-Identifier: Apache-2.0
"""What k is left when a k-anonymous release is combined with earlier ones of the same rows.

Somebody who holds two releases of one table knows of a person the class in the one and the class in the other. Whoever
can tell which rows of the two belong together is left with the rows that are in both classes (intersection), or in the
class of one release and missing from the other (differencing). The joint view counts these rows in the source, where it
is known which row is which: no pair of releases can be combined into smaller groups than it says.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.errors import AnonkitError
from anonkit.ledger.standing import Entry
from anonkit.mechanisms.equivalence import Partition
from anonkit.methods.recoded import Recoded
from anonkit.policy import Policy
from anonkit.protocols import Engine, Source
from anonkit.recoding import UNKNOWN

_KEPT = (
    "method", "earlier_method", "target", "unit", "missing_values", "model", "max_suppression", "columns", "recoding",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class JointView:
    """Several releases of one table seen together.

    Privacy
    -------
    Counted on the source and covered by no promise: for the owner.
    """

    k: int
    """Rows (people, with a unit column) in the smallest joint class; 0 when nothing is released."""
    classes: int
    rows_below: int
    """Rows in joint classes smaller than the k of the newest release."""
    alone: int
    """Rows that are alone in their joint class."""
    releases: tuple[int, ...]
    """Numbers of the earlier releases."""

    def to_dict(self) -> dict[str, Any]:
        """Return the view for the owner report."""
        return {
            "k": self.k,
            "classes": self.classes,
            "rows_below_k": self.rows_below,
            "rows_alone": self.alone,
            "with_releases": list(self.releases),
        }


def pack(params: Mapping[str, Any]) -> bytes | None:
    """Return what the ledger keeps of a release's public parameters; None when it has no recoding."""
    if "recoding" not in params or "model" not in params:
        return None
    return zlib.compress(json.dumps({key: params[key] for key in _KEPT if key in params}).encode())


def joint_view(
    table: Source, policy: Policy, engine: Engine, params: Mapping[str, Any], earlier: Sequence[Entry]
) -> JointView | None:
    """Count the joint classes of a table under several recodings.

    Parameters
    ----------
    table : Source
        The source of the newest release.
    policy : Policy
        Its resolved policy; with a unit column people are counted.
    params : mapping
        What `params.json` of the newest release holds.
    earlier : sequence of Entry
        Earlier k-anonymous releases of the same rows.

    Returns
    -------
    JointView, or None when an earlier recoding does not fit the table any more.
    """
    every = [params, *(json.loads(zlib.decompress(one.params)) for one in earlier if one.params is not None)]
    known = {column["name"] for one in every for column in one["columns"] if column["role"] == "quasi_identifier"}
    try:
        seen = [_shown(table, engine, one, known) for one in every]
    except (AnonkitError, KeyError):
        return None
    shown = np.logical_or.reduce([classes != UNKNOWN for classes in seen])
    codes = [classes[shown] + 1 for classes in seen]
    units = None
    if policy.unit is not None:
        units = engine.encode(table, [policy.unit])[0].codes[shown].astype(np.int64)
    partition = Partition.of(codes, int(shown.sum()))
    rows, sizes, k = partition.sizes(), partition.sizes(units), int(params["model"]["k"])
    return JointView(
        k=int(sizes.min(initial=np.iinfo(np.int64).max)) if sizes.size else 0,
        classes=int(sizes.size),
        rows_below=int(rows[sizes < k].sum()),
        alone=int(rows[sizes == 1].sum()),
        releases=tuple(one.number for one in earlier if one.params is not None),
    )


def _shown(table: Source, engine: Engine, params: Mapping[str, Any], known: set[str]) -> NDArray[np.int64]:
    """Return the class that each row shows in one release; UNKNOWN where the row is not in it.

    Columns that this release shows as they are and that another takes for known to an attacker are part of the class.
    """
    method = Recoded.from_params(params, max_suppression=1.0)
    policy = method.policy().resolve(table.schema.names, target_use=method.target_use)
    done = method.recoded_rows(table, policy, engine)
    clear = [
        column["name"]
        for column in params["columns"]
        if column["name"] in known and column["role"] in ("target", "sensitive", "insensitive")
    ]
    shown = [column.codes.astype(np.int64) for column in engine.encode(table, clear)]
    codes = [np.where(done.kept, done.classes, 0), *shown]
    return np.where(done.kept, Partition.of(codes, done.kept.size).classes, UNKNOWN)
