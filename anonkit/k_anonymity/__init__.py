# SPDX-License-Identifier: Apache-2.0
"""The k-anonymity family: everything but the search for a recoding, which a method writes itself.

In the order in which a release calls them:

``recoding_method``
    The one release path, and the base class of the methods.
``privacy_model``, ``sensitive_rules``
    The conditions on every equivalence class: k, l, t and the like; what counts as one sensitive value.
``recoded_rows``, ``contribution_bounds``
    Rows that the policy leaves out or refuses, rows of one person, rows through a recoding.
``preparing``, ``declared_detail``, ``supported_parts``
    Quasi-identifiers as codes, of columns with a declared hierarchy and without.
``search``
    The algorithms, on codes.
``coded_axes``
    From the result of a search on codes to a recoding.
``numbers_in_groups``, ``class_means``
    Means of numbers in groups, and of the numbers of a class.
``recoded_draft``, ``violating_classes``
    Suppression, and the draft of the release.
``held_out_labels``, ``recoded_shares``
    The meaning of a released label, and the rows behind it.
``stored_recoding``, ``merged_classes``
    `anonkit apply`: the recoding of an earlier release on the next batch.
``generalization_schemes``
    Levels of public domains and a sample of rows, with differential privacy.
"""
