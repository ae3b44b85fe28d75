# SPDX-License-Identifier: Apache-2.0
"""Rows for any purpose: noisy tables of columns and of pairs, what follows from them, and a mixture of products.

Select, measure, generate (McKenna, Miklau, Sheldon 2021), with a mixture of product distributions in place of a
graphical model (Liu, Vietri, Wu 2021; Aydore et al. 2021).

``exact_tables``
    Exact tables of columns and of pairs, by which classes they are split.
``measurement_plan``
    Every draw that follows from the public rule that divides epsilon, `budget_rules.marginal_rule`, and single numbers
    read of the tables with noise.
``private_choices``
    The private choices: of a view and the number of pairs, and of three columns that speak of the target together.
``tree_pairs``
    Noisy tables that agree with each other: totals, shares of values, pairs; and rows to start a fit with.
``mixture_fit``
    The mixture that fits all pairs at once, and its published form in integers.
``learned_marginals``
    The steps in their order: the only module that sees counts and noise together.
"""
