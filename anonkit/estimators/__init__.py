# SPDX-License-Identifier: Apache-2.0
"""Statistical estimation from published values: distributions, moments and consistent counts, with standard errors.

``response_inversion``, ``maximum_likelihood`` and ``band_bounds`` estimate shares behind randomized answers,
``moments`` and ``transformed_moments`` means and variances, ``consistent_counts`` counts behind noisy histograms;
``bagged_trees`` are forests for importance and usefulness, and a command has them grown in a ``learning_process``.
Everything here is post-processing and costs no privacy.
"""
