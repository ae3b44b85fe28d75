# SPDX-License-Identifier: Apache-2.0
"""Entries for catalogues of a release that stands there already: its data, params and report stay untouched."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from anonkit.bundle.atomic import Staging, reason_of
from anonkit.bundle.data_files import read_schema, sha256
from anonkit.bundle.json_documents import to_json
from anonkit.bundle.release_names import DATA, DESCRIPTOR, EMITTED, SIGNATURE
from anonkit.bundle.release_place import Place
from anonkit.bundle.signing import Signer
from anonkit.bundle.stored_release import load_place
from anonkit.checks.catalogued import public_files
from anonkit.checks.written_files import manifest_of, read_descriptor
from anonkit.errors import EngineError, ParameterError, option
from anonkit.report.descriptor import entry_resource


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
        True: entries that stand there are made again too.

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
    if signer is None and place.file(SIGNATURE).exists():
        raise ParameterError(
            f"{str(place.file(SIGNATURE))!r} is over all files, and new entries would not be among them",
            f"{option('sign', 'KEY')} signs them anew",
        )
    schema = read_schema(place.file(DATA))
    files = public_files(place, schema, load_place(place).report, (manifest_of(schema) or {}).get("license"))
    written = {place.name(EMITTED[word]): files.entry(word) for word in missing}
    descriptor = read_descriptor(place)
    resources = {resource["name"]: resource for resource in descriptor["resources"]}
    for word in missing:
        name = place.name(EMITTED[word])
        resources[word] = entry_resource(word, (name, sha256(written[name])), len(written[name]))
    order = [*(name for name in resources if name not in EMITTED), *(word for word in EMITTED if word in resources)]
    written[place.name(DESCRIPTOR)] = to_json({**descriptor, "resources": [resources[name] for name in order]})
    if signer is not None:
        changed = {name: sha256(content) for name, content in written.items()}
        written[place.name(SIGNATURE)] = signer.sign({**standing, **changed})
    _put(place, written)


def _put(place: Place, written: dict[str, bytes]) -> None:
    staging = Staging(place.folder, place.stem)
    try:
        for name, content in written.items():
            (staging.folder / name).write_bytes(content)
        staging.commit(list(written))
    except OSError as error:
        raise EngineError(f"cannot write to {str(place.folder)!r}: {reason_of(error)}") from None
    finally:
        staging.discard()
