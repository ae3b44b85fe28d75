# SPDX-License-Identifier: Apache-2.0
"""The additive model of `dp-forest` and `dp-tree`: noisy counts of many trees combined into one model.

Counts of the data are used by ``pair_prequeries``, ``target_bins``, ``stacked`` and ``weighting`` alone, under the
plan's budget; all else is post-processing of noisy counts, at no privacy loss. The rule that divides epsilon is
`budget_rules.tree_rule`.

``pair_prequeries``, ``target_bins``
    What is read and chosen before the model: dependence within classes, attributes that lead a tree, bins of a number.
``stacked``
    The model from its noisy parts; the other modules are its steps.
``combination``
    The law of the histograms, the weighted sum of the log-odds of every attribute value (`published.count_evidence`),
    and the correction for scoring counts on themselves.
``weighting``
    The Newton step for the weights.

Consistent totals of classes, and rows of the population that the noisy counts describe, are in
`anonkit.dp_trees.microdata`.
"""
