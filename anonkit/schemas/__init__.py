# SPDX-License-Identifier: Apache-2.0
"""JSON Schemas (2020-12) of the documents anonkit writes, as package data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


def report_schema() -> dict[str, Any]:
    """Return the schema every `report.json` is valid under."""
    schema: dict[str, Any] = json.loads((_FOLDER / "report.schema.json").read_text(encoding="utf-8"))
    return schema
