# SPDX-License-Identifier: Apache-2.0
"""What the k-anonymous methods share: the model asked for, prepared columns, recodings found, and drafts of releases.

``model`` is what is asked of every class, ``preparing`` codes and checks the quasi-identifiers, ``coded_axes`` turns
what a search found on codes into a recoding, ``drafts`` makes the draft, ``sampled_search`` and ``recoded_rows`` do the
same for tables too large to be held.
"""
