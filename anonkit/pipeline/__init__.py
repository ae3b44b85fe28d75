# SPDX-License-Identifier: Apache-2.0
"""The main path: from source and policy through a method to a release.

``release_path``
    The steps of `anonkit.release` and `anonkit.apply` in their order.
``python_calls``, ``release_request``, ``release_output``, ``recipe``
    The request as values: from the Python keywords, or from a TOML recipe.
``declared_source``, ``earlier_recoding``
    The table as its policy declares it, and the method behind `anonkit.apply`.
``publishing``, ``output_measures``, ``released_values``
    The files written, read back and measured.
``step_log``
    Steps and notes under the logger `anonkit`.

A new method, or a new kind of promise, needs no change in this package.
"""
