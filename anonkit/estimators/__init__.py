# SPDX-License-Identifier: Apache-2.0
"""Statistical estimation from published values: distributions, moments and consistent counts, with standard errors.

``response_inversion``, ``maximum_likelihood`` and ``band_bounds`` estimate shares behind randomized answers,
``moments`` and ``transformed_moments`` means and variances, ``consistent_counts`` counts behind noisy histograms.
Everything here is post-processing and costs no privacy.
"""
