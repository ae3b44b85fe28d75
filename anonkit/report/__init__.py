# SPDX-License-Identifier: Apache-2.0
"""The report of a release, as a JSON document and as one page for readers.

``document`` builds `report.json` and what changed since an earlier release, ``first_facts`` what a reviewer reads
first, ``page`` the HTML page from ``templates`` with its ``charts`` and the ``promise_words``; ``dossier_page`` is the
owner's. ``block_words`` and ``wording`` turn blocks and numbers into text, ``descriptors`` writes the Data Package
beside a release.
"""
