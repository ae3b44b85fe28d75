# SPDX-License-Identifier: Apache-2.0
"""The GDPR's questions about anonymity for research, and a statistical answer under the European Health Data Space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anonkit.drafting.identifying.kinds import IdentifierKind
from anonkit.pipeline.profiles.profile import Item, Profile, figure, listed
from anonkit.pipeline.profiles.promised_protection import (
    clear_item,
    columns_item,
    columns_left_out,
    is_differentially_private,
    ledger_item,
    population_words,
    promise_words,
    recipients_item,
    risk_words,
)
from anonkit.pipeline.profiles.released_columns import ReleasedColumns

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
    """Return what an answer in anonymised form needs under the European Health Data Space."""
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
