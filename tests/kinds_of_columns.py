"""Columns of known kinds, drawn with a fixed seed: which of them identify people, and which do not.

Check digits are computed here by definitions written for this file: by trying every last digit against the published
rule, not with the code under test.
"""

from __future__ import annotations

import datetime
import random
import uuid
from collections.abc import Callable, Sequence
from typing import Any

ROWS = 300

Draw = Callable[[random.Random], Any]

ENGLISH = ["Mary", "James", "Linda", "Robert", "Patricia", "John", "Susan", "Michael", "Karen", "David", "Zephyrine"]
GERMAN = ["Jürgen", "Heike", "Wolfgang", "Ursula", "Klaus", "Sabine", "Dieter", "Petra", "Ottokar", "Friederike"]
SPANISH = ["José", "María", "Antonio", "Carmen", "Javier", "Pilar", "Manuel", "Lucía", "Baltasar", "Encarnación"]
FAMILIES = ["Smith", "Müller", "García", "van den Berg", "O'Neill", "Schmidt", "Fernández", "Brown", "Li", "Novak"]
CHINESE_FAMILIES, CHINESE_GIVEN = "王李张刘陈杨赵黄周吴徐孙", "伟芳娜敏静丽强磊军洋勇艳杰娟涛明超秀霞平"
WORDS = (
    *("the", "patient", "came", "back", "after", "two", "weeks", "with", "pain", "in", "her", "left", "knee"),
    *("and", "was", "told", "to", "rest", "for", "some", "days"),
)
CITIES = ["Berlin", "Paris", "Santiago", "San José", "Florence", "Sydney", "Austin", "Madrid", "Lima", "Oslo", "Graz"]
JOBS = ["Registered nurse", "Software engineer", "Teacher, primary school", "Truck driver", "Cook", "Sales assistant"]


def digits(r: random.Random, n: int) -> str:
    """Digits without a leading zero."""
    return str(r.randrange(1, 10)) + "".join(str(r.randrange(10)) for _ in range(n - 1))


def completed(body: str, good: Callable[[str], bool], tails: Sequence[str] = tuple("0123456789")) -> str | None:
    """The number whose last part makes it valid, if there is one."""
    return next((body + tail for tail in tails if good(body + tail)), None)


def until(draw: Callable[[], str | None]) -> str:
    """The first that is valid."""
    while (found := draw()) is None:
        pass
    return found


def luhn_sum(number: str) -> int:
    """Luhn's sum, by the table of doubled digits."""
    doubled = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
    reverse = [int(each) for each in number[::-1]]
    return sum(reverse[::2]) + sum(doubled[each] for each in reverse[1::2])


def card(r: random.Random) -> str:
    """A card number of 16 digits."""
    return until(lambda: completed(r.choice("45") + digits(r, 14), lambda n: luhn_sum(n) % 10 == 0))


def iban(r: random.Random) -> str:
    """A German account."""
    account = digits(r, 18)
    rest = int(account + "131400") % 97  # D = 13, E = 14
    return f"DE{98 - rest:02}{account}"


def grouped(number: str) -> str:
    """The number in groups of four."""
    return " ".join(number[at : at + 4] for at in range(0, len(number), 4))


def weighted(number: str, weights: Sequence[int]) -> int:
    """Sum of digits times weights."""
    return sum(int(number[at]) * weights[at] for at in range(len(weights)))


