# SPDX-License-Identifier: Apache-2.0
"""From a verified draft to the files of a release: written aside, read back, put in place together."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from anonkit import __version__
from anonkit.bundle.atomic import Staging, put_folder, reason_of, recover
from anonkit.bundle.bound_columns import KEY, bound_columns
from anonkit.bundle.bound_columns import labelled_files as labelled_rows
from anonkit.bundle.data_files import (
    HasWorkers,
    data_paths,
    digests_of,
    each_part,
    joint_digest,
    parts_of,
    read_by,
    sha256,
    workers_of,
)
from anonkit.bundle.exports.opened_targets import ReleasedTable, copy_at, write_copy
from anonkit.bundle.json_documents import refuse_unreadable, to_json
from anonkit.bundle.object_store import put_release
from anonkit.bundle.private_files import PrivateFolder
from anonkit.bundle.release_place import (
    COPIES,
    DATA,
    DESCRIPTOR,
    EMITTED,
    FORMAT,
    METADATA_KEY,
    PAGE,
    PARAMS,
    REPORT,
    SIDECARS,
    Place,
    package_name,
)
from anonkit.bundle.signing import Signer, write_signature
from anonkit.bundle.stored_release import Release, load_place
from anonkit.checks.disclosure import Disclosure, measure
from anonkit.checks.exported_rows import export_checks
from anonkit.checks.people import PeopleCounts
from anonkit.checks.table_scans import copied_once
from anonkit.engines.writing.parquet_files import RelabelInto, relabelled
from anonkit.errors import AnonkitError, EngineError, GuaranteeError
from anonkit.k_anonymity.class_means import KEY as MEANS
from anonkit.k_anonymity.class_means import ClassMeans, rules_of_means
from anonkit.k_anonymity.held_out_labels import label_entries
from anonkit.ledger.spending import Position
from anonkit.parameters import stated_parameters
from anonkit.pipeline.derived_columns import shown_as_bounds
from anonkit.pipeline.output_measures import recount
from anonkit.pipeline.release_space import Output
from anonkit.policy.declaration import Policy
from anonkit.promises.guarantee import Check, Guarantee, loss_json
from anonkit.protocols import Draft, Engine, Method, Source
from anonkit.report.blocks import Budget, spent_on
from anonkit.report.descriptors import PublicFiles, build_descriptor
from anonkit.report.document import build_report
from anonkit.report.page import render_page

HANDED_OUT = "it counts as handed out where a ledger is kept, since the store may have shown it"
"""Fact added to a failure of a release that was on its way into a store."""
PARAMS_FORMAT = "anonkit-params/2"
_DESCRIBED = {"params": PARAMS, "report": REPORT, "page": PAGE}
"""Files that the descriptor and the entries for catalogues describe beside the data."""
RISK_THRESHOLD = 0.2
"""Records whose re-identification risk is above this count as at risk (classes below five)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class VerifiedDraft:
    """A verified draft on its way to disk."""

    method: Method
    promise: Guarantee
    policy: Policy
    draft: Draft
    data: Source
    """The perturbed rows, shuffled, without the unit column."""
    spool: Path | None
    """The private Parquet file, or folder, with exactly these rows; None when the unit column is still in it."""
    output: Output
    """Place and form of the files."""
    n_rows: int
    counted: Disclosure | None
    population: Mapping[str, Any] | None
    """Risk of the classes in a population: public; None where no population is stated."""
    recoding: Mapping[str, Any]
    """As for params, with columns that turned out to have one value and are not published; empty without classes."""
    checks: Sequence[Check]
    utility: Mapping[str, Any]
    owner: Mapping[str, Any]
    notes: Sequence[str]
    randomness: str
    ledger: Mapping[str, Any] = field(default_factory=dict)
    """Position of the release among those of its dataset, for everybody to read."""
    preset: str | None = None
    """Named set of choices that the method was made with."""
    source_name: str | None = None
    """Name of the source's file or table; None where it has no name."""
    bounds: Mapping[str, Any] | None = None
    """Bounds in place of labels, by column; None where labels are written."""
    means: ClassMeans | None = None
    """Means of classes beside the bounds; None where none are written."""
    copy: Path | None = None
    """Private file with these rows in the form of the copy beside the Parquet file; None without a copy."""
    cluster: HasWorkers | None = None
    """Engine whose workers see the spool, and read and write the files of the release; None: this machine does."""

    def at(self, position: Position) -> VerifiedDraft:
        """Return the draft with its place among the releases of its dataset."""
        return replace(
            self,
            ledger=position.public,
            owner={**self.owner, **position.owner},
            checks=[*self.checks, *position.checks],
            notes=[*self.notes, *position.notes],
        )

    @property
    def params(self) -> dict[str, Any]:
        """Content of `params.json`."""
        return {
            "format": PARAMS_FORMAT,
            "anonkit_version": __version__,
            "method": self.method.name,
            "preset": self.preset,
            "method_parameters": method_block(self.method)["parameters"],
            "randomness": self.randomness,
            "assumptions": self.promise.to_dict()["assumptions"],
            "treatment": {
                column["name"]: {key: column[key] for key in ("role", "sensitive", "action") if key in column}
                for column in self.draft.columns
            },
            **self.draft.params,
            **({KEY: self.bounds} if self.bounds is not None else {}),
            **({MEANS: rules_of_means()} if self.means is not None else {}),
            **({} if self.people is None else {"people": self.people.to_params()}),
            **({} if self._target_width is None else {"target_width": self._target_width}),
        }

    @property
    def _target_width(self) -> float | None:
        """Numbers of the target up to this apart are alike to whoever knows one; None where only equal values are."""
        return None if self.counted is None or self.counted.clear is None else self.counted.clear.width

    @property
    def people(self) -> PeopleCounts | None:
        """The people of every class, where people are counted: published, since nobody can recount them."""
        return None if self.counted is None else self.counted.counts

    def _disclosure_risk(self) -> dict[str, Any]:
        """Return the block of risks: as counted on the release, and in a population where that was requested."""
        if self.counted is None:
            return {}
        beside = {} if self.population is None else {"population": dict(self.population)}
        return {**self.counted.to_dict(RISK_THRESHOLD), **beside}

    def _columns(self) -> list[dict[str, Any]]:
        """Return the treatment of each column; those whose domain was read from the table are marked."""
        read = self.promise.to_dict()["parameters"].get("domains_from_data", ())
        return [
            {**column, **({"domain_from_data": True} if column["name"] in read else {})}
            for column in self.draft.columns
        ]

    def report(self) -> dict[str, Any]:
        """Return the document of `report.json`."""
        return self._report

    @cached_property
    def _report(self) -> dict[str, Any]:
        """The report, made once: it has the time."""
        return build_report(
            version=__version__,
            method=method_block(self.method, self.preset),
            promise=self.promise,
            columns=self._columns(),
            rows={**self.draft.rows, "out": self.n_rows},
            checks=self.checks,
            randomness=self.randomness,
            disclosure_risk=self._disclosure_risk(),
            details={
                **self.draft.blocks,
                "utility": {**self.draft.details.get("utility", {}), **self.utility},
                **({"ledger": self.ledger} if self.ledger else {}),
            },
            dataset=self.policy.dataset,
            source_name=self.source_name,
            recipients=self.policy.publication.recipients,
            domains_declared_by=self.policy.declared_by,
            notes=self.notes,
        )


