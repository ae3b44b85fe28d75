"""A receiver's cost of a release is in proportion to its size in bytes, for any content of its documents.

Every number and every length of every document is changed, all hashes made anew, and the release is looked at by a
process that may take one gigabyte more than it has: it ends with a verdict or a refusal, in seconds.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checks.forgeries import Files, Path_
from checks.leaf_mutants import Mutant
from checks.small_releases import FAMILIES, made

import anonkit
from anonkit.bundle.json_documents import LARGEST_FILES, MOST_CELLS, STATED_SIZES, parse_json, read_capped, read_json
from anonkit.bundle.release_place import DATA, NAMED
from anonkit.checks.validation import validate
from anonkit.cli import anonkit as commands
from anonkit.cli.boundary import run
from anonkit.errors import AnonkitError, ReleaseFormatError
from anonkit.methods import METHODS, example_of, make_method, method_class, method_parameters

MEMORY = 1 << 30
"""Bytes that looking at a forged release may take, beyond what the process has when it begins."""
SECONDS = 20
NUMBERS = (0, -1, 1, 2, 255, 2**20 + 1, 2**31, 4 * 10**8, 10**18, 10**40, -(10**18), 0.5, -0.5, 1e-308, 1e308, 1e18)
FEW = 12
LONG = 100_000


def _places(document: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    yield path, document
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in inner:
        yield from _places(value, (*path, key))


def _mutants(files: Files) -> dict[tuple[str, str], list[Mutant]]:
    """Return every change of a number or a length, by the place and the change; positions in lists are one place."""
    found: dict[tuple[str, str], list[Mutant]] = defaultdict(list)
    for document in ("params", "report", "descriptor", "manifest"):
        for path, value in _places(getattr(files, document)):
            for change, to in _changes(value) if path else ():
                mutant = Mutant(document=document, path=path, change=change, to=to)
                found[mutant.place, change].append(mutant)
    return found


def _changes(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield from ((f"{number}", number) for number in NUMBERS if number != value)
    elif isinstance(value, str):
        yield "long", value + "x" * LONG
    elif isinstance(value, list):
        yield "none", []
        yield "long", (value or [0]) * (LONG // max(len(value), 1))
    elif isinstance(value, dict):
        yield "wide", {**value, **{f"key {at}": 1 for at in range(LONG)}}


# --- looked at by a process with a limit ----------------------------------------------------------------------------


def _looked_at(data: Path, *, commands_too: bool) -> str:
    """Do what a receiver does, and return how it ended."""
    said = []
    for look in (validate, _read_as_a_receiver, _report, *((_reconstruct, _apply) if commands_too else ())):
        try:
            look(data)
            said.append("looked at")
        except AnonkitError as error:
            said.append(f"refused ({error.code})")
        except MemoryError:
            return f"{getattr(look, '__name__', 'report')}: out of memory"
        except Exception as error:
            return f"{getattr(look, '__name__', 'report')}: {type(error).__name__} at {_place_of(error)}"
    return ", ".join(said)


def _report(data: Path) -> None:
    _asked("report", data, "--json")


def _reconstruct(data: Path) -> None:
    _asked("reconstruct", data, "--json")


def _apply(data: Path) -> None:
    """Recode a batch as the forged params say."""
    batch = data.with_name("batch.csv")
    batch.write_text(
        "who,age,sex,ward,ill\n" + "".join(f"p{at},{at % 80},{'fm'[at % 2]},east,no\n" for at in range(40))
    )
    _asked("apply", data.with_name("out.params.json"), batch, data.with_name("new.parquet"), "--dry-run", "--json")


def _asked(*words: object) -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        run(commands, [str(word) for word in words], "anonkit")
    if '"INTERNAL"' in said.getvalue():
        raise RuntimeError(said.getvalue()[-300:])


def _place_of(error: BaseException) -> str:
    trace, place = error.__traceback__, ""
    while trace is not None:
        name = str(trace.tb_frame.f_globals.get("__name__", ""))
        if name.startswith("anonkit"):
            place = f"{name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _read_as_a_receiver(data: Path) -> None:
    from anonkit.consumers.learned_models import learned_from

    release = anonkit.load(data)
    table = release.to_arrow()
    repr(release)
    release.to_dict()
    learned_from(release.params, table)


def _in_child(work: Callable[[], str]) -> tuple[str, float, int]:
    """Return what some work says, how long it took, and how much memory, in a process that may take so much."""
    begun, (receiving, sending) = time.monotonic(), multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            receiving.close()
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, 1)
            os.dup2(devnull, 2)
            before = _virtual_memory()
            # what libraries reserve for threads and never touch counts here too: the peak measures what is touched
            resource.setrlimit(resource.RLIMIT_AS, (before + 4 * MEMORY, before + 4 * MEMORY))
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            said = work()
            sending.send((said, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak))
            code = 0
        except BaseException as error:
            sending.send((f"{type(error).__name__}", 0))
        finally:
            os._exit(code)
    sending.close()
    try:
        said, kilobytes = receiving.recv()
    except EOFError:
        said, kilobytes = "killed", 0
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        said = f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return said, time.monotonic() - begun, kilobytes


def _virtual_memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _is_fine(said: str) -> bool:
    return (
        all(part == "looked at" or part.startswith("refused (") for part in said.split(", ")) and "INTERNAL" not in said
    )


def _fuzzed(family: str, folder: Path, most: int | None, seed: int = 1) -> list[tuple[str, str, str, float]]:
    """Return what went wrong: place, change, what was said, seconds."""
    original = made(family, folder)
    # what is imported, and worked out once, is no part of what a forgery costs
    _looked_at(folder / "out.parquet", commands_too=most != FEW)
    groups, drawn = _mutants(original), random.Random(seed)
    chosen = [drawn.choice(group) for group in groups.values()]
    if most is not None:
        chosen = drawn.sample(chosen, min(most, len(chosen)))
    wrong, worst, largest = [], 0.0, 0
    for at, mutant in enumerate(chosen):
        place = folder / f"forged-{at}"
        place.mkdir()

        def work(mutant: Mutant = mutant, place: Path = place) -> str:
            files = original.copy()
            if mutant.document != "descriptor":
                mutant.edit(files)
            try:
                data = files.write(place)
            except (OSError, TypeError, KeyError, AttributeError):  # no forger can write it either
                return "looked at"
            if mutant.document == "descriptor":  # nothing has its hash: it is changed last
                descriptor = json.loads((place / "out.datapackage.json").read_text())
                mutant.change_in(descriptor)
                (place / "out.datapackage.json").write_text(json.dumps(descriptor))
            return _looked_at(data, commands_too=most != FEW)

        said, seconds, kilobytes = _in_child(work)
        worst, largest = max(worst, seconds), max(largest, kilobytes)
        if kilobytes > MEMORY >> 10:
            said = f"{kilobytes >> 10} MB, {said}"
        if not _is_fine(said):
            wrong.append((mutant.place, mutant.change, said, round(seconds, 1)))
        shutil.rmtree(place)
    print(f"{family}: {len(chosen)} of {len(groups)} places and changes, worst {worst:.1f} s, {largest / 1024:.0f} MB")
    return wrong


needs_limits = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")


@pytest.mark.slow
@needs_limits
@pytest.mark.parametrize("family", ["k-anonymous", "forest"])
def test_a_few_numbers_and_lengths(family: str, tmp_path: Path) -> None:
    """Drawn places of two families."""
    assert _fuzzed(family, tmp_path, FEW) == []


@needs_limits
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_number_and_every_length(family: str, tmp_path: Path) -> None:
    """Each place of each document, with every change of it."""
    assert _fuzzed(family, tmp_path, int(os.environ.get("ANONKIT_FUZZED", "1500"))) == []


SIDE_FILES: dict[str, tuple[str, str]] = {
    "matrix of a long row": ("m.csv", "1" + ",0" * LONG + "\n"),
    "matrix of many rows": ("m.csv", ".5,.5\n" * (LONG // 10)),
    "matrix of one number": ("m.csv", "1" + "0" * LONG + ",0\n0,1\n"),
    "matrix beyond doubles": ("m.csv", "1e308,1e308\n0,1\n"),
    "matrix in TOML": ("m.toml", "matrix = [" + "[.5, .5]," * LONG + "]\n"),
    "tree of many levels": ("t.csv", "no" + ",all" * (LONG // 10) + "\nyes" + ",all" * (LONG // 10) + "\n"),
    "tree of many values": ("t.csv", "no,all\nyes,all\n" + "".join(f"v{at},all\n" for at in range(LONG // 10))),
}


@pytest.mark.slow_cases("tree of many levels", "tree of many values")
@needs_limits
@pytest.mark.parametrize("what", SIDE_FILES)
def test_what_a_policy_names_is_read_within_limits(what: str, tmp_path: Path) -> None:
    """Matrices and trees that a file holds: a long row, many rows, a number of many digits."""
    name, text = SIDE_FILES[what]
    (tmp_path / name).write_text(text)
    key = "tree" if name[0] == "t" else "response_matrix"
    (tmp_path / "p.toml").write_text(
        f'[columns]\na = {{ role = "quasi_identifier", categories = ["no", "yes"], {key} = "{name}" }}\n'
        'y = { role = "target", categories = ["no", "yes"] }\n'
    )
    (tmp_path / "in.csv").write_text("a,y\n" + "no,yes\nyes,no\n" * 20)
    given = ["--policy", tmp_path / "p.toml", "--no-ledger", "--json", tmp_path / "in.csv", tmp_path / "out.parquet"]
    method = ["--method", "mondrian", "--k", "2"] if key == "tree" else ["--method", "rr", "--epsilon", "1"]

    def work() -> str:
        _asked("release", *method, *given)
        return "looked at"

    said, _, kilobytes = _in_child(work)
    assert _is_fine(said)
    assert kilobytes <= MEMORY >> 10


@pytest.mark.parametrize("dropped", [False, True])
def test_a_column_that_a_report_lists_twice_is_refused_before_it_is_looked_at(dropped: bool, tmp_path: Path) -> None:
    """Hundreds of them were looked at one after another, 10 ms each."""
    files = made("k-anonymous", tmp_path)
    columns = files.report["columns"]
    again = [one for one in columns if (one["action"] == "dropped") is dropped]
    files.report["columns"] = columns + again * 400
    (tmp_path / "forged").mkdir()
    data, begun = files.write(tmp_path / "forged"), time.process_time()
    found = validate(data)
    assert "columns" in [check.name for check in found.checks if not check.passed]
    assert time.process_time() - begun < 2


def test_bounds_of_a_forger_are_no_arithmetic_error(tmp_path: Path) -> None:
    """Bounds a hair apart: every place between them is infinite, and outside."""
    files = made("forest", tmp_path)
    for column in files.params["columns"]:
        if "bounds" in column["domain"]:
            column["domain"]["bounds"] = [0, 1e-308]
    (tmp_path / "forged").mkdir()
    with contextlib.suppress(AnonkitError):
        assert not validate(files.write(tmp_path / "forged")).passed


# --- kinds and sizes of files, before anything is read ---------------------------------------------------------------


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A small release under local differential privacy."""
    made("local", tmp_path)
    return tmp_path / "out.parquet"


