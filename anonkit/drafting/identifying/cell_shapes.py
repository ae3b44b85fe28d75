# SPDX-License-Identifier: Apache-2.0
"""Cell patterns that identify a person: e-mail and network addresses, numbers with check digits, machine keys."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from anonkit.drafting.identifying import check_digits
from anonkit.drafting.identifying.street_addresses import IdentifierKind


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A way to write something that identifies, and how many cells must be written so."""

    rule: str
    """Key of the rule in a report."""
    words: str
    """Appearance of the cells, in words for the owner."""
    kind: IdentifierKind
    """Kind of identifier."""
    matches: Callable[[str], bool]
    """Of the text of a cell without blanks at the ends."""
    share: float
    """Smallest share of the distinct values, in (0, 1]."""
    values: int = 1
    """Smallest number of distinct values of which so many match."""
    even_few: bool = True
    """True when a handful of such values, each in many rows, names people all the same."""
    also_things: bool = False
    """True when codes of things are written so, too: not where the column's name says that it holds things."""
    of_all: Callable[[Sequence[str]], bool] = lambda _: True
    """Further condition on all values together."""


_EMAIL = re.compile(r"(?<=[\w.+'%-])@[\w-]+(\.[\w-]+)*\.\w{2,}")
"""From the at sign on, so that a long cell without one is passed over once."""
_URL = re.compile(r"([a-z][a-z0-9+.-]*://\S+|www\.[\w-]+\.\S+)", re.IGNORECASE)
_UUID = re.compile(r"[{(]?(urn:uuid:)?[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}[})]?", re.IGNORECASE)
_HASH = re.compile(r"(0x)?(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])([0-9a-f]{8,128})", re.IGNORECASE)
_BASE64 = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9+/_-])[A-Za-z0-9+/_-]{20,128}={0,2}")
_OCTET = r"(25[0-5]|2[0-4]\d|1?\d?\d)"
_IP4 = re.compile(rf"{_OCTET}(\.{_OCTET}){{3}}(/\d{{1,2}}|:\d{{1,5}})?")
# eight groups, or fewer with :: among them: 12:30:10 is a time of day
_IP6 = re.compile(r"(?=.*::|([0-9a-f]{1,4}:){7}[0-9a-f])(?=[^:]*:?:?[0-9a-f])[0-9a-f:]{6,39}(%\w+)?", re.IGNORECASE)
_MAC = re.compile(r"[0-9a-f]{2}([:-][0-9a-f]{2}){5}|([0-9a-f]{4}\.){2}[0-9a-f]{4}", re.IGNORECASE)
_IBAN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_SSN = re.compile(r"(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}")
_NINO = re.compile(r"(?![DFIQUV])[A-Z](?![DFIOQUV])[A-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]", re.IGNORECASE)
_FISCAL = re.compile(r"[A-Z]{6}\d\w[A-EHLMPRST]\d\w[A-Z]\d\w\w[A-Z]", re.IGNORECASE)
_SEPARATORS = re.compile(r"[\s.\-/]")

_PHONES = re.compile(
    r"\+\d[\d\s().\-/]{6,20}\d"  # international, with the plus
    r"|00[1-9][\d\s().\-/]{7,20}\d"  # international, with two zeros
    r"|(\+?1[ .\-]?)?\([2-9]\d\d\) ?[2-9]\d\d[ .\-]?\d{4}"  # (212) 555-0123
    r"|(1[.\-])?[2-9]\d\d([.\-])[2-9]\d\d\3\d{4}"  # 212-555-0123
    r"|\(?0[1-9]\d{0,4}\)?[ /\-]\d[\d \-/]{4,12}\d"  # 030 1234567, 020 7946 0958, 01 23 45 67 89
    r"|0[1-9]\d{8,10}"  # 0301234567
    r"|1[3-9]\d[ \-]?\d{4}[ \-]?\d{4}"  # 138 1234 5678
    r"|[6-9]\d\d \d{3} \d{3}|[6-9]\d\d \d\d \d\d \d\d"  # 612 345 678
)


def _digits(text: str) -> str:
    return _SEPARATORS.sub("", text)


_WRITTEN_DAY = re.compile(r"(0?[1-9]|[12][0-9]|3[01])([-/.])(0?[1-9]|[12][0-9]|3[01])\2(1[89]|20)[0-9]{2}")


def _is_phone(text: str) -> bool:
    if _WRITTEN_DAY.fullmatch(text):  # 01/13/2020 has the form of a number in groups, too
        return False
    return bool(_PHONES.fullmatch(text)) and 8 <= sum(character.isdigit() for character in text) <= 15


