# SPDX-License-Identifier: Apache-2.0
"""Public domains for differential privacy, as the policy declares them, and conditions of a claim.

Columns of booleans under noise: false and true are all they can hold, so no categories have to be declared.

Floating-point columns that are declared to hold integers are refused (`refuse_rounded`). A missing cell turns a whole
column of integers into floats in pandas, and from 2^53 on two integers are then one: a row of nobody would change which
people, and which categories, all other rows have.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from anonkit.domains.cell_values import exact_decimal
from anonkit.domains.number_bins import TRUTH_VALUES, Categories, Grid, NumberBins
from anonkit.domains.rounding_grid import WholeValues
from anonkit.errors import GuaranteeError, PolicyError, option
from anonkit.policy.answer_design import AnswerDesign
from anonkit.policy.calendar_columns import Calendar
from anonkit.policy.column_declarations import Column, ColumnType, Missing, Outside, Role
from anonkit.policy.declaration import Policy, without_target
from anonkit.policy.target_task import Task, task_from_declaration

_ROLES = (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.TARGET)


def with_truth_values(policy: Policy, typed: Collection[str] = ()) -> Policy:
    """Return the policy with the domain of its columns of booleans.

    Parameters
    ----------
    typed : collection of str
        Columns that are booleans by the type of their source, which is public; where the policy names a type of its
        own, that type counts.

    Privacy
    -------
    Decided by the policy and by types alone; no cell is looked at.
    """
    columns = dict(policy.columns)
    for name, column in policy.columns.items():
        is_boolean = column.type is ColumnType.BOOLEAN or (column.type is None and name in typed)
        if is_boolean and column.role in _ROLES and lacks_domain(column):
            columns[name] = replace(column, categories=TRUTH_VALUES, are_truth_values=True)
    return replace(policy, columns=columns)


def lacks_domain(column: Column) -> bool:
    """Return True if nothing is declared of the values of a column."""
    return column.domain_values is None and column.bounds is None and not column.has_bins and column.place is None


MOST_CLASSES = 1000
"""Classes of a target at most: what methods hold grows with their number times the values of every attribute."""
TARGET_BINS = 8
"""Equal bins of a numeric target over its public bounds, unless a method has a rule of its own."""

_NAMED = 5
"""Columns that a refusal names."""
_INIT_HINT = "`anonkit init` drafts a policy: fill in bounds and categories; role insensitive leaves a column out"


@dataclass(frozen=True, kw_only=True)
class CategoricalAttribute:
    """A column of declared categories: what a method of differential privacy knows of it, and all it needs to know."""

    name: str
    domain: Categories
    """Its public categories, missing as one more where it can occur."""
    tree: tuple[tuple[str, ...], ...] = ()
    """Its declared hierarchy: one path a category, from the category to its coarsest group; empty without one."""
    answers: AnswerDesign | None = None
    """Design of its answers by the owner, if any."""

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """The path of each category in the declared hierarchy, in the order of the domain; empty without one.

        Raises
        ------
        PolicyError
            The hierarchy lacks a category.
        """
        path_of = {path[0]: path for path in self.tree}
        if path_of and not path_of.keys() >= set(self.domain.values):
            raise PolicyError(f"column {self.name!r}: its tree lacks categories that it declares", "a path for each")
        return tuple(path_of[category] for category in self.domain.values) if path_of else ()


@dataclass(frozen=True, kw_only=True)
class NumericAttribute:
    """A column of declared bounds: what a method of differential privacy knows of it, and all it needs to know."""

    name: str
    bounds: tuple[float, float]
    """Its public bounds, inclusive, in the unit of the column."""
    has_missing: bool
    """True when a value may be missing."""
    answers: AnswerDesign | None = None
    """Design of its answers by the owner, if any."""
    values: WholeValues | None = None
    """The multiples of a step that it holds, such as integers; None: any numbers."""

    def grid(self, cells: int) -> Grid:
        """Return its domain as so many equal cells; of multiples of a step as no more than there are.

        Raises
        ------
        ParameterError
            A bound is not finite, or there is no cell.
        """
        if self.values is not None:
            cells = min(cells, self.values.size)
        return Grid.over(self.bounds, cells, has_missing=self.has_missing, values=self.values)

    def in_bins(self, bins: int) -> CategoricalAttribute:
        """Return it as a target: so many equal bins over its bounds, which are its classes.

        Raises
        ------
        PolicyError
            Its answers are designed: a design is for categories.
        """
        if self.answers is not None:
            raise PolicyError(
                f"column {self.name!r}: {self.answers.key} is for categories, and this target has bounds",
                "leave the key out, or declare categories",
            )
        return CategoricalAttribute(name=self.name, domain=NumberBins.equal(self.grid(bins)))


PublicAttribute = CategoricalAttribute | NumericAttribute


@dataclass(frozen=True, kw_only=True)
class PublicDomains:
    """The public domains of a policy: each column's is computed once, and methods pass this value on."""

    attributes: tuple[PublicAttribute, ...]
    """The columns that are released with noise, sorted by name: quasi-identifiers and sensitive attributes."""
    target: CategoricalAttribute | None
    """The column of classes, if there is one; of a numeric target the classes are equal bins of its public bounds."""

    @property
    def classes(self) -> CategoricalAttribute:
        """The target, of a method that needs one.

        Raises
        ------
        PolicyError
            There is none.
        """
        if self.target is None:
            raise without_target()
        return self.target

    @property
    def bounds(self) -> Mapping[str, tuple[float, float]]:
        """Public bounds of the numeric columns, by name."""
        return {
            attribute.name: attribute.bounds for attribute in self.attributes if isinstance(attribute, NumericAttribute)
        }


