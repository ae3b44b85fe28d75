# SPDX-License-Identifier: Apache-2.0
"""Response designs for one attribute: declared blind weights, or a whole response matrix.

Public shares of categories, by which blind answers leave the expected counts as they are: invariant PRAM.

Where the shares of a column are pi, a blind answer that is category j with probability pi_j changes no expected count:
(p_0 I + (1 - p_0) 1 pi^T)^T pi = pi (Gouweleeuw, Kooiman, Willenborg and de Wolf 1998). From public shares the
matrix discloses nothing of the table.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anonkit.domains.cell_values import composed_text
from anonkit.errors import PolicyError
from anonkit.policy.side_files import UTF8, read_side_table, read_side_toml

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
        stated: Mapping[str, Any] = _of_file(where, given, folder, encoding)
    elif isinstance(given, Mapping):
        stated = {composed_text(str(name)): share for name, share in given.items()}
    else:
        raise PolicyError(f"{where}: {KEY} must be a file or a table of shares", _HINT)
    listed = [composed_text(str(category)) for category in categories]
    strange, lacking = set(stated) - {*listed, ""}, set(listed) - set(stated)
    if strange or lacking:
        raise PolicyError(
            f"{where}: {KEY} names {len(strange)} categories that are not declared, and lacks {len(lacking)}", _HINT
        )
    names = [*listed, *([""] if "" in stated and "" not in listed else [])]
    shares = [stated[name] for name in names]
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


_ROW_SUM_TOLERANCE = 1e-9
KEYS = ("answer_weights", "response_matrix")
"""The keys of a policy's column that make a design."""


@dataclass(frozen=True, kw_only=True)
class AnswerDesign:
    """The owner's declaration of the answers of one column: blind weights or a response matrix, not both.

    One entry a category in the order of the domain, missing last when it is one of its values. Public like the domain
    itself: these numbers are in `params.json` and must not be computed from the data.
    """

    where: str
    """The column, as it is named in messages."""
    weights: tuple[float, ...] | None = None
    """Probability of each category as a blind answer, in proportion: p_1..p_m are (1 - p_0) times their shares."""
    matrix: tuple[tuple[float, ...], ...] | None = None
    """Row i: probabilities of the answers when category i is true (post-randomization, PRAM)."""

    def __post_init__(self) -> None:
        if self.weights is not None and self.matrix is not None:
            raise PolicyError(
                f"{self.where}: answer_weights and response_matrix exclude each other", "a matrix says it all"
            )
        if self.weights is not None:
            _refuse_not_finite(self.where, "answer_weights", self.weights)
            if not any(self.weights):
                raise PolicyError(f"{self.where}: answer_weights must have an entry above 0")
        if self.matrix is not None:
            self._check_matrix(self.matrix)

    def _check_matrix(self, matrix: tuple[tuple[float, ...], ...]) -> None:
        if not matrix or any(len(row) != len(matrix) for row in matrix):
            raise PolicyError(f"{self.where}: response_matrix must be square", "a row and a column for every category")
        for number, row in enumerate(matrix, start=1):
            _refuse_not_finite(self.where, "response_matrix", row)
            total = math.fsum(row) if max(row) <= 2 else sum(row)  # an exact sum beyond doubles is an error
            if abs(total - 1) > _ROW_SUM_TOLERANCE:
                raise PolicyError(
                    f"{self.where}: row {number} of response_matrix adds up to {total:g}, not to 1",
                    "row i holds the probabilities of the answers when category i is true",
                )

    @property
    def size(self) -> int:
        """Number of values the design is for."""
        return len(self.weights or self.matrix or ())

    @property
    def key(self) -> str:
        """The key of the policy that declares it."""
        return KEYS[self.weights is None]

    def check_size(self, domain_size: int, has_missing: bool) -> None:
        """Refuse a design that does not fit the domain.

        Raises
        ------
        PolicyError
            It has another number of entries than the domain has values, missing included.
        """
        if self.size != domain_size:
            last = ", missing last" if has_missing else ""
            raise PolicyError(
                f"{self.where}: {self.key} is for {self.size} values, its domain has {domain_size}{last}",
                "one entry a category, in the order they are declared",
            )


