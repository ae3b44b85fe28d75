"""Columns that identify people and repeat, and tables of harmless columns: those on which the detector is reported.

No rule and no constant was chosen on them. Names of harmless columns are those that such columns have; what is
behind ``|`` distinguishes columns of one name.
"""

from __future__ import annotations

import datetime
import random

from drafting.identifying.repeating_columns import Draw, digits, listed, picked

GIVEN = listed(
    "Chidi|Ngozi|Folake|Tunde|Amara|Kwame|Abena|Sizwe|Thandiwe|Lwazi|Siobhan|Niamh|Oisin|Cormac|Fionn|Bronwen|Gethin|"
    "Rhys|Wiremu|Aroha|Hemi|Nadezhda|Yaroslav|Bohdan|Zdenka|Radek|Vlasta|Kornel|Ildiko|Zsofia|Gergely|Attila|Ionut|"
    "Mihai|Doina|Ruxandra|Stoyan|Desislava|Goran|Milica|Zeljko|Vesna|Aleksi|Venla|Ilmari|Torvald|Ragnhild|Eirik|"
    "Sunniva|Chiamaka|Minh|Thuy|Phuong|Anh|Duc|Siti|Putri|Wayan|Budi|Dewi|Nur|Jiho|Soojin|Minjun|Haeun|Asuka|Daichi|"
    "Ren|Manpreet|Harpreet|Gurpreet|Parvati|Venkatesh|Ananya|Ishaan|Farida|Zeynab|Rustam|Dilnoza|Maria|Anna|Peter|Paul|"
    "Eva"
)
FAMILY = listed(
    "Okafor|Adeyemi|Mensah|Boateng|Dlamini|Nkosi|Mokoena|Gallagher|Kavanagh|Doherty|Llewellyn|Prosser|Ngata|Parata|"
    "Shevchenko|Kovalenko|Bondar|Novotny|Dvorak|Kucera|Horvath|Szabo|Kiss|Nagy|Popescu|Ionescu|Dumitru|Petrov|Georgiev|"
    "Jovanovic|Nikolic|Babic|Korhonen|Virtanen|Laine|Haugen|Solberg|Lund|Nguyen|Tran|Pham|Hoang|Wijaya|Santoso|Kim|"
    "Park|Choi|Jung|Watanabe|Ito|Kobayashi|Singh|Kaur|Gill|Iyer|Reddy|Patel|Karimov|Rahimi|Hosseini|Tagliaferri|"
    "Bellandi|Quispe|Mamani|Huaman|Condori|Zubiri|Etxeberria|Puig|Ferrer|Vandenbroucke|Dewulf|Peeters|Claes|Brandsma|"
    "Hoekstra|Terpstra|Wenger|Aeschlimann|Zbinden|Rüegg|Kessler|Obermayr|Pichler|Hinterberger|Strobl|Moosbrugger|Tvedt|"
    "Aasland"
)
GERMAN_STREETS = listed(
    "Lindenstraße|Goethestr.|Am Mühlbach|Kirchweg|Schillerplatz|Bahnhofstr.|Im Wiesengrund|Rosenweg|Ahornallee|"
    "Uferstraße|Hohe Gasse|Feldweg|Birkenstraße|Am Anger|Dorfstr.|Ringstraße|Hafenstraße|Kastanienallee"
)
ENGLISH_STREETS = listed(
    "Oak Street|Maple Avenue|Church Lane|Mill Road|Station Road|High Street|Elm Drive|Cedar Court|Park View|"
    "Kings Close|Victoria Terrace|Sunset Boulevard|River Rd|2nd Ave|Lakeview Dr"
)
ROMANCE_STREETS = listed(
    "rue de la Paix|avenue Victor Hugo|chemin des Vignes|place du Marché|Calle Mayor|Avenida de la Constitución|"
    "Plaza Nueva|Via Garibaldi|Viale Mazzini|Corso Umberto|Rua das Flores|Travessa do Carmo"
)
ANIMALS = listed("otter|lynx|raven|heron|badger|falcon|gecko|moose|orca|tapir|ibis|stork")
PLAIN_WORDS = listed("night|silver|turbo|lazy|happy|pixel|retro|cosmic|salty|mellow|quick|frozen")


def full_name(r: random.Random) -> str:
    """Given name and family name."""
    return f"{r.choice(GIVEN)} {r.choice(FAMILY)}"


