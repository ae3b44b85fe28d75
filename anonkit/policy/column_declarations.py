# SPDX-License-Identifier: Apache-2.0
"""The declaration of one column: its role, public domain, missing values and hierarchy, read from a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import inf, ulp
from pathlib import Path
from typing import Any

from anonkit.domains.cell_values import NumberForm, exact_decimal
from anonkit.domains.dates_and_times import CalendarKind
from anonkit.domains.named_parts import NamedParts
from anonkit.domains.rounding_grid import WholeValues
from anonkit.errors import ChoiceError, ParameterError, PolicyError, did_you_mean
from anonkit.policy.answer_design import KEY as REFERENCE_SHARES
from anonkit.policy.answer_design import KEYS as ANSWER_KEYS
from anonkit.policy.answer_design import AnswerDesign, design_of
from anonkit.policy.calendar_columns import KEYS as CALENDAR_KEYS
from anonkit.policy.calendar_columns import Calendar, PublicBins, declared_calendar
from anonkit.policy.places import KEYS as PLACE_KEYS
from anonkit.policy.places import GeographicPlace, declared_place
from anonkit.policy.side_files import (
    UTF8,
    check_tree,
    declared_tree,
    expect,
    member,
    numbers,
    optional_text,
    refuse_unknown,
    texts,
)
from anonkit.policy.survey_weights import ShownWeights, check_weights


class Role(StrEnum):
    """The role of a column for the attacker and for the consumer."""

    IDENTIFIER = "identifier"
    """Names a person; never released."""
    QUASI_IDENTIFIER = "quasi_identifier"
    """Known to an attacker from elsewhere; protected by the method."""
    SENSITIVE = "sensitive"
    """A value that an attacker wants to learn; released, checked by l-diversity and t-closeness."""
    INSENSITIVE = "insensitive"
    """Harmless; published unchanged."""
    TARGET = "target"
    """A class or number that consumers predict; released unchanged by the k-anonymous methods."""
    UNIT = "unit"
    """The person of a row, when one person has many rows; counted, never released."""
    HOUSEHOLD = "household"
    """The household of a row: counted with all its members together, never released."""
    WEIGHT = "weight"
    """The number of people that a row represents; released as means of classes, or rounded; never a feature."""


class Missing(StrEnum):
    """The meaning of a missing value of a quasi-identifier; of a sensitive column, whether it is a value at all."""

    CATEGORY = "category"
    """One more value, equal to itself only."""
    FIRST = "first"
    """It counts as the first category, or as the lower bound: the domain has no missing value."""
    DROP = "drop"
    """The row leaves the table before anything is counted; not under differential privacy."""
    ERROR = "error"
    """The table is refused; not under differential privacy, where a refusal would disclose something of the row."""


class Outside(StrEnum):
    """The meaning of a cell outside the declared domain of its column."""

    CLAMP = "clamp"
    """A number counts as the nearest bound; a string among numbers is missing. For bounds, and their default."""
    MISSING = "missing"
    """It is missing. The default of categories, and of what cannot be read as declared."""
    REFUSE = "refuse"
    """The table is refused; not under differential privacy."""


class ColumnType(StrEnum):
    """The declared type of the cells of a text file. Parquet and data frames bring their own types."""

    STRING = "string"
    TEXT = "text"
    CATEGORY = "category"
    """`text` and `category` are as `string`: under all three 1 and 1.0 are different categories."""
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"
    """A moment: a day and a time of day."""
    TIME = "time"
    """A time of day."""

    @property
    def calendar_kind(self) -> CalendarKind | None:
        """Calendar kind of the cells; None for the other types."""
        return CalendarKind(str(self)) if str(self) in list(CalendarKind) else None


_MODEL_RANGES = {"l": (1.0, inf), "t": (0.0, 1.0), "alpha": (0.0, 1.0), "tolerance": (0.0, 1.0)}
"""Requirements of a sensitive column on its values, with their ranges."""

_DETAIL_KEYS = ("keep", "detail_weight")
ACCEPT_OUTSIDE = 0.05
"""Share of a column's filled cells that may lie outside what is declared, under k-anonymity, unless it says another."""

