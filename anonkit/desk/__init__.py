# SPDX-License-Identifier: Apache-2.0
"""The desk: a page on this machine on which a release is decided, from the table to its files.

Nothing is decided here that a command could not do: the page writes a policy and a recipe, and shows the command that
makes the same release.

``request_guard``
    What every request has to show before anything answers it.
``session_files``, ``decided_release``
    The session as files: numbered steps, the policy with all its comments, the recipe and the command that follow.
``background_jobs``, ``job_imports``, ``job_kinds``
    Work in processes of its own.
``release_desk``
    The table, its session and its jobs: what pages ask and change.
``station_views``, ``strip_view``, ``column_editor``, ``desk_pages``
    What the stations show, and the forms by which they change something.
``desk_server``
    The server, on this machine alone.
"""