def bsn(r: random.Random) -> str:
    """The Dutch eleven test: 9a + 8b + ... + 2h - i is a multiple of eleven."""
    return until(lambda: completed(digits(r, 8), lambda n: weighted(n, [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 == 0))


def pesel(r: random.Random) -> str:
    """Date of birth, four digits, check."""
    born = f"{r.randrange(40, 100):02}{r.randrange(1, 13):02}{r.randrange(1, 29):02}"
    body = born + digits(r, 4)
    return body + str((10 - weighted(body, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3]) % 10) % 10)


def dni(r: random.Random) -> str:
    """Eight digits and the letter of their remainder by 23."""
    number = r.randrange(10_000_000, 99_999_999)
    return f"{number}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


def cpf(r: random.Random) -> str:
    """Nine digits and two remainders by eleven."""
    body = digits(r, 9)
    for _ in range(2):
        rest = sum(int(d) * w for d, w in zip(reversed(body), range(2, 13), strict=False)) % 11
        body += "0" if rest < 2 else str(11 - rest)
    return f"{body[:3]}.{body[3:6]}.{body[6:9]}-{body[9:]}"


def resident(r: random.Random) -> str:
    """Area, date of birth, sequence, and the check that makes the sum of digit times 2**place be 1 modulo 11."""
    body = f"{r.randrange(110000, 659999)}{r.randrange(1950, 2010)}{r.randrange(1, 13):02}{r.randrange(1, 29):02}"
    body += f"{r.randrange(1000):03}"
    values = {str(d): d for d in range(10)} | {"X": 10}
    good = lambda n: sum(values[d] * pow(2, 17 - at, 11) for at, d in enumerate(n)) % 11 == 1  # noqa: E731
    return until(lambda: completed(body, good, (*"0123456789", "X")))


def nhs(r: random.Random) -> str:
    """Ten digits, weights 10 to 1, a multiple of eleven."""
    number = until(lambda: completed(digits(r, 9), lambda n: weighted(n, list(range(10, 0, -1))) % 11 == 0))
    return f"{number[:3]} {number[3:6]} {number[6:]}"


def full_name(given: Sequence[str]) -> Draw:
    """Given name and family name."""
    return lambda r: f"{r.choice(given)} {r.choice(FAMILIES)}"


def chinese_name(r: random.Random) -> str:
    """Family name and one or two characters."""
    return r.choice(CHINESE_FAMILIES) + "".join(r.choices(CHINESE_GIVEN, k=r.choice((1, 2))))


def moment(r: random.Random) -> datetime.datetime:
    """A second of the year 2023."""
    return datetime.datetime(2023, 1, 1) + datetime.timedelta(seconds=r.randrange(31_000_000))


def each(draw: Draw) -> Callable[[random.Random], list[Any]]:
    """Every row drawn by itself."""
    return lambda r: [draw(r) for _ in range(ROWS)]


def shuffled(values: Sequence[Any]) -> Callable[[random.Random], list[Any]]:
    """The values in random order."""
    return lambda r: r.sample(list(values), len(values))


IDENTIFIERS: dict[str, tuple[str, str, Callable[[random.Random], list[Any]]]] = {
    "e-mail": ("contact", "email", each(lambda r: f"{r.choice(ENGLISH).lower()}{r.randrange(9999)}@mail.example.org")),
    "e-mail, half missing words": (
        "c1",
        "email",
        each(lambda r: r.choice(["none", f"a{r.randrange(9999)}@b.de"])),
    ),
    "e-mail of five people": ("who", "email", each(lambda r: f"{r.choice(GERMAN[:5])}@x.org")),
    "phone, US": ("c2", "phone", each(lambda r: f"({r.randrange(201, 989)}) {r.randrange(200, 999)}-{digits(r, 4)}")),
    "phone, US with dashes": (
        "c2b",
        "phone",
        each(lambda r: f"{r.randrange(201, 989)}-{r.randrange(200, 999)}-{digits(r, 4)}"),
    ),
    "phone, Germany": ("c3", "phone", each(lambda r: f"0{r.choice(['30', '89', '171'])}/{digits(r, 7)}")),
    "phone, Britain": ("c4", "phone", each(lambda r: f"020 {digits(r, 4)} {digits(r, 4)}")),
    "phone, France": (
        "c5",
        "phone",
        each(lambda r: "0" + str(r.randrange(1, 9)) + "".join(f" {r.randrange(100):02}" for _ in "1234")),
    ),
    "phone, China": ("c6", "phone", each(lambda r: int("13" + digits(r, 9)))),
    "phone, Spain": ("c7", "phone", each(lambda r: f"6{digits(r, 2)} {digits(r, 3)} {digits(r, 3)}")),
    "phone, international": ("c8", "phone", each(lambda r: f"+{r.randrange(30, 50)} {digits(r, 3)} {digits(r, 7)}")),
    "card": ("c9", "payment_card", each(card)),
    "card, grouped": (
        "c10",
        "payment_card",
        each(lambda r: grouped(card(r))),
    ),
    "card as a whole number": ("c11", "payment_card", each(lambda r: int(card(r)))),
    "IBAN": ("c12", "iban", each(iban)),
    "IBAN, grouped": ("c13", "iban", each(lambda r: grouped(iban(r)))),
    "SSN": (
        "c14",
        "national_id",
        each(lambda r: f"{r.randrange(1, 665):03}-{r.randrange(1, 99):02}-{r.randrange(1, 9999):04}"),
    ),
    "NINO": ("c15", "national_id", each(lambda r: f"A{r.choice('BCEGH')}{digits(r, 6)}{r.choice('ABCD')}")),
    "DNI": ("c16", "national_id", each(dni)),
    "BSN as a whole number": ("c17", "national_id", each(lambda r: int(bsn(r)))),
    "PESEL": ("c18", "national_id", each(pesel)),
    "CPF": ("c19", "national_id", each(cpf)),
    "resident id": ("c20", "national_id", each(resident)),
    "NHS number": ("c21", "national_id", each(nhs)),
    "URL": ("c22", "url", each(lambda r: f"https://example.org/people/{r.randrange(10**6)}")),
    "UUID": ("c23", "uuid", each(lambda r: str(uuid.UUID(int=r.getrandbits(128))))),
    "GUID in braces": ("c24", "uuid", each(lambda r: "{" + str(uuid.UUID(int=r.getrandbits(128))).upper() + "}")),
    "UUID of forty people": (
        "c25",
        "uuid",
        lambda r: [str(uuid.UUID(int=at << 96)) for at in range(40) for _ in range(25)],
    ),
    "hash": ("c26", "hash", each(lambda r: f"{r.getrandbits(256):064x}")),
    "IPv4": ("c27", "ip_address", each(lambda r: ".".join(str(r.randrange(1, 255)) for _ in "1234"))),
    "IPv6": ("c28", "ip_address", each(lambda r: f"2001:db8::{r.randrange(1, 65535):x}:{r.randrange(1, 65535):x}")),
    "MAC": ("c29", "mac_address", each(lambda r: ":".join(f"{r.randrange(256):02x}" for _ in "123456"))),
    "English names": ("c30", "personal_name", each(full_name(ENGLISH))),
    "German names": ("c31", "personal_name", each(full_name(GERMAN))),
    "Spanish names": ("c32", "personal_name", each(full_name(SPANISH))),
    "family name first": ("c33", "personal_name", each(lambda r: f"{r.choice(FAMILIES)}, {r.choice(ENGLISH)}")),
    "given names": ("c34", "personal_name", each(lambda r: r.choice([*ENGLISH, *GERMAN, *SPANISH]))),
    "Chinese names": ("c35", "personal_name", each(chinese_name)),
    "names by header": ("Nachname", "column_name", each(lambda r: r.choice(["Vogt", "Wiese", "Kern"]) + digits(r, 2))),
    "free text": ("c36", "free_text", each(lambda r: " ".join(r.choices(WORDS, k=r.randrange(6, 15))))),
    "texts of their own": (
        "c37",
        "unique_text",
        each(lambda r: f"{r.choice('abc')}:{''.join(r.choices('bdfghklm', k=8))}-{r.randrange(10)}"),
    ),
    "codes of their own": (
        "c37b",
        "issued_number",
        each(lambda r: f"{r.choice('ABC')}{digits(r, 6)}{r.choice('XYZ')}"),
    ),
    "row numbers": ("c38", "unique_numbers", shuffled(range(1, ROWS + 1))),
    "numbers with gaps": ("c39", "unique_numbers", lambda r: r.sample(range(5_000, 6_500), ROWS)),
    "long numbers": ("c40", "issued_number", each(lambda r: int(digits(r, 9)))),
    "numbers as floats": ("c41", "unique_numbers", shuffled([float(at) for at in range(1, ROWS + 1)])),
    "numbers as texts": ("c42", "unique_numbers", shuffled([f"{at:07}" for at in range(1, ROWS + 1)])),
    "id by header": ("orderId", "column_name", each(lambda r: r.randrange(10**5))),
    "number by header": ("case_no", "numbering", each(lambda r: r.randrange(10**5))),
    "forty members": ("member", "column_name", shuffled([at for at in range(40) for _ in range(25)])),
    "thirty patients": ("patient_id", "column_name", shuffled([at for at in range(30) for _ in range(20)])),
}
"""Kind: name of the column, rule by which it is known, values."""

OTHERS: dict[str, tuple[str, Callable[[random.Random], list[Any]]]] = {
    "age": ("age", each(lambda r: r.randrange(18, 91))),
    "ages of twenty rows": ("age", lambda r: list(range(30, 50))),
    "year of birth": ("born", each(lambda r: r.randrange(1930, 2010))),
    "years, one a row": ("year", lambda r: list(range(1900, 2020))),
    "hours": ("hours", each(lambda r: r.randrange(1, 80))),
    "zip as a number": ("zip", each(lambda r: r.randrange(10001, 99951))),
    "zip as a text": ("zip", each(lambda r: f"{r.randrange(500, 99951):05}")),
    "postcode, unit level": (
        "postcode",
        each(lambda r: f"SW{r.randrange(1, 20)} {r.randrange(1, 9)}A{r.choice('ABD')}"),
    ),
    "salary": ("salary", each(lambda r: int(r.lognormvariate(10.5, 0.5)))),
    "unnamed amounts": ("x1", each(lambda r: int(r.lognormvariate(10.5, 0.7)))),
    "round prices": ("x2", each(lambda r: 1000 * r.randrange(100, 999))),
    "income to the cent": ("income", each(lambda r: round(r.lognormvariate(10.5, 0.5), 2))),
    "amounts as texts": ("x3", each(lambda r: f"€{r.lognormvariate(10.5, 0.5):,.2f}")),
    "weights with a unit": ("x4", each(lambda r: f"{r.gauss(70, 12):.3f} kg")),
    "intervals": ("x5", each(lambda r: f"{(a := r.randrange(10**6))}-{a + r.randrange(1, 99)}")),
    "dates": ("x6", each(lambda r: moment(r).date())),
    "dates as texts": ("x7", each(lambda r: moment(r).strftime("%d/%m/%Y"))),
    "ISO timestamps": ("x8", each(lambda r: moment(r).isoformat())),
    "timestamps": ("x9", each(moment)),
    "seconds of an epoch": ("timestamp", each(lambda r: int(moment(r).timestamp()))),
    "times of day": ("x10", each(lambda r: moment(r).strftime("%H:%M"))),
    "latitude": ("lat", each(lambda r: r.uniform(-90, 90))),
    "longitude": ("x11", each(lambda r: r.uniform(-180, 180))),
    "product codes": ("x12", each(lambda r: f"PX-{r.randrange(100, 160)}")),
    "product bar codes": ("x13", each(lambda r: 4_006_381_000_000 + 13 * r.randrange(80))),
    "yes and no": ("x14", each(lambda r: r.choice(["yes", "no"]))),
    "true and false": ("x15", each(lambda r: r.choice([True, False]))),
    "phone: yes or no": ("phone", each(lambda r: r.choice(["yes", "no"]))),
    "card: which brand": ("card", each(lambda r: r.choice(["visa", "mastercard", "none"]))),
    "scores": ("score", each(lambda r: r.randrange(1, 11))),
    "ICD codes": ("icd", each(lambda r: f"{r.choice('EIJ')}{r.randrange(10, 40)}.{r.randrange(10)}")),
    "occupation": ("occupation", each(lambda r: r.choice(JOBS))),
    "cities": ("city", each(lambda r: r.choice(CITIES))),
    "places": ("x16", each(lambda r: r.choice(CITIES))),
    "months": ("x17", each(lambda r: r.choice(["January", "April", "May", "June", "July", "August", "October"]))),
    "education, Chinese": (
        "x18",
        each(lambda r: r.choice(["小学", "初中", "高中", "大专", "本科", "研究生", "博士", "文盲"])),
    ),
    "provinces, Chinese": (
        "x19",
        each(lambda r: r.choice(["北京", "上海", "江苏", "浙江", "安徽", "山东", "广东", "四川", "云南", "湖北"])),
    ),
    "long categories": ("x20", each(lambda r: r.choice([f"{' '.join(WORDS[at : at + 8])}" for at in range(6)]))),
    "versions": ("x21", each(lambda r: f"{r.randrange(3)}.{r.randrange(10)}.{r.randrange(5)}")),
    "colours": ("x22", each(lambda r: r.choice(["red", "rose", "violet", "amber", "olive", "coral", "ivory"]))),
    "sums insured": ("insured", each(lambda r: 1_000 * r.randrange(20, 400))),
    "members of a household": ("person", each(lambda r: r.randrange(1, 9))),
    "few codes": ("id", each(lambda r: r.randrange(1, 6))),
    "country": ("country name", each(lambda r: r.choice(["Germany", "Chad", "Jordan", "Israel", "Georgia", "India"]))),
    "blood pressure": ("x23", each(lambda r: f"{r.randrange(95, 180)}/{r.randrange(55, 110)}")),
    "fnlwgt": ("fnlwgt", each(lambda r: int(r.lognormvariate(12, 0.6)))),
    "counts": ("visits", each(lambda r: int(r.expovariate(0.1)))),
}
"""Kind: name of the column, values."""
