# SPDX-License-Identifier: Apache-2.0
"""Domains and cells: the values a column may hold, and the rule that reads one cell independently of all others.

``number_bins`` are categories, grids and bins of numbers, ``cell_values`` reads cells by them, numbers as people write
them, too. ``coded_columns`` are whole columns as integer codes. ``dates_and_times`` are dates and moments,
``named_parts`` places, and what both have in common.
"""