LOOKS: dict[str, Callable[[Path], object]] = {
    "validate": validate,
    "load": anonkit.load,
    "export": lambda path: anonkit.export(path, path.with_suffix(".csv")),
    "report": lambda path: _command("report", path),
}


def _command(*words: object) -> None:
    if run(commands, [str(word) for word in words], "anonkit") == 3:
        raise ReleaseFormatError("exit code 3")


@pytest.mark.quick_cases(
    "pipe-*-validate", "device-*-load", "huge-*-export", "link to a device-.params.json-*", "*-.report.json-report"
)
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("suffix", NAMED)
@pytest.mark.parametrize("what", ["pipe", "device", "link to a device", "huge"])
def test_what_is_no_file_of_a_release_is_not_opened(release: Path, look: str, suffix: str, what: str) -> None:
    """A pipe would be waited for, a device never ends, a sparse file costs its sender nothing."""
    path = release.with_name(f"out{suffix}")
    if what == "huge" and suffix == DATA:
        return  # a table has no limit
    path.unlink(missing_ok=True)
    if what == "pipe":
        os.mkfifo(path)
    elif what == "huge":
        with path.open("wb") as file:
            file.truncate(LARGEST_FILES[suffix] + 1)
    else:
        path.symlink_to("/dev/zero" if what == "device" else release.with_name("link"))
        release.with_name("link").symlink_to("/dev/zero")
    with pytest.raises((ReleaseFormatError, anonkit.errors.GuaranteeError)):
        LOOKS[look](release)


