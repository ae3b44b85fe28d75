# SPDX-License-Identifier: Apache-2.0
"""Independent verification of releases from their files alone; no code is shared with the methods under test.

Validation needs the written files alone, never the source. The package imports the promises and the release on disk,
but no method, engine or mechanism, nor `anonkit.published`: a fault in one of them cannot hide itself here.

``validation``, ``requirements``, ``promise_checkers``
    The way in: which checks a release gets, and the result.
``table_scans``, ``scanned_files``, ``class_relation``
    Tables opened in DuckDB, by this machine or by workers of a cluster that each read some of the files; and the rows
    of classes, which workers hand each other.
``file_integrity``, ``document_agreement``, ``sameness``
    Files, hashes and signatures; statements that occur twice must be equal.
``class_promise``, ``class_counts``, ``counted_as``, ``people``, ``diversity``, ``disclosure``, ``value_confidence``,
``clear_parts``, ``recoded_labels``, ``shown_numbers``
    k-anonymous releases, and the disclosure risk of any table.
``population_counts``, ``population_validation``, ``population_risk``
    Risk in the population of which a table is a sample.
``local_table``, ``local_params``, ``local_matrices``, ``local_promise``
    Randomized tables (local differential privacy).
``central``, ``central_params``, ``central_account``, ``central_rule``, ``central_model``, ``central_rows``,
``central_report``, ``central_noise``, ``query_changes``, ``draw_loss``, ``approximate_account``
    Releases of anonkit's own methods of central noise, under epsilon or (epsilon, delta).
``stated``, ``stated_params``
    Releases by a noise statement, of whatever method.
``scored_rows``, ``shown_columns``
    The stated usefulness of a release, scored anew, and identifiers among its columns in clear.
``expectations``
    The documented import path of the expectations in `anonkit.integrations.great_expectations`.
"""
