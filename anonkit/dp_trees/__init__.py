# SPDX-License-Identifier: Apache-2.0
"""The differentially private tree family: one grower, and a set of choices for every paper.

``plan``, ``grower``, ``growing``, ``questions``, ``counted_once``
    A plan is a set of choices with a budget, made before any data is read. The grower sends counting queries to a
    counter and never sees a row; counts are checked against the plan before noise is drawn.
``scores``, ``split_selection``, ``leaves``, ``tree_rows``, ``pruning``
    The choices in which the papers differ.
``taxonomy_specialization``
    The other grower: DiffGen and DT-Diff.
``leaf_cells``, ``microdata``
    Synthetic rows from a model.
``additive_model``
    The model of `dp-forest` and `dp-tree`.
``release``
    From the policy to the draft; only this part knows tables and engines.

The published form of a tree is in `anonkit.published`, which needs nothing of this package.
"""
