# SPDX-License-Identifier: Apache-2.0
"""Domains and cells: the values a column may hold, and the rule that reads one cell independently of all others.

``number_bins`` are categories, grids and bins of numbers, ``domain_codes`` reads cells by them, ``coded_columns`` are
whole columns as integer codes. ``calendar_cells`` and ``calendar_parts`` are dates and moments, ``grid_cells`` places,
``named_parts`` what both have in common; ``written_numbers`` are numbers as people write them.
"""
