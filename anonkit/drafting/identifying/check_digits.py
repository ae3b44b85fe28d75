# SPDX-License-Identifier: Apache-2.0
"""Check digits: the arithmetic that tells card, account and national numbers from others of the same length.

Every function takes a text of digits (letters where said), without blanks or dashes, and tells whether it is valid.
"""

from __future__ import annotations

from collections.abc import Sequence

_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_RESIDENT_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_RESIDENT_CHECKS = "10X98765432"


def _weighted(digits: str, weights: Sequence[int]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


def is_date_of_birth(month: str, day: str) -> bool:
    """Tell whether two digits each can be a month and a day."""
    return 1 <= int(month) <= 12 and 1 <= int(day) <= 31


def luhn(digits: str) -> bool:
    """Payment cards and device numbers (ISO/IEC 7812-1, annex B): every second digit from the right counts twice."""
    total = 0
    for at, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if at % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def payment_card(digits: str) -> bool:
    """13 to 19 digits of a card scheme that begin as one does, with a Luhn digit."""
    return 13 <= len(digits) <= 19 and digits[0] in "23456" and luhn(digits)


def device(digits: str) -> bool:
    """IMEI: 15 digits with a Luhn digit."""
    return len(digits) == 15 and luhn(digits)


def iban(text: str) -> bool:
    """International bank account number (ISO 13616): moved and read as a number, 1 modulo 97."""
    moved = text[4:] + text[:4]
    return int("".join(str(int(letter, 36)) for letter in moved)) % 97 == 1


def dni(text: str) -> bool:
    """Spain: eight digits and a letter, or X, Y, Z, seven digits and a letter (NIE)."""
    digits = text[:-1].translate(str.maketrans("XYZ", "012"))
    return len(text) == 9 and digits.isdigit() and _DNI_LETTERS[int(digits) % 23] == text[-1]


def bsn(digits: str) -> bool:
    """Netherlands: nine digits, the eleven test with weight -1 at the end."""
    return len(digits) == 9 and _weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def pesel(digits: str) -> bool:
    """Poland: eleven digits that begin with a date of birth, whose month tells the century."""
    if len(digits) != 11 or not is_date_of_birth(f"{int(digits[2:4]) % 20:02}", digits[4:6]):
        return False
    return _weighted(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def cpf(digits: str) -> bool:
    """Brazil: eleven digits, two of them checks modulo 11."""
    if len(digits) != 11:
        return False
    for length in (9, 10):
        check = _weighted(digits[:length], range(length + 1, 1, -1)) * 10 % 11 % 10
        if check != int(digits[length]):
            return False
    return True


def nhs(digits: str) -> bool:
    """England: ten digits, the last a check modulo 11."""
    return len(digits) == 10 and _weighted(digits, range(10, 0, -1)) % 11 == 0


def tax_id(digits: str) -> bool:
    """Germany: eleven digits, ISO/IEC 7064 MOD 11,10; no leading zero."""
    if len(digits) != 11 or digits[0] == "0":
        return False
    product = 10
    for digit in digits[:-1]:
        total = (int(digit) + product) % 10 or 10
        product = 2 * total % 11
    return (11 - product) % 10 == int(digits[-1])


def resident(text: str) -> bool:
    """China: 17 digits with a date of birth, and a check digit or X (ISO/IEC 7064 MOD 11-2)."""
    body = text[:17]
    if len(text) != 18 or not body.isdigit() or not is_date_of_birth(body[10:12], body[12:14]):
        return False
    return _RESIDENT_CHECKS[_weighted(body, _RESIDENT_WEIGHTS) % 11] == text[17]


def nir(digits: str) -> bool:
    """France: 13 digits beginning with the sex, and 97 minus their remainder modulo 97."""
    return len(digits) == 15 and digits[0] in "1278" and 97 - int(digits[:13]) % 97 == int(digits[13:])


def national_register(digits: str) -> bool:
    """Belgium: nine digits and 97 minus their remainder modulo 97, a 2 put before births from 2000."""
    if len(digits) != 11:
        return False
    return any(97 - int(century + digits[:9]) % 97 == int(digits[9:]) for century in ("", "2"))


def ahv(digits: str) -> bool:
    """Switzerland: thirteen digits that begin with 756, with the check digit of EAN-13."""
    return len(digits) == 13 and digits.startswith("756") and _weighted(digits, (1, 3) * 6 + (1,)) % 10 == 0


def personal_number(digits: str) -> bool:
    """Sweden: a date of birth, three digits and a Luhn digit; the century may stand before it."""
    short = digits[-10:]
    return len(digits) in (10, 12) and is_date_of_birth(short[2:4], f"{int(short[4:6]) % 60:02}") and luhn(short)