_FORM_KEYS = ("decimal", "thousands", "percent", "currency")
"""Keys for how the numbers of a column are written."""

RELEASED = (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.INSENSITIVE, Role.TARGET, Role.WEIGHT)


@dataclass(frozen=True, kw_only=True)
class Column:
    """The declaration of one column."""

    name: str
    role: Role = Role.QUASI_IDENTIFIER
    role_given: bool = True
    """False when a policy file declares something of the column, but no role."""
    sensitive: bool = False
    """True when a target is also a sensitive attribute (`role = "target", sensitive = true`)."""
    release_as_is: bool = False
    """True: it may be released unchanged although its cells look like identifiers or number the rows."""
    keep: bool = False
    """True: a k-anonymous release shows at least two of its values, ranges or groups, or is refused."""
    detail_weight: float | None = None
    """Worth of its detail beside that of other columns to a k-anonymous search, above 0; None: 1."""
    type: ColumnType | None = None
    """Type of the cells in a text file; read from the cells when not declared."""
    categories: tuple[str, ...] | None = None
    """The public domain of a categorical column, in order."""
    bounds: tuple[float, float] | None = None
    """The public bounds of a numeric column, inclusive."""
    step: float | None = None
    """Step between the numbers of a column, above 0, such as 1 or 0.01; None: 1 where the type is integer."""
    spikes: tuple[float, ...] = ()
    """Numbers that many may hold, such as 0: each is a cell of its own under central differential privacy."""
    is_whole_by_type: bool = False
    """True when the source's type, and no policy, declares integers; not from a file."""
    are_truth_values: bool = False
    """True when its categories are false and true because its type, declared or of the source, is boolean; not from a
    file."""
    ladder: tuple[float, ...] | None = None
    """Bin widths of a numeric column, finest first."""
    tree: tuple[tuple[str, ...], ...] | None = None
    """A generalization hierarchy: one path a value, from the value to its coarsest group."""
    generalize: bool = True
    """False: kept at full detail or dropped, never coarsened (`ladder = "none"`)."""
    missing: Missing | None = None
    """Overrides the policy's treatment of missing values."""
    outside: Outside | None = None
    """Meaning of a cell outside categories, tree or bounds; None: as for `Outside`, up to the share below."""
    accept_outside: float | None = None
    """Largest share of the filled cells that may lie outside what is declared, or be unreadable, under k-anonymity, in
    [0, 1]; None: `ACCEPT_OUTSIDE`. Of no effect under differential privacy, where no cell decides."""
    calendar: Calendar | None = None
    """Format, zone, levels and public bounds of a column of dates, moments or times of day; a column of dates that is
    made in Python without it has type alone, as one of a table that brings its own types."""
    number_form: NumberForm | None = None
    """Written form of numbers in text cells; None: plain, with the decimal mark of the table."""
    relative: Calendar | None = None
    """Reading of dates that are released as days since the first one of their person: then the column holds days."""
    place: GeographicPlace | None = None
    """The columns of coordinates that it is made of; it is in no source."""
    together: tuple[str, ...] = ()
    """Columns whose cells name a person together: the unit that is made of them; it is in no source."""
    l: float | None = None  # noqa: E741 - the field's own letter
    """Distinct l-diversity of a sensitive column, in place of the requirement on all of them."""
    t: float | None = None
    """t-closeness of a sensitive column, likewise."""
    alpha: float | None = None
    """Largest share of one value of a sensitive column in a class, likewise; 1 switches its cap on confidence off."""
    tolerance: float | None = None
    """Numbers of a sensitive column closer than this share of the middle 90 % of its numbers count as one value; 0:
    only equal ones do. None: 0.05 of a measured column."""
    answers: AnswerDesign | None = None
    """Distribution of its answers when not even (`answer_weights`, `response_matrix`); for errph and ppnb."""
    surrogate: bool = False
    """True for a household: its rows show one random number of the release in place of it."""
    weights: ShownWeights | None = None
    """Form of the weights of a sample in a k-anonymous release, of role weight: "mean" where None is given there."""

    @property
    def is_made(self) -> bool:
        """True when the column is made of others, and is in no source."""
        return self.place is not None or bool(self.together)

    @property
    def accepted_outside(self) -> float:
        """Largest share of the filled cells that may lie outside what is declared under k-anonymity, in [0, 1]."""
        if self.outside is not None:
            return 0.0 if self.outside is Outside.REFUSE else 1.0
        return ACCEPT_OUTSIDE if self.accept_outside is None else self.accept_outside

    @property
    def is_sensitive(self) -> bool:
        """True when the column must be diverse inside a class."""
        return self.sensitive or self.role is Role.SENSITIVE

    @property
    def is_released(self) -> bool:
        """True when the column may reach the output at all."""
        return self.role in RELEASED

    @property
    def domain_values(self) -> tuple[str, ...] | None:
        """The declared categories, else the values of the declared tree; None when neither is declared."""
        return self.categories or (None if self.tree is None else tuple(path[0] for path in self.tree))

    @property
    def compares_texts(self) -> bool:
        """True when 1, 1.0 and 01 are different categories of the column."""
        return self.type in (ColumnType.STRING, ColumnType.TEXT, ColumnType.CATEGORY)

    @property
    def is_read_by_cell(self) -> bool:
        """True when a cell means what it and the declaration say, whatever type the other cells seem to have."""
        if self.role in (Role.UNIT, Role.HOUSEHOLD) or self.bounds is not None or self.domain_values is not None:
            return True
        return self.calendar is not None and not (self.calendar.is_plain and self.outside is None)

    @property
    def named_parts(self) -> NamedParts | None:
        """The parts of the calendar or of the grid to which dates, moments, times and places may be generalized."""
        if self.place is not None:
            return self.place.parts
        return None if self.calendar is None or self.domain_values is not None else self.calendar.parts

    @property
    def has_bins(self) -> bool:
        """True when the declaration makes public bins of dates, moments, times or places: they have bounds."""
        if self.place is not None:
            return self.place.has_bins
        return self.named_parts is not None and self.calendar is not None and self.calendar.limits is not None

    @property
    def bins(self) -> PublicBins | None:
        """The public bins of a column whose cells are dates, moments, times or places within declared bounds.

        Raises
        ------
        PolicyError
            There are too many.
        """
        if self.place is not None:
            return self.place.bins
        return self.calendar.bins if self.has_bins and self.calendar is not None else None

    @property
    def whole_values(self) -> WholeValues | None:
        """The multiples of a step that the column holds within its bounds; None for any numbers.

        Also None where only a type states that numbers are whole, and doubles do not distinguish halves of them.

        Raises
        ------
        PolicyError
            There are not two of them between the bounds.
        """
        step = self.step
        if step is None and (self.is_whole_by_type or self.type is ColumnType.INTEGER):
            step = 1.0 if self.bounds is not None and max(map(abs, self.bounds)) < _HALVES_APART else None
        if step is None or self.bounds is None:
            return None
        try:
            return WholeValues.within(*self.bounds, step, self.spikes)
        except ParameterError as error:
            if self.is_whole_by_type and not self.spikes:
                return None
            hint = "spikes = [0, 99999]" if error.message.startswith("spikes") else "bounds = [0, 100]; step = 0.01"
            raise PolicyError(f"column {self.name!r}: {error.message}", hint) from None

    def __post_init__(self) -> None:
        where = f"column {self.name!r}"
        # a word given in Python is the member it names: many a rule tests which member it is
        for key, words in (("role", Role), ("type", ColumnType), ("missing", Missing), ("outside", Outside)):
            if (given := getattr(self, key)) is not None:
                object.__setattr__(self, key, member(words, where, key, given))
        kind = None if self.type is None or self.domain_values is not None else self.type.calendar_kind
        if self.calendar is None and kind not in (None, CalendarKind.DATE) and self.bounds is None:
            object.__setattr__(self, "calendar", Calendar(kind=kind, where=where))
        if self.number_form is not None and (self.domain_values is not None or self.calendar or self.compares_texts):
            raise PolicyError(f"{where}: {', '.join(_FORM_KEYS)} are for numbers", 'type = "number"')
        if self.calendar is not None and (self.ladder is not None or self.bounds is not None):
            raise PolicyError(
                f"{where}: bin widths and bounds in numbers are for numbers", 'levels = ["month", "year"]'
            )
        if self.bounds is not None and self.categories is not None:
            raise PolicyError(f"{where}: bounds and categories exclude each other", "a domain is one or the other")
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise PolicyError(f"{where}: bounds must be [low, high] with low < high")
        if self.bounds is not None:
            _check_resolution(where, *self.bounds)
        self._check_step(where)
        self._check_spikes(where)
        if self.categories is not None and len(set(self.categories)) != len(self.categories):
            raise PolicyError(f"{where}: categories must be distinct")
        if self.categories is not None and not self.categories:
            raise PolicyError(f"{where}: categories must not be empty")
        if self.ladder is not None:
            widths = self.ladder
            if not widths or any(w <= 0 for w in widths) or any(a >= b for a, b in pairwise(widths)):
                raise PolicyError(f"{where}: ladder must be bin widths above 0, ascending", "ladder = [5, 10, 20]")
            if self.categories is not None or self.tree is not None:
                raise PolicyError(f"{where}: a ladder of bin widths is for numeric columns", "use tree for categories")
        if self.tree is not None:
            check_tree(where, self.tree)
            if self.bounds is not None:
                raise PolicyError(f"{where}: a tree is for categorical columns", "use ladder for numbers")
        if self.release_as_is and self.role in (Role.IDENTIFIER, Role.UNIT, Role.HOUSEHOLD):
            raise PolicyError(f"{where}: release_as_is is for columns that are released, and role {self.role} is not")
        if self.keep and not self.is_released:
            raise ChoiceError(
                f"{where} cannot be kept: columns of role {self.role} are never released",
                'role = "quasi_identifier" protects it and may show it in ranges or groups',
            )
        if self.relative is not None and self.role is not Role.QUASI_IDENTIFIER:
            raise PolicyError(
                f"{where}: days since a person's first row are known to anyone who knows the dates",
                'role = "quasi_identifier" beside relative = true',
            )
        if self.surrogate and self.role is not Role.HOUSEHOLD:
            raise PolicyError(
                f"{where}: a surrogate shows which rows belong together, so k has to hold for whole sets of rows",
                'role = "household"; or surrogate = true in the [tables.NAME] of people of a recipe',
            )
        self._check_weight(where)
        if self.weights is not None:
            object.__setattr__(self, "weights", member(ShownWeights, where, "weights", self.weights))
        elif self.role is Role.WEIGHT:
            object.__setattr__(self, "weights", ShownWeights.MEAN)
        if self.weights is not None:
            check_weights(self, is_key=self.role is Role.QUASI_IDENTIFIER)
        if self.sensitive and self.role not in (Role.TARGET, Role.SENSITIVE):
            raise PolicyError(f"{where}: sensitive = true is for the target", 'use role = "sensitive"')
        self._check_model(where)
        self._check_outside(where)

    def _check_step(self, where: str) -> None:
        """Refuse a step that is no number above 0, of what holds no numbers, or that fits neither type nor bounds."""
        if self.step is None:
            return
        if isinstance(self.step, bool) or not isinstance(self.step, int | float) or not 0 < self.step < inf:
            raise PolicyError(f"{where}: step must be a number above 0", "step = 1, or step = 0.01 for decimals")
        numeric = self.type in (None, ColumnType.INTEGER, ColumnType.NUMBER)
        if not numeric or self.domain_values is not None or self.place is not None:
            raise PolicyError(f"{where}: a step is for numbers", 'type = "number"')
        if self.type is ColumnType.INTEGER and not float(self.step).is_integer():
            raise PolicyError(f"{where}: the step of whole numbers is a whole number", 'type = "number" for decimals')
        _ = self.whole_values

    def _check_spikes(self, where: str) -> None:
        """Refuse spikes of what has no bounds, of the target, or too many of them."""
        if not self.spikes:
            return
        if self.bounds is None or self.role is Role.TARGET or len(self.spikes) > _MOST_SPIKES:
            raise PolicyError(
                f"{where}: spikes are up to {_MOST_SPIKES} numbers of a column with bounds that is not the target",
                "spikes = [0, 99999]",
            )
        _ = self.whole_values

    def _check_weight(self, where: str) -> None:
        """Refuse a weight that is no number above 0, or that is about a column without levels of detail."""
        weight = self.detail_weight
        if weight is None:
            return
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < inf:
            raise PolicyError(f"{where}: detail_weight must be a number above 0", "detail_weight = 2; 1 for the others")
        if self.role_given and self.role is not Role.QUASI_IDENTIFIER:
            raise PolicyError(f"{where}: detail_weight is for quasi-identifiers, which role {self.role} is not")

    def _check_model(self, where: str) -> None:
        """Refuse diversity requirements of a column that is not sensitive, or out of their range."""
        for key, (low, high) in _MODEL_RANGES.items():
            value = getattr(self, key)
            if value is None:
                continue
            if not self.is_sensitive:
                raise PolicyError(f"{where}: {key} is about sensitive columns", 'role = "sensitive"')
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                raise PolicyError(f"{where}: {key} must be a number from {low:g}" + f" to {high:g}" * (high < inf))
        if self.alpha == 0:
            raise PolicyError(f"{where}: alpha must be above 0", "alpha = 1 bounds nothing")

    def _check_outside(self, where: str) -> None:
        listed = self.domain_values
        if self.bounds is not None and self.compares_texts:
            raise PolicyError(f'{where}: bounds are for numbers, type = "{self.type}" is for categories')
        days = self.calendar is not None or self.place is not None
        bounded = self.bounds is not None or (self.calendar is not None and self.calendar.limits is not None)
        bounded = bounded or (self.place is not None and self.place.box is not None)
        if self.missing is Missing.FIRST and not bounded and listed is None and self.type is not ColumnType.BOOLEAN:
            raise PolicyError(
                f'{where}: missing = "first" needs declared categories or bounds',
                'add them; type = "boolean" is as good, and its first value is false',
            )
        if self.outside is not None and not (bounded or days) and listed is None:
            raise PolicyError(
                f"{where}: outside needs declared bounds, categories or a tree", "add them, as in bounds = [0, 100000]"
            )
        if self.outside is Outside.CLAMP and not bounded:
            raise PolicyError(f'{where}: outside = "clamp" is for bounds', 'outside = "missing", or "refuse"')
        self._check_accepted(where, has_domain=bounded or days or listed is not None)
        if listed is not None and not self.compares_texts:
            decimals = [decimal for decimal in map(exact_decimal, listed) if decimal is not None]
            if len(set(decimals)) != len(decimals):
                raise PolicyError(
                    f"{where}: two of its categories are the same number, spelled in two ways",
                    'list it once, or type = "text" to compare texts alone',
                )

    def _check_accepted(self, where: str, *, has_domain: bool) -> None:
        share = self.accept_outside
        if share is None:
            return
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise PolicyError(f"{where}: accept_outside is a share of its cells, from 0 to 1", "accept_outside = 0.05")
        if self.outside is not None:
            raise PolicyError(
                f"{where}: outside and accept_outside exclude each other",
                "outside is about every cell: leave one out",
            )
        if not has_domain:
            raise PolicyError(f"{where}: accept_outside needs declared categories or bounds", "declare them")