def public_domains(policy: Policy, *, target_required: bool = False, ruled: bool = False) -> PublicDomains:
    """Return the public domains that a policy declares.

    A column that does not say what missing means gets the policy's own `missing`, if the policy has one; the target
    does not.

    Parameters
    ----------
    policy : Policy
    target_required : bool
        Refuse a policy without a target.
    ruled : bool
        Leave out the columns that follow from others by a rule of the policy: they need not be counted.

    Raises
    ------
    PolicyError
        There is no target, or no column that is released with noise; or one of them has no public domain: see
        `public_attribute`.
    """
    if target_required and policy.target is None:
        raise without_target()
    names = sorted(policy.names(Role.QUASI_IDENTIFIER, Role.SENSITIVE))
    names = [name for name in names if not ruled or name not in policy.constraints.determined]
    if not names:
        raise PolicyError("noise needs the possible values of each column, and the policy declares none", _INIT_HINT)
    attributes, lacking = [], {}
    for name in names:
        try:
            attributes.append(public_attribute(policy.column(name), policy.missing))
        except _DomainError as error:
            lacking[name] = error
    target = None
    try:
        target = None if policy.target is None else _classes_of(policy.column(policy.target), policy.task)
    except _DomainError as error:
        lacking[str(policy.target)] = error
    except PolicyError:
        _refuse_without_domains(lacking)  # what comes first is refused first
        raise
    _refuse_without_domains(lacking)
    return PublicDomains(attributes=tuple(attributes), target=target)


def without_domain(policy: Policy) -> list[str]:
    """Return the columns that noise would release and that have neither categories nor bounds, in their order."""
    names = policy.names(Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.TARGET)
    columns = [policy.column(name) for name in names]
    return [one.name for one in columns if one.bins is None and not one.domain_values and one.bounds is None]


def numeric_target(policy: Policy) -> NumericAttribute | None:
    """Return the public domain of a target that is a number to predict; None where it has classes, or there is none.

    Raises
    ------
    PolicyError
        As `public_domains` does.
    """
    declared = None if policy.target is None else policy.column(policy.target)
    if declared is None or task_from_declaration(declared, policy.task) is not Task.REGRESSION:
        return None
    target = public_attribute(declared)
    return target if isinstance(target, NumericAttribute) else None


def _classes_of(target: Column, task: Task | None) -> CategoricalAttribute:
    """Return the public classes of the target: its categories, or equal bins of a number to predict."""
    is_number = task_from_declaration(target, task) is Task.REGRESSION
    if is_number and target.bounds is None:
        raise PolicyError(
            f"column {target.name!r} is a number to predict and has no public bounds",
            f"bounds = [low, high] in the policy, or {option('task', 'classification')} with its categories",
        )
    if not is_number and target.bounds is not None:
        raise PolicyError(
            f"column {target.name!r} has bounds, and its task is classification: classes need categories",
            f"declare its categories, or {option('task', 'regression')}",
        )
    declared = public_attribute(target)
    classes = declared.in_bins(TARGET_BINS) if isinstance(declared, NumericAttribute) else declared
    if classes.domain.size > MOST_CLASSES:
        raise PolicyError(
            f"column {target.name!r} has {classes.domain.size:,} classes; {MOST_CLASSES:,} are the most under "
            "differential privacy, where each class takes noise of its own",
            f"bounds and {option('task', 'regression')} for a number; else declare fewer, broader categories",
        )
    return classes


