"""Columns that identify people and repeat, and harmless ones: those on which the detector's rules were chosen.

Names of harmless columns are those that such columns have; what is behind ``|`` distinguishes columns of one name.
"""

from __future__ import annotations

import datetime
import random
import string

from drafting.identifying.repeating_columns import Draw, digits, listed, picked

GIVEN = listed(
    "Olumide|Yetunde|Babajide|Kofi|Akosua|Themba|Nomvula|Aoife|Padraig|Ciaran|Angharad|Dafydd|Tama|Mereana|Oleksandr|"
    "Halyna|Jitka|Bohumil|Ondrej|Réka|Balázs|Csilla|Sorin|Lavinia|Plamen|Rositsa|Dragan|Snezana|Mirjana|Tuuli|Onni|"
    "Aatu|Sigrun|Halvard|Oddvar|Linh|Hoa|Trung|Agus|Indah|Rizky|Seoyeon|Hyunwoo|Eunji|Kaito|Hinata|Jaspreet|Baljit|"
    "Deepika|Karthik|Meera|Gulnara|Timur|Parisa|Cyrus|Hans|Julia|Laura|Thomas|Elena"
)
FAMILY = listed(
    "Eze|Balogun|Asante|Owusu|Ndlovu|Khumalo|Byrne|Nolan|Pritchard|Bevan|Tamihana|Rangi|Melnyk|Tkachenko|Svoboda|"
    "Cerny|Prochazka|Toth|Varga|Molnar|Stan|Munteanu|Dimitrov|Ivanov|Markovic|Petrovic|Makinen|Nieminen|Berg|Dahl|"
    "Le|Bui|Vo|Hidayat|Lestari|Lee|Kang|Yoon|Suzuki|Mori|Sharma|Das|Nair|Menon|Khan|Ahmadov|Moradi|Conti|Greco|Ricci|"
    "Flores|Rojas|Vargas|Iturbe|Soler|Vila|Maes|Willems|Bakker|Visser|Kuiper|Frei|Gerber|Bühler|Wimmer|Egger|Aigner"
)
STREETS_BEFORE = listed(
    "Gartenstr.|Waldweg|Marktplatz|Am Sportplatz|Mozartallee|Schulgasse|Hauptstraße|Zum Alten Forsthaus|Eichendamm|"
    "Keizersgracht|Dorpsstraat|Molenlaan|Storgatan|Vestergade|Kungsvägen|ul. Długa|ul. Polna|aleja Róż"
)
STREETS_BEHIND = listed(
    "Willow Lane|Grant Avenue|Beach Road|West Street|Hillcrest Dr|Abbey Close|Ocean Blvd|Fifth Avenue|Queens Road|"
    "Chestnut Court|Meadow Way"
)


def full_name(r: random.Random) -> str:
    """Given name and family name."""
    return f"{r.choice(GIVEN)} {r.choice(FAMILY)}"


def birthday(r: random.Random) -> datetime.date:
    """A day from 1935 to 2005."""
    return datetime.date(1935, 1, 1) + datetime.timedelta(days=r.randrange(25_500))


def cpr(r: random.Random) -> str:
    """Denmark: date of birth and four digits; no check digit since 2007."""
    return f"{birthday(r):%d%m%y}-{r.randrange(10_000):04}"


def hetu(r: random.Random) -> str:
    """Finland: date of birth, a sign for the century, three digits, and the letter of the remainder by 31."""
    born, serial = birthday(r), r.randrange(2, 900)
    letter = "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(f"{born:%d%m%y}{serial:03}") % 31]
    return f"{born:%d%m%y}{'-' if born.year < 2000 else 'A'}{serial:03}{letter}"


def egn(r: random.Random) -> str:
    """Bulgaria: year, month (plus 40 from 2000), day, three digits, and a check modulo 11."""
    born = birthday(r)
    body = f"{born.year % 100:02}{born.month + (40 if born.year > 1999 else 0):02}{born.day:02}{r.randrange(1_000):03}"
    return body + str(sum(int(d) * w for d, w in zip(body, (2, 4, 8, 5, 10, 9, 7, 3, 6), strict=True)) % 11 % 10)


def note(r: random.Random) -> str:
    """A note on somebody."""
    return r.choice(
        (
            f"reminded {full_name(r)} of the appointment",
            f"Frau {r.choice(FAMILY)} hat die Karte vergessen",
            f"Dr. {r.choice(FAMILY)} prescribed something stronger",
            f"her son {r.choice(GIVEN)} {r.choice(FAMILY)} came along",
            "wants to be called on Mondays only",
        )
    )


