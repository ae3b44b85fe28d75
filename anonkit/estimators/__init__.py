# SPDX-License-Identifier: Apache-2.0
"""Statistical estimation from published values: distributions, moments and consistent counts, with standard errors.

``band_bounds`` bounds shares behind band answers, ``moments`` are means and variances of randomized numbers,
``consistent_counts`` counts behind noisy histograms; ``class_shrinkage`` and ``evidence_weight`` take from evidence
what noise feigns. ``number_distances`` measures shown numbers against the original ones, ``population`` the risk in a
population. All but these two is post-processing and costs no privacy.
"""