def public_attribute(column: Column, policy_missing: Missing | None = None) -> PublicAttribute:
    """Return the public domain of a column, by its declaration and never by the table.

    Missing is one more value of the domain, unless `missing = "first"` is declared, or answers are designed for the
    categories alone. The classes of a target have none, unless `missing = "category"` is declared.

    Parameters
    ----------
    column : Column
    policy_missing : Missing, optional
        What missing means where the column does not say.

    Raises
    ------
    PolicyError
        It has no public domain; or rows with a missing value shall be dropped or refused, or cells outside the domain
        shall be refused: the number of rows, or the refusal itself, would disclose a row.
    """
    values, bounds, missing = column.domain_values, column.bounds, column.missing or policy_missing
    bins = column.bins
    if bins is not None:
        values = bins.labels
    if not values and bounds is None:
        raise _without_domain(column.name, column.calendar)
    _refuse_telling(column.name, missing, column.outside)
    if column.role is Role.TARGET:
        if missing is Missing.FIRST:
            raise PolicyError(
                f'column {column.name!r}: missing = "first" is not for a target',
                'missing = "category", or leave it out',
            )
        has_missing = missing is Missing.CATEGORY
    elif missing is None and column.answers is not None and values is not None:
        has_missing = column.answers.size == len(values) + 1
    else:
        has_missing = missing is not Missing.FIRST
    if bounds is not None:
        whole = column.whole_values
        if column.spikes and whole is None:
            raise PolicyError(
                f"column {column.name!r}: spikes are for columns of whole numbers, or with a step",
                'type = "integer", or step = 0.01',
            )
        return NumericAttribute(
            name=column.name,
            bounds=bounds if whole is None else whole.bounds,
            has_missing=has_missing,
            answers=column.answers,
            values=whole,
        )
    return CategoricalAttribute(
        name=column.name,
        domain=Categories(
            values=values or (),
            has_missing=has_missing,
            texts_alone=column.compares_texts or bins is not None,
            are_truth_values=column.are_truth_values,
        ),
        tree=column.tree or (() if bins is None else bins.tree),
        answers=column.answers,
    )


class _DomainError(PolicyError):
    """A column has no public domain."""


def _refuse_without_domains(lacking: Mapping[str, _DomainError]) -> None:
    """Refuse columns without a domain: a single one with what it lacks, several together."""
    if len(lacking) == 1:
        raise next(iter(lacking.values()))
    if lacking:
        named = ", ".join(map(repr, list(lacking)[:_NAMED]))
        more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
        raise PolicyError(
            f"{len(lacking)} columns have no public domain: {named}{more}",
            "declare categories or bounds of each in the policy, which `anonkit init` drafts; "
            f"{option('domains_from_data', True)} reads them from the table: then the guarantee holds only if they are "
            "public",
        )


def _without_domain(name: str, calendar: Calendar | None = None) -> _DomainError:
    if calendar is not None:
        example = 'bounds = ["2020-01-01", "2024-12-31"]; levels = ["month", "year"] chooses its public bins'
        return _DomainError(
            f"column {name!r} has no public domain: declare the bounds of its {calendar.kind}s", example
        )
    return _DomainError(f"column {name!r} has no public domain: declare its categories or bounds", _INIT_HINT)


def _refuse_telling(name: str, missing: Missing | None, outside: Outside | None) -> None:
    """Refuse a rule that would disclose a row by its absence or by a refusal."""
    if missing is Missing.DROP:
        raise PolicyError(
            f"column {name!r}: dropping rows tells who had a missing value", 'missing = "category" hides it'
        )
    if missing is Missing.ERROR:
        raise PolicyError(f"column {name!r}: a refusal tells that a value is missing", 'missing = "category" hides it')
    if outside is Outside.REFUSE:
        raise PolicyError(
            f"column {name!r}: a refusal tells that a cell is outside its domain",
            'outside = "clamp" for numbers, "missing" for categories: their defaults here',
        )