def test_a_part_of_a_folder_is_looked_at_too(tmp_path: Path) -> None:
    """A pipe among the parts of a table in a folder."""
    folder = tmp_path / "out.parquet"
    folder.mkdir()
    pq.write_table(pa.table({"a": [1]}), folder / "part-00000.parquet")
    os.mkfifo(folder / "part-00001.parquet")
    for suffix in (".params.json", ".report.json", ".report.html", ".datapackage.json"):
        (tmp_path / f"out{suffix}").write_text("{}")
    with pytest.raises(ReleaseFormatError, match="not a regular file"):
        validate(folder)


def test_a_link_to_a_regular_file_is_followed(release: Path) -> None:
    """Tools that keep data apart put links in its place."""
    kept = release.with_name("kept")
    release.rename(kept)
    release.symlink_to(kept)
    assert validate(release).passed


@pytest.mark.parametrize("key", STATED_SIZES)
def test_no_size_is_believed(tmp_path: Path, key: str) -> None:
    """A document of a few bytes that states a number of cells makes no array of them."""
    path = tmp_path / "out.params.json"
    document = {"format": "anonkit-params/2", "domain": {key: STATED_SIZES[key]}}
    path.write_text(json.dumps(document))
    read_json(path)
    path.write_text(json.dumps(document).replace(str(STATED_SIZES[key]), str(STATED_SIZES[key] + 1)))
    with pytest.raises(ReleaseFormatError, match=f"states {key} beyond"):
        read_json(path)


