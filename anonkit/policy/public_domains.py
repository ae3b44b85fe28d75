# SPDX-License-Identifier: Apache-2.0
"""The public domains that differential privacy needs, as the policy declares them, and what a claim rests on if not."""

from __future__ import annotations

from dataclasses import replace

from anonkit.domains.attribute_domains import Categories
from anonkit.errors import PolicyError
from anonkit.policy.declaration import Column, Missing, Outside, Policy, Role

_INIT_HINT = "`anonkit init` drafts a policy with public domains to fill in; role insensitive leaves a column out"


def attributes_of(policy: Policy) -> tuple[Column, ...]:
    """Return the columns that are randomized, sorted by name: quasi-identifiers and sensitive attributes.

    A column that does not say what missing means gets the policy's own `missing`, if the policy has one.

    Raises
    ------
    PolicyError
        There is none.
    """
    names = sorted(policy.names(Role.QUASI_IDENTIFIER, Role.SENSITIVE))
    if not names:
        raise PolicyError("no column is declared that could be released with noise", _INIT_HINT)
    columns = (policy.column(name) for name in names)
    return tuple(replace(column, missing=column.missing or policy.missing) for column in columns)


def categories_of(column: Column) -> Categories:
    """Return the public categories of a column.

    Raises
    ------
    PolicyError
        None are declared.
    """
    declared = column.domain_values
    if not declared:
        raise PolicyError(f"column {column.name!r} has no public domain: declare its categories or bounds", _INIT_HINT)
    return Categories(values=declared, has_missing=may_be_missing(column), texts_alone=column.compares_texts)


def bounds_of(column: Column) -> tuple[float, float]:
    """Return the public bounds of a number.

    Raises
    ------
    PolicyError
        None are declared.
    """
    if column.bounds is None:
        raise PolicyError(f"column {column.name!r} has no public domain: declare its categories or bounds", _INIT_HINT)
    return column.bounds


def may_be_missing(column: Column) -> bool:
    """Tell whether missing is one more value of the domain, by what is declared and never by what the table holds.

    It is, unless `missing = "first"` is declared, or answers are designed for the categories alone. The classes of a
    target have none, unless `missing = "category"` is declared.

    Raises
    ------
    PolicyError
        Rows with a missing value shall be dropped or refused, or cells outside the domain shall be refused: the number
        of rows, or the refusal itself, would tell of a row.
    """
    if column.missing is Missing.DROP:
        raise PolicyError(
            f"column {column.name!r}: dropping rows tells who had a missing value", 'missing = "category" hides it'
        )
    if column.missing is Missing.ERROR:
        raise PolicyError(
            f"column {column.name!r}: a refusal tells that a value is missing", 'missing = "category" hides it'
        )
    if column.outside is Outside.REFUSE:
        raise PolicyError(
            f"column {column.name!r}: a refusal tells that a cell is outside its domain",
            'outside = "clamp" for numbers, "missing" for categories: their defaults here',
        )
    if column.role is Role.TARGET:
        if column.missing is Missing.FIRST:
            raise PolicyError(
                f'column {column.name!r}: missing = "first" is not for a target',
                'missing = "category", or leave it out',
            )
        return column.missing is Missing.CATEGORY
    if column.missing is None and column.answers is not None and column.domain_values is not None:
        return column.answers.size == len(column.domain_values) + 1
    return column.missing is not Missing.FIRST


def conditions_of(policy: Policy) -> tuple[str, ...]:
    """Return the conditions of what was read from the table instead of being declared; nothing when nothing was."""
    if not policy.is_conditional:
        return ()
    least, who = policy.domains_min_people, "rows" if policy.unit is None else "people"
    names = ", ".join(policy.domains_from_data) or "no column"
    taken = ", ".join(policy.identifiers_from_data) or "none"
    return (
        f"CONDITIONAL: the domains of {names} were read from the table. The claim holds only if these categories and "
        "bounds are public knowledge; otherwise they reveal which categories are common and how far numbers reach. "
        f"Categories that fewer than {least} {who} share were left out, and at least {least} {who} lie at or beyond "
        "each bound: that limits what is told of one person and is no differential privacy.",
        f"CONDITIONAL: which undeclared columns are identifiers was decided by their cells; taken for identifiers and "
        f"left out: {taken}. The claim holds only if that is public knowledge.",
    )
