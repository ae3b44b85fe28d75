# SPDX-License-Identifier: Apache-2.0
"""Words of column names that mark a person's name, a record number or a measurement."""

from __future__ import annotations

import re
from enum import Enum
from itertools import pairwise

from anonkit.drafting.identifying.kinds import Kind


def vocabulary(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


_NUMBER_WORDS = vocabulary(
    "id ids uid uuid guid ssn nin sin nif nie dni nino pesel cpf bsn nhs mrn passport iban account card license "
    "licence plate vin imei imsi msisdn phone telephone tel mobile cell fax email mail username login userid "
    "customerid clientid patientid personid memberid employeeid studentid subjectid telefon handy telefono "
    "teléfono telefone móvil movil correo courriel téléphone codicefiscale telefoon kundennummer personalnummer "
    "patientennummer versichertennummer steuernummer matrikelnummer kontonummer 身份证 身份证号 手机 手机号 电话 邮箱"
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
_PERSON_WORDS = vocabulary(
    "patient person customer client member employee student pupil subject user participant respondent citizen "
    "applicant policyholder subscriber resident donor insured worker passenger tenant beneficiary kunde kunden "
    "patienten cliente paciente persona"
)
_PERSON_NUMBER_WORDS = vocabulary("id ids uid no nr num number key nummer numero número")
_POSTAL_WORDS = vocabulary("zip zipcode postcode postal plz cp postleitzahl 邮编")
_MEASURE_WORDS = vocabulary(
    "age year years yr month months day days week weeks hour hours minute minutes second seconds time times "
    "timestamp ts epoch date datetime duration price prices amount amounts amt salary salaries income incomes "
    "wage wages pay payment payments cost costs revenue sales turnover profit budget balance deposit deposits "
    "savings loan loans debt credit limit value values total sum count counts qty quantity volume weight wt "
    "height length width depth size area distance km miles mileage speed rate ratio percent pct score scores "
    "points grade marks gpa level temperature temp pressure population households lat latitude lon lng longitude "
    "altitude elevation gain loss hz cm mm kg alter gehalt einkommen preis betrag gewicht größe jahr datum edad "
    "ingreso ingresos salario precio peso âge salaire revenu prix"
)


_KINDS_NAMED = {
    Kind.EMAIL: vocabulary("email mail correo courriel 邮箱"),
    Kind.PHONE: vocabulary(
        "phone telephone tel mobile cell fax msisdn telefon handy telefono teléfono móvil movil téléphone telefoon "
        "手机 手机号 电话"
    ),
    Kind.NATIONAL_NUMBER: vocabulary(
        "ssn nin sin nif nie dni nino pesel cpf bsn nhs passport codicefiscale steuernummer 身份证 身份证号"
    ),
    Kind.ADDRESS: vocabulary("address street anschrift adresse strasse straße indirizzo endereço"),
    Kind.FAMILY_NAME: vocabulary(
        "surname lastname nachname apellido apellidos cognome sobrenome achternaam nazwisko familyname"
    ),
    Kind.GIVEN_NAME: vocabulary("firstname givenname forename vorname prénom prenom voornaam imię imie"),
    Kind.PERSON_NAME: vocabulary("name names fullname nom nombre nome naam 姓名 名字 氏名"),
}
"""Words of a column's name, by the kind of identifier that they name; the first kind of which one stands there."""
_BIRTH_WORDS = vocabulary(
    "birth born dob birthday birthdate dateofbirth geburt geboren geburtstag geburtsdatum naissance nacimiento "
    "nascita nascimento geboortedatum fødselsdato födelsedatum urodzenia"
)


class HeaderKind(Enum):
    """What the name of a column says that it holds."""

    PERSON_NUMBER = "numbers of persons"
    """Such as `patient_id`: whose row it is, however often it stands there."""
    IDENTIFIER = "something that identifies"
    """Such as `customerId`, `First name`, `e-mail_2`."""
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
    return HeaderKind.IDENTIFIER if _ends_in(name, _NUMBER_WORDS | _NAME_WORDS) else HeaderKind.OTHER


def kind_named(name: str) -> Kind:
    """Return the kind of identifier that the name of a column says; a key where it says no other."""
    words = words_of(name)
    joined = {*words, *map("".join, pairwise(words))}  # first_name, e-mail
    if {"username", "nickname"} & joined:
        return Kind.KEY
    return next((kind for kind, listed in _KINDS_NAMED.items() if not listed.isdisjoint(joined)), Kind.KEY)


def names_birth(name: str) -> bool:
    """Tell whether a name has a word of births: `date_of_birth`, `Geburtsdatum`."""
    return not _BIRTH_WORDS.isdisjoint(words_of(name))


def names_number(name: str) -> bool:
    """Tell whether a name is that of a number of something: `customer_id`, `Sample_code_number`."""
    return _ends_in(name, _NUMBER_WORDS) or is_numbering(name)


def is_numbering(name: str) -> bool:
    """Tell whether a name ends like a numbering and is not that of a group of people: `case no`, but not `zip_code`."""
    words = words_of(name)
    return not _NUMBERING_WORDS.isdisjoint(words[-1:]) and _GROUP_WORDS.isdisjoint(words)


def is_measure(name: str) -> bool:
    """Tell whether a name has a word of measured quantities: `salary`, `hours-per-week`."""
    return not _MEASURE_WORDS.isdisjoint(words_of(name))


def is_postal(name: str) -> bool:
    """Tell whether a name is that of postal codes."""
    return not _POSTAL_WORDS.isdisjoint(words_of(name))


def _ends_in(name: str, words: frozenset[str]) -> bool:
    header = words_of(name)
    while header and header[-1] in _QUALIFYING_WORDS:
        header.pop()
    return bool(header) and header[-1] in words and _GROUP_WORDS.isdisjoint(header)