_MOST_SPIKES = 50
_FEWEST_STEPS = 1 << 20
"""Doubles that there must be between bounds: a column has up to 16,384 cells, and each its middle."""
_HALVES_APART = 2.0**50
"""Below this, doubles distinguish halves of integers."""
_LARGEST_BOUND, _LEAST_RANGE = 1e100, 1e-100
"""Bounds of numbers whose sums and squares stay within the range of doubles."""


def _check_resolution(where: str, low: float, high: float) -> None:
    """Refuse bounds between which there are too few numbers in double precision to divide them into cells."""
    size = max(abs(low), abs(high))
    if size == inf:
        return  # bounds that are never a domain; who needs a domain refuses them
    if size > _LARGEST_BOUND or high - low < _LEAST_RANGE:
        raise PolicyError(
            f"{where}: bounds must be within ±{_LARGEST_BOUND:g} and at least {_LEAST_RANGE:g} apart",
            "the column in another unit",
        )
    if high - low < _FEWEST_STEPS * ulp(size):
        raise PolicyError(
            f"{where}: bounds are too close together for their size: double precision has only "
            f"{(high - low) / ulp(size):,.0f} numbers between them",
            "take the lower bound off every value, such as 0 to 40 for 10000000000000000 to 10000000000000040",
        )


