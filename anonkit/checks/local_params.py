# SPDX-License-Identifier: Apache-2.0
"""Strict parser for the params file of a randomized table, written for the checks alone: domains, weights, answer rule.

An integer is a JSON integer and nothing else: no float, string or truth value passes for one. What contradicts
itself is refused, never repaired.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from anonkit.checks.local_matrices import (
    MOST_CODES,
    BlindAndNear,
    BlindAndSets,
    OwnMatrix,
    ResponseWords,
    near_or_blind,
    set_or_blind,
    truth_or_blind,
)
from anonkit.checks.number_cells import EqualCells, Multiples, fewest, multiples_of
from anonkit.documents import called, read
from anonkit.errors import ReleaseFormatError

FORMAT = "anonkit-randomized-1"
_WORD_BITS = (16, 32, 64)
_RESPONSE, _MATRIX, _BAND, _TRANSFORMED = "randomized-response", "response-matrix", "band-response", "trr"
_SETS, _MOST_PAIRS = "set-response", 4096
_DAMAGED = "an attribute of the params lacks a key or has one of the wrong kind"
_CLOSED = "a mechanism or domain of the params has a key too many, too few or of the wrong kind"


@dataclass(frozen=True, kw_only=True)
class ListedCategories:
    """A public list of categories; missing, when it is possible, comes last."""

    values: tuple[str, ...]
    has_missing: bool
    truth_values: bool = False
    """True where they are false and true, and its cells booleans."""

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.values) + self.has_missing


_ROUNDINGS = 4
"""Roundings, each half a distance of doubles, that the middle of a cell and its place may have together, at most."""


@dataclass(frozen=True, kw_only=True)
class BoundedCells:
    """Equal cells over public bounds; missing, when it is possible, comes last."""

    lower: float
    upper: float
    cells: int
    has_missing: bool
    beyond: int = 0
    """Answers of a band response: the number of half cells beyond each bound."""
    multiples: Multiples | None = None
    """The numbers that the column holds, where it does not hold any."""

    @property
    def size(self) -> int:
        """Number of codes."""
        return self.cells + self.beyond + self.has_missing

    def codes(self, numbers: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the cell in whose middle each number is, the last code for NaN; -1 for any other number."""
        absent = np.isnan(numbers)
        if self.multiples is not None:
            grid = EqualCells(
                low=self.lower, high=self.upper, cells=self.cells, multiples=self.multiples, beyond=self.beyond
            )
            codes = grid.codes_of_shown(np.where(absent, self.lower, numbers))
            codes[absent] = self.cells + self.beyond if self.has_missing else -1
            return codes
        width = (self.upper - self.lower) / self.cells
        places = (np.where(absent, self.lower, numbers) - self.lower) / width - 0.5 + self.beyond / 2
        near = np.rint(places)
        # a middle is rounded to the doubles near the bounds, which may be far from 0 for their distance
        rounded = 1e-6 + _ROUNDINGS * np.spacing(max(abs(self.lower), abs(self.upper))) / width
        off = ~(np.abs(places - near) < min(rounded, 0.25)) | (near < 0) | (near > self.cells + self.beyond - 1)
        codes = np.where(off, -1, near).astype(np.int64)
        codes[absent] = self.cells + self.beyond if self.has_missing else -1
        return codes


@dataclass(frozen=True, kw_only=True)
class Transformation:
    """The laws by which a number was multiplied and shifted; no bound holds for it."""

    multiplier: tuple[float, float, str]
    """Mean, variance and shape."""
    offset: tuple[float, float, str]
    centre: float
    scale: float
    step: float
    bounds: tuple[float, float] | None
    presence: ResponseWords | None
    """Between present and missing; None where nothing may be missing."""

    @property
    def is_unperturbed(self) -> bool:
        """Return True if the published number is the true one."""
        return self.multiplier[:2] == (1.0, 0.0) and self.offset[1] == 0.0


