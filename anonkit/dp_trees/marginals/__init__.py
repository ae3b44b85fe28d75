# SPDX-License-Identifier: Apache-2.0
"""Rows for any purpose: noisy tables of columns and of pairs, what follows from them, and a mixture of products.

Select, measure, generate (McKenna, Miklau, Sheldon 2021), with a mixture of product distributions in place of a
graphical model (Liu, Vietri, Wu 2021; Aydore et al. 2021).

``table_plan``
    Every draw that follows from the public rule that divides epsilon, `budget_rules.marginal_rule`.
``column_layout``, ``table_counts``
    Which columns are counted, split by which classes; the counts themselves.
``measured_tables``, ``pair_consistency``
    What the noisy tables say together: totals, shares of values, pair tables that agree with them.
``dependency_tree``, ``pair_completion``, ``tree_pairs``
    The private choices of pairs, all pairs that follow from those that are known, and rows to start a fit with.
``product_mixture``, ``table_fit``, ``mixture_rounding``
    The mixture that fits all pairs at once, nearer to the noisy tables, and its published form in integers.
``learned_marginals``
    The steps in their order: the only module that sees counts and noise together.
"""
