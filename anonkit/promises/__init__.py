# SPDX-License-Identifier: Apache-2.0
"""Promises: what a method claims before it has seen any data, and how the claim is checked on the output.

A promise answers for itself: its loss, its sentence, its figures for report and ledger. No other module asks for its
kind. It is a value and reads no table.

``guarantee``, ``promise_kinds``
    The interface, and the promise read back from a report.
``anonymous_classes``, ``pure_local_dp``, ``pure_central_dp``, ``approximate_dp``, ``no_guarantee``
    The kinds of promise, and the absence of one.
``noise_promises``, ``neighbouring_tables``
    What the promises kept by noise share; which tables a central one compares.
``cautious_figures``
    Figures in their sentences, never rounded towards more than is promised.
"""
