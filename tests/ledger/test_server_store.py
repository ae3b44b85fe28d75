"""A ledger on a real PostgreSQL server: lost connections, restarts, other machines, roles, TLS, keys and passwords."""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ledger.claims import as_version_4, claim, environment, free
from postgresql import PASSWORD, Server

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import BudgetError, LedgerError, MissingDependencyError, ParameterError
from anonkit.ledger import Ledger
from anonkit.ledger.booked_releases import Allowance, ReleaseState
from anonkit.ledger.file_store import FILE_VARIABLE, VARIABLE
from anonkit.ledger.ledger_place import LedgerPlace
from anonkit.promises.guarantee import REPLACE, Neighbours

ELSEWHERE = json.dumps({"machine": "elsewhere", "boot": "", "number": 1, "started": ""})
SECRETS = (PASSWORD, "an-owner%27s-secret%2Fwith%3Aodd%40letters", "an-owner", "secret/with")


@pytest.fixture
def where(postgresql: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a new ledger, with a password: these tests are of servers alone."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    address = postgresql.new_ledger()
    Ledger.create(address)
    return address


def schema_of(where: str) -> str:
    """Return the schema of a ledger."""
    return LedgerPlace.of(where).schema


def end_sessions(server: Server) -> None:
    """Cut the connections of all ledgers, as a restart or a network does, and wait until the server has let go."""
    of_ledgers = "FROM pg_stat_activity WHERE application_name = 'anonkit' AND pid <> pg_backend_pid()"
    with server.connect() as owner:
        owner.execute(f"SELECT pg_terminate_backend(pid) {of_ledgers}")
        while owner.execute(f"SELECT count(*) {of_ledgers}").fetchone()[0]:
            time.sleep(0.01)


def states(where: str) -> list[ReleaseState]:
    """Return the states of all releases, as a reader with a connection of its own finds them."""
    return [entry.state for entry in Ledger(where).standing("d").entries]


def draw(where: str, output: Path | None = None, **more: Any) -> anonkit.Release:
    """Release ten customers with randomized answers."""
    table, policy = bank_customers(10, seed=1), bank_customers_policy()
    return anonkit.release(table, method="rr", epsilon=1.0, policy=policy, ledger=where, output=output, **more)


# --- where it is, and whether -----------------------------------------------------------------------------------


def test_a_server_s_ledger_is_never_made_silently(postgresql: Server, where: str) -> None:
    """A wrong schema is an error with the way out; what is there already is left."""
    with pytest.raises(LedgerError, match="there is no ledger") as refused:
        draw(postgresql.new_ledger())
    assert "anonkit ledger create" in str(refused.value.hint)
    with pytest.raises(LedgerError, match="is there already"):
        Ledger.create(where)
    assert len(Ledger(where).key) == 32


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 4; a ledger in a file needs none."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingDependencyError, match="psycopg") as refused:
        Ledger("postgresql://db.example.org/ledger")
    assert refused.value.exit_code == 4
    assert "anonkit[postgres]" in str(refused.value.hint)


@pytest.mark.slow
def test_the_driver_is_imported_for_addresses_alone(tmp_path: Path) -> None:
    """A release that is booked in a file does not wait for it."""
    code = (
        "import sys, anonkit; from anonkit.datasets import *; "
        f"anonkit.release(bank_customers(10, seed=1), method='rr', epsilon=1.0, policy=bank_customers_policy(), "
        f"ledger={str(tmp_path / 'l.sqlite')!r}); print('psycopg' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_ledger_of_another_version_is_refused(postgresql: Server, where: str) -> None:
    """A ledger that another anonkit wrote may have another meaning."""
    with postgresql.connect(schema_of(where)) as owner:
        owner.execute("UPDATE ledger SET version = 99")
    with pytest.raises(LedgerError, match="version 99"):
        Ledger(where)


def test_a_server_that_may_forget_commits_is_refused(postgresql: Server, where: str) -> None:
    """`fsync = off` loses what was spent; `synchronous_commit = off` is overruled in each transaction."""
    opened = Ledger(where)
    with postgresql.connect() as owner:
        owner.execute("ALTER SYSTEM SET synchronous_commit = off")
        owner.execute("ALTER SYSTEM SET fsync = off")
        try:
            reload(owner, "fsync", "off")
            with pytest.raises(LedgerError, match="fsync is off"):
                Ledger(where)
            with opened._backend.transaction() as connection:
                assert connection.execute("SELECT current_setting('synchronous_commit')").fetchone()[0] == "on"
        finally:
            owner.execute("ALTER SYSTEM RESET ALL")
            reload(owner, "fsync", "on")


def reload(owner: Any, name: str, value: str) -> None:
    """Let the server read its settings again, and wait until it has."""
    owner.execute("SELECT pg_reload_conf()")
    while owner.execute("SELECT current_setting(%s)", (name,)).fetchone()[0] != value:
        time.sleep(0.01)


# --- secrets ----------------------------------------------------------------------------------------------------


def test_no_password_is_shown(
    postgresql: Server, where: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In no output, error, `repr`, file of a release, nor in what the server shows of its sessions."""
    from anonkit.cli import anonkit as group
    from anonkit.cli.boundary import run

    (tmp_path / "in.csv").write_text("a,b\n" + "1,x\n2,y\n" * 20, encoding="utf-8")
    wrong = where.replace("an-owner", "not-an-owner")
    unreachable = where.replace(f":{postgresql.port}/", ":1/")
    release = ("release", str(tmp_path / "in.csv"), str(tmp_path / "out.parquet"), "--method", "mondrian", "--k", "2")
    assert run(group, [*release, "--ledger", where], "anonkit") == 0
    for arguments in (
        (*release, "--ledger", wrong, "--force"),
        (*release, "--ledger", unreachable, "--force", "--json"),
        ("ledger", wrong),
        ("ledger", unreachable, "--json"),
        ("ledger", where + "&no_such_parameter=1"),
        ("ledger", "create", where),
    ):
        assert run(group, list(arguments), "anonkit") in (2, 3), arguments
    assert run(group, ["ledger", where, "--json"], "anonkit") == 0
    monkeypatch.setenv("ANONKIT_LEDGER", where)
    assert run(group, ["ledger"], "anonkit") == 0
    opened = Ledger(where)
    with postgresql.connect() as owner:
        sessions = str(owner.execute("SELECT * FROM pg_stat_activity WHERE application_name = 'anonkit'").fetchall())
    shown = [*capfd.readouterr(), repr(opened), repr(opened.place), str(opened.place), sessions]
    files = [path.read_bytes() for path in tmp_path.iterdir() if path.is_file()]
    for secret in SECRETS:
        assert not any(secret in text for text in shown)
        assert not any(secret.encode() in content for content in files)
    assert "anonkit" in sessions


def test_why_there_is_no_connection_is_said(postgresql: Server, where: str) -> None:
    """As the driver says it; exit code 3."""
    for address, why in (
        (where.replace("an-owner", "not-an-owner"), "password authentication failed"),
        (where.replace(f":{postgresql.port}/", ":1/"), "refused"),
        (where.replace("/postgres?", "/nosuch?"), "does not exist"),
    ):
        with pytest.raises(LedgerError, match=why) as refused:
            Ledger(address)
        assert refused.value.exit_code == 3
    with pytest.raises(ParameterError, match="no address of a database"):
        Ledger("postgresql://db/ledger?no_such_parameter=1")


def test_the_key_never_reaches_the_server(
    postgresql: Server, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays in a private file; another machine needs the same, and makes none of its own."""
    draw(where)
    key = Ledger(where).key
    (kept,) = [path for path in (tmp_path / "settings" / "anonkit").iterdir() if path.suffix == ".key"]
    assert bytes.fromhex(kept.read_text(encoding="ascii")) == key
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with postgresql.connect(schema_of(where)) as owner:
        names = owner.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema_of(where),)).fetchall()
        for (name,) in names:
            for row in owner.execute(f"SELECT * FROM {name}").fetchall():
                assert key not in [bytes(cell) if isinstance(cell, memoryview) else cell for cell in row]
                assert key.hex() not in str(row)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "another"))
    with pytest.raises(LedgerError, match="has lost its key"):
        draw(where)
    assert not (tmp_path / "another").exists()
    monkeypatch.setenv(FILE_VARIABLE, str(kept))
    assert Ledger(where).key == key
    monkeypatch.setenv(VARIABLE, key.hex())
    with pytest.raises(BudgetError, match="randomized before"):
        draw(where)
    monkeypatch.setenv(VARIABLE, secrets.token_hex(32))
    with pytest.raises(LedgerError, match="is not that of the ledger"):
        draw(where)


