# SPDX-License-Identifier: Apache-2.0
"""Rows for any purpose: noisy tables of columns and of pairs, a tree of dependence, and a mixture of products.

Select, measure, generate (McKenna, Miklau, Sheldon 2021), with a mixture of product distributions in place of a
graphical model (Liu, Vietri, Wu 2021; Aydore et al. 2021).

``marginal_rule``, ``table_plan``
    The public rule that divides epsilon, and every draw that follows from it.
``column_layout``, ``table_counts``
    Which columns are counted, split by which classes; the counts themselves.
``measured_tables``, ``pair_consistency``
    What the noisy tables say together: totals, shares of values, pair tables that agree with them.
``dependency_tree``, ``tree_pairs``
    The private maximum spanning tree, and all pairs that follow from it in closed form.
``product_mixture``, ``mixture_rounding``
    The mixture that fits all pairs at once, and its published form in whole numbers.
``learned_marginals``
    The steps in their order: the only module that sees counts and noise together.
``mixture_rows``
    Rows of the mixture.
"""
