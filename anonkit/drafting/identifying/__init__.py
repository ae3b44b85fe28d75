# SPDX-License-Identifier: Apache-2.0
"""Detection of identifiers by column name and by the form of the cells; which of them repeat, and the person they name.

``check_digits`` knows the arithmetic of card, account and national numbers, ``cell_shapes`` how such cells are written,
``person_names`` given names and family names, ``header_words`` the words of column names, ``kinds`` the kinds of
identifiers, and ``verdicts`` judges a column by all of them. ``topic_words`` finds the topic of a column: demography,
places, secrets; ``clear_cells`` has the refusals and notes on columns that a release shows as they are.

Who asks what:

* ``drafting.undeclared.judge_undeclared``: which columns that nobody declared are taken for identifiers. Its
  ``profiles`` has a `ColumnProfile` of every column it looked at.
* ``ColumnProfile.by_cells``: do the cells of a column, also a declared one, have the form of identifiers or number the
  rows? By cells alone.
* ``drafting.repeating_identifiers.repeating_identifiers``: which columns are identifiers of persons that occur in
  several rows, each with its `Kind`; a given name, a family name and a date of birth are one together.
* ``drafting.undeclared.profiles_of``: the profiles of any columns, such as declared identifiers, for both questions.
"""