def place_of(name: str, spec: Mapping[str, Any]) -> Column:
    """Return a place as the column that it becomes."""
    where = f"place {name!r}"
    if not name.strip():
        raise PolicyError("a place has no name", 'home = { latitude = "lat", longitude = "lon" }')
    refuse_unknown(where, spec, ("role", "missing", "outside", "accept_outside", *_DETAIL_KEYS, *PLACE_KEYS))
    return Column(
        name=name,
        role=member(Role, where, "role", spec.get("role", "quasi_identifier")),
        missing=None if "missing" not in spec else member(Missing, where, "missing", spec["missing"]),
        outside=None if "outside" not in spec else member(Outside, where, "outside", spec["outside"]),
        accept_outside=spec.get("accept_outside"),
        place=declared_place(where, spec),
        **_detail_of(where, spec),
    )


def refuse_place(name: str, column: Column, of_table: Mapping[str, Column]) -> None:
    """Refuse a place that a table has no coordinates for, or a column of its name; and coordinates that are released.

    Raises
    ------
    PolicyError
        It is one of these.
    """
    if name in of_table:
        raise PolicyError(f"place {name!r} is called as a column of the table is", "give the place another name")
    for coordinate in column.place.columns if column.place is not None else ():
        if coordinate not in of_table:
            hint = did_you_mean(coordinate, list(of_table))
            raise PolicyError(f"place {name!r}: column {coordinate!r} is not in the table", hint)
        if of_table[coordinate].role is not Role.IDENTIFIER:
            raise PolicyError(
                f"place {name!r}: column {coordinate!r} may not be released beside it",
                'leave the coordinates out of [columns], or role = "identifier"',
            )


