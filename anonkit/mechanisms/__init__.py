# SPDX-License-Identifier: Apache-2.0
"""Randomizers and noise: published answers and counts are drawn here, from secret random words alone.

``code_randomizers`` and ``number_randomizer`` draw the answers of the local mechanisms, whose response matrices stand
in ``anonkit.published.channels``; ``discrete_laplace``, ``private_selection`` and ``noisy_histograms`` are the noise
of central releases, ``accounting`` what it costs; ``shuffle_amplification`` is what secret order adds. Arrays in,
arrays out: no tables, no files, no policy.
"""
