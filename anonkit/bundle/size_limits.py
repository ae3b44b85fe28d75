# SPDX-License-Identifier: Apache-2.0
"""The one table of sizes: what the files of a release may be, for those who write them and for those who read them.

A release comes from others. What a receiver spends on it is in proportion to what was sent: no file is read beyond its
size, no document makes a multiple of its bytes, no array is made by a size that a document merely states.
"""

from __future__ import annotations

from collections.abc import Mapping

_MEGABYTE = 1 << 20

LARGEST_FILES: Mapping[str, int] = {
    ".params.json": 1024 * _MEGABYTE,
    ".report.json": 64 * _MEGABYTE,
    ".report.html": 64 * _MEGABYTE,
    ".datapackage.json": 16 * _MEGABYTE,
    ".signature.json": 64 * _MEGABYTE,
    ".croissant.json": 64 * _MEGABYTE,
    ".registry.yaml": 64 * _MEGABYTE,
}
"""Bytes of a file of a release, by its suffix. A table has no limit: it is read in parts."""
LARGEST_DOCUMENT = max(LARGEST_FILES.values())
"""Bytes of any other JSON document, such as an audit."""
MOST_HELD = 4096 * _MEGABYTE
"""Bytes of memory that a document may take once it is parsed, by the number of its brackets, commas and colons."""
HELD_BY_SIGN: Mapping[bytes, int] = {b"[": 72, b"{": 72, b":": 130, b",": 40}
"""Bytes of memory behind each sign of a JSON document, generously: a list or an object, a named value, a value."""

MOST_CELLS = 1 << 20
"""Cells of a grid over bounds, places of a band among them."""
MOST_CODES = 1 << 24
"""Codes of an attribute, or of several that are answered as one."""
STATED_SIZES: Mapping[str, int] = {
    "cells": MOST_CELLS,
    "fine": MOST_CELLS,
    "bins": MOST_CELLS,
    "band": MOST_CELLS,
    "categories": MOST_CODES,
}
"""Largest integers that documents state as a size, by their key."""

MOST_UNPACKED = 512 * _MEGABYTE
"""Most bytes of a member of a workbook that is read into memory whole."""
MOST_OF_WORKBOOK = 4096 * _MEGABYTE
"""Bytes that a workbook may have when it is unpacked."""
MOST_PACKING = 200
"""Most growth of a workbook by being unpacked, beyond the first megabytes: tables of text grow twentyfold."""
FREELY_UNPACKED = 64 * _MEGABYTE