# --- what is lost on the way ------------------------------------------------------------------------------------


def test_a_reservation_of_another_machine_ends_with_its_session(postgresql: Server, where: str) -> None:
    """While its session lives it is left alone, and when that is gone it is given up: nothing was in place."""
    holder = Ledger(where)
    holder.reserve(claim(), free)
    with postgresql.connect(schema_of(where)) as owner:
        owner.execute("UPDATE release SET process = %s", (ELSEWHERE,))
    assert states(where) == [ReleaseState.RESERVED]
    end_sessions(postgresql)
    assert states(where) == [ReleaseState.ROLLED_BACK]


def test_what_another_machine_was_publishing_counts(postgresql: Server, where: str, tmp_path: Path) -> None:
    """Nothing on this machine can show it, even if a file of the same name exists."""
    from anonkit.bundle.data_files import sha256

    (tmp_path / "out.parquet").write_bytes(b"the release")
    holder = Ledger(where)
    number = holder.reserve(claim(output=str(tmp_path / "out.parquet")), free)
    holder.publishing(number, sha256(b"the release"))
    with postgresql.connect(schema_of(where)) as owner:
        owner.execute("UPDATE release SET process = %s", (ELSEWHERE,))
    end_sessions(postgresql)
    assert states(where) == [ReleaseState.PUBLISHING]
    assert Ledger(where).standing("d").epsilon == 0.1


