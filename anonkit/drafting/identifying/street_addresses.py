# SPDX-License-Identifier: Apache-2.0
"""Street addresses: a word for a street beside a house number, in a dozen languages.

Words of column names that mark a person's name, a record number or a measurement.

Kinds of identifiers: keys, e-mail addresses, phone numbers, national numbers, names of persons, and others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from itertools import pairwise


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


def vocabulary(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


_NUMBER_WORDS = vocabulary(
    "id ids uid uuid guid ssn nin sin nif nie dni nino pesel cpf bsn nhs mrn passport iban account card license "
    "licence plate vin imei imsi msisdn phone telephone tel mobile cell fax email mail username login userid "
    "customerid clientid patientid personid memberid employeeid studentid subjectid telefon handy telefono "
    "teléfono telefone móvil movil correo courriel téléphone codicefiscale telefoon kundennummer personalnummer "
    "patientennummer versichertennummer steuernummer matrikelnummer kontonummer 身份证 身份证号 手机 手机号 电话 邮箱 "
    "cpr hetu egn cnp oib jmbg emso amka curp cuit aadhaar nric hkid fodselsnummer fødselsnummer personnummer "
    "kennitala svnr tckn kimlik ppsn snils rufnummer telefonnummer handynummer mobilnummer kennzeichen kfz targa "
    "benutzername screenname gamertag handle policennummer vertragsnummer versicherungsnummer mitgliedsnummer "
    "mitgliedsnr kundennr patientennr personalnr fallnummer ausweisnummer"
)
_NAME_WORDS = vocabulary(
    "name names surname firstname forename lastname fullname nickname address street url ip mac vorname nachname "
    "nom anschrift adresse strasse straße prénom prenom nombre apellido apellidos nome cognome sobrenome "
    "indirizzo endereço naam voornaam achternaam imię imie nazwisko 姓名 名字 氏名"
)
_NUMBERING_WORDS = vocabulary("no nr num number code key index idx ref reference serial record row case hash nummer")
_QUALIFYING_WORDS = _NUMBERING_WORDS | vocabulary("first last middle given family full")
_GROUP_WORDS = vocabulary(
    "country state city region county district product item brand model company store shop department school "
    "hospital ward course category type class group job zip postal area icd"
)
_THING_WORDS = _GROUP_WORDS | vocabulary(
    "products items brands models companies stores shops sku article articles artikel part parts batch lot charge ean "
    "upc gtin isbn issn asin material component flight train bus tram line route vessel ship airport iata icao station "
    "stop site room raum zimmer seat building gebäude floor block tract geoid geohash naics sic nace soc isco cpv atc "
    "loinc snomed ndc cpt pzn ops cas drug drugs medication medikament wirkstoff dx diagnosis diagnose disease gene "
    "gen protein version versions firmware fw build release revision hardware hw software os browser app colour color "
    "farbe hex rgb ticker stock fund security currency pair machine maschine equipment error status domain tag make "
    "species breed plant bird animal tree mineral star film movie song book title titel album team club party firm "
    "firma employer arbeitgeber supplier lieferant vendor manufacturer hersteller marke modell produkt ware food dish "
    "drink wine organization organisation org institution university universität college schule klinik krankenhaus "
    "abteilung fach kurs occupation profession beruf position role place ort stadt land bezirk kreis quarter reason "
    "tariff tarif sport game event venue hotel restaurant language sprache religion ethnicity nationality currency "
    "file path produit lot salle métier ville pays produto producto ciudad pais país"
)
"""Words of things, places and classes: what has such a name names nobody by codes, and by names only where sure."""
_ACCOUNT_WORDS = vocabulary(
    "account acct konto iban compte cuenta conta conto rekening policy police polizza póliza contract vertrag contrat "
    "contrato contratto membership"
)
_PERSONAL_WORDS = vocabulary(
    "by contact doctor physician arzt ärztin teacher lehrer nurse author autor driver fahrer operator agent manager "
    "owner inhaber guardian mother father mutter vater spouse person kontakt ansprechpartner betreuer"
)
"""Words of people, beside those of `_PERSON_WORDS`, whose names a column may hold: `seen_by`, `contact person`."""
_PERSON_WORDS = vocabulary(
    "patient person customer client member employee student pupil subject user participant respondent citizen "
    "applicant policyholder subscriber resident donor insured worker passenger tenant beneficiary kunde kunden "
    "patienten cliente paciente persona"
)
_PERSON_NUMBER_WORDS = vocabulary("id ids uid no nr num number key nummer numero número")
_BARE_WORDS = (_PERSON_WORDS | _ACCOUNT_WORDS) - {"insured"}  # insured, alone, may be a sum
_POSTAL_WORDS = vocabulary("zip zipcode postcode postal plz cp postleitzahl 邮编")
_MEASURE_WORDS = vocabulary(
    "age year years yr month months day days week weeks hour hours minute minutes second seconds time times "
    "timestamp ts epoch date datetime duration price prices amount amounts amt salary salaries income incomes "
    "wage wages pay payment payments cost costs revenue sales turnover profit budget balance deposit deposits "
    "savings loan loans debt credit limit value values total sum count counts qty quantity volume weight wt "
    "height length width depth size area distance km miles mileage speed rate ratio percent pct score scores "
    "points grade marks gpa level temperature temp pressure population households lat latitude lon lng longitude "
    "altitude elevation gain loss hz cm mm kg alter gehalt einkommen preis betrag gewicht größe jahr datum edad "
    "ingreso ingresos salario precio peso âge salaire revenu prix umsatz einwohner anzahl menge summe kosten"
)


_KINDS_NAMED = {
    IdentifierKind.EMAIL: vocabulary("email mail correo courriel 邮箱"),
    IdentifierKind.PHONE: vocabulary(
        "phone telephone tel mobile cell fax msisdn telefon handy telefono teléfono móvil movil téléphone telefoon "
        "手机 手机号 电话 rufnummer telefonnummer handynummer mobilnummer"
    ),
    IdentifierKind.NATIONAL_NUMBER: vocabulary(
        "ssn nin sin nif nie dni nino pesel cpf bsn nhs passport codicefiscale steuernummer cpr hetu egn cnp oib jmbg "
        "emso amka curp cuit aadhaar nric hkid fodselsnummer fødselsnummer personnummer kennitala svnr tckn kimlik "
        "ppsn snils 身份证 身份证号"
    ),
    IdentifierKind.ADDRESS: vocabulary("address street anschrift adresse strasse straße indirizzo endereço"),
    IdentifierKind.FAMILY_NAME: vocabulary(
        "surname lastname nachname apellido apellidos cognome sobrenome achternaam nazwisko familyname"
    ),
    IdentifierKind.GIVEN_NAME: vocabulary("firstname givenname forename vorname prénom prenom voornaam imię imie"),
    IdentifierKind.PERSON_NAME: vocabulary("name names fullname nom nombre nome naam 姓名 名字 氏名"),
}
"""Words of a column's name, by the kind of identifier that they name; the first kind with such a word counts."""
_BIRTH_WORDS = vocabulary(
    "birth born dob birthday birthdate dateofbirth geburt geboren geburtstag geburtsdatum naissance nacimiento "
    "nascita nascimento geboortedatum fødselsdato födelsedatum urodzenia"
)


