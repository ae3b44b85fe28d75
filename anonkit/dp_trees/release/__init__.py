# SPDX-License-Identifier: Apache-2.0
"""The way from the policy to the draft of a release, for the methods of a trusted owner (central DP).

``declared_schema`` is what they all take: epsilon, unit, neighbours. ``coded_rows`` counts the table, ``tree_releases``
plans and drafts a forest, ``tree_families`` what several published trees have in common, ``private_searches`` finds
domains and values that many rows have, ``stacked_trees`` is the default with its public rule and its rows.
``synthetic_rows`` draws the released rows and describes their columns.
"""
