# SPDX-License-Identifier: Apache-2.0
"""The policy of a table's owner: roles, public domains, missing values, generalization hierarchies.

A policy is a TOML file (or a value made in Python). It is the only place where something becomes public:
categories and bounds written here are declared as known to everybody, by whoever `declared_by` names.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Any

from anonkit.domains.calendar_parts import CalendarKind
from anonkit.domains.exact_decimals import exact_decimal
from anonkit.domains.named_parts import NamedParts
from anonkit.errors import PolicyError, did_you_mean, option
from anonkit.policy.answer_design import KEYS as ANSWER_KEYS
from anonkit.policy.answer_design import AnswerDesign, design_of
from anonkit.policy.bookkeeping import KEYS as BOOKKEEPING_KEYS
from anonkit.policy.bookkeeping import Bookkeeping, bookkeeping_of, joint_floor_of
from anonkit.policy.calendar_columns import KEYS as CALENDAR_KEYS
from anonkit.policy.calendar_columns import Calendar, PublicBins, declared_calendar
from anonkit.policy.encodings import POINT, UTF8, declared_decimal, declared_encoding
from anonkit.policy.generalization_trees import check_tree, declared_tree
from anonkit.policy.person_rows import PersonRows
from anonkit.policy.places import KEYS as PLACE_KEYS
from anonkit.policy.places import Place, declared_place
from anonkit.policy.publication import Publication, declared_publication
from anonkit.policy.target_task import KEYS as TARGET_KEYS
from anonkit.policy.target_task import Task, declared_task, declares_no_target, named_task, refuse_contradicting
from anonkit.policy.toml_values import expect, member, numbers, optional_text, refuse_unknown, texts


class Role(StrEnum):
    """What a column is to the attacker and to the consumer."""

    IDENTIFIER = "identifier"
    """Names a person; never released."""
    QUASI_IDENTIFIER = "quasi_identifier"
    """Known to an attacker from elsewhere; protected by the method."""
    SENSITIVE = "sensitive"
    """What an attacker wants to learn; released, checked by l-diversity and t-closeness."""
    INSENSITIVE = "insensitive"
    """Neither known nor wanted; released unchanged."""
    TARGET = "target"
    """What consumers predict, a class or a number; released unchanged by the k-anonymous methods."""
    UNIT = "unit"
    """Which person a row belongs to, when one person has many rows; counted, never released."""


class Missing(StrEnum):
    """What a missing value of a quasi-identifier means; of a sensitive column, whether it is a value at all."""

    CATEGORY = "category"
    """One more value, equal to itself only."""
    FIRST = "first"
    """It counts as the first category, or as the lower bound: the domain has no missing value."""
    DROP = "drop"
    """The row leaves the table before anything is counted; not under differential privacy."""
    ERROR = "error"
    """The table is refused; not under differential privacy, where a refusal would tell of the row."""


class Outside(StrEnum):
    """What a cell outside the declared domain of its column means."""

    CLAMP = "clamp"
    """A number counts as the nearest bound; a text among numbers is missing. For bounds, and their default."""
    MISSING = "missing"
    """It is missing. The default of categories under differential privacy."""
    REFUSE = "refuse"
    """The table is refused. The default of categories under k-anonymity; not under differential privacy."""


class TargetUse(StrEnum):
    """What a method does when no column is declared the target."""

    REQUIRED = "required"
    """The last column without a role is taken; a table without one is refused."""
    EXPECTED = "expected"
    """As required, unless the policy says that there is no target."""
    OPTIONAL = "optional"
    """The last column without a role is taken, if there is one."""
    AS_DECLARED = "as declared"
    """None is taken."""


class ColumnType(StrEnum):
    """How the cells of a text file are read. Parquet and data frames bring their own types."""

    STRING = "string"
    TEXT = "text"
    CATEGORY = "category"
    """`text` and `category` are as `string`: all three say that 1 and 1.0 are different categories."""
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
        """What the cells tell of the calendar or the clock; None for the other types."""
        return CalendarKind(str(self)) if str(self) in list(CalendarKind) else None


_NO_TARGET_HINT = "mondrian, rfka, datafly and incognito release without one; so do rr, errph and trr"
RELEASED = (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.INSENSITIVE, Role.TARGET)


@dataclass(frozen=True, kw_only=True)
class Column:
    """What is declared about one column."""

    name: str
    role: Role = Role.QUASI_IDENTIFIER
    role_given: bool = True
    """False when a policy file says something of the column, but no role."""
    sensitive: bool = False
    """True when a target is also a sensitive attribute (`role = "target", sensitive = true`)."""
    type: ColumnType | None = None
    """Type of the cells in a text file; read from the cells when not declared."""
    categories: tuple[str, ...] | None = None
    """The public domain of a categorical column, in order."""
    bounds: tuple[float, float] | None = None
    """The public bounds of a numeric column, inclusive."""
    ladder: tuple[float, ...] | None = None
    """Bin widths of a numeric column, finest first."""
    tree: tuple[tuple[str, ...], ...] | None = None
    """A generalization hierarchy: one path a value, from the value to its coarsest group."""
    generalize: bool = True
    """False: kept at full detail or dropped, never coarsened (`ladder = "none"`)."""
    missing: Missing | None = None
    """Overrides the policy's treatment of missing values."""
    outside: Outside | None = None
    """What a cell outside categories, tree or bounds means; None: as `Outside` says."""
    calendar: Calendar | None = None
    """Format, zone, levels and public bounds of a column of dates, moments or times of day; a column of dates that is
    made in Python without it has type alone, as one of a table that brings its own types."""
    place: Place | None = None
    """The columns of coordinates that it is made of; it stands in no source."""
    answers: AnswerDesign | None = None
    """How answers about it are drawn when not evenly (`answer_weights`, `response_matrix`); for errph and ppnb."""

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
        if self.role is Role.UNIT or self.bounds is not None or self.domain_values is not None:
            return True
        return self.calendar is not None and not (self.calendar.is_plain and self.outside is None)

    @property
    def named_parts(self) -> NamedParts | None:
        """The parts of the calendar or of the grid at which dates, moments, times and places may be told."""
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

    def __post_init__(self) -> None:
        where = f"column {self.name!r}"
        kind = None if self.type is None or self.domain_values is not None else self.type.calendar_kind
        if self.calendar is None and kind not in (None, CalendarKind.DATE) and self.bounds is None:
            object.__setattr__(self, "calendar", Calendar(kind=kind, where=where))
        if self.calendar is not None and (self.ladder is not None or self.bounds is not None):
            raise PolicyError(
                f"{where}: bin widths and bounds in numbers are for numbers", 'levels = ["month", "year"]'
            )
        if self.bounds is not None and self.categories is not None:
            raise PolicyError(f"{where}: bounds and categories exclude each other", "a domain is one or the other")
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise PolicyError(f"{where}: bounds must be [low, high] with low < high")
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
        if self.sensitive and self.role not in (Role.TARGET, Role.SENSITIVE):
            raise PolicyError(f"{where}: sensitive = true is for the target", 'use role = "sensitive"')
        self._check_outside(where)

    def _check_outside(self, where: str) -> None:
        listed = self.domain_values
        if self.bounds is not None and self.compares_texts:
            raise PolicyError(f'{where}: bounds are for numbers, type = "{self.type}" is for categories')
        days = self.calendar is not None or self.place is not None
        bounded = self.bounds is not None or (self.calendar is not None and self.calendar.limits is not None)
        bounded = bounded or (self.place is not None and self.place.box is not None)
        if self.missing is Missing.FIRST and not bounded and listed is None:
            raise PolicyError(f'{where}: missing = "first" needs declared categories or bounds')
        if self.outside is not None and not (bounded or days) and listed is None:
            raise PolicyError(f"{where}: outside says what lies outside declared categories or bounds", "declare them")
        if self.outside is Outside.CLAMP and not bounded:
            raise PolicyError(f'{where}: outside = "clamp" is for bounds', 'outside = "missing", or "refuse"')
        if listed is not None and not self.compares_texts:
            decimals = [decimal for decimal in map(exact_decimal, listed) if decimal is not None]
            if len(set(decimals)) != len(decimals):
                raise PolicyError(
                    f"{where}: two of its categories are the same number, spelled in two ways",
                    'list it once, or type = "text" to compare texts alone',
                )


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Everything declared about a table.

    Columns of the table that are not declared are quasi-identifiers: the cautious choice.
    """

    dataset: str | None = None
    """The owner's name for the data, under which budget is kept."""
    columns: Mapping[str, Column] = field(default_factory=dict)
    missing: Missing | None = None
    """What missing values mean where a column does not say; None: a category, which local methods want declared."""
    missing_values: tuple[str, ...] = ("",)
    """Strings that mean missing in every source; the default, the empty one, in CSV and TSV alone."""
    encoding: str = UTF8  # of CSV, TSV and JSON Lines, one of `anonkit.policy.encodings.ENCODINGS`
    decimal: str = POINT  # between a number and its fraction in CSV and TSV, "." or ","
    declared_by: str | None = None
    """Who declares the domains public; printed in the report."""
    license: str | None = None
    """Licence of the release, by name, for the catalogue descriptor."""
    publication: Publication = field(default_factory=Publication)  # for the page that the owner signs
    joint_k: int | None = None
    """Smallest k allowed when a release is combined with earlier ones of the dataset; None: the release's own k."""
    task: Task | None = None
    """What consumers do with the target; None: found by `anonkit.policy.target_task`, as far as a promise allows."""
    without_target: bool = False
    """True when no column is the target, and none is to be taken for it (`target = false`)."""
    bookkeeping: Bookkeeping = field(default_factory=Bookkeeping)
    """Where the ledger of the dataset is, whether it must be there, and the budget."""
    optional: frozenset[str] = frozenset()
    """Declared columns that a table may lack; set by `anonkit apply`, not from a file."""
    domains_from_data: tuple[str, ...] = ()
    """Columns whose domain was read from the table: a claim that rests on it is conditional. Not from a file."""
    cell_by_cell: bool = False
    """True when no cell may be read by the type of its column: under differential privacy. Not from a file."""
    identifiers_from_data: tuple[str, ...] = ()
    """Columns that were taken for identifiers by their cells, under a claim that rests on it. Not from a file."""
    person_rows: PersonRows | None = None  # of several joined tables; set by a recipe, not from a policy file
    domains_min_people: int = 10
    """How many people at least share a category that was read from the table, or lie beyond a bound that was."""

    def __post_init__(self) -> None:
        target = None if self.target is None else self.columns[self.target]
        refuse_contradicting(target, self.task, without_target=self.without_target)

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a policy from a TOML file; `tree` files are looked up beside it."""
        path = Path(path)
        try:
            with path.open("rb") as file:
                raw = tomllib.load(file)
        except FileNotFoundError:
            raise PolicyError(f"policy file {str(path)!r} does not exist", "anonkit init TABLE drafts one") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            where = str(error).rsplit("(", 1)[-1].rstrip(")") if "(at " in str(error) else "somewhere"
            raise PolicyError(f"policy file {str(path)!r} is not TOML ({where})") from None
        return cls.from_dict(raw, folder=path.parent)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any], *, folder: Path | None = None) -> Policy:
        """Build a policy from the parsed TOML document."""
        known = (
            "dataset", "columns", "missing", "missing_values", "encoding", "decimal", "declared_by", "license",
            "joint_k", "places", "publication",
        )  # fmt: skip
        refuse_unknown("policy", raw, (*known, *BOOKKEEPING_KEYS, *TARGET_KEYS))
        specs = expect("policy", "columns", raw.get("columns", {}), dict)
        places = expect("policy", "places", raw.get("places", {}), dict)
        columns = {name: _column(name, expect("policy", name, spec, dict), folder) for name, spec in specs.items()}
        for name, spec in places.items():
            place = _place(name, expect("places", name, spec, dict))
            if name in columns:
                raise PolicyError(f"{name!r} is a column and a place", "one name for one of them")
            for coordinate in place.place.columns if place.place is not None else ():
                columns.setdefault(coordinate, Column(name=coordinate, role=Role.IDENTIFIER))
            columns[name] = place
        return cls(
            dataset=optional_text("policy", "dataset", raw),
            columns=columns,
            missing=None if "missing" not in raw else member(Missing, "policy", "missing", raw["missing"]),
            missing_values=tuple(texts("policy", "missing_values", raw.get("missing_values", [""]))),
            encoding=declared_encoding(raw),
            decimal=declared_decimal(raw),
            declared_by=optional_text("policy", "declared_by", raw),
            license=optional_text("policy", "license", raw),
            joint_k=joint_floor_of(raw),
            task=declared_task(raw),
            without_target=declares_no_target(raw),
            bookkeeping=bookkeeping_of(raw, folder),
            publication=declared_publication(raw),
        )

    def column(self, name: str) -> Column:
        """Return what is declared about a column, a quasi-identifier when nothing is."""
        return self.columns.get(name) or Column(name=name, role_given=False)

    def declares(self, name: str) -> bool:
        """Tell whether a role, a domain or a hierarchy is declared for a column: then its cells never decide on it."""
        column = self.columns.get(name)
        if column is None:
            return False
        declarations = (column.categories, column.bounds, column.ladder, column.tree, column.answers, column.place)
        calendar = column.calendar
        if calendar is not None and (calendar.levels is not None or calendar.bounds is not None):
            return True
        return column.role_given or any(value is not None for value in declarations)

    def names(self, *roles: Role) -> tuple[str, ...]:
        """Return the names of the columns with one of these roles, in table order."""
        return tuple(name for name, column in self.columns.items() if column.role in roles)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """Names of the quasi-identifiers."""
        return self.names(Role.QUASI_IDENTIFIER)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Names of the sensitive attributes, a sensitive target included."""
        return tuple(name for name, column in self.columns.items() if column.is_sensitive)

    @property
    def is_conditional(self) -> bool:
        """True when a domain, or which columns are identifiers, was read from the table."""
        return bool(self.domains_from_data or self.identifiers_from_data)

    @property
    def missing_is_value(self) -> tuple[str, ...]:
        """Names of the sensitive attributes in which a missing cell is declared a value (`missing = "category"`)."""
        return tuple(name for name in self.sensitive if self.columns[name].missing is Missing.CATEGORY)

    @property
    def target(self) -> str | None:
        """Name of the target, if there is one."""
        return next(iter(self.names(Role.TARGET)), None)

    @property
    def unit(self) -> str | None:
        """Name of the column that says which person a row belongs to, if there is one."""
        return next(iter(self.names(Role.UNIT)), None)

    def missing_of(self, name: str) -> Missing:
        """Return the treatment of missing values in a column; "first" needs a domain that has a first value."""
        column = self.column(name)
        treatment = column.missing or self.missing or Missing.CATEGORY
        bare = column.bounds is None and column.domain_values is None and not column.has_bins
        return Missing.CATEGORY if treatment is Missing.FIRST and bare else treatment

    def with_roles(
        self,
        *,
        target: str | None = None,
        no_target: bool = False,
        task: str | None = None,
        unit: str | None = None,
        identifiers: Iterable[str] = (),
        sensitive: Iterable[str] = (),
        insensitive: Iterable[str] = (),
        quasi_identifiers: Iterable[str] = (),
    ) -> Policy:
        """Return the policy with roles and task from command options on top; a target may also be sensitive."""
        if target is not None and no_target:
            raise PolicyError(f"{option('target')} and {option('no_target')} exclude each other")
        columns = dict(self.columns)

        def assign(name: str, role: Role) -> None:
            columns[name] = replace(columns.get(name) or Column(name=name), role=role, role_given=True, sensitive=False)

        roles: dict[str, Role] = {}
        groups = (
            (Role.IDENTIFIER, identifiers),
            (Role.INSENSITIVE, insensitive),
            (Role.QUASI_IDENTIFIER, quasi_identifiers),
        )
        singles = ((Role.TARGET, target), (Role.UNIT, unit))
        for role, names in (*groups, *((role, (name,) if name else ()) for role, name in singles)):
            for name in names:
                if roles.setdefault(name, role) is not role:
                    raise PolicyError(f"column {name!r} is given two roles: {roles[name]} and {role}")
                assign(name, role)
        for name in sensitive:
            if roles.get(name, Role.TARGET) is not Role.TARGET:
                raise PolicyError(f"column {name!r} is given two roles: {roles[name]} and sensitive")
            if columns.get(name, Column(name=name)).role is Role.TARGET:
                columns[name] = replace(columns[name], sensitive=True)
            else:
                assign(name, Role.SENSITIVE)
        without_target = no_target or (self.without_target and target is None)
        task_given = self.task if task is None else named_task(task)
        return replace(self, columns=columns, task=task_given, without_target=without_target)

    def resolve(self, names: Sequence[str], *, target_use: TargetUse = TargetUse.REQUIRED) -> Policy:
        """Return the policy for a table with these columns, in table order, every column declared.

        Without a declared target the last column that has no role is the target, as far as `target_use` says so.

        Raises
        ------
        PolicyError
            A declared column is not in the table, or a role is given to two columns that only one may have.
        """
        for name, column in self.columns.items():
            if column.place is None and name not in names and name not in self.optional:
                raise PolicyError(f"column {name!r} is not in the table", did_you_mean(name, names))
        columns = {name: self.column(name) for name in names}
        places = {name: column for name, column in self.columns.items() if column.place is not None}
        for name, column in places.items():
            _refuse_place(name, column, columns)
        columns |= places
        for role in (Role.TARGET, Role.UNIT):
            holders = [name for name, column in columns.items() if column.role is role]
            if len(holders) > 1:
                raise PolicyError(f"columns {', '.join(map(repr, holders))} all have role {role}: one at most")
        resolved = replace(self, columns=columns)
        if self.without_target and target_use is TargetUse.REQUIRED:
            raise PolicyError("this method needs a target, and there shall be none", _NO_TARGET_HINT)
        if resolved.target is None and not self.without_target and target_use is not TargetUse.AS_DECLARED:
            free = [name for name in names if name not in self.columns]
            if not free and target_use is TargetUse.OPTIONAL:
                return resolved
            if not free:
                raise PolicyError(
                    "no column has role target", f'{option("target", "NAME")}, or role = "target" in the policy'
                )
            last = free[-1]
            columns[last] = replace(columns[last], role=Role.TARGET)
        return resolved


