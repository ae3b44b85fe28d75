# SPDX-License-Identifier: Apache-2.0
"""Dates, times and coordinates in a drafted policy: lines to uncomment, since day and month may be each other."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Sequence

from anonkit.drafting.identifying.street_addresses import words_of
from anonkit.drafting.profiling import ColumnProfile, ValueKind

_LATITUDE, _LONGITUDE = {"lat", "latitude"}, {"lon", "lng", "long", "longitude"}
_LINE = 110


def calendar_lines(profile: ColumnProfile, *, is_declared: bool = False) -> list[str]:
    """Return the lines that make a column one of dates, moments or times; none where it does not look like one.

    Parameters
    ----------
    is_declared : bool
        True where its type is in the draft already.
    """
    if profile.kind is ValueKind.TIME:
        typed = "datetime" if profile.type_name.startswith("timestamp") else "date"
        kind = "time" if profile.type_name.startswith("time") and typed == "date" else typed
        return [*([] if is_declared else [f'# type = "{kind}"']), *_levels(kind)]
    if profile.kind is not ValueKind.TEXT or profile.written is None:
        return []
    if not profile.written.startswith("%"):
        return [f'# type = "{profile.written}"', *_levels(profile.written)]
    form = profile.written
    other = form.replace("%d", "%?").replace("%m", "%d").replace("%?", "%m")
    return [
        '# type = "date"',
        f'# format = "{form}"   # or "{other}": declare which of them is the day',
        *_levels("date"),
    ]


def _levels(kind: str) -> list[str]:
    if kind == "time":
        return ['# levels = ["hour", "part"]   # finest first; without it, these']
    finest = "hour" if kind == "datetime" else "day"
    return [
        f'# levels = ["month", "quarter", "year", "decade"]   # finest first; without it, from the {finest} on',
        '# bounds = ["FIRST DAY", "LAST DAY"]   # inclusive, from public knowledge, written YYYY-MM-DD',
    ]


def place_sections(profiles: Sequence[ColumnProfile]) -> list[list[str]]:
    """Return the lines that make two columns of coordinates one place; none where no two are named so."""
    found = []
    for words in (_LATITUDE, _LONGITUDE):
        named = [
            profile.name
            for profile in profiles
            if profile.kind is ValueKind.FRACTIONAL and not words.isdisjoint(words_of(profile.name))
        ]
        found.append(named)
    latitudes, longitudes = found
    if len(latitudes) != 1 or len(longitudes) != 1:
        return []
    latitude, longitude = (json.dumps(names[0], ensure_ascii=False) for names in (latitudes, longitudes))
    sections = ", ".join(f"[columns.{_key(names[0])}]" for names in found)
    note = (
        f"Coordinates? As one place they are released as a cell of a grid, and leave no file themselves: delete "
        f"{sections} and uncomment this. Differential privacy needs the box (south, west, north, east), from public "
        "knowledge."
    )
    return [
        [
            *textwrap.wrap(note, _LINE, initial_indent="# ", subsequent_indent="# "),
            "# [places]",
            f"# place = {{ latitude = {latitude}, longitude = {longitude}, resolutions = [8, 7, 6, 5, 4] }}"
            "   # box = [SOUTH, WEST, NORTH, EAST]",
        ]
    ]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
