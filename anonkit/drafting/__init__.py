# SPDX-License-Identifier: Apache-2.0
"""What anonkit proposes or suspects of a table that is not yet declared: policy drafts, domains, identifiers."""