def birthday(r: random.Random) -> datetime.date:
    """A day from 1930 to 2010."""
    return datetime.date(1930, 1, 1) + datetime.timedelta(days=r.randrange(29_000))


def fodselsnummer(r: random.Random) -> str:
    """Norway: date of birth, three digits, two checks modulo 11."""
    while True:
        body = birthday(r).strftime("%d%m%y") + f"{r.randrange(1_000):03}"
        first = -sum(int(d) * w for d, w in zip(body, (3, 7, 6, 1, 8, 9, 4, 5, 2), strict=True)) % 11
        body += str(first)
        second = -sum(int(d) * w for d, w in zip(body, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2), strict=False)) % 11
        if first < 10 and second < 10:
            return body + str(second)


def rodne_cislo(r: random.Random) -> str:
    """Czechia: year, month (plus 50 for women), day, and four digits that make it a multiple of eleven."""
    born = birthday(r)
    body = f"{born.year % 100:02}{born.month + r.choice((0, 50)):02}{born.day:02}"
    number = int(body + "0000") + r.randrange(900) * 11
    number += -number % 11
    return f"{str(number).zfill(10)[:6]}/{str(number).zfill(10)[6:]}"


def kimlik(r: random.Random) -> int:
    """Türkiye: nine digits; the tenth from odd and even places, the eleventh the sum of all."""
    body = [int(d) for d in digits(r, 9)]
    body.append((7 * sum(body[0:9:2]) - sum(body[1:8:2])) % 10)
    return int("".join(map(str, [*body, sum(body) % 10])))


def user_by_name(r: random.Random) -> str:
    """A user name made of a person's name."""
    given, family = r.choice(GIVEN).lower(), r.choice(FAMILY).lower()
    return r.choice(
        (f"{given}.{family[0]}", f"{given[0]}{family}", f"{family}_{given[0]}", f"{given}{r.randrange(99)}")
    )


def remark(r: random.Random) -> str:
    """A remark about somebody."""
    who = r.choice((f"Mrs {r.choice(FAMILY)}", f"Mr. {r.choice(FAMILY)}", full_name(r)))
    return r.choice(
        (
            f"spoke with {who} about the delayed refund",
            f"{who} asked for a call back after {r.randrange(1, 12)} pm",
            f"complaint of {who}, second letter sent",
            f"moved in with her sister {who} in spring",
            "no answer, voice mail left again",
        )
    )


