# SPDX-License-Identifier: Apache-2.0
"""HIPAA, 45 CFR 164.514(b): Safe Harbor, kind by kind of identifier, and what an expert's determination needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from anonkit.drafting.identifying.kinds import IdentifierKind
from anonkit.pipeline.profiles.profile import Item, Profile, figure, listed
from anonkit.pipeline.profiles.promised_protection import (
    columns_left_out,
    is_differentially_private,
    population_words,
    promise_words,
    recipients_item,
    risk_words,
)
from anonkit.pipeline.profiles.released_columns import ReleasedColumns

_ZIP_DIGITS = 3
_KINDS = (
    (
        "A. Names",
        (IdentifierKind.PERSON_NAME, IdentifierKind.GIVEN_NAME, IdentifierKind.FAMILY_NAME),
        "names of persons",
    ),
    ("D. Telephone numbers", (IdentifierKind.PHONE,), "phone numbers"),
    ("E. Fax numbers", (IdentifierKind.PHONE,), "phone numbers"),
    ("F. E-mail addresses", (IdentifierKind.EMAIL,), "e-mail addresses"),
    ("G. Social security numbers", (IdentifierKind.NATIONAL_NUMBER,), "national numbers"),
    ("H. Medical record numbers", (IdentifierKind.KEY,), "keys that were given out"),
    ("I. Health plan beneficiary numbers", (IdentifierKind.KEY,), "keys that were given out"),
    ("J. Account numbers", (IdentifierKind.KEY,), "keys that were given out"),
    ("K. Certificate and licence numbers", (IdentifierKind.KEY,), "keys that were given out"),
    ("L. Vehicle identifiers and licence plates", (IdentifierKind.KEY,), "keys that were given out"),
    ("M. Device identifiers and serial numbers", (IdentifierKind.KEY,), "keys that were given out"),
    ("N. Web addresses (URLs)", (IdentifierKind.OTHER,), "other identifiers, such as addresses on the web"),
    ("O. IP addresses", (IdentifierKind.KEY,), "keys that were given out"),
)


def safe_harbor(report: Mapping[str, Any], released: ReleasedColumns) -> Profile:
    """Return the 18 kinds of identifiers, and the statement on knowledge beside the table."""
    items = {item.requirement: item for item in (*_of_forms(released), *_of_places_and_dates(released))}
    return Profile(
        name="hipaa-safe-harbor",
        title="HIPAA Safe Harbor",
        source="45 CFR 164.514(b)(2)",
        items=[*(items[name] for name in sorted(items)), *_of_the_rest(report, released), _knowledge()],
    )


def _of_forms(released: ReleasedColumns) -> Iterator[Item]:
    for requirement, kinds, words in _KINDS:
        found = released.looking_like(*kinds)
        if found:
            yield Item.against(requirement, f"Cells of {listed(found)} look like {words}.")
        else:
            yield Item.shown(requirement, f"No cells of {len(released.columns)} released columns look like {words}.")


def _of_places_and_dates(released: ReleasedColumns) -> Iterator[Item]:
    name = "B. Places smaller than a state"
    homes, postal = released.looking_like(IdentifierKind.ADDRESS), [one for one in released.columns if one.is_postal]
    long = [one.name for one in postal if one.longest_postal_code > _ZIP_DIGITS]
    places = released.where("is_place")
    if homes or long:
        yield Item.against(
            name, f"{listed([*homes, *long])} show addresses, or more than three digits of postal codes."
        )
    elif places:
        yield Item.open(
            name,
            f"{listed(places)} name places. A place smaller than a state may not stay; the first three digits of a zip "
            "code may where 20,000 people or more live, by the current census.",
        )
    else:
        yield Item.shown(name, "No released column has the name or the cells of places, addresses or postal codes.")
    name = "C. Dates finer than a year, and ages over 89"
    days, ages, times = (released.where(what) for what in ("shows_days_or_months", "is_age", "may_be_time"))
    old = [one.name for one in released.columns if one.is_age and one.divides_old_ages]
    if days or old:
        found = [f"Days or months are shown by {listed(days)}"] if days else []
        found += [f"Ages above 90 are distinguished by {listed(old)}"] if old else []
        yield Item.against(name, f"{'. '.join(found)}.")
    elif averages := released.where("averages_old_ages"):
        yield Item.open(
            name,
            f"{listed(averages)} show one mean above 90, of several people and the age of none. All ages of 90 and "
            "more may be one category; whether one that is called by its mean is such a category a person has to say.",
        )
    elif times:
        yield Item.open(name, f"{listed(times)} have the names of times. Their cells are none that are known as dates.")
    else:
        of_ages = f" All ages above 90 are one value of {listed(ages)}." if ages else ""
        yield Item.shown(name, f"No released column shows dates finer than a year.{of_ages}")


def _of_the_rest(report: Mapping[str, Any], released: ReleasedColumns) -> Iterator[Item]:
    binary = released.where("binary")
    for requirement in ("P. Biometric identifiers", "Q. Full-face photographs"):
        if binary:
            yield Item.open(requirement, f"{listed(binary)} hold bytes, which are not looked at.")
        else:
            yield Item.shown(requirement, "All cells are numbers, dates or strings: no pictures, no signals.")
    requirement = "R. Any other number, characteristic or code that is a person's alone"
    texts = released.looking_like(IdentifierKind.FREE_TEXT, IdentifierKind.KEY, IdentifierKind.OTHER)
    unique = released.where("nearly_unique")
    if texts:
        yield Item.against(requirement, f"Cells of {listed(texts)} look like keys, free text or other identifiers.")
    elif unique:
        yield Item.open(requirement, f"Nearly every row has its own value of {listed(unique)}.")
    else:
        yield Item.open(
            requirement,
            f"No released column looks like one{columns_left_out(report)}. A rare profession or disease may be one.",
        )


def _knowledge() -> Item:
    return Item.open(
        "No actual knowledge that a person could be identified",
        "It is about what the owner knows. The report has the risk in figures; `anonkit audit` attacks the table.",
    )


def expert_determination(report: Mapping[str, Any], released: ReleasedColumns) -> Profile:
    """Return what an expert documents: methods, recipients, what is available to them, and the risk found."""
    kind = report["guarantee"]["kind"]
    clear = figure(report, "disclosure_risk", "with_clear_columns", "columns")
    return Profile(
        name="hipaa-expert",
        title="HIPAA Expert Determination",
        source="45 CFR 164.514(b)(1)",
        items=[
            Item.open("A person with knowledge of statistical and scientific methods decides", "Name and experience."),
            Item.shown(
                "Generally accepted methods are applied",
                f"{report['method']['name']} of {report['method']['paper']}; {kind}; anonkit "
                f"{report['anonkit_version']}. {promise_words(report)}",
            ),
            recipients_item(report, "The anticipated recipient"),
            Item.shown(
                "Information that is reasonably available to the recipient",
                "; ".join(report["guarantee"]["assumptions"]) or "Nothing is assumed of it.",
            )
            if not is_differentially_private(report)
            else Item.shown(
                "Information that is reasonably available to the recipient",
                "The promise holds whatever a recipient knows beside the table.",
            ),
            Item.open(
                "The risk is very small",
                f"{risk_words(report)} {population_words(report)} Which risk is very small is for the expert to say.",
            ),
            Item.open(
                "Values in the clear",
                f"{listed(clear)} are released as they are. A recipient who knows them is not covered by k.",
            )
            if clear
            else Item.shown("Values in the clear", "No column is released as it is beside the protected ones."),
            Item.shown(
                "Methods and results are documented",
                f"The report, the params and {len(report['verification']['checks'])} checks. `anonkit validate` "
                "repeats them for anybody, and a dossier is the page that is signed.",
            ),
            Item.open("For how long the determination holds", "Data, recipients and techniques change: a date."),
        ],
    )
