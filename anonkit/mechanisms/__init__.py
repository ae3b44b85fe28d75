# SPDX-License-Identifier: Apache-2.0
"""Randomizers and noise: published answers and counts are drawn here, from secret random words alone.

``randomizers``
    Answers of the local mechanisms, whose response matrices are in `anonkit.published.channels`.
``exact_samplers``, ``noisy_histograms``
    Noise and private choices of central releases.
``accounting``, ``statement_loss``
    Sensitivity of queries, and the privacy loss of draws.
``privacy_amplification``
    Its reduction by a secret shuffle, and by the sampling of rows.

Arrays in, arrays out: no tables, no files, no policy.
"""
