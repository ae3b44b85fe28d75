# SPDX-License-Identifier: Apache-2.0
"""A stored release against a named profile.

NIST SP 800-226, the blocks of the differential privacy pyramid from top to bottom.

The GDPR's questions about anonymity for research, and a statistical answer under the European Health Data Space.

HIPAA, 45 CFR 164.514(b): Safe Harbor, kind by kind of identifier, and what an expert's determination needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from anonkit.bundle.stored_release import Release, load
from anonkit.drafting.identifying.street_addresses import IdentifierKind
from anonkit.errors import ParameterError, ReleaseFormatError, did_you_mean
from anonkit.pipeline.profiles.profile_evidence import (
    Item,
    Profile,
    ReleasedColumns,
    clear_item,
    columns_item,
    columns_left_out,
    figure,
    is_differentially_private,
    ledger_item,
    listed,
    population_words,
    promise_words,
    recipients_item,
    risk_words,
)

_TITLE, _SOURCE = "NIST SP 800-226: the differential privacy pyramid", "NIST SP 800-226 (March 2025)"


def nist_800_226(report: Mapping[str, Any], _released: ReleasedColumns) -> Profile:
    """Return the blocks of the pyramid, each with what the files show of it."""
    if not is_differentially_private(report):
        words = f"The promise is {report['guarantee']['kind']}. No epsilon is promised, so the pyramid has no top."
        items = [Item.against("Epsilon", words)]
        return Profile(name="nist-800-226", title=_TITLE, source=_SOURCE, items=items)
    guarantee, local = report["guarantee"], "randomized" in report["guarantee"]["parameters"]
    unit = guarantee["unit"]
    conditional = [text for text in guarantee["assumptions"] if "CONDITIONAL" in text]
    passed = [check["passed"] for check in figure(report, "verification", "checks") or []]
    seeded = report["randomness"] != "secure"
    return Profile(
        name="nist-800-226",
        title=_TITLE,
        source=_SOURCE,
        items=[
            Item.shown("Epsilon", promise_words(report)),
            Item.open("Unit of privacy", f"It is {unit}: a person with several rows loses the stated privacy for each.")
            if unit == "one row"
            else Item.shown("Unit of privacy", f"It is {unit}. Neighbouring tables: {guarantee['adjacency']}."),
            Item.open("Trust model", "Local: every row was randomized by itself. Who ran it had the true rows.")
            if local
            else Item.open("Trust model", "Central: the owner holds the true rows and is trusted with them."),
            Item.against("Public domains", conditional[0])
            if conditional
            else Item.shown("Public domains", f"Declared by {report.get('domains_declared_by') or 'the owner'}."),
            Item.shown("Mechanism and its proof", f"{report['method']['paper']}. {guarantee['formal']}"),
            Item.shown("Correctness of the code", f"{sum(passed)} of {len(passed)} checks of the release passed.")
            if all(passed)
            else Item.against("Correctness of the code", f"{passed.count(False)} checks of the release did not pass."),
            Item.against("Secure randomness", "A seed was given: anyone who knows it can undo the noise.")
            if seeded
            else Item.shown(
                "Secure randomness", "AES in counter mode. The key is the operating system's and was not kept."
            ),
            Item.open("Utility and bias", "The report has figures of usefulness. Small groups lose most to noise."),
            ledger_item(report, "Budget over several releases"),
            Item.open(
                "Side channels",
                "Noise is of integers, and no message tells a cell. The time that a run takes is not protected.",
            ),
            Item.open("Access control and security of the source", "Not in the files."),
            Item.open("Data collection", "Consent, retention and who saw the rows before: not in the files."),
        ],
    )


_DIRECT = tuple(kind for kind in IdentifierKind if kind is not IdentifierKind.FREE_TEXT)


def gdpr_research(report: Mapping[str, Any], released: ReleasedColumns) -> Profile:
    """Return singling out, linkability and inference, for whom, and the safeguards of Article 89."""
    private = is_differentially_private(report)
    shows_rows = bool(report["rows"].get("out")) and bool(released.columns)
    return Profile(
        name="gdpr-research",
        title="GDPR: anonymity of a table for research",
        source="Regulation (EU) 2016/679, recital 26 and Article 89; Opinion 05/2014 (WP 216); C-413/23 P",
        items=[
            _direct(report, released),
            Item.shown("Singling out", f"{promise_words(report)} {risk_words(report)}"),
            Item.shown(
                "Linkability",
                "The promise holds whatever else is known. Further releases with noise add their epsilon."
                if private
                else "Rows are in random order, and groups have k members or more. Other releases of the same people "
                "can be combined with this one.",
            )
            if private or shows_rows
            else Item.open("Linkability", "No rows are released."),
            ledger_item(report, "Earlier releases of the same people"),
            clear_item(report, "Inference"),
            recipients_item(report, "Identifiability is judged for the recipient"),
            Item.open("Means reasonably likely to be used", f"Cost, time and technology. {population_words(report)}"),
            columns_item(report, "Data minimisation"),
            Item.open(
                "Attacks by somebody who knows people of the table",
                "`anonkit audit OUT IN` attacks singling out, linkability and inference, for the owner.",
            ),
            Item.open("Legal basis, transparency and impact assessment of the processing before", "Not in the files."),
        ],
    )


def ehds(report: Mapping[str, Any], released: ReleasedColumns) -> Profile:
    """Return the requirements on an answer in anonymised form under the European Health Data Space."""
    tables = report["method"]["name"] == "dp-tables"
    return Profile(
        name="ehds",
        title="European Health Data Space: anonymised data for secondary use",
        source="Regulation (EU) 2025/327, Articles 66, 69 and 73; recitals 72 and 92",
        items=[
            _direct(report, released),
            Item.shown("Anonymised form where it serves the purpose (Article 66)", promise_words(report)),
            Item.shown("Answer in statistical form (Article 69)", "The release holds tables and no rows of persons.")
            if tables
            else Item.open(
                "Answer in statistical form (Article 69)",
                f"The release holds {report['rows'].get('out')} rows. If tables are enough: method dp-tables.",
            ),
            columns_item(report, "Adequate, relevant and limited to what is necessary (Article 66)"),
            Item.shown("State-of-the-art technique", f"{report['method']['paper']}."),
            Item.shown("Identification to the extent that can be excluded", risk_words(report)),
            Item.open(
                "Rare diseases and small numbers of people",
                f"{population_words(report)} A rare condition may single people out whatever the groups are.",
            ),
            ledger_item(report, "Answers that add up"),
            recipients_item(report, "Who receives it"),
            Item.open("Permit, purpose and secure processing environment (Articles 68 and 73)", "Not in the files."),
            Item.open("Opt-out of persons", "Whether their rows were left out before the release is not in the files."),
        ],
    )


def _direct(report: Mapping[str, Any], released: ReleasedColumns) -> Item:
    requirement = "No direct identifiers"
    found, texts = released.looking_like(*_DIRECT), released.looking_like(IdentifierKind.FREE_TEXT)
    if found:
        return Item.against(requirement, f"Cells of {listed(found)} look like identifiers.")
    if texts:
        return Item.open(requirement, f"{listed(texts)} hold free text, which may name people.")
    checked = figure(report, "verification", "checks") or []
    passed = any(check["name"] == "identifiers_absent" and check["passed"] for check in checks_of(checked))
    more = " `validate` recounts that identifiers of the source are absent." if passed else ""
    return Item.shown(
        requirement,
        f"No cells of {len(released.columns)} released columns look like identifiers{columns_left_out(report)}.{more}",
    )


def checks_of(checks: Any) -> list[Mapping[str, Any]]:
    """Return the checks of a report that have a name and an outcome."""
    return [check for check in checks if isinstance(check, Mapping) and {"name", "passed"} <= set(check)]


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
    """Return the documentation of an expert: methods, recipients, the data available to them, and the risk found."""
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


PROFILES: Mapping[str, Callable[[Mapping[str, Any], ReleasedColumns], Profile]] = {
    "hipaa-safe-harbor": safe_harbor,
    "hipaa-expert": expert_determination,
    "gdpr-research": gdpr_research,
    "ehds": ehds,
    "nist-800-226": nist_800_226,
}
"""The profiles by name."""


def release_profile(release: str | Path | Release, name: str) -> Profile:
    """Return the evidence of a release's files on each requirement of a rule or standard.

    Parameters
    ----------
    release : path or Release
        A release on disk or in a store, by any of its files.
    name : str
        One of `PROFILES`.

    Raises
    ------
    ParameterError
        No profile has this name.
    ReleaseFormatError
        The release is not there, or its report is damaged.

    Notes
    -----
    It reads the report and the released cells and recounts nothing: `anonkit validate` does. It is evidence for a
    person who decides, and no verdict of law.
    """
    if name not in PROFILES:
        raise ParameterError(f"no profile is named {name!r}", did_you_mean(name, PROFILES))
    loaded = release if isinstance(release, Release) else load(release)
    try:
        return PROFILES[name](loaded.report, ReleasedColumns.of(loaded))
    except (KeyError, TypeError, AttributeError):
        raise ReleaseFormatError("the report is damaged", "anonkit validate tells what was changed") from None
