# SPDX-License-Identifier: Apache-2.0
"""Statistical estimation from published values: distributions, moments and consistent counts, with standard errors.

``consistent_counts`` are counts behind noisy histograms and randomized answers, ``number_estimates`` means, variances
and bounds on shares of randomized numbers; ``evidence_weight`` takes from evidence what noise feigns. All of this is
post-processing and costs no privacy. ``reidentification_risk`` and ``minimal_uniques`` measure the risk in a
population.
"""
