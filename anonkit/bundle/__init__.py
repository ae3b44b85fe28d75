# SPDX-License-Identifier: Apache-2.0
"""The release on disk: files written atomically, loaded and signed, and the private scratch files of a run.

``stored_release`` loads and saves a release, ``json_documents`` are its documents, ``release_place`` is the place of
its files. ``data_files`` is its table as one Parquet file or a folder of them, read by this machine or by workers of a
cluster. ``atomic`` replaces files together or not at all, and keeps the private notes by which it knows the folders of
this user. ``liveness`` says whether a process still runs, ``signing`` signs files, ``private_files`` holds what may
spill. In an object store (``s3_store``) files are as the descriptor lists them; ``object_store`` puts and fetches them.
"""