def _are_addresses_of_computers(texts: Sequence[str]) -> bool:
    """Return True if strings are addresses, not versions in four parts, whose numbers are small or beyond 255."""
    octets = [list(map(int, _PORT.sub("", text).split("."))) for text in texts if _IP4.fullmatch(text)]
    large = sum(max(each) >= _LARGE_OCTET for each in octets)
    return len(octets) < _IP_SHARE * len(texts) or large >= _LARGE_SHARE * len(octets)


def _are_hashes(texts: Sequence[str]) -> bool:
    """Return True if strings are hashes: of one length, with letters among the digits, unlike words and codes."""
    letters = sum(sum(map(str.isalpha, text)) for text in texts)
    one_length = Counter(map(len, texts)).most_common(1)[0][1] >= _ONE_LENGTH * len(texts)
    return one_length and letters >= _HASH_LETTERS * sum(map(len, texts))


def _is_iban(text: str) -> bool:
    plain = text.replace(" ", "").upper()
    return bool(_IBAN.fullmatch(plain)) and check_digits.iban(plain)


def _numbered(check: Callable[[str], bool], length: int | None = None) -> Callable[[str], bool]:
    """Return the test of a number that may be written in groups; leading zeros that an integer lost come back."""

    def matches(text: str) -> bool:
        if len(text) > _MOST_LETTERS:
            return False
        digits = _digits(text)
        if not (digits.isascii() and digits.isdigit()):
            return False
        return check(digits.zfill(length) if length is not None and len(digits) >= length - 2 else digits)

    return matches


def _lettered(check: Callable[[str], bool]) -> Callable[[str], bool]:
    """Return the test of a number with letters, which may be written in groups and in lower case."""
    return lambda text: len(text) <= _MOST_LETTERS and text.isascii() and check(_digits(text).upper())


_CARD = "payment_card"
_NATIONAL = "national_id"
_CHECKED = 0.95
"""Share of values whose check digit must be right where nothing else identifies the number: one in ten is by chance."""
_LETTERED = 0.8
_MOST_LETTERS = 24
_IP_SHARE = 0.8
_LARGE_OCTET = 100
_LARGE_SHARE = 0.3
_ONE_LENGTH = 0.9
_HASH_LETTERS = 0.25  # of sixteen digits, six are letters
_PORT = re.compile(r"[:/].*")
_ENOUGH = 8


def _national(matches: Callable[[str], bool], *, share: float = _CHECKED, values: int = _ENOUGH) -> Shape:
    return Shape(
        rule=_NATIONAL,
        words="numbers of persons",
        kind=IdentifierKind.NATIONAL_NUMBER,
        matches=matches,
        share=share,
        values=values,
    )