def conditions_of(policy: Policy) -> tuple[str, ...]:
    """Return the conditions of what was read from the table instead of being declared; nothing when nothing was."""
    if not policy.is_conditional:
        return ()
    rules = _conditions_of_rules(policy)
    if not policy.domains_from_data and not policy.identifiers_from_data:
        return rules
    least, who = policy.domains_min_people, "rows" if policy.unit is None else "people"
    names = ", ".join(policy.domains_from_data) or "no column"
    dated = any(policy.column(name).calendar is not None for name in policy.domains_from_data)
    parts = " (of dates: in or beyond the first and the last part of the calendar)" if dated else ""
    taken = ", ".join(policy.identifiers_from_data) or "none"
    return (
        f"CONDITIONAL: the domains of {names} were read from the table. The claim holds only if these categories and "
        "bounds are public knowledge; otherwise they reveal which categories are common and how far numbers reach. "
        f"Categories that fewer than {least} {who} share were left out, and at least {least} {who} lie at or beyond "
        f"each bound{parts}: that limits what is learned about one person and is no differential privacy.",
        f"CONDITIONAL: which undeclared columns are identifiers was decided by their cells; left out as identifiers: "
        f"{taken}. The claim holds only if that is public knowledge.",
        *_condition_on_whole_numbers(policy),
        *rules,
    )


def _conditions_of_rules(policy: Policy) -> tuple[str, ...]:
    return tuple(
        f'CONDITIONAL: the rule "{words}" was found in the table. The claim holds only if it is public knowledge.'
        for words in policy.constraints_from_data.words
    )


def _condition_on_whole_numbers(policy: Policy) -> tuple[str, ...]:
    if not policy.whole_from_data:
        return ()
    return (
        f"CONDITIONAL: that all numbers of {', '.join(policy.whole_from_data)} are whole was decided by their cells. "
        "The claim holds only if that is public knowledge.",
    )


def public_assumptions(policy: Policy) -> tuple[str, ...]:
    """Return the conditions, and that the types of the source are public where they say which columns are whole."""
    noisy = policy.names(Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.TARGET)
    columns = [policy.column(name) for name in noisy]
    whole = [column.name for column in columns if column.is_whole_by_type and _is_a_grid_of_whole_numbers(column)]
    truths = [column.name for column in columns if column.are_truth_values and column.type is None]
    stated = ((whole, "all numbers of {} are whole"), (truths, "all values of {} are false or true"))
    by_type = "That {} is public knowledge: the types of the source say so."
    facts = [by_type.format(fact.format(", ".join(names))) for names, fact in stated if names]
    return (*conditions_of(policy), *facts)


def without_whole_types(policy: Policy, names: Collection[str]) -> Policy:
    """Return the policy as if the source's types declared none of these columns an integer."""
    columns = {
        name: replace(column, is_whole_by_type=column.is_whole_by_type and name not in names)
        for name, column in policy.columns.items()
    }
    return replace(policy, columns=columns)


def _is_a_grid_of_whole_numbers(column: Column) -> bool:
    """Return True if its cells are integers; also before private bounds are found for it."""
    return column.whole_values is not None or (column.bounds is None and column.categories is None)


_EXACT_INTEGERS = {pa.float16(): 2**11, pa.float32(): 2**24, pa.float64(): 2**53}
"""Bound up to which a type represents all integers."""
_EXACT_HINT = "give it a type of whole numbers or texts, which no missing cell changes: in pandas Int64 or string"


def refuse_rounded(schema: pa.Schema, policy: Policy) -> None:
    """Refuse columns in which other rows may have changed the meaning of a cell.

    Raises
    ------
    GuaranteeError
        A column of floats names people, or has declared categories, or bounds of `type = "integer"`, that are
        integers which its type does not distinguish.

    Privacy
    -------
    Decided by the types of the columns and by what is declared: no cell is looked at.
    """
    units = [column.together or (name,) for name, column in policy.columns.items() if column.role is Role.UNIT]
    whose = {name for names in units for name in names}
    for field in schema:
        if not pa.types.is_floating(field.type):
            continue
        if field.name in whose:
            raise GuaranteeError(
                f"column {field.name!r} holds floating-point numbers, which do not tell all people apart", _EXACT_HINT
            )
        if any(abs(number) >= _EXACT_INTEGERS[field.type] for number in _whole_numbers(policy.column(field.name))):
            what = "which do not tell its declared whole numbers apart"
            raise GuaranteeError(f"column {field.name!r} holds floating-point numbers, {what}", _EXACT_HINT)


def _whole_numbers(column: Column) -> Sequence[float]:
    """Return the integers that a column is declared to hold, or its bounds where they are integers."""
    if not column.is_released:
        return ()
    if column.bounds is not None:
        return column.bounds if column.type is ColumnType.INTEGER else ()
    decimals = [exact_decimal(value) for value in column.domain_values or ()]
    return [float(number) for number in decimals if number and "." not in number and "e-" not in number]
