# SPDX-License-Identifier: Apache-2.0
"""Proposals for tables that are not yet declared: policy drafts, domains and suspected identifiers."""