def test_who_lost_its_connection_comes_back_unless_it_was_given_up(postgresql: Server, where: str) -> None:
    """Before anybody looked it goes on; after others gave it up nothing may be published, and nothing is spent."""
    ledger = Ledger(where)
    number = ledger.reserve(claim(), free)
    end_sessions(postgresql)
    ledger.publishing(number, "digest")
    end_sessions(postgresql)
    ledger.commit(number)
    assert states(where) == [ReleaseState.COMMITTED]

    number = ledger.reserve(claim(), free)
    end_sessions(postgresql)
    assert states(where) == [ReleaseState.COMMITTED, ReleaseState.ROLLED_BACK]
    with pytest.raises(LedgerError, match="was given up"):
        ledger.publishing(number, "digest")
    assert Ledger(where).standing("d").epsilon == 0.1


def test_a_connection_that_is_lost_inside_a_transaction_leaves_nothing(postgresql: Server, where: str) -> None:
    """The reservation never happened; the next one does."""
    ledger = Ledger(where)

    def cut(standing: object) -> None:
        end_sessions(postgresql)

    with pytest.raises(LedgerError, match="connection to the ledger") as refused:
        ledger.reserve(claim(), cut)
    assert refused.value.exit_code == 3
    assert states(where) == []
    ledger.reserve(claim(), free)
    assert states(where) == [ReleaseState.RESERVED]