@dataclass(frozen=True, kw_only=True)
class RandomizedColumn:
    """One column of a randomized table."""

    name: str
    domain: ListedCategories | BoundedCells | None
    """Of the true values; None where there is no grid."""
    raw_domain: Mapping[str, Any] | None
    """As it is published."""
    raw_parameters: Mapping[str, Any] | None
    """As they are published."""
    mechanism: str | None
    """None for a target that is hidden in the answers of the attributes."""
    words: ResponseWords | None
    """None for a transformed number and for a hidden target."""
    transformation: Transformation | None
    joint: bool
    """The code holds the class too."""
    stated: float | None
    """Privacy loss that the file states."""
    band: int = 1

    @property
    def answers(self) -> ListedCategories | BoundedCells | None:
        """Domain of what is shown."""
        if isinstance(self.domain, BoundedCells) and self.band > 1:
            grid = self.domain
            return replace(grid, beyond=self.band - 1)
        return self.domain

    @property
    def ratio(self) -> Fraction | None:
        """The largest likelihood ratio of an answer, None without a bound; 1 for a hidden target: it is no answer."""
        if self.mechanism is None:
            return Fraction(1)
        return None if self.words is None else self.words.worst_ratio()

    @property
    def truth(self) -> int | None:
        """Words of randomized response that answer with the truth."""
        return self.words.more[0] if self.mechanism == _RESPONSE and isinstance(self.words, BlindAndNear) else None


@dataclass(frozen=True, kw_only=True)
class PublishedAnswers:
    """Every column of a randomized table, and whether a row answers all of them or one."""

    attributes: tuple[RandomizedColumn, ...]
    target: RandomizedColumn | None
    asked_column: str | None

    @property
    def columns(self) -> tuple[RandomizedColumn, ...]:
        """The attributes, and the target behind them."""
        return self.attributes if self.target is None else (*self.attributes, self.target)

    @property
    def n_classes(self) -> int:
        """Classes that an answer may hide."""
        return 1 if self.target is None or self.target.domain is None else self.target.domain.size

    @property
    def joint(self) -> bool:
        """Return True if the answers hide the class."""
        return self.target is not None and self.target.mechanism is None


def read_answers(params: Mapping[str, Any]) -> PublishedAnswers:
    """Read the params of a randomized table.

    Raises
    ------
    ReleaseFormatError
        A key is missing or of another kind than anonkit writes, weights do not add up, or parts contradict each other.
    """
    if params.get("format") != FORMAT:
        raise ReleaseFormatError(f"the params are not of format {FORMAT}")
    table = called(_table, params, _DAMAGED, closed=False)
    _check_table(table)
    return table


def _table(*, attributes: list[Any], target: Any, asked_column: str | None) -> PublishedAnswers:
    return PublishedAnswers(
        attributes=tuple(_column(attribute) for attribute in attributes),
        target=None if target is None else _target(target),
        asked_column=asked_column,
    )


def _check_table(table: PublishedAnswers) -> None:
    """Refuse columns that do not go together."""
    names = [attribute.name for attribute in table.columns] + (
        [] if table.asked_column is None else [table.asked_column]
    )
    if len(set(names)) != len(names):
        raise ReleaseFormatError("the params name a column twice")
    joint = [attribute.joint for attribute in table.attributes]
    if table.joint != any(joint) or (table.joint and not (all(joint) and table.asked_column is not None)):
        raise ReleaseFormatError("the label of the params is hidden in all answers, one a row, or in none of them")
    if table.target is not None and table.target.domain is None:
        raise ReleaseFormatError("the target of a randomized table must be a category, or a number on a grid")
    for attribute in table.attributes:
        if attribute.domain is not None and attribute.words is not None:
            size = attribute.domain.size * (table.n_classes if attribute.joint else 1)
            if attribute.words.n_codes != size:
                raise ReleaseFormatError(f"attribute {attribute.name!r}: its mechanism and its domain differ in size")


def _column(raw: Any) -> RandomizedColumn:
    column = called(_attribute, raw, _DAMAGED, closed=False)
    if column.mechanism is None:
        raise ReleaseFormatError("the params name an unknown mechanism")
    return column


def _target(raw: Any) -> RandomizedColumn:
    target = called(_attribute, {**read(dict[str, Any], raw), "joint_with_target": False}, _DAMAGED, closed=False)
    if target.domain is not None and target.words is not None and target.words.n_codes != target.domain.size:
        raise ReleaseFormatError(f"target {target.name!r}: its mechanism and its classes differ in number")
    return target


