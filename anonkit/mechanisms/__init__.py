# SPDX-License-Identifier: Apache-2.0
"""Randomizers and noise: published answers and counts are drawn here, from secret random words alone.

``code_randomizers``, ``number_randomizer``, ``alias_table``, ``answered_attributes``
    Answers of the local mechanisms, whose response matrices are in ``anonkit.published.channels``.
``discrete_laplace``, ``noisy_histograms``, ``private_selection``
    Noise and private choices of central releases.
``normal_quantile``
    Normal variates from uniform ones.
``accounting``, ``shuffle_amplification``
    The privacy loss of the draws, and its reduction by a secret shuffle.

Arrays in, arrays out: no tables, no files, no policy.
"""