@contextmanager
def stopped_before(step: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Crash the server right before a step of a release, and start it again in the end."""
    inner = getattr(Ledger, step)

    def without_server(*arguments: Any) -> Any:
        server.stop("immediate")
        return inner(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, step, without_server)
        try:
            yield
        finally:
            server.resume()


def test_a_server_that_crashes_before_publishing_leaves_no_release(
    postgresql: Server, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 3, no file in place; the reservation outlives the crash, and the next reader charges what was drawn."""
    with stopped_before("publishing", postgresql, monkeypatch), pytest.raises(LedgerError, match="cannot be reached"):
        draw(where, tmp_path / "a.parquet", dataset="d")
    assert not list(tmp_path.glob("a.*"))
    assert states(where) == [ReleaseState.ROLLED_BACK, ReleaseState.COMMITTED]
    with pytest.raises(BudgetError):
        draw(where, tmp_path / "a.parquet", dataset="d", budget=1.0)
    draw(where, tmp_path / "a.parquet", dataset="d", budget=2.0)
    assert states(where) == [ReleaseState.ROLLED_BACK, ReleaseState.COMMITTED, ReleaseState.COMMITTED]


def test_a_server_that_crashes_after_publishing_has_counted_the_release(
    postgresql: Server, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 3 and the truth: the files are in place, whole, and their loss counts."""
    with stopped_before("commit", postgresql, monkeypatch), pytest.raises(LedgerError) as refused:
        draw(where, tmp_path / "a.parquet", dataset="d")
    assert refused.value.exit_code == 3
    assert "is in place and counts as spent" in refused.value.message
    assert anonkit.validate(tmp_path / "a.parquet").passed
    assert states(where) == [ReleaseState.COMMITTED]  # the next reader of this process settles the ledger
    assert Ledger(where).standing("d").epsilon > 0.99
    with pytest.raises(BudgetError):
        draw(where, tmp_path / "b.parquet", dataset="d")


def test_what_could_not_be_given_up_is_given_up_by_the_next_reader(
    postgresql: Server, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is gone after `publishing`, and no file came into its place: the draws are charged."""

    def fail(*arguments: Any, **how: Any) -> None:
        postgresql.stop("immediate")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("anonkit.bundle.atomic.Staging.commit", fail)
        with pytest.raises(anonkit.AnonkitError, match="No space left"):
            draw(where, tmp_path / "a.parquet", dataset="d")
    postgresql.resume()
    assert states(where) == [ReleaseState.ROLLED_BACK, ReleaseState.COMMITTED]
    assert Ledger(where).standing("d").counted[0].data_sha256 is None


@pytest.mark.slow
def test_a_release_is_handed_back_by_a_server_s_ledger_too(
    postgresql: Server, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run again after the server crashed at the last step, in the process that it happened to: charged once."""
    with stopped_before("commit", postgresql, monkeypatch), pytest.raises(LedgerError, match="is in place and counts"):
        draw(where, tmp_path / "a.parquet", dataset="d")
    before = (tmp_path / "a.parquet").read_bytes()
    for _ in range(2):
        assert draw(where, tmp_path / "a.parquet", dataset="d").reused
    assert (tmp_path / "a.parquet").read_bytes() == before
    assert states(where) == [ReleaseState.COMMITTED]


def test_the_same_path_on_another_machine_is_another_place_for_another_dataset(
    postgresql: Server, where: str, tmp_path: Path
) -> None:
    """Build servers check out everything into one path; for the same dataset the disk may be a shared one."""
    output = str(tmp_path / "out.parquet")
    holder = Ledger(where)
    holder.reserve(claim(output=output), free)
    with postgresql.connect(schema_of(where)) as owner:
        owner.execute("UPDATE release SET process = %s", (ELSEWHERE,))
    (mark,) = (tmp_path / "settings" / "anonkit").glob("*.seen")
    mark.unlink()  # this machine did not make it
    with pytest.raises(LedgerError, match="is being made in"):
        Ledger(where).reserve(claim(output=output), free)
    Ledger(where).reserve(claim(output=output, dataset="another"), free)


# --- others -----------------------------------------------------------------------------------------------------


def page(repository: Path) -> str:
    """Return the page for owners."""
    return (repository / "docs" / "how-to" / "share-a-ledger.md").read_text(encoding="utf-8")


def test_roles_may_do_what_the_page_grants_them_and_no_more(
    postgresql: Server, where: str, repository: Path, tmp_path: Path
) -> None:
    """A releaser books and cannot take back or forge a loss; an auditor sees, and changes nothing by looking."""
    (grants,) = re.findall(r"```sql\n(.*?)```", page(repository), re.DOTALL)
    schema, suffix = schema_of(where), secrets.token_hex(4)
    roles = {role: f"{role}_{suffix}" for role in ("releasers", "auditors", "strangers")}
    with postgresql.connect(schema) as owner:
        for role in roles.values():
            owner.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'p'")
        for name, role in roles.items():
            grants = grants.replace(name, role)
        owner.execute(grants.replace("anonkit", schema))
    seen_by = {
        name: f"postgresql://{role}:p@127.0.0.1:{postgresql.port}/postgres?schema={schema}"
        for name, role in roles.items()
    }
    draw(seen_by["releasers"], tmp_path / "a.parquet", dataset="d", budget=2.0)
    assert states(seen_by["auditors"]) == [ReleaseState.COMMITTED]
    releaser = Ledger(seen_by["releasers"])
    assert releaser.give_up(releaser.reserve(claim(), free), charged=True)
    assert states(seen_by["auditors"]) == [ReleaseState.COMMITTED, ReleaseState.ROLLED_BACK, ReleaseState.COMMITTED]
    lost = Ledger(where)
    lost.reserve(claim(), free)
    end_sessions(postgresql)
    assert states(seen_by["auditors"])[3:] == [ReleaseState.RESERVED]
    for name, match in (("auditors", "does not allow this"), ("strangers", "does not allow this")):
        with pytest.raises(LedgerError, match=match):
            draw(seen_by[name], dataset="d", budget=9.0)
    with pytest.raises(LedgerError, match="does not allow this"):
        Ledger.create(seen_by["strangers"].replace(schema, f"{schema}_2"))

    import psycopg

    with psycopg.connect(seen_by["releasers"].partition("?")[0], autocommit=True) as releaser:
        for forbidden in ("DELETE FROM {}.release", "UPDATE {}.release SET epsilon = '0'", "DROP TABLE {}.release"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                releaser.execute(forbidden.format(schema))


def test_a_ledger_of_version_3_is_brought_to_this_one_by_its_owner(
    postgresql: Server, where: str, tmp_path: Path
) -> None:
    """Until then nobody books in it; then anyone who may set a budget may set that of delta, and no more."""
    schema, role = schema_of(where), f"releasers_{secrets.token_hex(4)}"
    draw(where, tmp_path / "a.parquet", dataset="d", budget=2.0)
    with postgresql.connect(schema) as owner:
        owner.execute("ALTER TABLE dataset DROP COLUMN budget_delta")
        as_version_4(owner.execute)
        owner.execute("UPDATE ledger SET version = 3")
        owner.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'p'")
        owner.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        owner.execute(f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA {schema} TO {role}")
        owner.execute(f"GRANT UPDATE (budget) ON dataset TO {role}")
        owner.execute(f"GRANT UPDATE (state, data_sha256, request) ON release TO {role}")
    seen = f"postgresql://{role}:p@127.0.0.1:{postgresql.port}/postgres?schema={schema}"
    with pytest.raises(LedgerError, match="of version 3, and this is version 5") as refused:
        Ledger(seen)
    assert "in the role that made it" in str(refused.value.hint)
    assert states(where) == [ReleaseState.COMMITTED]
    number = Ledger(seen).reserve(claim(), free, budget=Allowance(delta=1e-6))
    kind = Neighbours(adjacency=REPLACE)
    assert Ledger(where).standing("d").allowance == Allowance(epsilon=2.0, delta=1e-6, neighbours=kind)
    Ledger(where).give_up(number)
    with postgresql.connect(schema) as owner:
        assert owner.execute("SELECT version FROM ledger").fetchone()[0] == 5
        assert owner.execute("SELECT count(*) FROM release_version_3").fetchone()[0] == 1
        may = "SELECT has_column_privilege(%s, 'dataset', %s, 'UPDATE')"
        assert [owner.execute(may, (role, column)).fetchone()[0] for column in ("budget_delta", "name")] == [
            True,
            False,
        ]


def test_parameters_of_tls_reach_the_driver(postgresql: Server, where: str, tmp_path: Path) -> None:
    """The server's certificate is checked as the address requires: none, the right one, another one."""
    with pytest.raises(LedgerError, match="SSL"):
        Ledger(f"{where}&sslmode=require")
    roots = {name: certificate(tmp_path / name) for name in ("server", "other")}
    data = postgresql.folder / "data"
    with postgresql.connect() as owner:
        for name in ("crt", "key"):
            target = data / f"server.{name}"
            target.write_bytes((tmp_path / "server" / f"server.{name}").read_bytes())
            target.chmod(0o600)
            os.chown(target, data.stat().st_uid, data.stat().st_gid)
        try:
            owner.execute("ALTER SYSTEM SET ssl = on")
            reload(owner, "ssl", "on")
            secure = where.replace("127.0.0.1", "localhost") + "&sslmode=verify-full&sslrootcert="
            assert len(Ledger(f"{secure}{roots['server']}").key) == 32
            with pytest.raises(LedgerError, match="certificate"):
                Ledger(f"{secure}{roots['other']}")
        finally:
            owner.execute("ALTER SYSTEM RESET ALL")
            reload(owner, "ssl", "off")


def certificate(folder: Path) -> Path:
    """Make a certificate of `localhost` that vouches for itself, and its key; return its path."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    folder.mkdir()
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    (folder / "server.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "server.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "server.crt"


@pytest.mark.quick_cases("False")
@pytest.mark.parametrize("went_on", [False, True])
def test_a_backup_that_was_put_back_is_noticed(
    postgresql: Server, where: str, tmp_path: Path, went_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine that made the forgotten release books nothing, even when another release has its number by now."""
    draw(where, dataset="d", budget=9.0)
    draw(where, dataset="d")
    with postgresql.connect(schema_of(where)) as owner:
        owner.execute("DELETE FROM release WHERE id = 2")  # as the night's backup has it
        owner.execute("ALTER TABLE release ALTER id RESTART WITH 2")
    if went_on:
        with monkeypatch.context() as other_machine:
            other_machine.setenv(VARIABLE, Ledger(where).key.hex())
            other_machine.setenv("XDG_CONFIG_HOME", str(tmp_path / "other"))
            draw(where, dataset="d")
        with postgresql.connect(schema_of(where)) as owner:
            owner.execute("UPDATE release SET process = %s WHERE id = 2", (ELSEWHERE,))
    ledger = Ledger(where)
    assert ledger.forgotten is not None
    for book in (lambda: draw(where, dataset="d"), lambda: ledger.reserve(claim(), free)):
        with pytest.raises(LedgerError, match="has forgotten release 2") as refused:
            book()
        assert refused.value.exit_code == 3
    assert ledger.standing("d").epsilon > 0.99  # what it knows is still shown
    (mark,) = (tmp_path / "settings" / "anonkit").glob("*.seen")
    assert stat.S_IMODE(mark.stat().st_mode) == 0o600
    assert str(mark) in str(refused.value.hint)
    mark.unlink()
    draw(where, dataset="d")


@pytest.mark.slow
def test_two_checkouts_with_a_budget_of_one_do_not_both_release(where: str, tmp_path: Path) -> None:
    """Two folders that know nothing of each other, two commands at once, one ledger: one has the budget."""
    table, running = tmp_path / "in.csv", []
    table.write_text("name,age\n" + "".join(f"p{row},{20 + row % 40}\n" for row in range(60)), encoding="utf-8")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "policy.toml").write_text(
            'dataset = "people"\nbudget = 1.0\nledger_required = true\n[columns]\nname = { role = "identifier" }\n'
            "age = { bounds = [20, 60] }\n",
            encoding="utf-8",
        )
        command = [sys.executable, "-m", "anonkit", "release", str(table), "out.parquet", "--policy", "policy.toml"]
        running.append(
            subprocess.Popen(
                [*command, "--method", "rr", "--epsilon", "1", "--quiet"],
                cwd=tmp_path / name, env={**environment(), "ANONKIT_LEDGER": where}, stderr=subprocess.PIPE, text=True,
            )
        )  # fmt: skip
    errors = [process.communicate()[1] for process in running]
    assert sorted(process.returncode for process in running) == [0, 1], errors
    assert len(list(tmp_path.glob("*/out.parquet"))) == 1
    assert Ledger(where).standing("people").epsilon <= 1


def test_an_interrupt_leaves_no_transaction_open(
    postgresql: Server, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupted commit has no effect, and the next one has the ledger."""
    ledger = Ledger(where)
    session = ledger._backend._session  # type: ignore[attr-defined]
    execute = session.connection.execute

    def interrupted(statement: str, *values: Any) -> Any:
        if statement == "COMMIT":
            raise KeyboardInterrupt
        return execute(statement, *values)

    with monkeypatch.context() as patched:
        patched.setattr(session.connection, "execute", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ledger.reserve(claim(), free)
    ledger.reserve(claim(0.2), free)
    assert [entry.epsilon for entry in Ledger(where).standing("d").entries] == [0.2]


def test_a_user_without_a_home_has_its_key_in_the_environment(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in some containers: nothing can be kept, and a release is booked all the same."""
    monkeypatch.setenv(VARIABLE, Ledger(where).key.hex())
    monkeypatch.delenv("XDG_CONFIG_HOME")

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr("pathlib.Path.home", no_home)
    draw(where)
    assert Ledger(where).forgotten is None
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(LedgerError, match="has lost its key"):
        draw(where)
