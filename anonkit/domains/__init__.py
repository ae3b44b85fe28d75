# SPDX-License-Identifier: Apache-2.0
"""Domains and cells: the values a column may hold, and the rule that reads one cell independently of all others.

``attribute_domains`` are categories and grids, ``domain_codes`` reads cells by them; ``exact_decimals``,
``cell_keys`` and ``arrow_values`` are the values of cells, ``coded_columns`` whole columns as integer codes,
``interval_ends`` the round numbers that are published, ``array_types`` the names of the array types.
"""