def _attribute(
    *,
    name: str,
    type: str,  # noqa: A002 - the key of the params
    domain: dict[str, Any] | None,
    mechanism: str | None,
    parameters: dict[str, Any] | None,
    joint_with_target: bool,
    epsilon: Any,
) -> RandomizedColumn:
    own, is_joint = _domain(type, domain), joint_with_target
    words: ResponseWords | None = None
    transformation, band = None, 1
    if mechanism is None and (parameters is not None or epsilon is not None):
        raise ReleaseFormatError("a target without a mechanism has parameters")
    if mechanism == _TRANSFORMED:
        transformation = called(_transformation, parameters, _CLOSED)
    elif mechanism is not None and mechanism in _WORDS:
        words = called(_WORDS[mechanism], parameters, _CLOSED)
        band = (parameters or {}).get("band", 1)
    elif mechanism is not None:
        raise ReleaseFormatError("the params name an unknown mechanism")
    fits: dict[str | None, bool] = {
        None: True,
        _BAND: isinstance(own, BoundedCells),
        _TRANSFORMED: own is None and type == "number" and not is_joint,
    }
    if isinstance(words, BlindAndSets):
        fits[_SETS] = own is not None and own.size == words.n_values
    if not fits.get(mechanism, own is not None) or (is_joint and mechanism == _MATRIX):
        raise ReleaseFormatError(f"attribute {name!r}: its mechanism and its domain do not go together")
    return RandomizedColumn(
        name=name,
        domain=own,
        raw_domain=domain,
        raw_parameters=parameters,
        mechanism=mechanism,
        words=words,
        transformation=transformation,
        joint=is_joint,
        stated=None if mechanism is None else stated_loss(epsilon),
        band=band,
    )


# --- domains -----------------------------------------------------------------------------------------------------


def _domain(kind: str, raw: Any) -> ListedCategories | BoundedCells | None:
    if kind not in ("category", "number") or (kind == "category" and raw is None):
        raise ReleaseFormatError("a column of the params is neither a category nor a number")
    if raw is None:
        return None
    return called(_listed, raw, _CLOSED) if kind == "category" else called(_bounded, raw, _CLOSED)


def _listed(*, categories: tuple[str, ...], has_missing: bool, truth_values: bool | None = None) -> ListedCategories:
    if not categories or len(set(categories)) != len(categories):
        raise ReleaseFormatError("the categories of the params must be distinct and at least one")
    if truth_values not in (None, True) or (truth_values and categories != ("false", "true")):
        raise ReleaseFormatError("a domain of the params calls other categories than false and true truth values")
    return ListedCategories(values=categories, has_missing=has_missing, truth_values=truth_values is True)


def _bounded(*, bounds: tuple[float, float], cells: int, has_missing: bool, step: float | None = None) -> BoundedCells:
    lower, upper = _ordered(bounds)
    multiples = None if step is None else multiples_of({"step": step}, (lower, upper))
    _check_sizes(cells)
    if fewest(cells, multiples) != cells:
        raise ReleaseFormatError("a domain of the params has more cells than numbers")
    return BoundedCells(lower=lower, upper=upper, cells=cells, has_missing=has_missing, multiples=multiples)


