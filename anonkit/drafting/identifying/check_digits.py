# SPDX-License-Identifier: Apache-2.0
"""Check digits: the arithmetic that distinguishes card, account and national numbers from others of the same length.

Every function takes a text of digits (letters where noted), without blanks or dashes, and returns whether it is valid.
"""

from __future__ import annotations

from collections.abc import Sequence

_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_HETU_LETTERS = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_PPS_LETTERS = "WABCDEFGHIJKLMNOPQRSTUV"
_FISCAL_ODD = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_CURP_LETTERS = "0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ"
_SINGAPORE = {"S": (0, "JZIHGFEDCBA"), "T": (4, "JZIHGFEDCBA"), "F": (0, "XWUTRQPNMLK"), "G": (4, "XWUTRQPNMLK")}
_TAIWAN_LETTERS = "ABCDEFGHJKLMNPQRSTUVXYWZIO"  # 10 to 35
_VERHOEFF = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)
_RESIDENT_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_RESIDENT_CHECKS = "10X98765432"


def _weighted(digits: str, weights: Sequence[int]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


def is_date_of_birth(month: str, day: str) -> bool:
    """Return True if two digits each can be a month and a day."""
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
    """Poland: eleven digits that begin with a date of birth, whose month gives the century."""
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
    return len(digits) == 11 and digits[0] != "0" and _mod_11_10(digits)


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
    """Sweden: a date of birth, three digits and a Luhn digit; the century may come before it."""
    short = digits[-10:]
    return len(digits) in (10, 12) and is_date_of_birth(short[2:4], f"{int(short[4:6]) % 60:02}") and luhn(short)


def codice_fiscale(text: str) -> bool:
    """Italy: fifteen letters and digits, and a letter: odd places by a table, even ones by their order, modulo 26."""
    if len(text) != 16:
        return False
    values = [ord(each) - 48 if each.isdigit() else ord(each) - 65 for each in text[:15]]
    if not all(0 <= value < 26 for value in values):
        return False
    total = sum(value if at % 2 else _FISCAL_ODD[value] for at, value in enumerate(values))
    return chr(65 + total % 26) == text[15]


def hetu(text: str) -> bool:
    """Finland: date of birth, a sign for the century, three digits, and the letter of the remainder by 31."""
    digits = text[:6] + text[7:10]
    if len(text) != 11 or not digits.isdigit() or not is_date_of_birth(text[2:4], text[:2]):
        return False
    return _HETU_LETTERS[int(digits) % 31] == text[10]


def fodselsnummer(digits: str) -> bool:
    """Norway: eleven digits, date of birth, two checks modulo 11; the day may be 40 higher (D number)."""
    if len(digits) != 11 or not is_date_of_birth(f"{int(digits[2:4]) % 40:02}", f"{int(digits[:2]) % 40:02}"):
        return False
    first = _weighted(digits, (3, 7, 6, 1, 8, 9, 4, 5, 2, 1)) % 11
    return first == 0 and _weighted(digits, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def cpr(digits: str) -> bool:
    """Denmark: ten digits, date of birth, a check modulo 11 in numbers given out before 2007."""
    valid = len(digits) == 10 and is_date_of_birth(digits[2:4], digits[:2])
    return valid and _weighted(digits, (4, 3, 2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def kennitala(digits: str) -> bool:
    """Iceland: ten digits, date of birth, the ninth a check modulo 11."""
    valid = len(digits) == 10 and is_date_of_birth(digits[2:4], digits[:2]) and digits[9] in "890"
    return valid and _weighted(digits, (3, 2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def isikukood(digits: str) -> bool:
    """Estonia and Lithuania: century and sex, date of birth, a check modulo 11, with other weights where it is 10."""
    if len(digits) != 11 or digits[0] not in "12345678" or not is_date_of_birth(digits[3:5], digits[5:7]):
        return False
    check = _weighted(digits, (1, 2, 3, 4, 5, 6, 7, 8, 9, 1)) % 11
    if check == 10:
        check = _weighted(digits, (3, 4, 5, 6, 7, 8, 9, 1, 2, 3)) % 11 % 10
    return check == int(digits[10])


def personas_kods(digits: str) -> bool:
    """Latvia: date of birth, four digits, and a check modulo 11; numbers since 2017 begin with 32 and have no date."""
    if len(digits) != 11 or not (digits.startswith("32") or is_date_of_birth(digits[2:4], digits[:2])):
        return False
    return (1 + _weighted(digits, (10, 5, 8, 4, 2, 1, 6, 3, 7, 9))) % 11 % 10 == int(digits[10])


def rodne_cislo(digits: str) -> bool:
    """Czechia and Slovakia: year, month (plus 50 for women, plus 20), day, and a check modulo 11."""
    if len(digits) != 10 or not is_date_of_birth(f"{int(digits[2:4]) % 50 % 20:02}", digits[4:6]):
        return False
    return int(digits[:9]) % 11 % 10 == int(digits[9])


def cnp(digits: str) -> bool:
    """Romania: sex and century, date of birth, county, and a check modulo 11."""
    if len(digits) != 13 or digits[0] == "0" or not is_date_of_birth(digits[3:5], digits[5:7]):
        return False
    check = _weighted(digits, (2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9)) % 11
    return (1 if check == 10 else check) == int(digits[12])


def egn(digits: str) -> bool:
    """Bulgaria: year, month (plus 20 before 1900, plus 40 from 2000), day, three digits, and a check modulo 11."""
    if len(digits) != 10 or not is_date_of_birth(f"{int(digits[2:4]) % 20:02}", digits[4:6]):
        return False
    return _weighted(digits, (2, 4, 8, 5, 10, 9, 7, 3, 6)) % 11 % 10 == int(digits[9])


def jmbg(digits: str) -> bool:
    """Slovenia, Serbia, Bosnia, Montenegro, North Macedonia: date of birth, region, and a check modulo 11."""
    if len(digits) != 13 or not is_date_of_birth(digits[2:4], digits[:2]):
        return False
    return -_weighted(digits, (7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11 % 10 == int(digits[12])


def oib(digits: str) -> bool:
    """Croatia: eleven digits, ISO/IEC 7064 MOD 11,10."""
    return len(digits) == 11 and _mod_11_10(digits)


def amka(digits: str) -> bool:
    """Greece: date of birth, four digits and a Luhn digit."""
    return len(digits) == 11 and is_date_of_birth(digits[2:4], digits[:2]) and luhn(digits)


def nif(digits: str) -> bool:
    """Portugal: nine digits, the last a check modulo 11."""
    return len(digits) == 9 and -_weighted(digits, range(9, 1, -1)) % 11 % 10 == int(digits[8])


def kimlik(digits: str) -> bool:
    """Türkiye: eleven digits, the tenth from odd and even places, the last from the sum of all."""
    if len(digits) != 11 or digits[0] == "0":
        return False
    places = [int(digit) for digit in digits]
    tenth = (7 * sum(places[0:9:2]) - sum(places[1:8:2])) % 10
    return tenth == places[9] and sum(places[:10]) % 10 == places[10]


def nine_luhn(digits: str) -> bool:
    """Israel and Canada (SIN): nine digits with a Luhn digit."""
    return len(digits) == 9 and luhn(digits)


def south_africa(digits: str) -> bool:
    """South Africa: date of birth, five digits, citizenship, and a Luhn digit."""
    valid = len(digits) == 13 and is_date_of_birth(digits[2:4], digits[4:6]) and digits[10] in "012"
    return valid and luhn(digits)


def tfn(digits: str) -> bool:
    """Australia, tax file number: nine digits, a multiple of 11."""
    return len(digits) == 9 and _weighted(digits, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0


def medicare(digits: str) -> bool:
    """Australia, Medicare: ten digits that begin with 2 to 6, the ninth a check modulo 10."""
    valid = len(digits) == 10 and digits[0] in "23456"
    return valid and _weighted(digits, (1, 3, 7, 9, 1, 3, 7, 9)) % 10 == int(digits[8])


def aadhaar(digits: str) -> bool:
    """India: twelve digits that begin with 2 to 9, Verhoeff's check."""
    return len(digits) == 12 and digits[0] not in "01" and _verhoeff(digits)


def my_number(digits: str) -> bool:
    """Japan: twelve digits, the last a check modulo 11."""
    return len(digits) == 12 and -_weighted(digits, (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11 % 10 == int(digits[11])


def korean(digits: str) -> bool:
    """Korea: date of birth, sex and century, five digits, and a check modulo 11."""
    if len(digits) != 13 or not is_date_of_birth(digits[2:4], digits[4:6]):
        return False
    check = 11 - _weighted(digits, (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)) % 11
    return check % 10 == int(digits[12])


def taiwanese(text: str) -> bool:
    """Taiwan: a letter and nine digits, a check modulo 10."""
    if len(text) != 10 or text[0] not in _TAIWAN_LETTERS or not text[1:].isdigit() or text[1] not in "1289":
        return False
    area = 10 + _TAIWAN_LETTERS.index(text[0])
    return (area // 10 + 9 * (area % 10) + _weighted(text[1:], (8, 7, 6, 5, 4, 3, 2, 1, 1))) % 10 == 0


def singaporean(text: str) -> bool:
    """Singapore: a letter, seven digits, and a letter by their sum modulo 11."""
    if len(text) != 9 or text[0] not in _SINGAPORE or not text[1:8].isdigit():
        return False
    added, letters = _SINGAPORE[text[0]]
    return letters[(added + _weighted(text[1:8], (2, 7, 6, 5, 4, 3, 2))) % 11] == text[8]


def thai(digits: str) -> bool:
    """Thailand: thirteen digits, the last a check modulo 11."""
    valid = len(digits) == 13 and digits[0] in "12345678"
    return valid and (11 - _weighted(digits, range(13, 1, -1)) % 11) % 10 == int(digits[12])


def curp(text: str) -> bool:
    """Mexico: eighteen letters and digits, with a date of birth, the last a check modulo 10."""
    if len(text) != 18 or not text[4:10].isdigit() or any(each not in _CURP_LETTERS for each in text):
        return False
    if not text[17].isdigit() or not is_date_of_birth(text[6:8], text[8:10]):
        return False
    total = sum((18 - at) * _CURP_LETTERS.index(each) for at, each in enumerate(text[:17]))
    return -total % 10 == int(text[17])


def rut(text: str) -> bool:
    """Chile: seven or eight digits and a digit or K, a check modulo 11."""
    body = text[:-1]
    if not (7 <= len(body) <= 8 and body.isdigit()):
        return False
    check = -sum(int(digit) * (2 + at % 6) for at, digit in enumerate(reversed(body))) % 11
    return "0123456789K"[check] == text[-1]


def cuit(digits: str) -> bool:
    """Argentina: kind, eight digits of the person, and a check modulo 11."""
    valid = len(digits) == 11 and digits[:2] in ("20", "23", "24", "27")
    return valid and "012345678990"[11 - _weighted(digits, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11] == digits[10]


def pps(text: str) -> bool:
    """Ireland: seven digits and one or two letters, the first by their sum modulo 23."""
    if not (8 <= len(text) <= 9 and text[:7].isdigit() and text[7:].isalpha()):
        return False
    second = 9 * (ord(text[8]) - 64) if len(text) == 9 and text[8] != "W" else 0
    return _PPS_LETTERS[(_weighted(text[:7], range(8, 1, -1)) + second) % 23] == text[7]


def snils(digits: str) -> bool:
    """Russia: nine digits, and two of their sum modulo 101."""
    return len(digits) == 11 and _weighted(digits, range(9, 0, -1)) % 101 % 100 == int(digits[9:])


def svnr(digits: str) -> bool:
    """Austria: three digits, a check modulo 11, and a date of birth."""
    if len(digits) != 10 or digits[0] == "0" or not is_date_of_birth(f"{int(digits[6:8]) % 12 or 12:02}", digits[4:6]):
        return False
    return _weighted(digits, (3, 7, 9, 0, 5, 8, 4, 2, 1, 6)) % 11 == int(digits[3])


def ukrainian(digits: str) -> bool:
    """Ukraine: days since 1899, five digits, and a check modulo 11."""
    return len(digits) == 10 and _weighted(digits, (-1, 5, 7, 9, 4, 6, 10, 5, 7)) % 11 % 10 == int(digits[9])


def article(digits: str) -> bool:
    """Bar codes of articles (GTIN): 8, 12, 13 or 14 digits, every second from the right three times, modulo 10."""
    if len(digits) not in (8, 12, 13, 14):
        return False
    return sum(int(digit) * (3 if at % 2 else 1) for at, digit in enumerate(reversed(digits))) % 10 == 0


def isbn_10(text: str) -> bool:
    """Books: nine digits and a digit or X, a check modulo 11."""
    if len(text) != 10 or not text[:9].isdigit() or text[9] not in "0123456789X":
        return False
    return (_weighted(text[:9], range(10, 1, -1)) + "0123456789X".index(text[9])) % 11 == 0


def _mod_11_10(digits: str) -> bool:
    """ISO/IEC 7064 MOD 11,10."""
    product = 10
    for digit in digits[:-1]:
        total = (int(digit) + product) % 10 or 10
        product = 2 * total % 11
    return (11 - product) % 10 == int(digits[-1])


def _verhoeff(digits: str) -> bool:
    """Verhoeff's check: places are permuted by turns, and multiplied in the dihedral group of ten."""
    total = 0
    for at, digit in enumerate(reversed(digits)):
        value = int(digit)
        for _ in range(at % 8):
            value = _VERHOEFF[value]
        total = _dihedral(total, value)
    return total == 0


def _dihedral(first: int, second: int) -> int:
    """Multiply in the group of turns and reflections of a pentagon: 0 to 4 are turns, 5 to 9 reflections."""
    if first < 5:
        return (first + second) % 5 + (5 if second >= 5 else 0)
    return (first - second) % 5 + (0 if second >= 5 else 5)