@pytest.mark.parametrize("suffix", LARGEST_FILES)
def test_a_document_beyond_its_size_is_not_parsed(suffix: str, tmp_path: Path) -> None:
    """A hundred thousand files of a descriptor took 24 s of processor time: it is refused by its size."""
    path, largest = tmp_path / f"out{suffix}", LARGEST_FILES[suffix]
    with path.open("wb") as file:
        file.truncate(largest + 1)
    with pytest.raises(ReleaseFormatError, match=f"such a file has at most {largest:,}"):
        read_capped(path)


def test_a_descriptor_of_very_many_files_is_refused_by_its_size(release: Path) -> None:
    """The descriptor is parsed several times by anyone who opens a release."""
    descriptor = release.with_suffix(".datapackage.json")
    document = json.loads(descriptor.read_text())
    document["resources"] *= (17 << 20) // len(json.dumps(document["resources"]))
    descriptor.write_text(json.dumps(document))
    with pytest.raises(ReleaseFormatError, match="such a file has at most"):
        anonkit.load(release)


def test_more_values_than_memory_are_counted_before_they_are_made() -> None:
    """Sixty million empty lists are 180 MB of text and gigabytes of lists."""
    with pytest.raises(ReleaseFormatError, match="more values"):
        parse_json(b"[" + b"[]," * 60_000_000 + b"[]]", "it")


def test_no_parameter_makes_a_release_that_readers_refuse() -> None:
    """A number of bins beyond the table of sizes is refused when the method is made: nothing is drawn for it."""
    asked = 0
    for name in METHODS:
        named = {one.name for one in method_parameters(name)}
        if "bins" in named and "k" not in named:  # bins of classes are cuts between values: there is no grid
            with pytest.raises(AnonkitError, match=r"bins \(\d+\) must be"):
                make_method(name, {**example_of(method_class(name)), "bins": MOST_CELLS + 1})
            asked += 1
    assert asked > 5


def test_a_document_that_readers_refuse_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size is looked at before anything is put in place."""
    monkeypatch.setattr("anonkit.bundle.json_documents.MOST_PARSED", 1000)
    with pytest.raises(anonkit.errors.EngineError, match="more than readers take"):
        made("local", tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_unsigned_forgery_is_called_unsigned(release: Path, tmp_path: Path) -> None:
    """The signature decides before anything else is parsed: exit code 1, not 3 for what does not fit into memory."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = tmp_path / "owner.pub"
    public = Ed25519PrivateKey.generate().public_key()
    key.write_bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    release.with_name("out.params.json").write_text("[" * 10**6)
    release.with_name("out.datapackage.json").write_text("no JSON")
    found = validate(release, signed_by=key)
    assert [(check.name, check.observed) for check in found.checks] == [
        ("signature", "absent"),
        ("signed_files", "no list of files"),
    ]
    assert run(commands, ["validate", str(release), "--signed-by", str(key)], "anonkit") == 1