def method_block(method: Method, preset: str | None = None) -> dict[str, Any]:
    """Return the `method` block of the report: what made the release, with every parameter."""
    return {
        "name": method.name,
        "preset": preset,
        "parameters": stated_parameters(method),
        "paper": method.paper,
        "summary": method.summary,
    }


def planned_release(
    method: Method, preset: str | None, promise: Guarantee, policy: Policy, position: Position, randomness: str
) -> Release:
    """Return a dry run for which nothing was drawn: its report has the claim and its cost, and no figure of any table.

    Parameters
    ----------
    method, preset, promise, policy
        The request, and its promise.
    position : Position
        Position of the release among those of its dataset.
    randomness : str
        The label of its randomness.
    """
    loss = promise.loss()
    budget: Budget = {} if loss is None else spent_on((), loss_json(loss.epsilon), loss.delta)
    report = build_report(
        version=__version__,
        method=method_block(method, preset),
        promise=promise,
        columns=(),
        rows={},
        checks=(),
        randomness=randomness,
        disclosure_risk={},
        details={"budget": budget, **({"ledger": position.public} if position.public else {})},
        dataset=policy.dataset,
        recipients=policy.publication.recipients,
        domains_declared_by=policy.declared_by,
        notes=position.notes,
    )
    return Release(params={}, report=report, contents={}).with_owner(position.owner)


def with_copy(work: VerifiedDraft, engine: Engine, private: Path) -> VerifiedDraft:
    """Return a draft with the copy of its rows in another form, where one is requested.

    It is written before the release is booked: whether a form can hold the rows follows from them, and a refusal that
    follows from noise is charged like a release.

    Parameters
    ----------
    engine : Engine
        Reads the draft.
    private : Path
        Private folder that the copy is written into, and that the engine's workers see.

    Raises
    ------
    ParameterError
        The form cannot hold a cell, or as many rows.
    EngineError
        It cannot be written.
    MissingDependencyError
        The part that writes this form is not installed.
    """
    output = work.output
    if output.place is None or output.copy is None:
        return work
    shown = shown_as_bounds(work.data, work.params, engine, work.means)
    rows = work.spool
    if rows is None or shown is not work.data:
        rows = private / f"shown{DATA}"
        output.write(engine, shown, rows)
    copy = private / f"copy{COPIES[output.copy]}"
    write_copy(rows, copy)
    return replace(work, copy=copy)


