# SPDX-License-Identifier: Apache-2.0
"""The main path: from source and policy through a method to a release.

``release_path``
    The steps of `anonkit.release` and `anonkit.apply` in their order.
``python_calls``, ``request_form``, ``recipe``
    The request as values: from the Python keywords, or from a TOML recipe.
``declared_source``, ``recipe_sources``, ``earlier_batches``
    The table as its policy declares it, and the method behind `anonkit.apply`.
``publishing``, ``output_measures``
    The files written, read back and measured.
``dossier``, ``stored_dossier``, ``risk_before_release``, ``validating``, ``exporting``
    What an owner does beside a release: measure the source, check and hand on the files.

A new method, or a new kind of promise, needs no change in this package.
"""