def _place(name: str, spec: Mapping[str, Any]) -> Column:
    """Return a place as the column that it becomes."""
    where = f"place {name!r}"
    refuse_unknown(where, spec, ("role", "missing", "outside", *PLACE_KEYS))
    return Column(
        name=name,
        role=member(Role, where, "role", spec.get("role", "quasi_identifier")),
        missing=None if "missing" not in spec else member(Missing, where, "missing", spec["missing"]),
        outside=None if "outside" not in spec else member(Outside, where, "outside", spec["outside"]),
        place=declared_place(where, spec),
    )


def _refuse_place(name: str, column: Column, of_table: Mapping[str, Column]) -> None:
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


def _column(name: str, spec: Mapping[str, Any], folder: Path | None) -> Column:
    where = f"column {name!r}"
    known = (
        *("role", "sensitive", "type", "categories", "bounds", "ladder", "tree", "missing", "outside"),
        *CALENDAR_KEYS,
        *ANSWER_KEYS,
    )
    refuse_unknown(where, spec, known)
    kind = None if "type" not in spec else member(ColumnType, where, "type", spec["type"])
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
        type=kind,
        categories=None if categories is None else tuple(texts(where, "categories", categories)),
        bounds=bounds,
        ladder=widths,
        tree=declared_tree(where, spec["tree"], folder) if "tree" in spec else None,
        generalize=ladder != "none",
        missing=None if "missing" not in spec else member(Missing, where, "missing", spec["missing"]),
        outside=None if "outside" not in spec else member(Outside, where, "outside", spec["outside"]),
        calendar=calendar,
        answers=design_of(where, spec, folder),
    )


def _calendar(where: str, kind: ColumnType | None, spec: Mapping[str, Any]) -> Calendar | None:
    """Return what is declared of dates, moments or times; None where the column holds none, or lists its values."""
    of_calendar = None if kind is None else kind.calendar_kind
    listed = next((key for key in ("categories", "tree") if key in spec), None)
    for key in CALENDAR_KEYS:
        if key in spec and (of_calendar is None or listed):
            raise PolicyError(
                f"{where}: {key} is for dates, moments and times of day" + (f", not beside {listed}" if listed else ""),
                'type = "date", "datetime" or "time"',
            )
    return None if of_calendar is None or listed else declared_calendar(where, of_calendar, spec)