class HeaderKind(Enum):
    """The content of a column by its name."""

    PERSON_NUMBER = "numbers of persons"
    """Such as `patient_id`: the person of a row, whatever its number of rows."""
    IDENTIFIER = "something that identifies"
    """Such as `customerId`, `First name`, `e-mail_2`."""
    BARE_PERSON = "numbers of persons, if they are numbers"
    """Such as `member`, `patient`, `konto`: whether it identifies depends on the cells."""
    OTHER = "anything"


def words_of(name: str) -> list[str]:
    """Return the words of a column name in lower case, whether it is written with_lines, with-dashes or inCamelCase."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[\W\d_]+", spaced.lower()) if word]


def header_kind(name: str) -> HeaderKind:
    """Return the kind of a column by its name."""
    words = words_of(name)
    if len(words) > 1 and words[-1] in _PERSON_NUMBER_WORDS and words[-2] in _PERSON_WORDS:
        return HeaderKind.PERSON_NUMBER
    if _ends_in(name, _NUMBER_WORDS | _NAME_WORDS):
        return HeaderKind.IDENTIFIER
    bare = len(words) == 1 and words[0] in _BARE_WORDS
    return HeaderKind.BARE_PERSON if bare else HeaderKind.OTHER


def kind_named(name: str) -> IdentifierKind:
    """Return the kind of identifier that the name of a column says; a key where it says no other."""
    words = words_of(name)
    joined = {*words, *map("".join, pairwise(words))}  # first_name, e-mail
    if {"username", "nickname"} & joined:
        return IdentifierKind.KEY
    return next((kind for kind, listed in _KINDS_NAMED.items() if not listed.isdisjoint(joined)), IdentifierKind.KEY)


def names_birth(name: str) -> bool:
    """Return True if a name has a word of births: `date_of_birth`, `Geburtsdatum`."""
    return not _BIRTH_WORDS.isdisjoint(words_of(name))


def names_number(name: str) -> bool:
    """Return True if a name is that of a number of something: `customer_id`, `Sample_code_number`."""
    return _ends_in(name, _NUMBER_WORDS) or is_numbering(name)


def is_numbering(name: str) -> bool:
    """Return True if a name ends like a numbering and names no group of people: `case no`, but not `zip_code`."""
    words = words_of(name)
    return not _NUMBERING_WORDS.isdisjoint(words[-1:]) and _THING_WORDS.isdisjoint(words)


def names_things(name: str) -> bool:
    """Return True if a name is that of things, places or classes: `product`, `flight_no`, `diagnosis`."""
    return not _THING_WORDS.isdisjoint(words_of(name)) and not names_persons(name)


def names_persons(name: str) -> bool:
    """Return True if a name has a word of people: `contact person`, `seen_by`."""
    return not (_PERSON_WORDS | _PERSONAL_WORDS).isdisjoint(words_of(name))


def is_measure(name: str) -> bool:
    """Return True if a name has a word of measured quantities: `salary`, `hours-per-week`."""
    return not _MEASURE_WORDS.isdisjoint(words_of(name))


def is_postal(name: str) -> bool:
    """Return True if a name is that of postal codes."""
    return not _POSTAL_WORDS.isdisjoint(words_of(name))


def _ends_in(name: str, words: frozenset[str]) -> bool:
    header = words_of(name)
    while header and header[-1] in _QUALIFYING_WORDS:
        header.pop()
    return bool(header) and header[-1] in words and _GROUP_WORDS.isdisjoint(header) and not names_things(name)


_STREET_WORDS = vocabulary(
    "street st st. road rd rd. avenue ave ave. av av. lane ln drive dr dr. boulevard blvd blvd. way court ct place pl "
    "close terrace crescent square highway hwy parkway row mews view grove hill gardens walk "
    "straße strasse str str. weg platz allee gasse damm ufer ring steig markt "
    "rue chemin quai impasse allée place cours faubourg calle c/ avenida avda. plaza paseo camino carrera "
    "via viale corso piazza largo vicolo rua travessa praça estrada straat laan plein gracht kade dijk "
    "gatan gata vägen väg vej gade veien vei gate katu tie ulica ul ul. aleja al. plac utca út sokak cad. caddesi "
    "strada str. bulevardul ulice náměstí улица ул ул. проспект пр."
)
_ENDINGS = (
    *("straße", "strasse", "str.", "str", "weg", "platz", "allee", "gasse", "damm", "ufer", "ring", "steig", "hof"),
    *("straat", "laan", "plein", "gracht", "kade", "dijk", "gatan", "vägen", "gata", "vej", "gade", "veien", "gaten"),
    *("vegen", "katu", "tie", "utca", "singel", "steeg", "graben", "polku"),
)
_LEADING = vocabulary("am im an auf in zum zur unter hinter vor de het op bei")
"""Words with which the names of German and Dutch streets begin that have no word for a street."""
_HOUSE = re.compile(r"\d{1,5} ?[a-z]?([-/]\d{1,5}[a-z]?)?", re.IGNORECASE)
_CHINESE = re.compile(r"[\u3400-\u9fff]{1,12}[路街道巷弄]\w{1,5}[号座]?.{0,30}")
_JAPANESE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{2,20}\d{1,3}([-−丁]\d{0,3}目?){1,3}.{0,30}")

_MOST_LETTERS = 120
_SHARE = 0.5
_VALUES = 8
_HOUSES = 5
_SOME_STREET_SHARE = 0.7
_SOME_STREET_VALUES = 40
_STREETS = 25
_STREETS_SHARE = 0.2
_MANY_HOUSES = 15


def are_street_addresses(texts: Sequence[str]) -> bool:
    """Return True if distinct strings are streets with a house number.

    Half of them have a word for a street and a number, with several numbers; or most are words and a number, both of
    many kinds, as where names of streets have no such word. Names of streets without a number are places.
    """
    parts = [found for text in texts if (found := _parts(text)) is not None]
    worded = [house for named, house in parts if _names_street(named)]
    if len(worded) >= max(_VALUES, _SHARE * len(texts)) and len(set(worded)) >= _HOUSES:
        return True
    streets = {named for named, _ in parts if any(word[0].isupper() for word in named)}
    return (
        len(parts) >= max(_SOME_STREET_VALUES, _SOME_STREET_SHARE * len(texts))
        and len(streets) >= max(_STREETS, _STREETS_SHARE * len(parts))
        and len({house for _, house in parts}) >= _MANY_HOUSES
    )


def _parts(text: str) -> tuple[tuple[str, ...], str] | None:
    """Return the words of an address up to its house number, or after it; None where there is no such number."""
    if len(text) > _MOST_LETTERS:
        return None
    if _CHINESE.fullmatch(text) or _JAPANESE.fullmatch(text):
        return (text[:1] + "路",), text
    words = text.replace(",", " ").split()
    at = next((at for at, word in enumerate(words) if _HOUSE.fullmatch(word.rstrip("."))), None)
    if at is None:
        return None
    named = tuple(word for word in (words[:at] or words[1:]) if word[0].isalpha())
    return (named, words[at]) if named and all(len(word) > 1 for word in named[:1]) else None


def _names_street(named: Sequence[str]) -> bool:
    words = [word.lower() for word in named]
    compound = any(word.endswith(_ENDINGS) and len(word) >= 6 for word in words)
    spaced = len(words) > 1 and (words[0] in _LEADING or not _STREET_WORDS.isdisjoint(words))
    return compound or spaced or words[0].endswith("路")
