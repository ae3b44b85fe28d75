"""The only source of randomness."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from repeatable_draws import RepeatableKeys

from anonkit.randomness import SECURE, SEEDED, Randomness, keystream


@given(st.integers(0, 64), st.integers(1, 200))
def test_any_part_of_a_stream_can_be_computed_alone(block: int, n_bytes: int) -> None:
    """The keystream at an offset equals the same part of the whole."""
    key = bytes(range(32))
    whole = keystream(key, 3, 0, 16 * 64 + 200)
    assert keystream(key, 3, 16 * block, n_bytes) == whole[16 * block : 16 * block + n_bytes]


def test_the_keystream_is_aes_ctr() -> None:
    """The bytes are those of AES-256 in counter mode (NIST SP 800-38A, F.5.5, first block's counter aside)."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    blocks = b"".join(encryptor.update(((7 << 96) + at).to_bytes(16, "big")) for at in range(4))
    assert keystream(key, 7, 0, 64) == blocks


@pytest.mark.system_entropy
def test_two_secure_streams_differ_and_a_seeded_one_repeats() -> None:
    """A release never repeats its randomness; a test can."""
    assert Randomness.secure().bytes(32) != Randomness.secure().bytes(32)
    assert Randomness.seeded(5).bytes(32) == Randomness.seeded(5).bytes(32)
    assert Randomness.seeded(5).bytes(32) != Randomness.seeded(6).bytes(32)
    assert (Randomness.secure().label, Randomness.seeded(1).label) == (SECURE, SEEDED)


@pytest.mark.system_entropy
def test_a_forked_process_draws_its_own_key() -> None:
    """Two processes that start alike do not share noise."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, Randomness.secure().bytes(32))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 32) != Randomness.secure().bytes(32)


def test_children_are_independent_and_repeatable() -> None:
    """A named purpose has a stream of its own."""
    parent = Randomness.seeded(1)
    assert parent.child("a").bytes(16) == Randomness.seeded(1).child("a").bytes(16)
    assert parent.child("a").bytes(16) != parent.child("b").bytes(16)
    assert parent.key("a") != parent.key("b")


@given(st.integers(0, 300))
def test_a_permutation_holds_every_number_once(n: int) -> None:
    """Shuffling loses and repeats nothing."""
    assert sorted(Randomness.seeded(n).permutation(n)) == list(range(n))


def test_every_place_is_equally_likely() -> None:
    """A chi-square test of where the first element of five lands."""
    rng = Randomness.seeded(11)
    places = np.bincount([int(np.flatnonzero(rng.permutation(5) == 0)[0]) for _ in range(5000)], minlength=5)
    assert ((places - 1000) ** 2 / 1000).sum() < 20  # chi-square with 4 degrees of freedom, p < 5e-4


def test_the_key_is_not_shown() -> None:
    """No representation holds key material."""
    rng = Randomness.seeded(1)
    assert rng.key("x").hex() not in repr(rng)
    with pytest.raises(AttributeError):
        rng.extra = 1  # type: ignore[attr-defined]


def test_the_gate_repeats_its_noise_and_no_two_draws_share_it(request: pytest.FixtureRequest) -> None:
    """An assertion on noise fails always or never; two releases of one test, or a forked one, still differ."""
    if not request.config.pluginmanager.hasplugin("repeatable-draws"):
        pytest.skip("other noise was asked for")
    owner = request.node.nodeid
    ours, again = RepeatableKeys(owner), RepeatableKeys(owner)
    drawn = [Randomness.secure().bytes(32) for _ in range(2)]
    assert drawn == [Randomness(ours.next(), SECURE).bytes(32) for _ in range(2)]
    assert drawn[0] != drawn[1]
    assert RepeatableKeys(owner + "x").next() != again.next()
