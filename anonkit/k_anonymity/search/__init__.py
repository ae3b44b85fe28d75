# SPDX-License-Identifier: Apache-2.0
"""The search for a k-anonymous recoding on coded columns: importance, selection, generalization, partitioning.

Integer codes in, a recoding of codes out: no tables, no policy, no files. Labels and the published recoding are made
from the result in `anonkit.k_anonymity`.

``equivalence``, ``class_values``, ``shared_sets``
    Equivalence classes of distinct rows, on which searches run, and the conditions on them.
``hierarchy_levels``
    Generalization hierarchies.
``importance``, ``out_of_sample_predictions``
    The target as a guide: feature importance, and probabilities learned from other rows.
``greedy_selection``
    The published RFKA and Greedy_Hamdist.
``top_down_specialization``, ``refinement``
    The default of RFKA: column by column, from everything dropped.
``box_tree``, ``box_growth``, ``box_pruning``
    Mondrian: local recoding into boxes.
``full_domain``
    Datafly and Incognito: one level of the hierarchy per column.
``microaggregation``
    MDAV: groups of rows that lie close together.
"""
