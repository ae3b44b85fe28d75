# SPDX-License-Identifier: Apache-2.0
"""Street addresses: a word for a street beside a house number, in a dozen languages."""

from __future__ import annotations

import re
from collections.abc import Sequence

from anonkit.drafting.identifying.header_words import vocabulary

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