@dataclass(frozen=True, kw_only=True, eq=False)
class StagedRelease:
    """The staging folder of a release's files."""

    target: Place
    """Final place of the files: the place of the release, or a private one on the way into memory or a store."""
    staging: Staging


@contextmanager
def prepared(place: Place | None) -> Iterator[StagedRelease]:
    """Make the folder in which the files of a release will be prepared, and delete it in the end.

    Raises
    ------
    EngineError
        It cannot be made.
    """
    with closing(PrivateFolder()) as scratch:
        # files on their way into memory or into a store are made in private
        target = place if place is not None and place.store is None else _private(scratch, place)
        staging = Staging(target.folder, target.stem, private=target is not place, clears=False)
        try:
            yield StagedRelease(target=target, staging=staging)
        finally:
            staging.discard()


def publish(
    work: VerifiedDraft,
    engine: Engine,
    publishing: Callable[[str], None],
    into: StagedRelease,
    signer: Signer | None = None,
) -> Release:
    """Write all files together, after the data file has been read back and counted again.

    Parameters
    ----------
    publishing : callable
        Given the data file's SHA-256 right before the first file is put in place.
    into : Prepared
        What dead processes left there is deleted: the ledger has looked at it.
    signer : Signer, optional
        Signs all files. Without it a signature in the place, of the release that is replaced, goes.
    """
    place, target, staging = work.output.place, into.target, into.staging
    try:
        if target is place:
            recover(target.folder, target.stem)
        digests = _write_files(work, target, staging.folder, engine)
        if place is None:
            contents = {s: (staging.folder / target.name(s)).read_bytes() for s in (DATA, *SIDECARS)}
            made = Release(params=work.params, report=json.loads(contents[REPORT]), contents=contents)
            return made.with_owner(work.owner)
        if signer is not None:
            write_signature(Place(folder=staging.folder, stem=target.stem), signer, digests)
        publishing(_digest_of_all(digests, target))
        if place.store is not None:
            with read_by(workers_of(work.cluster)), _handed_out():
                put_release(place.store, staging.folder)
        else:
            there = Place(folder=staging.folder, stem=target.stem)
            # copies last: what somebody puts in their way meanwhile keeps nothing else from its place
            suffixes = (*SIDECARS, *there.of_choice(), DATA, *there.of_copies())
            names, absent = [place.name(suffix) for suffix in suffixes], place.absent(suffixes)
            staging.commit(names, absent=absent, digests=digests, guarded=place.guarded())
    except OSError as error:
        raise EngineError(f"cannot write to {str(target.folder)!r}: {reason_of(error)}") from None
    finally:
        staging.discard()  # before the ledger settles what failed: it checks whether prepared files exist
    return load_place(place).with_owner(work.owner)


def _private(scratch: PrivateFolder, place: Place | None) -> Place:
    return Place(folder=scratch.path, stem="release" if place is None else place.stem)


@contextmanager
def _handed_out() -> Iterator[None]:
    """Add to a failure the fact that what was put into a store is charged: a reader there may have seen it."""
    try:
        yield
    except AnonkitError as error:
        raise error.with_fact(HANDED_OUT) from None


