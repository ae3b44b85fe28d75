# SPDX-License-Identifier: Apache-2.0
"""Promises: what a method claims before it has seen any data, and how the claim is checked on the output.

A promise answers for itself: its loss, its sentence, its figures for report and ledger. No other module asks for its
kind. It is a value and reads no table.

``guarantee``, ``promise_kinds``
    The interface, the absence of a promise, and a promise read back from a report.
``anonymous_classes``, ``approximate_dp``, ``noise_promises``
    The kinds of promise: of equivalence classes, and of noise.
``no_values``
    Strings of a sensitive column that mean the lack of a value.
"""
