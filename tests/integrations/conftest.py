"""Tests of the integrations: each folder is for the environment of one tool, and is passed over in all others."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

FOLDERS = [path.parent for path in Path(__file__).parent.glob("*/requirements.txt")]

collect_ignore = [folder.name for folder in FOLDERS if find_spec(folder.name) is None]
