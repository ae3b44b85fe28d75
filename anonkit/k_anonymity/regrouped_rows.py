# SPDX-License-Identifier: Apache-2.0
"""Groups of an earlier release found again: the same rows, grouped in the same way, show the same centroids.

Which rows are a group does not follow from the centroids, but from the table: who has it groups it once more, and sees
by the centroids whether these are the groups of the release.
"""

from __future__ import annotations

from anonkit.errors import GuaranteeError
from anonkit.k_anonymity.grouped_rows import GroupedRecoding
from anonkit.k_anonymity.numbers_in_groups import group_numbers
from anonkit.k_anonymity.preparing import Preparation, prepare
from anonkit.k_anonymity.privacy_model import AnonymityModel
from anonkit.k_anonymity.recoded_rows import ReleasableRows
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine, Source
from anonkit.published.recoding import Centroids, GlobalRecoding, MeanAxis

AS_THEY_ARE = Preparation(pool=False, cut=False, guided=False, exact_numbers=True)
"""Nothing is looked for in the columns: what is shown of them is known."""


def regrouped(
    model: AnonymityModel,
    source: Source,
    policy: Policy,
    engine: Engine,
    recoding: GlobalRecoding,
    releasable: ReleasableRows,
) -> GroupedRecoding:
    """Return the groups of a release, found again in its table.

    Parameters
    ----------
    recoding : GlobalRecoding
        As the release published it, its rows in groups.
    releasable : ReleasableRows
        Which rows may be released, and the requirements on their sensitive values.

    Raises
    ------
    GuaranteeError
        The table has other groups: it has changed since, or a column left the release because it showed one value.
    """
    prepared = prepare(source, policy, engine, model, AS_THEY_ARE, releasable.rules)
    categories = GlobalRecoding(
        columns=tuple(column for column in recoding.columns if not isinstance(column, MeanAxis))
    )
    units = {column.name: column.unit for column in recoding.columns if isinstance(column, MeanAxis)}
    order = [column.name for column in recoding.columns]
    found = group_numbers(prepared, categories, recoding.mean_names, order, units).recoding
    if _shown(found.published.centroids) != _shown(recoding.centroids):
        raise GuaranteeError("the groups of an earlier release cannot be found again: the table has changed since")
    return found


def _shown(centroids: Centroids | None) -> set[tuple[object, ...]]:
    """Return the combinations that the groups show."""
    assert centroids is not None  # noqa: S101 - both recodings are in groups
    return set(zip(*(cells for _, cells in (*centroids.categories, *centroids.means)), strict=True))