IDENTIFYING: dict[str, tuple[str, Draw]] = {
    "full names": ("contact person", full_name),
    "names, family first": ("c2", lambda r: f"{r.choice(FAMILY)}, {r.choice(GIVEN)}"),
    "names with initials": ("c3", lambda r: f"{r.choice('ABCDEFGHJKLMNPRSTW')}. {r.choice(FAMILY)}"),
    "names in capitals": ("seen_by", lambda r: f"{r.choice(FAMILY)} {r.choice(GIVEN)}".upper()),
    "street addresses, German": ("c5", lambda r: f"{r.choice(GERMAN_STREETS)} {r.randrange(1, 140)}"),
    "street addresses, English": (
        "c6",
        lambda r: (
            f"{r.randrange(1, 9_000)} {r.choice(ENGLISH_STREETS)}" + r.choice(("", "", f", Apt {r.randrange(40)}"))
        ),
    ),
    "street addresses, Romance": ("c7", lambda r: f"{r.choice(ROMANCE_STREETS)}, {r.randrange(1, 200)}"),
    "licence plates, Austria and Germany": (
        "vehicle",
        lambda r: (
            f"{r.choice(('W', 'GU', 'LL', 'KN', 'HH', 'B', 'FR', 'DD'))}-{r.choice('ABCDEFHKLMNPRSTUVWXZ')}"
            f"{r.choice('ABCDEFHKLMNPRSTUVWXZ')} {digits(r, r.choice((2, 3, 4)))}"
        ),
    ),
    "licence plates, France": (
        "c9",
        lambda r: (
            "".join(r.choices("ABCDEFGHJKLMNPQRSTVWXYZ", k=2))
            + f"-{r.randrange(1, 1_000):03}-"
            + "".join(r.choices("ABCDEFGHJKLMNPQRSTVWXYZ", k=2))
        ),
    ),
    "local phones, seven digits": ("c10", lambda r: f"{r.randrange(200, 999)}-{r.randrange(10_000):04}"),
    "local phones, pairs": (
        "c11",
        lambda r: " ".join([str(r.randrange(20, 99)), *(f"{r.randrange(100):02}" for _ in "123")]),
    ),
    "user names by name": ("c12", user_by_name),
    "user names, invented": (
        "c13",
        lambda r: f"{r.choice(PLAIN_WORDS)}{r.choice(('', '_', '-'))}{r.choice(ANIMALS)}{r.randrange(1, 999)}",
    ),
    "hashes, cut": ("c14", lambda r: f"{r.getrandbits(48):012x}"),
    "hashes, base64": (
        "c15",
        lambda r: "".join(r.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", k=43)) + "=",
    ),
    "account numbers": ("konto", lambda r: int(digits(r, 8))),
    "account numbers, grouped": ("c17", lambda r: f"{digits(r, 3)} {digits(r, 4)} {digits(r, 3)}"),
    "policy numbers": ("c18", lambda r: f"LV-{r.randrange(2001, 2024)}-{r.randrange(10**6):06}"),
    "national numbers, Norway": ("c19", fodselsnummer),
    "national numbers, Czechia": ("c20", rodne_cislo),
    "national numbers, Türkiye": ("c21", kimlik),
    "initials with birthday": (
        "c22",
        lambda r: f"{r.choice('ABCDEFGHJKLMNPRSTW')}{r.choice('ABCDEFGHJKLMNPRSTW')} {birthday(r):%d.%m.%Y}",
    ),
    "free text with names": ("c23", remark),
    "members by number": ("member", lambda r: r.randrange(1, 90_000)),
}
"""Kind: name of the column, and a draw of one cell a person."""

CITIES = listed(
    "Buenos Aires|New York|Kuala Lumpur|Cape Town|Ho Chi Minh City|Addis Ababa|San Salvador|Port Louis|Abu Dhabi|Oslo|"
    "Lima|Quito|Tunis|Riga|Santa Cruz|Los Angeles|Mexico City|St. Louis|Rio de Janeiro|Le Havre|Bad Tölz|Novi Sad|"
    "San Diego|La Paz|Tel Aviv|Hong Kong|Las Vegas|Salt Lake City|Den Haag|Sierra Madre|El Paso|Villa María"
)
JOBS = listed(
    "Registered Nurse|Tax Accountant|Bus Driver|Line Cook|Civil Engineer|Data Scientist|School Teacher|Store Manager|"
    "Dental Hygienist|Pipe Fitter|Crane Operator|Court Reporter|Flight Attendant|Graphic Designer|Head Gardener|"
    "Insurance Broker|Music Therapist|Night Porter|Payroll Clerk|Quality Inspector|Sheet Metal Worker|Tree Surgeon"
)
CARS = listed(
    "Toyota Corolla|Ford Focus|Volkswagen Golf|Honda Civic|Renault Clio|Fiat Panda|Opel Astra|Skoda Octavia|Kia Ceed|"
    "Seat Leon|Mazda Demio|Nissan Micra|Peugeot Partner|Dacia Sandero|Alfa Romeo Giulia|Hyundai Kona|Subaru Forester|"
    "Suzuki Swift|Volvo Amazon|Citroen Berlingo|Mercedes Vito|Lancia Ypsilon"
)
SPECIES = listed(
    "Quercus robur|Fagus sylvatica|Betula pendula|Picea abies|Pinus sylvestris|Acer campestre|Tilia cordata|"
    "Salix caprea|Populus nigra|Alnus glutinosa|Carpinus betulus|Larix decidua|Abies alba|Taxus baccata|Ulmus glabra|"
    "Fraxinus excelsior|Sorbus aucuparia|Prunus avium|Juglans regia|Castanea sativa"
)
DIAGNOSES = listed(
    "Diabetes Mellitus|Essential Hypertension|Bronchial Asthma|Crohn Disease|Graves Disease|Acute Bronchitis|"
    "Atrial Fibrillation|Iron Deficiency|Otitis Media|Parkinson Disease|Migraine|Psoriasis|Rheumatoid Arthritis|"
    "Panic Disorder|Urinary Infection|Vitamin Deficiency|Whooping Cough|Zoster"
)
PRODUCTS = [
    f"{first} {second}"
    for first in listed("Organic|Classic|Deluxe|Travel|Kids|Garden|Smart|Nordic|Urban|Alpine")
    for second in listed("Kettle|Lamp|Backpack|Blanket|Mug|Chair|Tent|Speaker|Sandal|Basket|Clock|Mirror")
]
COMPANIES = listed(
    "Huber & Söhne GmbH|Acme Logistics|Nordwind AG|Brown Brothers Ltd|Delta Foods Inc.|Grupo Sol|Ferrari Motors|"
    "Miller Bakery|Kim Electronics|Peters Transport BV|Atlas Copper|Blue Ocean Shipping|Evergreen Paper|Vista Optics"
)
SCHOOLS = listed(
    "Maria Montessori School|Anne Frank Gymnasium|St. Mary's College|Lincoln High School|Albert Schweitzer Schule|"
    "Martin Luther King Academy|Rosa Parks Elementary|Thomas Jefferson High|Sophie Scholl Schule|Marie Curie Lycée"
)
TEAMS = listed(
    "Real Madrid|Manchester City|Bayern München|Inter Milan|Ajax Amsterdam|Red Star|Boca Juniors|River Plate|"
    "Aston Villa|Crystal Palace|Dynamo Kyiv|Slavia Praha|Rapid Wien|Young Boys|Celtic Glasgow|Malmö FF"
)
FILMS = listed(
    "Kill Bill|Annie Hall|Jackie Brown|Forrest Gump|The Third Man|Blade Runner|Taxi Driver|Mary Poppins|Citizen Kane|"
    "Billy Elliot|Toy Story|Raging Bull|Barry Lyndon|Das Boot|Lola Rennt|Erin Brockovich|Rear Window|City Lights"
)
BREEDS = listed(
    "Golden Retriever|German Shepherd|Cocker Spaniel|Border Collie|Great Dane|Jack Russell|Saint Bernard|"
    "King Charles Spaniel|Boxer|Poodle|Basset Hound|Irish Setter|Shih Tzu|Siberian Husky"
)
DRUGS = listed(
    "Metformin 500 mg|Ramipril 5 mg|Aspirin 100 mg|Ibuprofen 400 mg|Amoxicillin 250 mg|Insulin glargine|Folic acid|"
    "Atorvastatin 20 mg|Levothyroxine 50 µg|Omeprazole 40 mg|Sodium chloride 0.9 %|Zinc oxide"
)
STREETS_ALONE = listed(
    "Main Street|Lake Shore Drive|Broadway|Rue de Rivoli|Via Appia|Ringstraße|Goetheallee|Calle Ocho|Princes Street"
)
COURSES = [
    f"{subject} {level}" for subject in ("MATH", "PHYS", "CHEM", "HIST", "ECON", "BIOL") for level in range(101, 125)
]
NOTES = listed(
    "delivered late because of heavy snow|customer was not at home|box damaged at one corner|left with the neighbour|"
    "signed for by the front desk|address could not be found on the map|returned to the depot after three attempts|"
    "weather delayed the whole tour by a day"
)
_DAY = datetime.date(2021, 1, 1)

HARMLESS: dict[str, Draw] = {
    "age": lambda r: r.randrange(18, 95),
    "age_group": picked(("18-29", "30-44", "45-59", "60-74", "75+")),
    "sex": picked(("f", "m", "x")),
    "year_of_birth": lambda r: r.randrange(1930, 2008),
    "date_of_birth": lambda r: birthday(r).isoformat(),
    "visit_date": lambda r: (_DAY + datetime.timedelta(days=r.randrange(700))).strftime("%d.%m.%Y"),
    "started_at": lambda r: (
        datetime.datetime(2022, 1, 1) + datetime.timedelta(minutes=r.randrange(500_000))
    ).isoformat(),
    "month": picked(("January", "April", "May", "June", "August", "October")),
    "weekday": picked(("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")),
    "time_of_day": lambda r: f"{r.randrange(24):02}:{r.randrange(60):02}",
    "city": picked(CITIES),
    "town|2": lambda r: r.choice(CITIES),
    "x_place": picked(CITIES),
    "country": picked(
        ("Costa Rica", "United States", "Jordan", "Chad", "Georgia", "New Zealand", "Sri Lanka", "India")
    ),
    "region": lambda r: f"Region {r.randrange(1, 30)}",
    "street": picked(STREETS_ALONE),
    "plz": lambda r: f"{r.randrange(1_000, 99_999):05}",
    "zip": lambda r: r.randrange(10_001, 99_950),
    "postcode": lambda r: (
        f"{r.choice(('SW', 'N', 'EC', 'LS'))}{r.randrange(1, 20)} {r.randrange(1, 9)}{r.choice('ABDEF')}"
        f"{r.choice('ABDEF')}"
    ),
    "census_tract": lambda r: f"{r.randrange(1, 60):02}{r.randrange(1, 200):03}{100 * r.randrange(1, 99):06}",
    "lat": lambda r: round(r.uniform(47, 55), 5),
    "lon": lambda r: round(r.uniform(6, 15), 5),
    "job": picked(JOBS),
    "occupation": lambda r: r.choice(JOBS),
    "x_profession": lambda r: r.choice(JOBS).lower(),
    "soc_code": lambda r: f"{r.randrange(11, 56)}-{r.randrange(1, 99) * 100 + 11:04}",
    "nace": lambda r: f"{r.randrange(1, 99):02}.{r.randrange(10, 99)}",
    "employer": picked(COMPANIES),
    "supplier": lambda r: r.choice(COMPANIES),
    "school": picked(SCHOOLS),
    "team": lambda r: r.choice(TEAMS),
    "film": picked(FILMS),
    "dog_breed": picked(BREEDS),
    "car": picked(CARS),
    "vehicle_model": lambda r: r.choice(CARS),
    "species": lambda r: r.choice(SPECIES),
    "tree": lambda r: r.choice(SPECIES).title(),
    "diagnosis": picked(DIAGNOSES),
    "x_reason": lambda r: r.choice(DIAGNOSES),
    "icd": lambda r: f"{r.choice('CEFGIJKMN')}{r.randrange(100):02}.{r.randrange(10)}",
    "icd10|2": lambda r: f"{r.choice('CEFGIJKMN')}{r.randrange(100):02}.{r.randrange(100):02}",
    "dx": lambda r: f"{r.choice('CEFGIJKMNST')}{r.randrange(100):02}.{r.randrange(10)}",
    "atc": lambda r: (
        f"{r.choice('ABCDGHJLMNPRSV')}{r.randrange(1, 17):02}{r.choice('ABCDEFX')}"
        f"{r.choice('ABCDEFX')}{r.randrange(1, 60):02}"
    ),
    "loinc": lambda r: f"{r.randrange(1_000, 90_000)}-{r.randrange(10)}",
    "ndc": lambda r: f"{r.randrange(1_000, 9_999):05}-{r.randrange(10, 900):04}-{r.randrange(10, 99)}",
    "drug": picked(DRUGS),
    "dose": lambda r: f"{r.choice((5, 10, 20, 40, 80))} mg",
    "blood_pressure": lambda r: f"{r.randrange(95, 180)}/{r.randrange(55, 110)}",
    "bmi": lambda r: round(r.gauss(26, 4), 1),
    "heart_rate": lambda r: int(r.gauss(75, 12)),
    "blood_group": picked(("A+", "0+", "B+", "AB+", "A-", "0-")),
    "product": picked(PRODUCTS),
    "item_name": lambda r: r.choice(PRODUCTS),
    "sku": lambda r: f"SK-{r.randrange(10_000, 12_000)}",
    "article_no": lambda r: 4_000_000 + 7 * r.randrange(900),
    "ean": lambda r: 4_006_381_000_000 + 13 * r.randrange(700),
    "colour": picked(("navy blue", "forest green", "ruby red", "charcoal", "ivory", "amber")),
    "hex_colour": lambda r: f"#{r.randrange(4_096):03x}{r.randrange(4_096):03x}",
    "size": picked(("S", "M", "L", "XL", "38", "40", "42")),
    "price": lambda r: round(r.lognormvariate(3, 1), 2),
    "amount": lambda r: f"€{r.lognormvariate(4, 1):,.2f}",
    "turnover": lambda r: int(r.lognormvariate(14, 1)),
    "salary": lambda r: 100 * r.randrange(200, 1_500),
    "income": lambda r: int(r.lognormvariate(10.5, 0.5)),
    "population": lambda r: random.Random(r.randrange(90)).randrange(1_000_000, 9_000_000),
    "quantity": lambda r: int(r.expovariate(0.05)),
    "discount": lambda r: f"{r.randrange(0, 60, 5)}%",
    "order_status": picked(("shipped", "returned", "on hold", "cancelled by seller")),
    "payment": picked(("visa", "cash on delivery", "bank transfer", "voucher")),
    "delivery_note": lambda r: r.choice(NOTES),
    "course": lambda r: r.choice(COURSES),
    "room": lambda r: f"{r.choice('ABCDE')}-{r.randrange(100, 420)}",
    "building|2": lambda r: f"Haus {r.randrange(1, 30)}",
    "ward": lambda r: f"Ward {r.randrange(1, 25)}",
    "flight": lambda r: f"{r.choice(('LH', 'BA', 'AF', 'KL', 'OS', 'LX'))} {r.randrange(100, 2_900)}",
    "train": lambda r: f"{r.choice(('ICE', 'IC', 'RE'))} {r.randrange(500, 1_200)}",
    "bus_line": lambda r: f"{r.choice('MXN')}{r.randrange(10, 99)}",
    "airport": lambda r: "".join(r.choices("ABCDEFGLMNOPRSTU", k=3)),
    "currency_pair": lambda r: r.choice(("EUR/USD", "USD/JPY", "GBP/CHF", "AUD/NZD")),
    "ticker": lambda r: "".join(r.choices("ABCDEFGLMNOPRSTU", k=4)),
    "firmware": lambda r: f"{r.randrange(1, 5)}.{r.randrange(12)}.{r.randrange(30)}",
    "firmware_version": lambda r: f"{r.randrange(1, 5)}.{r.randrange(12)}.{r.randrange(30)}.{r.randrange(60)}",
    "x_build": lambda r: f"{r.randrange(1, 4)}.{r.randrange(9)}.{r.randrange(20)}.{r.randrange(60)}",
    "app_version": lambda r: f"v{r.randrange(1, 9)}.{r.randrange(20)}.{r.randrange(9)}-rc{r.randrange(1, 5)}",
    "os": picked(("Windows 11", "Windows 10", "macOS 14", "Ubuntu 22.04", "iOS 17.1")),
    "device": picked(("iPhone 13", "Galaxy S22", "Pixel 7", "Redmi Note 11", "ThinkPad X1")),
    "sensor": lambda r: f"sensor-{r.randrange(1, 60)}",
    "batch": lambda r: f"LOT{(_DAY + datetime.timedelta(days=7 * r.randrange(90))):%y%m%d}",
    "lot|2": lambda r: f"{r.choice('AB')}{(_DAY + datetime.timedelta(days=r.randrange(700))):%d%m%y}",
    "machine": lambda r: f"CNC-{r.randrange(1, 14):02}",
    "error_code": lambda r: f"0x{r.choice((0x80070005, 0x80070057, 0x8007000E, 0xC0000005, 0x80004005)):08X}",
    "http_status": picked((200, 404, 301, 500, 403)),
    "path": picked(("/home", "/cart/checkout", "/login", "/product/view", "/help")),
    "language": picked(("en-GB", "de-DE", "fr-FR", "pt-BR", "zh-CN")),
    "gene": lambda r: f"{r.choice(('BRCA', 'TP', 'KRAS', 'EGFR', 'MYC', 'CDK'))}{r.randrange(1, 60)}",
    "cas_no|2": lambda r: r.choice(("50-00-0", "64-17-5", "67-56-1", "7732-18-5", "7647-14-5", "58-08-2", "50-78-2")),
    "satisfied": picked(("very satisfied", "satisfied", "neither satisfied nor dissatisfied", "not at all satisfied")),
    "grade": picked(("A+", "A", "B", "C", "D")),
    "score": lambda r: r.randrange(0, 101),
    "rating": lambda r: r.randrange(1, 6),
    "default": lambda r: r.randrange(2),
    "marital": picked(("married", "single", "divorced", "widowed", "never married")),
    "education": picked(("Some college", "High school graduate", "Bachelor's degree", "Doctorate", "9th grade")),
    "religion": picked(("Roman Catholic", "Protestant", "None", "Muslim", "Hindu", "Jewish")),
    "ethnicity": picked(("White British", "Black Caribbean", "Asian Indian", "Mixed", "Other")),
}