def test_a_workbook_is_looked_at_before_it_is_unpacked(tmp_path: Path) -> None:
    """A megabyte of zeros packed a thousandfold, as a source and as the export of a release."""
    from zipfile import ZIP_DEFLATED, ZipFile

    from anonkit.pipeline.exporting import validate_export

    made("local", tmp_path)
    book = tmp_path / "out.xlsx"
    anonkit.export(tmp_path / "out.parquet", book)
    with ZipFile(book) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name in ("xl/sharedStrings.xml", "xl/worksheets/sheet1.xml"):
        with ZipFile(book, "w", ZIP_DEFLATED) as archive:
            for member, content in {**members, name: members.get(name, b"") + b" " * (300 << 20)}.items():
                archive.writestr(member, content)
        with pytest.raises(AnonkitError, match="unpacks from"):
            anonkit.release(book, method="mondrian", k=2, output=tmp_path / "x.parquet", ledger=None)
        assert not validate_export(book, tmp_path / "out.parquet").passed


def test_a_cell_beyond_the_columns_of_a_sheet_is_damage(tmp_path: Path) -> None:
    """ZZZZZZ1 is a name of ten letters, and 300 million columns."""
    from zipfile import ZipFile

    from anonkit.pipeline.exporting import validate_export

    made("local", tmp_path)
    book = tmp_path / "out.xlsx"
    anonkit.export(tmp_path / "out.parquet", book)
    with ZipFile(book) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["xl/worksheets/sheet1.xml"] = members["xl/worksheets/sheet1.xml"].replace(b'r="A1"', b'r="ZZZZZZ1"', 1)
    with ZipFile(book, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    assert "exported_file" in [
        check.name for check in validate_export(book, tmp_path / "out.parquet").checks if not check.passed
    ]


@pytest.mark.parametrize(
    ("family", "edit", "look"),
    [
        ("k-anonymous", lambda files: _first_split(files.params).update(children=[10**40, 2]), _apply),
        ("k-anonymous", lambda files: _first_split(files.params).update(children=[1e308, 2]), _apply),
        ("safepub", lambda files: files.report["guarantee"]["parameters"].update(rows_per_unit=0), _report),
        ("k-anonymous", lambda files: _bounds(files.params, []), _apply),
        ("k-anonymous", lambda files: _bounds(files.params, [1e308, 10**400]), _apply),
    ],
    ids=[
        "a child beyond 64 bits",
        "a child beyond all numbers",
        "no row a person",
        "no bounds",
        "a bound beyond all numbers",
    ],
)
def test_a_forged_number_is_damage_and_no_internal_error(
    family: str, edit: Callable[[Any], Any], look: Callable[[Path], None], tmp_path: Path
) -> None:
    """Places found by the slow test over all places; `_asked` raises where a command ends in an internal error."""
    files = made(family, tmp_path)
    edit(files)
    (tmp_path / "forged").mkdir()
    look(files.write(tmp_path / "forged"))


def _bounds(params: Any, bounds: list[float]) -> None:
    domains = [column.get("domain", {}) for column in params["columns"]]
    declared = [domain for domain in domains if domain.get("bounds") is not None]
    assert declared
    for domain in declared:
        domain["bounds"] = bounds


@pytest.mark.parametrize("names", ["sensitive", "quasi_identifiers"])
def test_a_promise_that_names_a_column_twice_is_refused_before_it_is_looked_at(names: str, tmp_path: Path) -> None:
    """100,000 times the same sensitive column was a query each, and a word of the page: 40 seconds."""
    files = made("k-anonymous", tmp_path)
    parameters = files.report["guarantee"]["parameters"]
    assert parameters[names]
    parameters[names] = parameters[names] * 3_000
    (tmp_path / "forged").mkdir()
    data, begun = files.write(tmp_path / "forged"), time.process_time()
    found = validate(data)
    assert "columns" in [check.name for check in found.checks if not check.passed]
    assert time.process_time() - begun < 2


def _first_split(params: Any) -> Any:
    return next(node for node in params["recoding"]["nodes"] if node is not None)


@pytest.mark.slow
def test_tables_that_were_not_requested_are_not_followed_line_by_line(tmp_path: Path) -> None:
    """A list of 100,000 tables took 20 seconds."""
    files = made("tables", tmp_path)
    files.params["tables"] *= 20_000
    (tmp_path / "forged").mkdir()
    data, begun = files.write(tmp_path / "forged"), time.process_time()
    assert "requested_tables" in [check.name for check in validate(data).checks if not check.passed]
    assert time.process_time() - begun < 5