IDENTIFYING: dict[str, tuple[str, Draw]] = {
    "full names": ("c1", full_name),
    "names, family first": ("c2", lambda r: f"{r.choice(FAMILY)}, {r.choice(GIVEN)} {r.choice('ABCDEFGH')}."),
    "names with initials": ("c3", lambda r: f"{r.choice('ABCDEGHJKLMPRST')}.{r.choice('ABCDEGH')}. {r.choice(FAMILY)}"),
    "names of many families": (
        "c4",
        lambda r: (
            f"{r.choice(GIVEN[:12])} {r.choice(FAMILY)[:3]}{r.choice(('ek', 'oum', 'aris', 'ulu', 'ent', 'ovar'))}"
            f"{r.choice('aeioy')}"
        ),
    ),
    "street addresses, number last": (
        "c5",
        lambda r: f"{r.choice(STREETS_BEFORE)} {r.randrange(1, 99)}{r.choice(' abc').strip()}",
    ),
    "street addresses, number first": ("c6", lambda r: f"{r.randrange(1, 4_000)} {r.choice(STREETS_BEHIND)}"),
    "street addresses with place": (
        "c7",
        lambda r: (
            f"{r.choice(STREETS_BEFORE)} {r.randrange(1, 99)}, {r.randrange(10_000, 99_999)} "
            f"{r.choice(('Ulm', 'Jena', 'Bonn'))}"
        ),
    ),
    "licence plates, Britain": (
        "c8",
        lambda r: (
            "".join(r.choices("ABCDEFGHJKLMNOPRSTUVWXY", k=2))
            + f"{r.randrange(2, 74):02} "
            + "".join(r.choices("ABCDEFGHJKLMNOPRSTUVWXYZ", k=3))
        ),
    ),
    "licence plates, Spain": (
        "c9",
        lambda r: f"{r.randrange(10_000):04} " + "".join(r.choices("BCDFGHJKLMNPRSTVWXYZ", k=3)),
    ),
    "local phones, eight digits": ("c10", lambda r: f"{r.randrange(2_000, 9_999)} {r.randrange(10_000):04}"),
    "local phones, Germany": (
        "c11",
        lambda r: f"{digits(r, r.choice((2, 3)))} {r.randrange(100):02} {r.randrange(100):02} {r.randrange(100):02}",
    ),
    "user names by name": (
        "c12",
        lambda r: f"{r.choice(GIVEN).lower()}{r.choice(('', '.', '_'))}{r.choice(FAMILY).lower()}",
    ),
    "user names, invented": (
        "c13",
        lambda r: (
            f"{r.choice(('moon', 'star', 'cool', 'dark', 'mega', 'sunny', 'ice', 'wild'))}"
            f"{r.choice(('cat', 'girl', 'rider', 'boy', 'fox', 'gamer', 'wolf', 'fan', 'guy', 'queen'))}"
            f"{r.randrange(1, 9_999)}"
        ),
    ),
    "hashes, md5": ("c14", lambda r: f"{r.getrandbits(128):032x}"),
    "hashes, short": ("c15", lambda r: f"{r.getrandbits(40):010x}"),
    "account numbers": ("acct", lambda r: int(digits(r, 10))),
    "account numbers, letters": ("c17", lambda r: f"AC{r.randrange(10**8):08}"),
    "policy numbers": (
        "c18",
        lambda r: f"{r.choice(('KV', 'HV', 'UV'))}/{r.randrange(10**7):07}/{r.randrange(10, 30)}",
    ),
    "national numbers, Denmark": ("c19", cpr),
    "national numbers, Finland": ("c20", hetu),
    "national numbers, Bulgaria": ("c21", egn),
    "initials with birthday": (
        "c22",
        lambda r: f"{r.choice(string.ascii_uppercase)}{r.choice(string.ascii_uppercase)}{birthday(r):%y%m%d}",
    ),
    "free text with names": ("c23", note),
    "patients by number": ("patient", lambda r: r.randrange(1, 60_000)),
}
"""Kind: name of the column, and a draw of one cell a person."""

