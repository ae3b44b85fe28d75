# SPDX-License-Identifier: Apache-2.0
"""A draft under which every key of the policy holds: the same search, with larger groups where they are needed.

Where all classes hold K rows every combination of some of their columns does, too. So a search gets the k of
the promise first, and where a key does not hold on its draft for a larger one, at most for the largest k of a key.
That is so for every k-anonymous method and every engine; what the promise states is counted on the release once more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from anonkit.errors import GuaranteeError, option
from anonkit.k_anonymity.privacy_model import AnonymityModel
from anonkit.policy.publication import KeyCombination
from anonkit.protocols import COUNT, Draft, Engine

_NOTE = "The search looked for groups of {k} rows, so that every key of the policy holds."


def draft_for_keys(
    method: AnonymityModel,
    keys: Sequence[KeyCombination],
    engine: Engine,
    drafted: Callable[[AnonymityModel], Draft],
) -> Draft:
    """Return the first draft under which every key holds.

    Parameters
    ----------
    method : AnonymityModel
        Its k is that of the promise.
    drafted : callable
        Makes the draft of such a method.

    Raises
    ------
    GuaranteeError
        A method cannot make groups that are large enough.
    """
    for k in attempts(method.k, keys):
        try:
            draft = drafted(method if k == method.k else replace(method, k=k))
        except GuaranteeError as failure:
            if k == method.k:
                raise
            raise GuaranteeError(
                f"the keys of the policy need larger groups than k = {method.k} makes, and with k = {k}: {failure}",
                f"smaller k in the keys, or a larger {option('max_suppression')}",
            ) from None
        if all(_smallest(draft, each.columns, engine) >= each.k for each in keys):
            break
    published: Mapping[str, Any] = draft.published
    return replace(
        draft,
        published={
            **published,
            "model": {**published["model"], "k": method.k},
            "keys": [{"columns": list(each.columns), "k": each.k} for each in keys],
        },
        notes=[*draft.notes, *([] if k == method.k else [_NOTE.format(k=k)])],
    )


def attempts(k: int, keys: Sequence[KeyCombination]) -> list[int]:
    """Return the sizes of groups to try, one after another: k, the middle, and the largest of the keys."""
    largest = max((each.k for each in keys), default=k)
    return [k] if largest <= k else sorted({k, math.isqrt(k * largest), largest})


def _smallest(draft: Draft, columns: Sequence[str], engine: Engine) -> int:
    """Return the rows of the rarest combination that a draft shows of some columns; those suppressed show nothing."""
    shown = [name for name in columns if name in draft.data.schema.names]
    (counted,) = engine.count_sets(draft.data, [tuple(shown)])
    return int(np.min(counted.column(COUNT).to_numpy(), initial=np.iinfo(np.int64).max))
