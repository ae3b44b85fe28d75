# SPDX-License-Identifier: Apache-2.0
"""The differentially private tree family: one grower, and a set of choices for every paper.

``plan``, ``grower``, ``questions``
    A plan is a set of choices with a budget, made before any data is read. The grower sends counting queries to a
    counter and never sees a row; counts are checked against the plan before noise is drawn.
``split_selection``
    The choice in which the papers differ most.
``taxonomy_specialization``
    The other grower: DiffGen and DT-Diff.
``microdata``
    Synthetic rows from noisy counts.
``additive_model``, ``marginals``
    The models of `dp-forest` and `dp-tree`, and of `dp-marginals`.
``aggregate_requests``, ``aggregate_tables``
    The tables of `dp-tables`.
``stated``
    Methods that are one noise statement.
``release``
    From the policy to the draft; only this part, ``stated`` and ``aggregate_tables`` know tables and engines.

The published form of a tree is in `anonkit.published`, which needs nothing of this package.
"""
