# SPDX-License-Identifier: Apache-2.0
"""Detection of identifiers by column name and by the form of the cells; which of them repeat, and the person they name.

``check_digits`` knows the arithmetic of card, account and national numbers, ``cell_shapes`` how such cells are written,
``issued_numbers`` numbers of contracts, phones and plates, ``person_names`` given names and family names,
``street_addresses`` addresses, the words of column names, and the kinds of identifiers. ``verdicts`` judges a column by
all of them, with the refusals and notes on columns that a release shows as they are. ``topic_words`` finds the topic of
a column: demography, places, secrets.

Callers:

* `drafting.profiling.judge_undeclared`: which columns that nobody declared are taken for identifiers. Its `profiles`
  has a `ColumnProfile` of every column it looked at.
* `drafting.profiling.profiles_of`: the profiles of any columns, such as declared identifiers: do their cells, by
  themselves, have the form of identifiers or number the rows?
* `drafting.whose_rows.repeating_identifiers`: which columns are identifiers of persons that occur in several rows, each
  with its `IdentifierKind`; a given name, a family name and a date of birth are one together.
"""
