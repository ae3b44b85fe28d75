# SPDX-License-Identifier: Apache-2.0
"""A repeated request: the release in its place is looked at before anything is drawn.

When it is this very release, whole and as it was published, it is returned as it is, and no budget is spent.
When it should be and is not, the request is refused: whoever edits a file must not be able to spend the owner's budget.
When it is another release, or cannot be recognised, it is in the way, as it always was.
"""

from __future__ import annotations

from anonkit import __version__
from anonkit.bundle.atomic import Staging, finish, reason_of, recover
from anonkit.bundle.data_files import sha256
from anonkit.bundle.release_hashes import stated_hashes
from anonkit.bundle.release_names import DATA, DESCRIPTOR, SIGNATURE
from anonkit.bundle.release_place import Place
from anonkit.bundle.signing import Signer, digests
from anonkit.bundle.stored_release import Release, load_place
from anonkit.checks.signature import signature_checks
from anonkit.checks.validation import validate
from anonkit.errors import AnonkitError, EngineError, GuaranteeError, ParameterError, ReleaseFormatError, option
from anonkit.ledger.repeated_requests import Earlier
from anonkit.ledger.standing import Entry
from anonkit.pipeline.catalogue_files import add_copy, add_entries
from anonkit.pipeline.release_output import Output
from anonkit.pipeline.step_log import LOG
from anonkit.promises.cautious_figures import loss_words
from anonkit.redaction import redacted

_HINT = f"put its files back as they were released, or {option('force', True)} makes a new release, which spends budget"


def release_again(output: Output, earlier: Earlier | None, signer: Signer | None) -> Release | None:
    """Return the requested release when it is in its place already; None: it is to be made.

    Parameters
    ----------
    output : Output
    earlier : Earlier, optional
        What the ledger knows of the request; None: nothing.
    signer : Signer, optional
        Signs the release that is handed back, unless it has signed these files already.

    Raises
    ------
    GuaranteeError
        The files there should be this release and are not, or its files are gone: it was published, and a published
        draw is never drawn a second time unless the owner requests it.
    ParameterError
        Another release is there.
    EngineError
        Files cannot be read, or the signature cannot be written.
    """
    place = output.place
    if place is None:
        return None
    try:
        # what dead processes left is evidence until the ledger has been read, which then has settled it
        (finish if earlier is None else recover)(place.folder, place.stem)
        there = place.existing()
        data = place.data_digest()
        if earlier is not None and not output.force:
            entry = _recognised(place, bool(there), data, earlier)
            if entry is not None:
                return _handed_back(place, entry, output, signer)
    except OSError as error:
        raise EngineError(f"cannot read {str(place.folder)!r}: {reason_of(error)}") from None
    output.refuse_existing(_difference(there, data, earlier))
    return None


def _recognised(place: Place, is_there: bool, data: str | None, earlier: Earlier) -> Entry | None:
    """Return the requested release when these are its data, and refuse what should be it and is not."""
    if data is not None:
        if (same := earlier.same(data)) is not None:
            return same
        if earlier.other(data) is not None:
            return None
    expected = earlier.here_again or (_stated(place, earlier) if is_there else None)
    if expected is None:
        return None
    what = "its files are gone" if not is_there else "its data are gone" if data is None else "its data were changed"
    raise GuaranteeError(
        f"{_called(place, expected)}, and {what}: a second release is made only with your consent", _HINT
    )


def _stated(place: Place, earlier: Earlier) -> Entry | None:
    """Return the requested release when the descriptor states that these are its files."""
    try:
        return earlier.same(stated_hashes(place.file(DESCRIPTOR)).get("data", ""))
    except ReleaseFormatError:
        return None


def _handed_back(place: Place, entry: Entry, output: Output, signer: Signer | None) -> Release:
    """Return a release that is there, after looking at all of its files."""
    before = digests(place)
    _refuse_invalid(place, entry)
    release = load_place(place)
    # somebody may have written while they were looked at: what was looked at is what is handed back, and signed
    if digests(place) != before or sha256(place.file(DATA)) != entry.data_sha256:
        raise GuaranteeError(f"{_called(place, entry)}, and it was changed while it was validated", _HINT)
    told = {"ledger": {"dataset": entry.dataset, "release": entry.number}}
    if output.dry_run:
        return Release(params=release.params, report=release.report, contents={}).as_reused(told)
    is_vouched_for = signer is None or _is_signed_by(signer, place)
    # of what another version wrote validation knows one sentence: it is made again before the owner's key is on it
    anew = not is_vouched_for and release.report["anonkit_version"] != __version__
    if output.copy is not None and output.copy not in place.copies():
        add_copy(place, output.copy, before, signer)
        before, release = digests(place), load_place(place)
    add_entries(place, output.emit, before, signer, anew=anew)
    if signer is not None and not _is_signed_by(signer, place):
        _put_signature(place, signer.sign(before))
    return release.as_reused(told)


def _is_signed_by(signer: Signer, place: Place) -> bool:
    """Return True if a key has signed the very files that are there."""
    return all(check.passed for check in signature_checks(place, signer.key.public_key()))


def _refuse_invalid(place: Place, entry: Entry) -> None:
    try:
        broken = [check.name for check in validate(place).checks if not check.passed]
    except AnonkitError as error:
        raise GuaranteeError(f"{_called(place, entry)}, and cannot be validated: {error.message}", _HINT) from None
    if broken:
        raise GuaranteeError(f"{_called(place, entry)}, and does not validate: {broken[0]} does not hold", _HINT)


def _put_signature(place: Place, content: bytes) -> None:
    if place.store is not None:
        raise ParameterError(
            f"{place.shown(DESCRIPTOR)!r} is a release in a store, and cannot be changed there",
            "a signature is put with a release, not added to it",
        )
    staging = Staging(place.folder, place.stem)
    try:
        (staging.folder / place.name(SIGNATURE)).write_bytes(content)
        staging.commit([place.name(SIGNATURE)])
    except OSError as error:
        raise EngineError(f"cannot write to {str(place.folder)!r}: {reason_of(error)}") from None
    finally:
        staging.discard()


def say_what_is_replaced(output: Output, earlier: Earlier | None, kept: str | None) -> None:
    """Log, before it happens, that a new release is made where one was published before.

    Parameters
    ----------
    kept : str, optional
        What becomes of it in the ledger: it is "charged" or "booked"; None: none is kept.
    """
    place = output.place
    if place is None or not output.force:
        return
    data = place.data_digest()
    same = None if earlier is None else earlier.here_again if data is None else earlier.same(data)
    if same is None and not place.existing():
        return
    what = place.shown(DATA) if same is None else f"{place.shown(DATA)}, release {same.number} of the ledger,"
    spent = "" if same is None or same.epsilon is None else f", epsilon {loss_words(same.epsilon)} once more"
    again = "" if same is None else "; neither the rows nor the settings have changed since"
    happens = "would be" if output.dry_run else "is"
    cost = "" if kept is None else f", which is {kept}"
    LOG.warning("%s %s replaced by a new release%s%s%s.", redacted(what), happens, cost, spent, again)


def _difference(there: object, data: str | None, earlier: Earlier | None) -> str | None:
    """Return the differences of the release that is in the way, in words for the owner; None where it is unknown."""
    if not there or data is None or earlier is None:
        return None
    entry = earlier.other(data)
    return "the ledger does not know it" if entry is None else f"it was {earlier.difference(entry)}"


def _called(place: Place, entry: Entry) -> str:
    return f"{place.shown(DATA)!r} is release {entry.number} of dataset {entry.dataset!r} in the ledger"
