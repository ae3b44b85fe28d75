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
from pathlib import Path
from typing import Any

from anonkit.domains.found_domains import FoundDomains
from anonkit.domains.public_rules import FROM_DATA, PublicRules
from anonkit.errors import ChoiceError, PolicyError, did_you_mean, option
from anonkit.policy.bookkeeping import KEYS as BOOKKEEPING_KEYS
from anonkit.policy.bookkeeping import Bookkeeping, bookkeeping_of, joint_floor_of
from anonkit.policy.column_declarations import Column, Missing, Role, column_of, place_of, refuse_place
from anonkit.policy.constraints import constraints_of
from anonkit.policy.person_candidates import Candidate, PersonRows, joined_name
from anonkit.policy.publication import (
    KeyCombination,
    Publication,
    declared_publication,
    key_combinations_of,
    recipients_of,
)
from anonkit.policy.side_files import (
    POINT,
    UTF8,
    declared_decimal,
    declared_encoding,
    expect,
    member,
    named_lines,
    optional_text,
    read_side_toml,
    refuse_unknown,
    texts,
)
from anonkit.policy.survey_weights import ShownWeights
from anonkit.policy.target_task import KEYS as TARGET_KEYS
from anonkit.policy.target_task import Task, declared_task, declares_no_target, named_task, refuse_contradicting


class TargetUse(StrEnum):
    """The rule of a method when no column is declared the target.

    A method that releases the target unchanged takes the last column without a role where it is evidently a class
    label (`anonkit.drafting.guessed_target`); under differential privacy, where no label leaves unchanged and no cell
    decides, the last one by its place is taken.
    """

    REQUIRED = "required"
    """A table without one is refused."""
    EXPECTED = "expected"
    """Without one the detail of all columns together guides the search."""
    OPTIONAL = "optional"
    """Without one nothing is predicted."""
    AS_DECLARED = "as declared"
    """None is taken."""


_NO_TARGET_HINT = "mondrian, rfka, datafly and incognito release without one; so do dp-marginals, rr, errph and trr"


def without_target() -> ChoiceError:
    """Return the refusal of a table without a target, with both ways out of it."""
    named = f'{option("target", "NAME")}, or role = "target" in the policy'
    return ChoiceError(
        "no column to predict is named",
        f"say which one users will predict: {named}; or {option('no_target', True)} for general-purpose data "
        "(dp-marginals, mondrian, rfka, datafly, incognito)",
    )


def _named(role: str, name: object) -> str | None:
    """Return the name of a column, or None; refuse all else, what counts as false too."""
    if name is not None and not isinstance(name, str):
        hint = f"{option('no_target', True)} says that there is none" if role == "target" else "leave it out for none"
        raise PolicyError(f"{role} must be the name of a column", hint)
    return name


def _units(unit: object) -> tuple[str, ...]:
    """Return the columns that name a person together, or refuse what is none."""
    hint = 'a list of names for columns that tell persons together; "none" says that no person has several rows'
    if unit is not None and not isinstance(unit, str | list | tuple):
        raise PolicyError("unit must be the name of a column", hint)
    units = () if unit is None else (unit,) if isinstance(unit, str) else _names("unit", unit)
    if "" in units or len(set(units)) < len(units) or (unit is not None and not units):
        raise PolicyError("unit must be the name of a column", hint)
    return units


def _declares_independence(raw: Mapping[str, Any]) -> bool:
    """Return True if a policy file declares that no person has several rows: `unit = "none"`.

    Raises
    ------
    PolicyError
        It says anything else there: a column is the unit by its role.
    """
    if raw.get("unit", "none") != "none":
        raise PolicyError(
            'policy: unit must be "none", which says that no person has several rows',
            'a column that says whose a row is has role = "unit"',
        )
    return "unit" in raw


def _with_one_unit(columns: Mapping[str, Column], declared: Mapping[str, Column]) -> dict[str, Column]:
    """Return the columns of a table with one unit at most: of several columns one is made, which has all their keys.

    None of these is released.
    """
    units = [name for name, column in columns.items() if column.role is Role.UNIT and not column.together]
    made = [column for column in declared.values() if column.together]  # the policy was resolved before
    if not made and len(units) < 2:
        return dict(columns)
    together = made[0].together if made else tuple(units)
    name = joined_name(together)
    if name in columns and not made:
        raise PolicyError(f"column {name!r} is called as the unit of several columns would be", "rename it before")
    single = {of: replace(columns[of], role=Role.IDENTIFIER, role_given=True) for of in together if of in columns}
    return {**columns, **single, name: Column(name=name, role=Role.UNIT, together=together)}


