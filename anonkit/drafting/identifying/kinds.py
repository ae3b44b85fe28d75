# SPDX-License-Identifier: Apache-2.0
"""Kinds of identifiers: keys, e-mail addresses, phone numbers, national numbers, names of persons, and others."""

from __future__ import annotations

from enum import Enum


class IdentifierKind(Enum):
    """The kind of identifier in a column."""

    KEY = "keys"
    """Numbers or codes that were given out: of customers, accounts, policies, rows; user names, hashes, addresses of
    devices."""
    EMAIL = "e-mail addresses"
    PHONE = "phone numbers"
    NATIONAL_NUMBER = "national numbers"
    PERSON_NAME = "names of persons"
    GIVEN_NAME = "given names"
    FAMILY_NAME = "family names"
    ADDRESS = "addresses"
    """Streets with house numbers: those of a household."""
    FREE_TEXT = "free text"
    OTHER = "other identifiers"
    """Such as addresses on the web, and strings that are nearly all different."""