def column_of(name: str, spec: Mapping[str, Any], folder: Path | None, encoding: str = UTF8) -> Column:
    """Return the declaration of one column; trees are looked up in its folder, in its encoding."""
    where = f"column {name!r}"
    known = (
        *("role", "sensitive", "release_as_is", "type", "categories", "bounds", "ladder", "tree", "missing", "outside"),
        *_DETAIL_KEYS,
        "accept_outside",
        *_MODEL_RANGES,
        *CALENDAR_KEYS,
        *ANSWER_KEYS,
        REFERENCE_SHARES,
        *_FORM_KEYS,
        "relative",
        "step",
        "surrogate",
        "weights",
        "spikes",
    )
    refuse_unknown(where, spec, known)
    kind = None if "type" not in spec else member(ColumnType, where, "type", spec["type"])
    relative = _relative(where, kind, spec)
    if relative is not None:
        kind, spec = ColumnType.INTEGER, {key: value for key, value in spec.items() if key not in CALENDAR_KEYS}
    calendar = _calendar(where, kind, spec)
    ladder = spec.get("ladder", "auto")
    widths: tuple[float, ...] | None = None
    if isinstance(ladder, str):
        if ladder not in ("auto", "none"):
            raise PolicyError(f'{where}: ladder must be bin widths, "auto" or "none"')
    else:
        widths = tuple(numbers(where, "ladder", ladder))
    bounds = spec.get("bounds")
    if calendar is not None:
        bounds = None
    if bounds is not None:
        pair = numbers(where, "bounds", bounds)
        if len(pair) != 2:
            raise PolicyError(f"{where}: bounds must be [low, high]")
        bounds = (pair[0], pair[1])
    categories = spec.get("categories")
    return Column(
        name=name,
        role=member(Role, where, "role", spec.get("role", "quasi_identifier")),
        role_given="role" in spec,
        sensitive=expect(where, "sensitive", spec.get("sensitive", False), bool),
        **{key: spec[key] for key in _MODEL_RANGES if key in spec},
        **_detail_of(where, spec),
        release_as_is=expect(where, "release_as_is", spec.get("release_as_is", False), bool),
        surrogate=expect(where, "surrogate", spec.get("surrogate", False), bool),
        type=kind,
        categories=None if categories is None else tuple(texts(where, "categories", categories)),
        bounds=bounds,
        step=spec.get("step"),
        spikes=tuple(numbers(where, "spikes", spec.get("spikes", []))),
        ladder=widths,
        tree=declared_tree(where, name, spec["tree"], folder, encoding) if "tree" in spec else None,
        generalize=ladder != "none",
        missing=None if "missing" not in spec else member(Missing, where, "missing", spec["missing"]),
        outside=None if "outside" not in spec else member(Outside, where, "outside", spec["outside"]),
        accept_outside=spec.get("accept_outside"),
        calendar=calendar,
        relative=relative,
        number_form=_number_form(where, spec),
        answers=design_of(where, spec, folder, encoding),
        weights=spec.get("weights"),
    )