def design_of(where: str, spec: Mapping[str, Any], folder: Path | None, encoding: str = UTF8) -> AnswerDesign | None:
    """Read the design of a column from its policy; None when it has none.

    `response_matrix` may name a file beside the policy: CSV (a line a row, perhaps with the categories above) or TOML
    (`matrix = [[…], …]`). `reference_shares` are blind weights by name, from such a file or as a table.

    Raises
    ------
    PolicyError
        A value is of the wrong kind, or a file is not there or not readable.
    """
    weights, matrix = (spec.get(key) for key in KEYS)
    if KEY in spec:
        if weights is not None or matrix is not None:
            raise PolicyError(f"{where}: {KEY} excludes answer_weights and response_matrix", "it says the weights")
        weights = shares_of(where, spec[KEY], spec.get("categories"), folder, encoding)
    if weights is None and matrix is None:
        return None
    if isinstance(matrix, str):
        matrix = _matrix_of(where, matrix, folder, encoding, spec.get("categories"))
    return AnswerDesign(
        where=where,
        weights=None if weights is None else _numbers(where, "answer_weights", weights),
        matrix=None if matrix is None else _rows(where, matrix),
    )


def _matrix_of(where: str, location: str, folder: Path | None, encoding: str, categories: object) -> object:
    if location.endswith(".toml"):
        try:
            return read_side_toml((folder or Path()) / location).get("matrix")
        except FileNotFoundError:
            raise PolicyError(
                f"{where}: response_matrix file {location!r} does not exist", "the path is relative to the policy file"
            ) from None
        except (OSError, UnicodeError, tomllib.TOMLDecodeError):
            raise _no_matrix(where, f"file {location!r}") from None
    table = read_side_table(where, "response_matrix", location, folder, encoding, _are_numbers)
    if table.rows and not any(map(_is_number, table.rows[0])):
        _check_header(where, table.line(0), table.rows[0], categories)
        table = table.without_first()
    comma = table.delimiter != "," and not any("." in cell for row in table.rows for cell in row)
    matrix = []
    for at, row in enumerate(table.rows):
        cells = [cell.replace(",", ".") for cell in row] if comma else row
        if not all(map(_is_number, cells)):
            raise _no_matrix(where, table.line(at))
        matrix.append([float(cell) for cell in cells])
    return matrix


def _check_header(where: str, line: str, header: Sequence[str], categories: object) -> None:
    """Refuse a first line of names that are not the declared categories in their order: rows would be of others."""
    listed = [composed_text(str(category)) for category in categories] if isinstance(categories, list) else None
    if listed is not None and listed != list(header[: len(listed)]):
        raise PolicyError(
            f"{where}: {line} does not name the categories in the order of the policy",
            "rows and columns of response_matrix are in the order of the categories, missing last",
        )


def _no_matrix(where: str, place: str) -> PolicyError:
    return PolicyError(
        f"{where}: response_matrix {place} is not a matrix of numbers",
        "CSV: a line a row; TOML: matrix = [[0.8, 0.2], [0.3, 0.7]]",
    )


def _are_numbers(rows: Sequence[Sequence[str]]) -> bool:
    return all(_is_number(cell) for row in rows[1:] for cell in row)


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _rows(where: str, raw: object) -> tuple[tuple[float, ...], ...]:
    if not isinstance(raw, list | tuple):
        raise PolicyError(
            f"{where}: response_matrix must be a file or a list of rows", "response_matrix = [[0.8, 0.2], [0.3, 0.7]]"
        )
    return tuple(_numbers(where, "response_matrix", row) for row in raw)


def _numbers(where: str, key: str, raw: object) -> tuple[float, ...]:
    if not isinstance(raw, list | tuple) or not all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in raw
    ):
        raise PolicyError(f"{where}: {key} must be a list of numbers")
    return tuple(float(value) for value in raw)


def _refuse_not_finite(where: str, key: str, values: Sequence[float]) -> None:
    if not values or not all(math.isfinite(value) and value >= 0 for value in values):
        raise PolicyError(f"{where}: {key} must be finite numbers, none below 0")
