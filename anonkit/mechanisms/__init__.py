# SPDX-License-Identifier: Apache-2.0
"""Randomizers and noise: published answers and counts are drawn here, from secret random words alone.

``code_randomizers``, ``number_randomizer``, ``answered_attributes``
    Answers of the local mechanisms, whose response matrices are in `anonkit.published.channels`.
``discrete_laplace``, ``discrete_gaussian``, ``noisy_histograms``, ``private_selection``, ``domain_finding``
    Noise and private choices of central releases.
``query_sensitivity``, ``accounting``, ``statement_loss``, ``concentrated_loss``
    Sensitivity of queries, and the privacy loss of draws.
``shuffle_amplification``, ``sampling_threshold``
    Its reduction by a secret shuffle, and by the sampling of rows.

Arrays in, arrays out: no tables, no files, no policy.
"""
