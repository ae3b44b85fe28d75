# SPDX-License-Identifier: Apache-2.0
"""Fixture of the tests that give a recipe to the command line."""

from __future__ import annotations

from cli.conftest import cli as cli