def _detail_of(where: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the declarations of the detail that must stay of a column, and of its worth."""
    return {
        "keep": expect(where, "keep", spec.get("keep", False), bool),
        "detail_weight": spec.get("detail_weight"),
    }


def _number_form(where: str, spec: Mapping[str, Any]) -> NumberForm | None:
    """Return the written form of the numbers of a column; None where none is declared."""
    if not any(key in spec for key in _FORM_KEYS):
        return None
    try:
        return NumberForm(
            decimal=optional_text(where, "decimal", spec) or ".",
            thousands=optional_text(where, "thousands", spec),
            percent=expect(where, "percent", spec.get("percent", False), bool),
            currency=optional_text(where, "currency", spec),
        )
    except ParameterError as error:
        raise PolicyError(f"{where}: {error.message}", error.hint) from None


def _relative(where: str, kind: ColumnType | None, spec: Mapping[str, Any]) -> Calendar | None:
    """Return the reading of dates that are released as days since their person's first one; None for other columns."""
    if not expect(where, "relative", spec.get("relative", False), bool):
        return None
    of_days = None if kind not in (ColumnType.DATE, ColumnType.DATETIME) else kind.calendar_kind
    if of_days is None:
        raise PolicyError(f"{where}: relative is for dates and moments", 'type = "date" beside relative = true')
    if "levels" in spec:
        raise PolicyError(
            f"{where}: days since the first row have no {spec['levels']!r}", "ladder = [7, 30, 365], in days"
        )
    return declared_calendar(where, of_days, {key: spec[key] for key in CALENDAR_KEYS if key in spec})


def _calendar(where: str, kind: ColumnType | None, spec: Mapping[str, Any]) -> Calendar | None:
    """Return the declaration of dates, moments or times; None where the column holds none, or lists its values."""
    of_calendar = None if kind is None else kind.calendar_kind
    listed = next((key for key in ("categories", "tree") if key in spec), None)
    for key in CALENDAR_KEYS:
        if key in spec and (of_calendar is None or listed):
            raise PolicyError(
                f"{where}: {key} is for dates, moments and times of day" + (f", not beside {listed}" if listed else ""),
                'type = "date", "datetime" or "time"',
            )
    return None if of_calendar is None or listed else declared_calendar(where, of_calendar, spec)
