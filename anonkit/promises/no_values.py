# SPDX-License-Identifier: Apache-2.0
"""Strings that mean the lack of a value, and the folding under which strings of a sensitive column are one value.

A class in which nine people are marked `unknown` and one is ill has one value, not two; `{hiv, HIV, "hiv "}` is one
value. The values that l, t, alpha and the cap on confidence count are therefore defined here, once, for whoever
promises and whoever checks: each folds by code of its own (`anonkit.domains.coded_columns`,
`anonkit.checks.counted_as`).

The list is short on purpose: a text that is a value in many tables, such as `DK` or `refused`, is not in it, since what
counts as no value is not protected. A text of the list that is a value in one table is declared among its categories.
"""

from __future__ import annotations

FOLDING = "NFKC, case folding, trimmed"
"""Folding of a string before it is compared: to this word in `params.json` a reader holds both."""

NO_VALUES: tuple[str, ...] = (
    # signs, and words of programs
    "", "-", "--", "---", "\u2013", "\u2014", "_", ".", "..", "...", "/", "*", "?", "??", "???", "#",
    "n/a", "n/a.", "na", "n.a.", "n.a", "n. a.", "<na>", "(na)", "#n/a", "#na", "#null!", "nan", "-nan", "#nan", "nat",
    "null", "(null)", "<null>", "\\n", "nil", "none", "<none>", "(none)", "undefined", "missing", "(missing)",
    "<missing>", "blank", "(blank)", "empty", "(empty)", "tbd", "tba", "n/k", "n.k.", "n. k.", "unk", "unk.", "xxx",
    # English
    "unknown", "(unknown)", "<unknown>", "unspecified", "not specified", "not stated", "not known", "not available",
    "not applicable", "not recorded", "not reported", "not provided", "not given", "not disclosed", "no answer",
    "no response", "no data", "no information", "no value", "no entry", "don't know", "dont know", "do not know",
    "prefer not to say", "prefer not to answer", "to be determined",
    # German
    "unbekannt", "nicht bekannt", "nicht angegeben", "nicht erfasst", "nicht erhoben", "nicht verf\u00fcgbar",
    "nicht zutreffend", "keine angabe", "keine angaben", "ohne angabe", "k.a.", "k. a.", "k.a", "o.a.", "o. a.",
    "n.b.", "n. b.", "entf\u00e4llt", "fehlt", "fehlend", "leer", "weiss nicht",
    # French
    "inconnu", "inconnue", "non connu", "non renseign\u00e9", "non renseign\u00e9e", "non renseigne",
    "non pr\u00e9cis\u00e9", "non disponible", "non applicable", "sans objet", "sans r\u00e9ponse", "ne sait pas",
    "nsp", "manquant", "n.r.", "n/r", "n.d.", "n/d", "s.o.", "s/o",
    # Spanish, Portuguese
    "desconocido", "desconocida", "se desconoce", "no consta", "no disponible", "no aplica", "no especificado",
    "no informado", "sin dato", "sin datos", "sin informaci\u00f3n", "s/d", "ns/nc", "no sabe", "no contesta",
    "desconhecido", "desconhecida", "n\u00e3o informado", "n\u00e3o dispon\u00edvel", "n\u00e3o se aplica",
    "n\u00e3o sabe", "ignorado", "sem informa\u00e7\u00e3o",
    # Italian
    "sconosciuto", "sconosciuta", "non noto", "non nota", "non disponibile", "non applicabile", "non specificato",
    "ignoto", "mancante",
    # Dutch
    "onbekend", "niet bekend", "niet beschikbaar", "niet van toepassing", "n.v.t.", "nvt", "ontbreekt", "geen opgave",
    "weet niet",
    # Danish, Norwegian, Swedish, Finnish
    "ukendt", "uoplyst", "ikke angivet", "ved ikke", "mangler", "ukjent", "ikke oppgitt", "vet ikke", "ok\u00e4nd",
    "ok\u00e4nt", "uppgift saknas", "saknas", "ej angivet", "vet inte", "tuntematon", "ei tiedossa", "ei tietoa",
    "puuttuu",
    # Polish, Czech, Slovak, Hungarian, Romanian
    "nieznany", "nieznana", "nieznane", "brak danych", "brak", "nie dotyczy", "nie wiadomo", "b.d.",
    "nezn\u00e1m\u00fd", "nezn\u00e1m\u00e9", "nezn\u00e1mo", "neuvedeno", "nen\u00ed k dispozici", "nezn\u00e1my",
    "neuveden\u00e9", "ismeretlen", "nincs adat", "necunoscut",
    # Turkish, Russian, Ukrainian, Greek
    "bilinmiyor", "bilinmeyen", "belirtilmemi\u015f",
    "\u043d\u0435\u0438\u0437\u0432\u0435\u0441\u0442\u043d\u043e",
    "\u043d\u0435\u0442 \u0434\u0430\u043d\u043d\u044b\u0445",
    "\u043d\u0435 \u0443\u043a\u0430\u0437\u0430\u043d\u043e", "\u043d/\u0434",
    "\u043d\u0435\u0432\u0456\u0434\u043e\u043c\u043e",
    "\u043d\u0435\u043c\u0430\u0454 \u0434\u0430\u043d\u0438\u0445",
    "\u03ac\u03b3\u03bd\u03c9\u03c3\u03c4\u03bf",
    # Chinese, Japanese, Korean
    "\u672a\u77e5", "\u4e0d\u8be6", "\u4e0d\u8a73", "\u4e0d\u660e", "\u7f3a\u5931", "\u672a\u586b\u5199",
    "\u672a\u56de\u7b54", "\u7121\u56de\u7b54", "\u672a\u8a18\u5165", "\u8a72\u5f53\u306a\u3057",
    "\uc54c \uc218 \uc5c6\uc74c", "\ubaa8\ub984", "\ubb34\uc751\ub2f5", "\ubbf8\uc0c1",
)  # fmt: skip
"""Strings that are no value of a sensitive column, folded."""

MISSING_CODES: tuple[int, ...] = (-9, -99, -999, -9999, -99999, 99, 999, 9999, 99999, 999999)
"""Numbers that mean the lack of a value in many tables. They count as values: the owner gets a note where one is
apart from all others, and lists it among `missing_values` if it is none."""

TOLERANCE = 0.05
"""Share of the middle 90 % of the numbers of a measured column within which they count as one value."""
FEW_CODES = 20
"""Integers with no more different values than this are codes, or so coarse that no two are close."""
CODE_WORDS: frozenset[str] = frozenset(
    (
        "category", "cat", "class", "code", "codes", "cpt", "drg", "flag", "grade", "group", "icd", "icd9", "icd10",
        "id", "isced", "isco", "key", "kennziffer", "kind", "level", "naics", "nace", "no", "nr", "number", "plz",
        "postcode", "rank", "schluessel", "schl\u00fcssel", "sic", "snomed", "soc", "status", "stufe", "type", "typ",
        "zip",
    )
)  # fmt: skip
"""Words of a header by which integers are codes, which are different where they differ at all."""
