# SPDX-License-Identifier: Apache-2.0
"""Words of column names that mark a person's name, a record number or a measurement."""

from __future__ import annotations

import re
from enum import Enum
from itertools import pairwise

from anonkit.drafting.identifying.kinds import IdentifierKind


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
    """Return what a column's name says about it."""
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
