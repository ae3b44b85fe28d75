# SPDX-License-Identifier: Apache-2.0
"""Public shares of categories, by which blind answers leave the expected counts as they are: invariant PRAM.

Where the shares of a column are pi, a blind answer that is category j with probability pi_j changes no expected count:
(p_0 I + (1 - p_0) 1 pi^T)^T pi = pi (Gouweleeuw, Kooiman, Willenborg and de Wolf 1998). From public shares the
matrix discloses nothing of the table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anonkit.domains.exact_decimals import composed_text
from anonkit.errors import PolicyError
from anonkit.policy.encodings import UTF8
from anonkit.policy.side_files import read_side_table

KEY = "reference_shares"
_HINT = "a line a category, such as clerk,0.31; missing has an empty name"


def shares_of(where: str, given: object, categories: object, folder: Path | None, encoding: str = UTF8) -> list[float]:
    """Return the shares of the categories of a column in their order, that of missing last where there is one.

    Parameters
    ----------
    given : object
        A file beside the policy with a line a category, its name and its share, or a mapping of the same.
    categories : object
        The declared categories.

    Returns
    -------
    list of float
        Each above 0; in proportion, so that counts will do.

    Raises
    ------
    PolicyError
        It is neither, names another category or lacks one, or a share is no number above 0.
    """
    if not isinstance(categories, list) or not categories:
        raise PolicyError(f"{where}: {KEY} needs declared categories", 'categories = ["clerk", "nurse"]')
    if isinstance(given, str):
        told: Mapping[str, Any] = _of_file(where, given, folder, encoding)
    elif isinstance(given, Mapping):
        told = {composed_text(str(name)): share for name, share in given.items()}
    else:
        raise PolicyError(f"{where}: {KEY} must be a file or a table of shares", _HINT)
    listed = [composed_text(str(category)) for category in categories]
    strange, lacking = set(told) - {*listed, ""}, set(listed) - set(told)
    if strange or lacking:
        raise PolicyError(
            f"{where}: {KEY} names {len(strange)} categories that are not declared, and lacks {len(lacking)}", _HINT
        )
    names = [*listed, *([""] if "" in told and "" not in listed else [])]
    shares = [told[name] for name in names]
    if not all(_is_share(share) for share in shares):
        raise PolicyError(
            f"{where}: {KEY} must be finite numbers above 0", "a category with share 0 would never be a blind answer"
        )
    return [float(share) for share in shares]


def _of_file(where: str, location: str, folder: Path | None, encoding: str) -> dict[str, Any]:
    table = read_side_table(where, KEY, location, folder, encoding, lambda rows: all(len(row) == 2 for row in rows))
    found: dict[str, Any] = {}
    for at, row in enumerate(table.rows):
        if len(row) != 2:
            raise PolicyError(f"{where}: {KEY} {table.line(at)} is not a category and its share", _HINT)
        name, share = row[0].strip(), _number(row[1])
        if share is None and at == 0:
            continue  # names of the two columns
        if share is None or name in found:
            raise PolicyError(f"{where}: {KEY} {table.line(at)} is not a category and its share, each once", _HINT)
        found[name] = share
    return found


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
