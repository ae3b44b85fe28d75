# SPDX-License-Identifier: Apache-2.0
"""The k-anonymity family: everything but the search for a recoding, which a method writes itself.

In the order in which a release calls them:

``recoding_method``
    The one release path, and the base class of the methods.
``privacy_model``
    The conditions on every equivalence class: k, l, t and the like.
``recoded_rows``
    Rows that the policy leaves out or refuses; rows through a recoding.
``preparing``, ``declared_detail``
    Quasi-identifiers as codes, of columns without and with a declared hierarchy.
``search``
    The algorithms, on codes.
``coded_axes``
    From the result of a search on codes to a recoding.
``numbers_in_groups``, ``class_means``
    Means of numbers in groups, and of the numbers of a class.
``recoded_draft``, ``violating_classes``
    Suppression, and the draft of the release.
``stored_recoding``, ``merged_classes``
    `anonkit apply`: the recoding of an earlier release on the next batch.
"""
