# SPDX-License-Identifier: Apache-2.0
"""Files added to a release that exists already: its data, params and report stay untouched.

Entries for catalogues, and copies of the data in other forms.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from contextlib import closing
from pathlib import Path

from anonkit.bundle.atomic import Staging, reason_of
from anonkit.bundle.data_files import digests_of, read_schema, sha256
from anonkit.bundle.exports.opened_targets import write_copy
from anonkit.bundle.json_documents import to_json
from anonkit.bundle.private_files import PrivateFolder
from anonkit.bundle.release_names import COPIES, DATA, DESCRIPTOR, EMITTED, SIGNATURE
from anonkit.bundle.release_place import Place
from anonkit.bundle.signing import Signer
from anonkit.bundle.stored_release import load_place
from anonkit.checks.catalogued import public_files
from anonkit.checks.written_files import manifest_of, read_descriptor
from anonkit.errors import EngineError, ParameterError, option
from anonkit.pipeline.publishing import refuse_different
from anonkit.report.descriptor import with_resources


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
