# SPDX-License-Identifier: Apache-2.0
"""A release in other forms: text, spreadsheet and Arrow files, and tables of databases, written whole or not at all.

The Parquet file stays the release. Every form has a class here that writes it, reads it back cell by cell, and says
what it cannot hold; `anonkit.checks.exported_rows` compares what is read with the release.
"""