HARMLESS: dict[str, Draw] = {
    "age": lambda r: r.randrange(0, 99),
    "gender": picked(("male", "female", "diverse")),
    "born": lambda r: r.randrange(1925, 2012),
    "dob": birthday,
    "admitted": lambda r: f"{birthday(r):%Y-%m-%d} {r.randrange(24):02}:{r.randrange(60):02}",
    "place": picked(
        listed("San Marino|New Delhi|Santa Fe|Port Said|Bad Homburg|Saint Denis|Lyon|Graz|Porto Alegre|Fort Worth")
    ),
    "nationality": picked(("British", "South African", "New Zealander", "Costa Rican", "German")),
    "district": picked(
        ("Prenzlauer Berg", "Upper East Side", "Little Italy", "Notting Hill", "Le Marais", "Kreuzberg")
    ),
    "zip_code": lambda r: f"{r.randrange(500, 99_951):05}",
    "street_name": picked(STREETS_BEHIND),
    "profession": picked(
        [
            "Sales Manager",
            "Truck Driver",
            "Chief Executive",
            "Nurse Practitioner",
            "Web Developer",
            "Car Mechanic",
            "Art Director",
        ]
    ),
    "department": picked(
        ("Human Resources", "Internal Medicine", "Customer Service", "Research And Development", "Legal Affairs")
    ),
    "company": picked(
        [
            "Johnson & Johnson",
            "Siemens AG",
            "Smith Brothers",
            "Carl Zeiss",
            "Hugo Boss",
            "Max Mara",
            "Robert Bosch GmbH",
            "Ernst Klett Verlag",
        ]
    ),
    "hospital": picked(
        [
            "St. Thomas Hospital",
            "Charité Mitte",
            "Robert Bosch Krankenhaus",
            "Johns Hopkins",
            "Mount Sinai",
            "Queen Elizabeth",
        ]
    ),
    "brand": picked(
        listed("Jack Daniels|Dr. Oetker|Ben & Jerry's|Ralph Lauren|Calvin Klein|Tommy Hilfiger|Levi's|Nike")
    ),
    "model": picked(
        [
            "Ford Fiesta",
            "Toyota Yaris",
            "Opel Corsa",
            "Audi A4",
            "BMW 320",
            "Tesla Model 3",
            "Seat Ibiza",
            "Mini Cooper",
            "Skoda Fabia",
        ]
    ),
    "food": picked(
        [
            f"{a} {b}"
            for a in listed("Fried|Baked|Raw|Smoked|Grilled|Spicy")
            for b in listed("Rice|Salmon|Tofu|Carrots|Noodles|Chicken|Potatoes|Beans")
        ]
    ),
    "bird": picked(
        [
            "Blue Jay",
            "Barn Owl",
            "House Sparrow",
            "Great Tit",
            "Snowy Egret",
            "Marsh Harrier",
            "Corn Bunting",
            "Reed Warbler",
            "Stock Dove",
        ]
    ),
    "plant": picked(
        [
            "Rosa canina",
            "Malus domestica",
            "Vitis vinifera",
            "Olea europaea",
            "Zea mays",
            "Allium cepa",
            "Daucus carota",
            "Pisum sativum",
        ]
    ),
    "mineral": picked(listed("Rose Quartz|Blue Topaz|Smoky Quartz|Fire Opal|Green Jasper|Tiger Eye|Black Onyx")),
    "disease": picked(
        listed("Heart Failure|Hodgkin Lymphoma|Cushing Syndrome|Cystic Fibrosis|Lyme Disease|Down Syndrome|Gout")
    ),
    "icd_code": lambda r: f"{r.choice('ABDFHIKLMR')}{r.randrange(100):02}.{r.randrange(10)}",
    "c_icd": lambda r: (
        f"{r.choice('ABDFHIKLMR')}{r.randrange(100):02}"
        + r.choice(("", f".{r.randrange(10)}", f".{r.randrange(100):02}"))
    ),
    "icd9": lambda r: f"{r.randrange(1, 999):03}.{r.randrange(100):02}",
    "ops": lambda r: f"{r.randrange(1, 9)}-{r.randrange(100, 999)}.{r.randrange(10)}",
    "snomed": lambda r: r.choice((22298006, 38341003, 73211009, 44054006, 195967001, 13645005, 49436004, 254837009)),
    "fw": lambda r: f"{r.randrange(1, 9)}.{r.randrange(10)}.{r.randrange(50)}.{r.randrange(100)}",
    "c_version": lambda r: f"{r.randrange(10, 14)}.{r.randrange(4)}.{r.randrange(10)}.{r.randrange(40)}",
    "release|2": lambda r: f"{r.randrange(1, 9)}.{r.randrange(100)}.{r.randrange(1_000)}",
    "part_number": lambda r: f"{r.choice('ABC')}{r.randrange(100_000, 101_500)}",
    "product_code": lambda r: f"{r.choice(('TX', 'QR', 'BL'))}-{r.randrange(1_000, 1_400)}",
    "isbn": lambda r: 9_780_000_000_000 + 17 * r.randrange(1_200),
    "upc": lambda r: f"{36_000_000_000 + 11 * r.randrange(800):012}",
    "batch_no": lambda r: (
        f"{r.randrange(20, 24)}{r.randrange(1, 13):02}{r.randrange(1, 29):02}-{r.randrange(1, 40):02}"
    ),
    "course_id": lambda r: f"{r.choice(('CS', 'EE', 'ME', 'CE'))}{r.randrange(100, 480)}",
    "room_no": lambda r: f"{r.randrange(1, 9)}.{r.randrange(1, 60):02}",
    "seat": lambda r: f"{r.randrange(1, 40)}{r.choice('ABCDEF')}",
    "flight_no": lambda r: f"{r.choice(('UA', 'DL', 'AA', 'WN'))}{r.randrange(10, 4_000)}",
    "route": lambda r: f"Route {r.randrange(1, 90)}",
    "ward_name": lambda r: f"Station {r.randrange(1, 25)}{r.choice('ab')}",
    "iata": lambda r: "".join(r.choices(string.ascii_uppercase, k=3)),
    "geohash": lambda r: "u33" + "".join(r.choices("0123456789bcdefghjkmnpqrstuvwxyz", k=2)),
    "rgb": lambda r: f"#{r.getrandbits(24):06X}",
    "salary": lambda r: int(r.lognormvariate(10.8, 0.4)),
    "revenue": lambda r: int(r.lognormvariate(16, 0.3)),
    "budget": lambda r: random.Random(r.randrange(60)).randrange(10_000_000, 99_000_000),
    "epoch": lambda r: 1_600_000_000 + r.randrange(60_000_000),
    "c_seconds": lambda r: 1_600_000_000 + 3_600 * r.randrange(1_500),
    "distance": lambda r: f"{r.uniform(1, 900):.1f} km",
    "temperature": lambda r: round(r.gauss(12, 8), 1),
    "hours": lambda r: r.randrange(1, 80),
    "interval": lambda r: f"{(a := 10 * r.randrange(100))}-{a + 9}",
    "years_of": lambda r: f"{(a := r.randrange(1980, 2015))}-{a + r.randrange(1, 8)}",
    "season": lambda r: f"{(a := r.randrange(1980, 2015))}/{(a + 1) % 100:02}",
    "ratio": lambda r: f"{r.randrange(1, 20)}:{r.randrange(1, 20)}",
    "comment_code": picked(
        ("no answer at the door", "will be called back later", "wrong number was given", "does not want to take part")
    ),
    "question": picked(
        [
            f"I {a} that {b}"
            for a in ("think", "doubt", "hope")
            for b in ("taxes are too high", "trains run on time", "schools are good")
        ]
    ),
    "browser": picked(("Chrome 120", "Firefox 121", "Safari 17", "Edge 119")),
    "file_type": picked(("report.pdf", "data.csv", "photo.jpg", "notes.txt")),
    "domain": picked(("example.org", "shop.example.com", "mail.example.net", "example.co.uk")),
    "tag": picked(("self-emp-not-inc", "local-gov", "never-worked", "without-pay", "private")),
    "gene_name": lambda r: f"{r.choice(string.ascii_uppercase)}{r.choice(string.ascii_uppercase)}{r.randrange(1, 90)}",
    "cell_line": picked(("HEK293", "HeLa", "MCF7", "A549", "CHO-K1", "Jurkat E6")),
    "star": picked(listed("Alpha Centauri|Beta Orionis|Barnard Star|Epsilon Eridani|Gamma Draconis|Delta Cephei")),
    "party": picked(("Green Party", "Liberal Democrats", "Christian Social Union", "Labour", "National Rally")),
    "income": picked(("<=50K", ">50K")),
    "churn": picked(("yes", "no")),
}
