# SPDX-License-Identifier: Apache-2.0
"""The randomized-response family: declared columns to mechanisms, batches of rows to answers, and the draft.

``randomized_method`` is how strongly each category is randomized, ``number_response`` which mechanism answers for a
number, ``randomized_rows`` the one place where true cells meet the noise of a release, ``randomized_draft`` the
promise of a table's mechanisms and the draft of its release.
"""