SHAPES: Sequence[Shape] = (
    Shape(
        rule="email",
        words="e-mail addresses",
        kind=IdentifierKind.EMAIL,
        matches=lambda text: bool(_EMAIL.search(text)),
        share=0.2,
    ),
    Shape(
        rule="url",
        words="addresses on the web",
        kind=IdentifierKind.OTHER,
        matches=lambda text: bool(_URL.match(text)),
        share=0.5,
        even_few=False,
    ),
    Shape(rule="iban", words="bank accounts", kind=IdentifierKind.KEY, matches=_is_iban, share=0.2),
    Shape(
        rule="uuid",
        words="identifiers of machines (UUID)",
        kind=IdentifierKind.KEY,
        matches=lambda t: bool(_UUID.fullmatch(t)),
        share=0.5,
    ),
    Shape(
        rule="mac_address",
        words="addresses of devices",
        kind=IdentifierKind.KEY,
        matches=lambda t: bool(_MAC.fullmatch(t)),
        share=0.5,
    ),
    Shape(
        rule="ip_address",
        words="addresses of computers",
        kind=IdentifierKind.KEY,
        matches=lambda text: bool(_IP4.fullmatch(text) or _IP6.fullmatch(text)),
        share=_IP_SHARE,
        values=3,
        of_all=_are_addresses_of_computers,
    ),
    Shape(
        rule="hash",
        words="hashes",
        kind=IdentifierKind.KEY,
        matches=lambda t: bool(_HASH.fullmatch(t) or _BASE64.fullmatch(t)),
        share=0.9,
        values=3,
        of_all=_are_hashes,
    ),
    Shape(
        rule="phone",
        words="phone numbers",
        kind=IdentifierKind.PHONE,
        matches=_is_phone,
        share=0.8,
        values=5,
        even_few=False,
        also_things=True,
    ),
    _national(lambda text: bool(_SSN.fullmatch(text)), share=0.8, values=3),
    _national(lambda text: bool(_NINO.fullmatch(text)), share=0.8, values=3),
    _national(lambda text: bool(_FISCAL.fullmatch(text)), share=0.8, values=3),
    *(
        _national(_lettered(check), share=_LETTERED, values=_ENOUGH)
        for check in (
            check_digits.dni,
            check_digits.resident,
            check_digits.codice_fiscale,
            check_digits.taiwanese,
            check_digits.singaporean,
            check_digits.curp,
            check_digits.rut,
            check_digits.pps,
        )
    ),
    _national(lambda text: check_digits.hetu(text.upper()), share=_LETTERED, values=_ENOUGH),
    Shape(
        rule=_CARD,
        words="numbers of cards",
        kind=IdentifierKind.KEY,
        matches=_numbered(check_digits.payment_card),
        share=0.9,
        values=_ENOUGH,
    ),
    Shape(
        rule="device",
        words="numbers of devices",
        kind=IdentifierKind.KEY,
        matches=_numbered(check_digits.device, 15),
        share=_CHECKED,
        values=8,
    ),
    *(
        _national(_numbered(check, length))
        for check, length in (
            (check_digits.bsn, 9),  # Netherlands
            (check_digits.tfn, 9),  # Australia
            (check_digits.nif, 9),  # Portugal
            (check_digits.nine_luhn, 9),  # Israel, Canada
            (check_digits.nhs, 10),  # England
            (check_digits.medicare, 10),  # Australia
            (check_digits.cpr, 10),  # Denmark
            (check_digits.kennitala, 10),  # Iceland
            (check_digits.rodne_cislo, 10),  # Czechia, Slovakia
            (check_digits.egn, 10),  # Bulgaria
            (check_digits.svnr, 10),  # Austria
            (check_digits.ukrainian, 10),
            (check_digits.pesel, 11),  # Poland
            (check_digits.cpf, 11),  # Brazil
            (check_digits.tax_id, 11),  # Germany
            (check_digits.oib, 11),  # Croatia
            (check_digits.national_register, 11),  # Belgium
            (check_digits.fodselsnummer, 11),  # Norway
            (check_digits.isikukood, 11),  # Estonia, Lithuania
            (check_digits.personas_kods, 11),  # Latvia
            (check_digits.amka, 11),  # Greece
            (check_digits.kimlik, 11),  # Türkiye
            (check_digits.cuit, 11),  # Argentina
            (check_digits.snils, 11),  # Russia
            (check_digits.aadhaar, 12),  # India
            (check_digits.my_number, 12),  # Japan
            (check_digits.ahv, 13),  # Switzerland
            (check_digits.cnp, 13),  # Romania
            (check_digits.jmbg, 13),  # Slovenia, Serbia and others
            (check_digits.south_africa, 13),
            (check_digits.korean, 13),
            (check_digits.thai, 13),
            (check_digits.nir, 15),  # France
            (check_digits.personal_number, None),  # Sweden
        )
    ),
)


_UNIT = r"(%|‰|°c?|[kcmµ]?m|[kmµ]?g|lbs?|oz|[kcm]?l|km/h|mph|[kmg]?b|kwh|mmhg|bpm|usd|eur|gbp|chf|cny|jpy|min|s|h|ms|k)"
_NUMBER = r"(\d{1,3}([,.' ]\d{3})+([.,]\d+)?|\d+([.,]\d+)?)"
_AMOUNT = re.compile(rf"[<>≤≥~]?\s?[€$£¥]?\s?[-+−]?{_NUMBER}\s?([€$£¥]|{_UNIT})?", re.IGNORECASE)
_INTERVAL = re.compile(r"[\[(]?\s?(-?\d+(?:\.\d+)?)\s?(?:-|–|,|to|\.\.)\s?(-?\d+(?:\.\d+)?)\s?[\])]?", re.IGNORECASE)
_TIME = re.compile(
    r"\d{1,3}/\d{1,3}|"  # blood pressure
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})([T ,].*)?"
    r"|\d{1,2}[- ][a-z]{3,9}\.?[- ,]+\d{2,4}([T ].*)?"
    r"|[a-z]{3,9}\.? \d{1,2}(st|nd|rd|th)?,? \d{4}.*"
    r"|\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[ap]\.?m\.?)?"
    r"|P(\d+[YMWD])*(T(\d+[HMS])+)?",
    re.IGNORECASE,
)


def is_quantity(text: str) -> bool:
    """Return True if a string is a measured quantity, not a code: an amount, an interval, a date or a time."""
    if _TIME.fullmatch(text) or _AMOUNT.fullmatch(text):
        return True
    interval = _INTERVAL.fullmatch(text)
    return interval is not None and float(interval[1]) < float(interval[2])
