# SPDX-License-Identifier: Apache-2.0
"""Detection of identifiers among undeclared columns, by column name and by the form of the cells.

``check_digits`` knows the arithmetic of card, account and national numbers, ``cell_shapes`` how such cells are written,
``person_names`` given names and family names, ``header_words`` the words of column names, and ``verdicts`` judges a
column by all of them.
"""