def _write_files(work: VerifiedDraft, place: Place, folder: Path, engine: Engine) -> dict[str, str]:
    """Write all files of a release; return the SHA-256 of each file of its data, by its name seen from the folder."""
    report = work.report()
    written = shown_as_bounds(work.data, work.params, engine, work.means)
    name = None if work.output.place is None else place.stem  # a release in memory has no name yet
    files = {PARAMS: to_json(work.params), REPORT: to_json(report), PAGE: render_page(report, name=name).encode()}
    for suffix, content in files.items():
        refuse_unreadable(place.name(suffix), content)
        (folder / place.name(suffix)).write_bytes(content)
    manifest = {
        "format": FORMAT,
        "method": work.method.name,
        "randomness": work.randomness,
        **({"conditions": work.draft.params["conditions"]} if "conditions" in work.draft.params else {}),
        **({"license": work.policy.license} if work.policy.license else {}),
        "sidecars": {suffix.lstrip("."): sha256(content) for suffix, content in files.items()},
    }
    made_in = folder if work.cluster is None else work.cluster.shared_folder()
    data = made_in / place.name(DATA)
    with read_by(workers_of(work.cluster)):
        n_rows, digests = _write_data(work, written, data, {METADATA_KEY: json.dumps(manifest)}, engine)
        _read_back(work, data, n_rows)
    if made_in != folder and work.output.place is not None and work.output.place.store is not None:
        (folder / data.name).symlink_to(data)  # put into the store by the workers from where they see it
        data = folder / data.name
    elif made_in != folder:
        of_parts = {Path(name).name: digest for name, digest in digests.items()}
        put_folder(data, folder / data.name, of_parts)
        data = folder / data.name
    hashes = {suffix: sha256(content) for suffix, content in files.items()}
    hashes[DATA] = _digest_of_all(digests, place)
    public = PublicFiles(
        name=package_name(place.stem),
        schema=written.schema,
        data=digests,
        folder=data.name if data.is_dir() else None,
        sidecars={role: (place.name(suffix), hashes[suffix]) for role, suffix in _DESCRIBED.items()},
        report=json.loads(files[REPORT]),
        license_name=work.policy.license,
    )
    for word in work.output.emit:
        content = public.entry(word)
        (folder / place.name(EMITTED[word])).write_bytes(content)
        hashes[EMITTED[word]] = sha256(content)
    if work.copy is not None and work.output.copy is not None:
        suffix = COPIES[work.output.copy]
        shutil.copyfile(work.copy, folder / place.name(suffix))
        refuse_different(folder / place.name(suffix), data)
        hashes[suffix] = sha256(folder / place.name(suffix))
    listed = {**digests, **{place.name(suffix): digest for suffix, digest in hashes.items() if suffix != DATA}}
    descriptor = build_descriptor(
        name=package_name(place.stem),
        schema=written.schema,
        files={
            role: (place.name(suffix), hashes[suffix])
            for role, suffix in {"data": DATA, **_DESCRIBED, **EMITTED, **COPIES}.items()
            if suffix in hashes
        },
        data_paths=data_paths(data),
        listed={name: ((folder / name).stat().st_size, digest) for name, digest in listed.items()},
        report=report,
        labels=label_entries(work.params),
        bounds=work.params.get(KEY, {}),
        license_name=work.policy.license,
    )
    (folder / place.name(DESCRIPTOR)).write_bytes(to_json(descriptor))
    return digests


def refuse_different(copy: Path, data: Path) -> None:
    """Read a copy back: it must hold what the data hold.

    Raises
    ------
    GuaranteeError
        It holds anything else.
    """
    with closing(copy_at(copy)) as form:
        broken = [check.name for check in export_checks(form, ReleasedTable(data=data)) if not check.passed]
    if broken:
        what = copy.suffix.lstrip(".")
        raise GuaranteeError(
            f"the {what} copy does not hold the release: {broken[0]}", "nothing was written; check the disk"
        )


def _write_data(
    work: VerifiedDraft, written: Source, data: Path, metadata: Mapping[str, str], engine: Engine
) -> tuple[int, dict[str, str]]:
    """Write the data; return the number of rows, and the SHA-256 of each file by its name seen from beside the data."""
    if work.spool is not None and written is work.data and work.spool.is_dir():
        data.mkdir()
        parts = parts_of(work.spool)
        found = each_part(RelabelInto(folder=data.absolute(), metadata=metadata), parts)
        digests = {f"{data.name}/{part.name}": digest for part, (_, digest) in zip(parts, found, strict=True)}
        return sum(n_rows for n_rows, _ in found), digests
    if work.spool is None or written is not work.data:
        n_rows = work.output.write(engine, written, data, metadata=metadata)
    else:
        n_rows = relabelled(work.spool, data, metadata)
    return n_rows, digests_of({part.relative_to(data.parent).as_posix(): part for part in parts_of(data)})


def _digest_of_all(digests: Mapping[str, str], place: Place) -> str:
    """Return the SHA-256 of the data from those of their files; see `anonkit.bundle.data_files.digest`."""
    name = place.name(DATA)
    return (
        digests[name]
        if name in digests
        else joint_digest({part.removeprefix(f"{name}/"): digest for part, digest in digests.items()})
    )


def _read_back(work: VerifiedDraft, data: Path, n_rows: int) -> None:
    """Count the written file: it must be as the report states, as labels and unchanged."""
    classes, columns = work.promise.counted_classes, bound_columns(work.params)
    with copied_once(), labelled_rows(data, columns) as (labels, strange):
        again = (
            None
            if classes is None
            else recount(classes, labels, work.data.schema, work.policy, work.draft, people=work.people)
        )
        same = again == work.counted and (again is None or all(check.passed for check in again.checks))
        same = same and not any(strange.values())
        if columns and again is not None and classes is not None:
            ends = {column.name: (column.low, column.high) for column in columns}
            shown = [name for name in classes.quasi_identifiers if name in work.data.schema.names]
            names = [end for name in shown for end in ends.get(name, (name,))]
            same = same and measure(data, names).class_sizes == again.class_sizes
    if not same or n_rows != work.n_rows:
        raise GuaranteeError(
            "the written file does not hold what was counted before writing", "nothing was written; check the disk"
        )
