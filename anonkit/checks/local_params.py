# SPDX-License-Identifier: Apache-2.0
"""Strict parser for the params file of a randomized table, written for the checks alone: domains, weights, answer rule.

An integer is a JSON integer and nothing else: no float, string or truth value passes for one. What contradicts
itself is refused, never repaired.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from anonkit.checks.central_params import says_truth_values
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
from anonkit.errors import ReleaseFormatError

FORMAT = "anonkit-randomized-1"
_WORD_BITS = (16, 32, 64)
_RESPONSE, _MATRIX, _BAND, _TRANSFORMED = "randomized-response", "response-matrix", "band-response", "trr"
_SETS, _MOST_PAIRS = "set-response", 4096


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
    try:
        target, asked_column = params["target"], params["asked_column"]
        table = PublishedAnswers(
            attributes=tuple(_attribute(attribute) for attribute in _list(params["attributes"])),
            target=None if target is None else _target(target),
            asked_column=None if asked_column is None else _text(asked_column),
        )
    except (KeyError, TypeError, AttributeError):
        raise ReleaseFormatError("an attribute of the params lacks a key or has one of the wrong kind") from None
    _check_table(table)
    return table


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


def _target(raw: Mapping[str, Any]) -> RandomizedColumn:
    if raw["mechanism"] is not None:
        target = _attribute({**raw, "joint_with_target": False})
        if target.domain is not None and target.words is not None and target.words.n_codes != target.domain.size:
            raise ReleaseFormatError(f"target {target.name!r}: its mechanism and its classes differ in number")
        return target
    if raw["parameters"] is not None or raw["epsilon"] is not None:
        raise ReleaseFormatError("a target without a mechanism has parameters")
    return RandomizedColumn(
        name=_text(raw["name"]),
        domain=_domain(raw["type"], raw["domain"]),
        raw_domain=raw["domain"],
        raw_parameters=None,
        mechanism=None,
        words=None,
        transformation=None,
        joint=False,
        stated=None,
    )


def _attribute(raw: Mapping[str, Any]) -> RandomizedColumn:
    mechanism, parameters = _text(raw["mechanism"]), raw["parameters"]
    domain, joint = _domain(raw["type"], raw["domain"]), _flag(raw["joint_with_target"])
    words: ResponseWords | None = None
    transformation, band = None, 1
    if mechanism == _RESPONSE:
        words = _response(parameters)
    elif mechanism == _MATRIX:
        words = _own_matrix(parameters)
    elif mechanism == _BAND:
        words, band = _band(parameters), _whole(parameters["band"])
    elif mechanism == _SETS:
        words = _sets(parameters)
    elif mechanism == _TRANSFORMED:
        transformation = _transformation(parameters)
    else:
        raise ReleaseFormatError("the params name an unknown mechanism")
    fits = {
        _BAND: isinstance(domain, BoundedCells),
        _TRANSFORMED: domain is None and raw["type"] == "number" and not joint,
    }
    if isinstance(words, BlindAndSets):
        fits[_SETS] = domain is not None and domain.size == words.n_values
    if not fits.get(mechanism, domain is not None) or (joint and mechanism == _MATRIX):
        raise ReleaseFormatError(f"attribute {_text(raw['name'])!r}: its mechanism and its domain do not go together")
    return RandomizedColumn(
        name=_text(raw["name"]),
        domain=domain,
        raw_domain=raw["domain"],
        raw_parameters=parameters,
        mechanism=mechanism,
        words=words,
        transformation=transformation,
        joint=joint,
        stated=stated_loss(raw["epsilon"]),
        band=band,
    )


# --- domains -----------------------------------------------------------------------------------------------------


def _domain(kind: object, raw: Mapping[str, Any] | None) -> ListedCategories | BoundedCells | None:
    if kind not in ("category", "number") or (kind == "category" and raw is None):
        raise ReleaseFormatError("a column of the params is neither a category nor a number")
    if raw is None:
        return None
    numbers = ("bounds", "cells", *(["step"] if "step" in raw else []))
    categories = ("categories", *(["truth_values"] if "truth_values" in raw else []))
    _only(raw, *(categories if kind == "category" else numbers), "has_missing")
    missing = _flag(raw["has_missing"])
    if kind == "category":
        values = tuple(_text(value) for value in _list(raw["categories"]))
        if not values or len(set(values)) != len(values):
            raise ReleaseFormatError("the categories of the params must be distinct and at least one")
        return ListedCategories(values=values, has_missing=missing, truth_values=says_truth_values(raw))
    lower, upper = _bounds(raw["bounds"])
    cells, multiples = _size(raw["cells"]), multiples_of(raw, (lower, upper))
    if fewest(cells, multiples) != cells:
        raise ReleaseFormatError("a domain of the params has more cells than numbers")
    return BoundedCells(lower=lower, upper=upper, cells=cells, has_missing=missing, multiples=multiples)


def _bounds(raw: object) -> tuple[float, float]:
    bounds = [_finite(bound) for bound in _list(raw)]
    if len(bounds) != 2 or not bounds[0] < bounds[1] or math.isinf(bounds[1] - bounds[0]):
        raise ReleaseFormatError("bounds of the params must be two finite numbers, the lower first")
    return bounds[0], bounds[1]


# --- mechanisms --------------------------------------------------------------------------------------------------


def _response(raw: Mapping[str, Any]) -> BlindAndNear:
    even = "blind_weight" in raw
    _only(raw, "word_bits", "categories", "truth_weight", "blind_weight" if even else "blind_weights")
    size = _size(raw["categories"])
    blind = [_whole(raw["blind_weight"])] * size if even else [_whole(weight) for weight in _list(raw["blind_weights"])]
    if len(blind) != size:
        raise ReleaseFormatError("randomized response of the params: categories and blind weights differ in number")
    return truth_or_blind(_bits(raw["word_bits"]), _at_least_1(raw["truth_weight"]), blind)


def _own_matrix(raw: Mapping[str, Any]) -> OwnMatrix:
    _only(raw, "word_bits", "rows")
    rows = tuple(tuple(_whole(weight) for weight in _list(row)) for row in _list(raw["rows"]))
    return OwnMatrix(word_bits=_bits(raw["word_bits"]), entries=rows)


def _band(raw: Mapping[str, Any]) -> BlindAndNear:
    sizes = ("positions", "band", "segments")
    _only(raw, *sizes, "blind_weight", "excess_weight", "word_bits", "has_missing")
    positions, band, classes = (_size(raw[name]) for name in sizes)
    if classes * (positions + band) > MOST_CODES:
        raise ReleaseFormatError("a band response of the params has more answers than anonkit writes")
    return near_or_blind(
        _bits(raw["word_bits"]),
        positions=positions,
        band=band,
        blind=_at_least_1(raw["blind_weight"]),
        excess=_at_least_1(raw["excess_weight"]),
        classes=classes,
        has_missing=_flag(raw["has_missing"]),
    )


def _sets(raw: Mapping[str, Any]) -> BlindAndSets:
    sizes = ("segments", "values")
    _only(raw, *sizes, "members", "blind_weight", "excess_weight", "word_bits")
    classes, values = (_size(raw[name]) for name in sizes)
    if classes * values > _MOST_PAIRS:
        raise ReleaseFormatError("a set response of the params has more pairs than anonkit writes")
    return set_or_blind(
        _bits(raw["word_bits"]),
        classes=classes,
        values=values,
        members=[_whole(member) for member in _list(raw["members"])],
        blind=_at_least_1(raw["blind_weight"]),
        excess=_at_least_1(raw["excess_weight"]),
    )


def _transformation(raw: Mapping[str, Any]) -> Transformation:
    _only(raw, "multiplier", "offset", "centre", "scale", "step", "bounds", "presence")
    presence = None if raw["presence"] is None else _response(raw["presence"])
    multiplier, offset = _draw(raw["multiplier"]), _draw(raw["offset"])
    centre, scale, step = (_finite(raw[name]) for name in ("centre", "scale", "step"))
    if not (scale > 0 and step > 0) or multiplier[0] == 0 or offset[0] != 0:
        raise ReleaseFormatError("a transformation of the params has a scale, step or mean that cannot be")
    if presence is not None and presence.n_codes != 2:
        raise ReleaseFormatError("whether a number is missing is randomized between two answers")
    bounds = None if raw["bounds"] is None else _bounds(raw["bounds"])
    return Transformation(
        multiplier=multiplier,
        offset=offset,
        centre=centre,
        scale=scale,
        step=step,
        bounds=bounds,
        presence=presence,
    )


def _draw(raw: Mapping[str, Any]) -> tuple[float, float, str]:
    _only(raw, "mean", "variance", "shape")
    mean, variance, shape = _finite(raw["mean"]), _finite(raw["variance"]), _text(raw["shape"])
    if variance < 0 or shape not in ("normal", "uniform"):
        raise ReleaseFormatError("a draw of the params must be normal or uniform, with a variance of at least 0")
    return mean, variance, shape


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


def _only(raw: Mapping[str, Any], *names: str) -> None:
    if set(raw) != set(names):
        raise ReleaseFormatError("a mechanism or domain of the params has a key too many or too few")


def _whole(raw: object) -> int:
    if type(raw) is not int:
        raise ReleaseFormatError("a weight or size of the params is not a whole number")
    return raw


def _at_least_1(raw: object) -> int:
    if _whole(raw) < 1:
        raise ReleaseFormatError("a weight or size of the params is below 1")
    return _whole(raw)


def _size(raw: object) -> int:
    if _at_least_1(raw) > MOST_CODES:
        raise ReleaseFormatError("a size of the params is larger than anonkit writes")
    return _whole(raw)


def _bits(raw: object) -> int:
    if _whole(raw) not in _WORD_BITS:
        raise ReleaseFormatError("words of the params have a length that anonkit does not write")
    return _whole(raw)


def _finite(raw: object) -> float:
    if type(raw) not in (int, float) or not abs(raw) <= sys.float_info.max:  # type: ignore[arg-type]
        raise ReleaseFormatError("a figure of the release is not a finite number")
    return float(raw)  # type: ignore[arg-type]


def _flag(raw: object) -> bool:
    if not isinstance(raw, bool):
        raise ReleaseFormatError("the params have something else than true or false for a flag")
    return raw


def _text(raw: object) -> str:
    if not isinstance(raw, str):
        raise ReleaseFormatError("the params have something else than a text for a name")
    return raw


def _list(raw: object) -> Sequence[Any]:
    if not isinstance(raw, list):
        raise ReleaseFormatError("the params have something else than a list for a list")
    return raw
