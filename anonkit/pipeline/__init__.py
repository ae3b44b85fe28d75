# SPDX-License-Identifier: Apache-2.0
"""The main path: from source and policy through a method to a release.

``release_path`` is `anonkit.release` and `anonkit.apply` step by step; ``publishing`` writes, ``output_measures`` and
``released_values`` measure what was written, ``recipe`` runs a release that a TOML file describes.
"""
