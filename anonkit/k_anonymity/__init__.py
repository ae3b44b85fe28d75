# SPDX-License-Identifier: Apache-2.0
"""What the k-anonymous methods share: the model asked for, prepared columns, recodings found, and drafts of releases.

``privacy_model`` is what is asked of every class, ``preparing`` codes and checks the quasi-identifiers, ``search``
holds the algorithms, ``coded_axes`` turns what they found on codes into a recoding, ``recoded_draft`` makes the draft,
``stored_recoding`` recodes the next batch by a published recoding, ``sampled_search`` and ``recoded_rows`` do the
same for tables too large to be held.
"""
