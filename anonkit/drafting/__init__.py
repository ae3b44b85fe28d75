# SPDX-License-Identifier: Apache-2.0
"""Proposals for tables that are not yet declared: policy drafts, domains and suspected identifiers.

A proposal is for the owner to read and correct; it is never a promise, and it never quotes a cell value.

``policy_draft``, ``profiling``
    `anonkit init`: a policy from the profiles of a table's columns, some of which are taken for identifiers.
``identifying``, ``whose_rows``
    The rules by which a column is taken for an identifier, and candidates for the person of a row.
``guessed_target``, ``clear_columns``
    The target that nobody names, and a look at the columns that a release shows as they are.
``found_forms``, ``row_constraints``
    How cells are written, rules that rows seem to keep, and lines of the draft for dates and places.
``table_domains``
    Domains taken from the table itself, on the owner's word.
"""
