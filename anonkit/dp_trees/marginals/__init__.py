# SPDX-License-Identifier: Apache-2.0
"""Rows for any purpose: noisy tables of columns and of pairs, what follows from them, and a mixture of products.

Select, measure, generate (McKenna, Miklau, Sheldon 2021), with a mixture of product distributions in place of a
graphical model (Liu, Vietri, Wu 2021; Aydore et al. 2021).

``exact_tables``, ``noisy_readings``
    Exact tables of columns and of pairs, by which classes they are split, and single numbers read of them with noise.
``view_choice``, ``triple_choice``
    The private choices: of a view and the number of pairs, and of three columns that speak of the target together.
``table_plan``, ``remaining_budget``
    Every draw that follows from the public rule that divides epsilon, `budget_rules.marginal_rule`.
``tree_pairs``
    Noisy tables that agree with each other: totals, shares of values, pairs; and rows to start a fit with.
``table_fit``, ``triple_mixture``, ``mixture_rounding``
    The mixture that fits all pairs at once, or the cells of one triple, and its published form in integers.
``learned_marginals``
    The steps in their order: the only module that sees counts and noise together.
"""
