# SPDX-License-Identifier: Apache-2.0
"""A repeated request: the release in its place is looked at before anything is drawn.

When it is this very release, whole and as it was published, it is returned as it is, and no budget is spent.
When it should be and is not, the request is refused: whoever edits a file must not be able to spend the owner's budget.
When it is another release, or cannot be recognised, it is in the way, as it always was.

Files added to a release that exists already: its data, params and report stay untouched.

Entries for catalogues, and copies of the data in other forms.

The log of a release, under the logger `anonkit`: its steps, and the notes of its report.

Privacy
-------
No cell and no figure of the source is logged. The notes are those of the published report. What only the owner gets
of the table goes to the logger `anonkit.owner`, which hands nothing on: it takes a handler of its own to see it.

The steps of a release before it begins, so that progress can say how many there are.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from anonkit import __version__
from anonkit.bundle.atomic import Staging, finish, reason_of, recover
from anonkit.bundle.data_files import digests_of, read_schema, sha256
from anonkit.bundle.exports.opened_targets import write_copy
from anonkit.bundle.json_documents import to_json
from anonkit.bundle.private_files import PrivateFolder
from anonkit.bundle.release_place import COPIES, DATA, DESCRIPTOR, EMITTED, SIGNATURE, Place
from anonkit.bundle.signing import Signer, digests
from anonkit.bundle.stored_release import Release, load_place, stated_hashes
from anonkit.checks.file_integrity import manifest_of, read_descriptor, signature_checks
from anonkit.checks.validation import public_files, validate
from anonkit.errors import AnonkitError, EngineError, GuaranteeError, ParameterError, ReleaseFormatError, option
from anonkit.ledger.booked_releases import Entry
from anonkit.ledger.earlier_releases import Earlier
from anonkit.pipeline.publishing import refuse_different
from anonkit.pipeline.release_space import Output
from anonkit.promises.noise_promises import loss_words
from anonkit.protocols import Method, Progress
from anonkit.redaction import redacted
from anonkit.report.descriptors import with_resources


def add_entries(
    place: Place, words: Collection[str], standing: Mapping[str, str], signer: Signer | None, *, anew: bool = False
) -> None:
    """Write the entries that a release lacks, and name them in its descriptor.

    Parameters
    ----------
    place : Place
        Of a release that was validated.
    words : collection of str
        Any of "croissant" and "registry".
    standing : mapping
        Name of each file that was validated to its SHA-256, as `anonkit.bundle.signing.digests` returns them.
    signer : Signer, optional
        Signs the files anew: an entry changes the descriptor, and a signature is over all files.
    anew : bool
        True: existing entries are made again too.

    Raises
    ------
    ParameterError
        The release is signed, and nobody signs it anew.
    EngineError
        They cannot be written.
    """
    there = {word: place.file(EMITTED[word]).exists() for word in EMITTED}
    missing = [word for word in EMITTED if (anew if there[word] else word in words)]
    if not missing:
        return
    if place.store is not None:
        raise ParameterError(
            f"{place.shown(DESCRIPTOR)!r} lists the files of its release once and for all",
            "entries for catalogues are written with a release in a store, not added to it",
        )
    _refuse_unsigned(place, signer)
    schema = read_schema(place.file(DATA))
    files = public_files(place, schema, load_place(place).report, (manifest_of(schema) or {}).get("license"))
    written = {word: (place.name(EMITTED[word]), files.entry(word)) for word in missing}
    _put(place, written, standing, signer)


def add_copy(place: Place, form: str, standing: Mapping[str, str], signer: Signer | None) -> None:
    """Write the data of a release in another form beside it, and name the copy in its descriptor.

    Parameters
    ----------
    place : Place
        Of a release that was validated.
    form : str
        One of `COPIES`, which the release lacks.
    standing, signer
        As for `add_entries`.

    Raises
    ------
    ParameterError
        The form cannot hold the data, another's file is in the place, or the release is signed, and nobody signs
        it anew.
    EngineError
        It cannot be written.
    GuaranteeError
        What was written is not what the data hold.
    """
    _refuse_unsigned(place, signer)
    name = place.name(COPIES[form])
    with closing(PrivateFolder()) as private:
        made, data = private.path / name, place.file(DATA)
        write_copy(data, made)
        refuse_different(made, data)
        _put(place, {form: (name, made)}, standing, signer)


def _refuse_unsigned(place: Place, signer: Signer | None) -> None:
    """Refuse to add a file to a release that is signed, unless it is signed anew."""
    if signer is None and place.file(SIGNATURE).exists():
        raise ParameterError(
            f"{str(place.file(SIGNATURE))!r} is over all files, and new ones would not be among them",
            f"{option('sign', 'KEY')} signs them anew",
        )


def _put(
    place: Place,
    added: Mapping[str, tuple[str, bytes | Path]],
    standing: Mapping[str, str],
    signer: Signer | None,
) -> None:
    """Put files beside a release by their role, with a descriptor that names them and a signature over all."""
    descriptor = read_descriptor(place)
    staging = Staging(place.folder, place.stem)
    try:
        for name, content in added.values():
            if isinstance(content, Path):
                shutil.copyfile(content, staging.folder / name)
            else:
                (staging.folder / name).write_bytes(content)
        hashes = digests_of({name: staging.folder / name for name, _ in added.values()})
        document = with_resources(
            descriptor,
            {role: (name, hashes[name], (staging.folder / name).stat().st_size) for role, (name, _) in added.items()},
        )
        names = [name for name, _ in added.values()]
        changed = [*([place.name(DESCRIPTOR)]), *names]
        (staging.folder / place.name(DESCRIPTOR)).write_bytes(to_json(document))
        if signer is not None:
            new = {**hashes, place.name(DESCRIPTOR): sha256(staging.folder / place.name(DESCRIPTOR))}
            (staging.folder / place.name(SIGNATURE)).write_bytes(signer.sign({**standing, **new}))
            changed.append(place.name(SIGNATURE))
        staging.commit(changed, guarded=place.guarded())
    except OSError as error:
        raise EngineError(f"cannot write to {str(place.folder)!r}: {reason_of(error)}") from None
    finally:
        staging.discard()


LOG = logging.getLogger("anonkit")
OWNER_LOG = logging.getLogger("anonkit.owner")
for logger in (LOG, OWNER_LOG):
    logger.addHandler(logging.NullHandler())
OWNER_LOG.propagate = False


@dataclass
class StepLog:
    """The log of one release; every line is of level INFO and begins with what is done."""

    what: str
    shown: Progress
    """Called with every step too."""
    _last: str = field(default="", init=False)

    def progress(self, step: str, share: float) -> None:
        """Take the place of `shown`, and log each step when it begins."""
        if step != self._last:
            self._last = step
            self._log(step)
        self.shown(step, share)

    def made(self, release: Release) -> None:
        """Log a release that was made, with the notes that everybody can read in it."""
        if release.is_dry_run:
            self._log("dry run, nothing was written")
            return
        done = "reused" if release.reused else "made"
        self._log(f"{done} in memory" if release.place is None else f"{done} {release.place.shown(DATA)}")
        for note in release.report["notes"]:
            self._log(f"note: {note}")
        for note in (*release.owner.get("reading_notes", ()), *release.owner.get("ledger", {}).get("notes", ())):
            OWNER_LOG.info("%s: note: %s", self.what, note)

    def ended(self, how: str) -> None:
        """Log that there is no release."""
        self._log(how)

    def _log(self, text: str) -> None:
        LOG.info("%s: %s", self.what, text)


@contextmanager
def step_log(what: str, shown: Progress) -> Iterator[StepLog]:
    """Yield the log of a release; an error is logged by its word alone, since whoever catches it has its message.

    Parameters
    ----------
    what : str
        What is done, such as "release by mondrian".
    shown : callable
        Called with every step and the share done.
    """
    log = StepLog(what=what, shown=shown)
    try:
        yield log
    except AnonkitError as error:
        log.ended(f"refused ({error.code})")
        raise
    except BaseException as error:
        log.ended(f"failed ({type(error).__name__})")
        raise


def release_steps(method: Method) -> tuple[str, ...]:
    """Return the names of the steps of a release in their order, empty for a method that does not name its own.

    Large tables and populations take a step more, which comes as it comes.
    """
    own: tuple[str, ...] = getattr(method, "progress_steps", ())
    return ("reading", *own, "checking") if own else ()


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
    booked = {"ledger": {"dataset": entry.dataset, "release": entry.number}}
    if output.dry_run:
        return Release(params=release.params, report=release.report, contents={}).as_reused(booked)
    is_vouched_for = signer is None or _is_signed_by(signer, place)
    # of what another version wrote validation knows one sentence: it is made again before the owner's key is on it
    anew = not is_vouched_for and release.report["anonkit_version"] != __version__
    if output.copy is not None and output.copy not in place.copies():
        add_copy(place, output.copy, before, signer)
        before, release = digests(place), load_place(place)
    add_entries(place, output.emit, before, signer, anew=anew)
    if signer is not None and not _is_signed_by(signer, place):
        _put_signature(place, signer.sign(before))
    return release.as_reused(booked)


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


def log_replacement(output: Output, earlier: Earlier | None, booked_as: str | None) -> None:
    """Log, before it happens, that a new release is made where one was published before.

    Parameters
    ----------
    booked_as : str, optional
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
    cost = "" if booked_as is None else f", which is {booked_as}"
    LOG.warning("%s %s replaced by a new release%s%s%s.", redacted(what), happens, cost, spent, again)


def _difference(there: object, data: str | None, earlier: Earlier | None) -> str | None:
    """Return the differences of the release that is in the way, in words for the owner; None where it is unknown."""
    if not there or data is None or earlier is None:
        return None
    entry = earlier.other(data)
    return "the ledger does not know it" if entry is None else f"it was {earlier.difference(entry)}"


def _called(place: Place, entry: Entry) -> str:
    return f"{place.shown(DATA)!r} is release {entry.number} of dataset {entry.dataset!r} in the ledger"
