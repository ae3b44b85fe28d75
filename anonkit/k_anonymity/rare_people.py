# SPDX-License-Identifier: Apache-2.0
"""People of a recoded table whose whole set of rows fewer than k people have: they are left out with all their rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from anonkit.domains.coded_columns import combine
from anonkit.k_anonymity.search.equivalence import Partition
from anonkit.k_anonymity.search.shared_sets import SharedSets
from anonkit.protocols import Engine, Source


@dataclass(frozen=True, kw_only=True)
class RarePeople:
    """The people who must go, and how many rows they have."""

    keys: pa.Array
    """Keys of their units (`anonkit.domains.cell_keys`)."""
    n_rows: int


def rare_people(recoded: Source, engine: Engine, names: list[str], unit: str, k: int) -> RarePeople:
    """Count the whole sets of rows of a recoded table.

    Parameters
    ----------
    recoded : Source
        Released quasi-identifiers, and the keys of the unit; every row is somebody's.
    names : list of str
        The released quasi-identifiers.

    Notes
    -----
    One column of codes is in memory at a time, and two integers a row.
    """
    people = engine.encode(recoded, [unit])[0]
    classes = np.zeros(people.codes.size, dtype=np.int64)
    n_classes = 1 if classes.size else 0
    for name in names:
        classes, n_classes = combine([classes, engine.encode(recoded, [name])[0].codes], classes.size)
    units = people.codes.astype(np.int64)
    gone = SharedSets(k, units).gone(Partition(classes, n_classes))
    keys = [people.values[code] for code in np.unique(units[gone]).tolist()]
    return RarePeople(keys=pa.array(keys, pa.string()), n_rows=int(gone.sum()))