def _ordered(bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = float(bounds[0]), float(bounds[1])
    if not low < high or math.isinf(high - low):
        raise ReleaseFormatError("bounds of the params must be two finite numbers, the lower first")
    return low, high


# --- mechanisms: the keywords of each function are the keys of its parameters -----------------------------------------


def _response(
    *, word_bits: int, categories: int, truth_weight: int, blind_weight: int | None = None, blind_weights: Any = None
) -> BlindAndNear:
    _check_sizes(categories)
    if blind_weights is None and blind_weight is not None:
        blind: tuple[int, ...] = (blind_weight,) * categories
    elif blind_weights is not None and blind_weight is None:
        blind = read(tuple[int, ...], blind_weights)
    else:
        raise ReleaseFormatError(_CLOSED)
    if len(blind) != categories:
        raise ReleaseFormatError("randomized response of the params: categories and blind weights differ in number")
    _check_weights(truth_weight)
    return truth_or_blind(_bits(word_bits), truth_weight, blind)


def _own_matrix(*, word_bits: int, rows: tuple[tuple[int, ...], ...]) -> OwnMatrix:
    return OwnMatrix(word_bits=_bits(word_bits), entries=rows)


def _band(
    *,
    positions: int,
    band: int,
    segments: int,
    blind_weight: int,
    excess_weight: int,
    word_bits: int,
    has_missing: bool,
) -> BlindAndNear:
    _check_sizes(positions, band, segments)
    if segments * (positions + band) > MOST_CODES:
        raise ReleaseFormatError("a band response of the params has more answers than anonkit writes")
    _check_weights(blind_weight, excess_weight)
    return near_or_blind(
        _bits(word_bits),
        positions=positions,
        band=band,
        blind=blind_weight,
        excess=excess_weight,
        classes=segments,
        has_missing=has_missing,
    )


def _sets(
    *, segments: int, values: int, members: tuple[int, ...], blind_weight: int, excess_weight: int, word_bits: int
) -> BlindAndSets:
    _check_sizes(segments, values)
    if segments * values > _MOST_PAIRS:
        raise ReleaseFormatError("a set response of the params has more pairs than anonkit writes")
    _check_weights(blind_weight, excess_weight)
    return set_or_blind(
        _bits(word_bits), classes=segments, values=values, members=members, blind=blind_weight, excess=excess_weight
    )


_WORDS: Mapping[str, Callable[..., ResponseWords]] = {
    _RESPONSE: _response,
    _MATRIX: _own_matrix,
    _BAND: _band,
    _SETS: _sets,
}


def _transformation(
    *,
    multiplier: Any,
    offset: Any,
    centre: float,
    scale: float,
    step: float,
    bounds: tuple[float, float] | None,
    presence: Any,
) -> Transformation:
    words = None if presence is None else called(_response, presence, _CLOSED)
    product, shift = called(_draw, multiplier, _CLOSED), called(_draw, offset, _CLOSED)
    if not (scale > 0 and step > 0) or product[0] == 0 or shift[0] != 0:
        raise ReleaseFormatError("a transformation of the params has a scale, step or mean that cannot be")
    if words is not None and words.n_codes != 2:
        raise ReleaseFormatError("whether a number is missing is randomized between two answers")
    return Transformation(
        multiplier=product,
        offset=shift,
        centre=float(centre),
        scale=float(scale),
        step=float(step),
        bounds=None if bounds is None else _ordered(bounds),
        presence=words,
    )


def _draw(*, mean: float, variance: float, shape: str) -> tuple[float, float, str]:
    if variance < 0 or shape not in ("normal", "uniform"):
        raise ReleaseFormatError("a draw of the params must be normal or uniform, with a variance of at least 0")
    return float(mean), float(variance), shape


# --- values ------------------------------------------------------------------------------------------------------


def stated_loss(raw: object) -> float:
    """Return a privacy loss in the form of the files: a number of at least 0, or the string "inf".

    Raises
    ------
    ReleaseFormatError
        It is neither.
    """
    if raw == "inf" and isinstance(raw, str):
        return math.inf
    loss = _finite(raw)
    if loss < 0:
        raise ReleaseFormatError("a privacy loss of the release is below 0")
    return loss


def _check_weights(*weights: int) -> None:
    if min(weights) < 1:
        raise ReleaseFormatError("a weight or size of the params is below 1")


def _check_sizes(*sizes: int) -> None:
    _check_weights(*sizes)
    if max(sizes) > MOST_CODES:
        raise ReleaseFormatError("a size of the params is larger than anonkit writes")


def _bits(bits: int) -> int:
    if bits not in _WORD_BITS:
        raise ReleaseFormatError("words of the params have a length that anonkit does not write")
    return bits


def _finite(raw: object) -> float:
    if type(raw) not in (int, float) or not abs(raw) <= sys.float_info.max:  # type: ignore[arg-type]
        raise ReleaseFormatError("a figure of the release is not a finite number")
    return float(raw)  # type: ignore[arg-type]