def _names(role: str, names: object) -> tuple[str, ...]:
    """Return names of columns, or refuse what are none: a string is no list of its letters."""
    if isinstance(names, Iterable) and not isinstance(names, str | bytes):
        listed = tuple(names)
        if all(isinstance(name, str) for name in listed):
            return listed
    raise PolicyError(f"{role} must be a list of names of columns", f'{role}=["age"]')


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Everything declared about a table.

    Columns of the table that are not declared are quasi-identifiers: the cautious choice.
    """

    dataset: str | None = None
    """The owner's name for the data, under which budget is kept."""
    columns: Mapping[str, Column] = field(default_factory=dict)
    missing: Missing | None = None
    """Meaning of missing values where a column declares none; None: a category, which local methods want declared."""
    missing_values: tuple[str, ...] = ("",)
    """Strings that mean missing in every source; the default, the empty one, in CSV and TSV alone."""
    encoding: str = UTF8  # of CSV, TSV and JSON Lines, one of `anonkit.policy.side_files.ENCODINGS`
    decimal: str = POINT  # between a number and its fraction in CSV and TSV, "." or ","
    declared_by: str | None = None
    """Person or body that declares the domains public; printed in the report."""
    license: str | None = None
    """Licence of the release, by name, for the catalogue descriptor."""
    publication: Publication = field(default_factory=Publication)  # for the page that the owner signs
    joint_k: int | None = None
    """Smallest k allowed when a release is combined with earlier ones of the dataset; None: the release's own k."""
    task: Task | None = None
    """Task of consumers on the target; None: found by `anonkit.policy.target_task`, as far as a promise allows."""
    without_target: bool = False
    """True when no column is the target, and none is to be taken for it (`target = false`)."""
    bookkeeping: Bookkeeping = field(default_factory=Bookkeeping)
    """Place of the dataset's ledger, whether it must be there, and the budget."""
    aggregates: tuple[str, ...] = ()
    """Tables to publish, a line each, for a method that publishes tables and is given none."""
    keys: tuple[KeyCombination, ...] = ()
    """Combinations of quasi-identifiers with a k of their own, beside the k of all of them."""
    constraints: PublicRules = field(default_factory=PublicRules)
    """Rules that every drawn row keeps, for the methods that draw rows from a model of all columns."""
    optional: frozenset[str] = frozenset()
    """Declared columns that a table may lack; set by `anonkit apply`, not from a file."""
    domains_from_data: tuple[str, ...] = ()
    """Columns whose domain was read from the table: a claim that rests on it is conditional. Not from a file."""
    whole_from_data: tuple[str, ...] = ()
    """Columns of these in which all numbers that were read are whole, and are released so. Not from a file."""
    found_domains: FoundDomains | None = None
    """Domains that were found in the table privately, and what that cost; None where none was. Not from a file."""
    cell_by_cell: bool = False
    """True when no cell may be read by the type of its column: under differential privacy. Not from a file."""
    identifiers_from_data: tuple[str, ...] = ()
    """Columns that were left out because their cells look like identifiers, under a claim that rests on it.

    Not from a file."""
    independent_rows: bool = False
    """True when no person has several rows, as the owner declares (`unit = "none"`)."""
    candidates: tuple[Candidate, ...] = ()
    """Column sets that may identify people: every class has k different values of each. Not from a file."""
    looked_at_table: bool = False
    """True when roles, domains or parameters were chosen after a look at the private table: noise does not cover what
    the choice discloses, and the release states so."""
    rows_in_runs: bool = False
    """True where rows look like runs of one person's, and no candidate identifies the person. Not from a file."""
    households: bool = False
    """True when the unit is a household, k of which have each whole set of rows; set from the role, not from a file."""
    person_rows: PersonRows | None = None  # of several joined tables; set by a recipe, not from a policy file
    domains_min_people: int = 10
    """Least number of people that share a category that was read from the table, or lie beyond a bound that was."""

    def __post_init__(self) -> None:
        if self.independent_rows and self.unit is not None:
            raise PolicyError(
                f"column {self.unit!r} is the unit, and rows are declared independent",
                'unit = "none" is for tables in which no person has several rows',
            )
        target = None if self.target is None else self.columns[self.target]
        refuse_contradicting(target, self.task, without_target=self.without_target)

    @classmethod
    def given(cls, policy: Policy | Mapping[str, Any] | str | Path) -> Policy:
        """Return a policy that is given as it is, as what a policy file holds, or by the path of such a file.

        Raises
        ------
        PolicyError
            It is none of these, or contradicts itself.
        """
        if isinstance(policy, Policy):
            return policy
        if isinstance(policy, Mapping):
            return cls.from_dict(policy)
        if isinstance(policy, str | Path):
            return cls.load(policy)
        raise PolicyError(
            f"policy is of type {type(policy).__name__}, which declares nothing",
            'a path, a Policy, or what a policy file holds: {"columns": {"age": {"role": "quasi_identifier"}}}',
        )

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a policy from a TOML file; `tree` files are looked up beside it."""
        path = Path(path)
        try:
            raw = read_side_toml(path)
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
            "joint_k", "places", "publication", "aggregates", "unit", "looked_at_table", "keys", "constraints",
        )  # fmt: skip
        refuse_unknown("policy", raw, (*known, *BOOKKEEPING_KEYS, *TARGET_KEYS))
        specs = expect("policy", "columns", raw.get("columns", {}), dict)
        places = expect("policy", "places", raw.get("places", {}), dict)
        encoding = declared_encoding(raw)
        columns = {
            name: column_of(name, expect("policy", name, spec, dict), folder, encoding) for name, spec in specs.items()
        }
        for name, spec in places.items():
            place = place_of(name, expect("places", name, spec, dict))
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
            encoding=encoding,
            decimal=declared_decimal(raw),
            declared_by=optional_text("policy", "declared_by", raw),
            license=optional_text("policy", "license", raw),
            joint_k=joint_floor_of(raw),
            task=declared_task(raw),
            without_target=declares_no_target(raw),
            independent_rows=_declares_independence(raw),
            looked_at_table=expect("policy", "looked_at_table", raw.get("looked_at_table", False), bool),
            bookkeeping=bookkeeping_of(raw, folder),
            publication=declared_publication(raw),
            aggregates=named_lines("policy", "aggregates", raw.get("aggregates", {})),
            keys=key_combinations_of(raw),
            constraints=constraints_of(raw, columns, folder, encoding),
        )

    def column(self, name: str) -> Column:
        """Return the declaration of a column, a quasi-identifier when nothing is."""
        return self.columns.get(name) or Column(name=name, role_given=False)

    def declares(self, name: str) -> bool:
        """Return True if a column has a declared role, domain or hierarchy: then its cells never decide on it."""
        column = self.columns.get(name)
        if column is None:
            return False
        declarations = (column.categories, column.bounds, column.ladder, column.tree, column.answers, column.place)
        if column.role is Role.TARGET:  # one that was taken for it, too
            return True
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
        """True when a domain or a rule, or which columns are identifiers, was read from the table."""
        return bool(self.conditional_columns or self.identifiers_from_data)

    def without_rules(self) -> Policy:
        """Return the policy without rules on rows and without spikes, for methods that do not draw rows by them."""
        columns = {name: replace(column, spikes=()) for name, column in self.columns.items()}
        return replace(self, constraints=PublicRules(), columns=columns)

    @property
    def constraints_from_data(self) -> PublicRules:
        """The rules that were found in the table, as the owner says."""
        rules = self.constraints
        return PublicRules(
            follows=tuple(rule for rule in rules.follows if rule.source == FROM_DATA),
            never=tuple(rule for rule in rules.never if rule.source == FROM_DATA),
        )

    @property
    def conditional_columns(self) -> tuple[str, ...]:
        """Columns of which a domain or a rule was read from the table: a claim that rests on it is conditional."""
        found = self.constraints_from_data
        named = [name for rule in found.follows for name in (rule.of, rule.name)]
        named += [name for rule in found.never for name in rule.values]
        return tuple(dict.fromkeys((*self.domains_from_data, *named)))

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
        """Name of the unit column, if there is one."""
        return next(iter(self.names(Role.UNIT)), None)

    @property
    def weight(self) -> Column | None:
        """The column of the weights of a sample, if there is one; rounded ones may be a quasi-identifier."""
        return next((column for column in self.columns.values() if column.weights is not None), None)

    def with_rounded_weights_known(self) -> Policy:
        """Return the policy in which rounded weights are a quasi-identifier, shown in full detail or not at all."""
        weight = self.weight
        if weight is None or weight.role is not Role.WEIGHT or weight.weights is not ShownWeights.ROUNDED:
            return self
        known = replace(weight, role=Role.QUASI_IDENTIFIER, generalize=False)
        return replace(self, columns={**self.columns, weight.name: known})

    def counting_households(self, *, whole: bool) -> Policy:
        """Return the policy under which each household is one unit; the same where no column says which it is.

        Parameters
        ----------
        whole : bool
            Whether k holds for the whole set of the rows of a household, as k-anonymous methods promise it.

        Raises
        ------
        PolicyError
            Several columns do, or the rows are those of several tables.
        """
        households = self.names(Role.HOUSEHOLD)
        if not households:
            return self
        if len(households) > 1:
            raise PolicyError(f"columns {', '.join(map(repr, households))} all have role household: one at most")
        if self.person_rows is not None:
            raise PolicyError(
                f"column {households[0]!r}: households are not counted in several tables", "join them before"
            )
        people = self.names(Role.UNIT)
        columns = {
            name: replace(column, role=Role.IDENTIFIER, role_given=True, missing=None)
            if name in people
            else replace(column, role=Role.UNIT, role_given=True, surrogate=False)
            if name in households
            else column
            for name, column in self.columns.items()
        }
        numbered = self.columns[households[0]].surrogate
        if numbered and not whole:
            raise PolicyError(
                f"column {households[0]!r}: no row of a release with an epsilon is that of a household",
                "leave surrogate out, or take a k-anonymous method",
            )
        rows = PersonRows(whole_set=True, surrogate=numbered) if whole else None
        return replace(self, columns=columns, person_rows=rows, households=whole)

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
        unit: str | Sequence[str] | None = None,
        identifiers: Iterable[str] = (),
        sensitive: Iterable[str] = (),
        insensitive: Iterable[str] = (),
        quasi_identifiers: Iterable[str] = (),
    ) -> Policy:
        """Return the policy with roles and task from command options on top; a target may also be sensitive.

        Several units name a person together; the unit "none" says that rows are independent, whatever the policy
        declares.
        """
        target, units = _named("target", target), _units(unit)
        independent = self.independent_rows if unit is None else units == ("none",)
        if target is not None and no_target:
            raise PolicyError(f"{option('target')} and {option('no_target')} exclude each other")
        columns = dict(self.columns)

        def assign(name: str, role: Role) -> None:
            columns[name] = replace(columns.get(name) or Column(name=name), role=role, role_given=True, sensitive=False)

        roles: dict[str, Role] = {}
        groups = (
            (Role.IDENTIFIER, _names("identifiers", identifiers)),
            (Role.INSENSITIVE, _names("insensitive", insensitive)),
            (Role.QUASI_IDENTIFIER, _names("quasi_identifiers", quasi_identifiers)),
        )
        if unit is not None:  # in place of what the policy says
            for name in self.names(Role.UNIT):
                assign(name, Role.IDENTIFIER)
        people = () if independent else units
        for role, names in (*groups, (Role.TARGET, (target,) if target else ()), (Role.UNIT, people)):
            for name in names:
                if roles.setdefault(name, role) is not role:
                    raise PolicyError(f"column {name!r} is given two roles: {roles[name]} and {role}")
                assign(name, role)
        for name in _names("sensitive", sensitive):
            if roles.get(name, Role.TARGET) is not Role.TARGET:
                raise PolicyError(f"column {name!r} is given two roles: {roles[name]} and sensitive")
            if columns.get(name, Column(name=name)).role is Role.TARGET:
                columns[name] = replace(columns[name], sensitive=True)
            else:
                assign(name, Role.SENSITIVE)
        without_target = no_target or (self.without_target and target is None)
        task_given = self.task if task is None else named_task(task)
        return replace(
            self,
            columns=columns,
            task=task_given,
            without_target=without_target,
            independent_rows=independent and Role.UNIT not in roles.values(),
        )

    def refuse_unknown(self, names: Sequence[str]) -> None:
        """Refuse to declare a column that a table with these columns does not have, with the closest name.

        Raises
        ------
        PolicyError
            A declared column is not in the table.
        """
        for name, column in self.columns.items():
            if not column.is_made and name not in names and name not in self.optional:
                raise PolicyError(f"column {name!r} is not in the table", did_you_mean(name, names))

    def resolve(self, names: Sequence[str], *, target_use: TargetUse = TargetUse.REQUIRED) -> Policy:
        """Return the policy for a table with these columns, in table order, every column declared.

        Without a declared target the last column of which nothing is declared is the target, by its place alone, as far
        as `target_use` says so: for promises under which no label leaves unchanged.

        Raises
        ------
        PolicyError
            A declared column is not in the table, or a role is given to two columns that only one may have.
        """
        self.refuse_unknown(names)
        self._refuse_relative()
        columns = {name: self.column(name) for name in names}
        places = {name: column for name, column in self.columns.items() if column.place is not None}
        for name, column in places.items():
            refuse_place(name, column, columns)
        columns |= places
        holders = [name for name, column in columns.items() if column.role is Role.TARGET]
        if len(holders) > 1:
            raise PolicyError(f"columns {', '.join(map(repr, holders))} all have role {Role.TARGET}: one at most")
        weights = [name for name, column in columns.items() if column.weights is not None]
        if len(weights) > 1:
            raise PolicyError(f"columns {', '.join(map(repr, weights))} all have role {Role.WEIGHT}: one at most")
        columns = _with_one_unit(columns, self.columns)
        resolved = replace(self, columns=columns)
        if self.without_target and target_use is TargetUse.REQUIRED:
            raise ChoiceError("this method needs a target, and there shall be none", _NO_TARGET_HINT)
        if resolved.target is None and not self.without_target and target_use is not TargetUse.AS_DECLARED:
            free = [name for name in names if name not in self.columns]
            if not free and target_use is TargetUse.OPTIONAL:
                return resolved
            if not free:
                raise without_target()
            last = free[-1]
            columns[last] = replace(columns[last], role=Role.TARGET)
        return resolved

    @property
    def relative(self) -> tuple[str, ...]:
        """Columns of dates that are released as days since their person's first one."""
        return tuple(name for name, column in self.columns.items() if column.relative is not None)

    def _refuse_relative(self) -> None:
        """Refuse dates as days since a person's first row where k holds for no whole set of a person's rows.

        Raises
        ------
        PolicyError
        """
        rows = self.person_rows
        if self.relative and (rows is None or not rows.whole_set or self.households):
            raise PolicyError(
                f"column {self.relative[0]!r}: days since a person's first row tell which rows are whose, so k has to "
                "hold for all rows of a person",
                "[tables] of a recipe with whole_person = true; or leave relative out",
            )

    def releasing_as_is(self, names: Iterable[str]) -> Policy:
        """Return the policy under which columns may be released unchanged whatever their cells look like."""
        columns = dict(self.columns)
        for name in _names("release_as_is", names):
            columns[name] = replace(columns.get(name) or self.column(name), release_as_is=True)
        return replace(self, columns=columns)

    def keeping(self, names: Iterable[str]) -> Policy:
        """Return the policy under which a release that shows fewer than two parts of one of these columns is refused.

        Raises
        ------
        PolicyError
            One of them is never released.
        """
        columns = dict(self.columns)
        for name in _names("keep", names):
            columns[name] = replace(columns.get(name) or self.column(name), keep=True)
        return replace(self, columns=columns)

    def meant_for(self, recipients: str | Sequence[str]) -> Policy:
        """Return the policy of a release for these recipients; for those it declares itself where none is given.

        Raises
        ------
        PolicyError
            One of them is no string, or an empty one.
        """
        named = recipients_of("policy", recipients)
        return replace(self, publication=replace(self.publication, recipients=named)) if named else self

    @property
    def kept(self) -> tuple[str, ...]:
        """Names of the columns of which a release must show at least two parts."""
        return tuple(name for name, column in self.columns.items() if column.keep)

    @property
    def detail_weights(self) -> dict[str, float]:
        """Worth of the detail of the quasi-identifiers for which it is declared, each above 0; 1 of the others."""
        columns = ((name, self.columns[name].detail_weight) for name in self.quasi_identifiers)
        return {name: weight for name, weight in columns if weight is not None}

    def guessing(self, target: str | None) -> Policy:
        """Return the policy with a column that is taken for the target, which nobody declared; None: there is none."""
        if target is None:
            return replace(self, without_target=True)
        return replace(self, columns={**self.columns, target: replace(self.column(target), role=Role.TARGET)})

    @property
    def target_is_declared(self) -> bool:
        """True when the target was named by whoever declares the policy; False where it was taken for one."""
        return self.target is not None and self.columns[self.target].role_given
