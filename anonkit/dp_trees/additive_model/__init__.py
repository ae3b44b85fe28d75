# SPDX-License-Identifier: Apache-2.0
"""The additive model of `dp-forest` and `dp-tree`: noisy counts of many trees combined into one model.

Only ``stacked`` and ``weighting`` use counts of the data, under the plan's budget; all else is post-processing of
noisy counts, at no privacy loss. The rule that divides epsilon is `budget_rules.forest_rule`.

``stacked``
    The model from its noisy parts; the other modules are its steps.
``consistency``, ``combination``
    Consistent class totals, and the weighted sum of the log-odds per attribute value (`published.count_evidence`).
``weighting``, ``optimism``
    The Newton step for the weights, and the correction for scoring counts on themselves.
``synthetic_population``
    Rows of the population that the noisy counts describe.
"""
