# SPDX-License-Identifier: Apache-2.0
"""The differentially private tree family: one grower, and a set of choices for every paper.

The choices: ``scores``, ``split_selection``, ``leaves``, ``allocation``, ``tree_rows``, ``pruning``. ``plan`` is the
choices with a budget, before any data; ``questions`` what the grower asks about the rows, ``grower`` grows.
``leaf_cells`` and ``microdata`` make a table from a model. ``additive_model`` is the model of `dp-forest` and
`dp-tree`, ``release`` the way from the policy to the draft. The published form is in `anonkit.published`.
"""
