# SPDX-License-Identifier: Apache-2.0
"""What the randomized-response methods share.

``answer_strength`` is how strongly each category is randomized, ``randomized_rows`` the one place where true cells meet
the noise of a release, ``randomized_draft`` the promise of a table's mechanisms and the draft of its release.
"""
