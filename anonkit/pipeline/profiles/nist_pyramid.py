# SPDX-License-Identifier: Apache-2.0
"""NIST SP 800-226, the blocks of the differential privacy pyramid from top to bottom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anonkit.pipeline.profiles.profile import Item, Profile, figure
from anonkit.pipeline.profiles.promised_protection import is_differentially_private, ledger_item, promise_words
from anonkit.pipeline.profiles.released_columns import ReleasedColumns

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
