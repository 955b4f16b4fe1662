"""Seeds that follow from other seeds.

``derived_seed`` and ``stream_seed`` mix well, but they can be inverted: one result reveals the
others, and with them the cards. Numbers that a player may see while cards are hidden come from
``secret_seed`` and ``episode_seed``, which cannot be inverted. Small seeds (0, 1, 2, ...) can still
be found by trying all of them. If that matters, draw a large seed.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from hearts_env import kernel as k
from hearts_env.support.jit import inlined, jit

_U = np.uint64


def derived_seed(seed: int, number: int) -> int:
    """Return seed number `number` that follows from `seed`, in [0, 2**63)."""
    return int(k.mix(_U((seed + int(k.mix(_U(number)))) % 2**64))) >> 1


@jit
def stream_seed(seed: int, stream: int, number: int) -> np.int64:
    """Return seed number `number` in stream number `stream` of `seed`, in [0, 2**63)."""
    start = k.mix(_U(seed) + k.mix(_U(stream)))
    return np.int64(k.mix(start + _U(number)) >> _U(1))


def secret_seed(seed: int, *purpose: int | str) -> int:
    """Return the seed of a purpose, in [0, 2**63), the same on every machine.

    It is a blake2b hash keyed with the seed, so it reveals neither the seed nor the seeds of other
    purposes.

    Args:
        seed: any int, which is the secret.
        *purpose: words and ints that name the purpose.
    """
    words = [repr(part if isinstance(part, str) else int(part)) for part in purpose]
    key = blake2b(str(int(seed)).encode(), digest_size=32).digest()
    digest = blake2b("\0".join(words).encode(), digest_size=8, key=key).digest()
    return int.from_bytes(digest, "little") >> 1


@inlined
def _turn(x: np.uint64, by: int) -> np.uint64:
    """Return the 64 bits of `x` rotated to the left."""
    return x << _U(by) | x >> _U(64 - by)


@inlined
def _round(
    a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return the state after one round of SipHash."""
    a += b
    b = _turn(b, 13) ^ a
    a = _turn(a, 32)
    c += d
    d = _turn(d, 16) ^ c
    a += d
    d = _turn(d, 21) ^ a
    c += b
    b = _turn(b, 17) ^ c
    c = _turn(c, 32)
    return a, b, c, d


@jit
def siphash(key0: np.uint64, key1: np.uint64, message: np.uint64) -> np.uint64:
    """Return SipHash-2-4 of eight bytes (Aumasson and Bernstein 2012, section 2).

    Results reveal neither the key nor other results.
    """
    a, b = key0 ^ _U(0x736F6D6570736575), key1 ^ _U(0x646F72616E646F6D)
    c, d = key0 ^ _U(0x6C7967656E657261), key1 ^ _U(0x7465646279746573)
    for word in (message, _U(8) << _U(56)):
        d ^= word
        for _ in range(2):
            a, b, c, d = _round(a, b, c, d)
        a ^= word
    c ^= _U(0xFF)
    for _ in range(4):
        a, b, c, d = _round(a, b, c, d)
    return a ^ b ^ c ^ d


@jit
def episode_seed(first: int, number: int) -> np.int64:
    """Return the seed of episode `number`, from 0, after a reset with the secret seed `first`.

    Code with access to a vector environment can read the seeds of its current episodes
    (``episode_seeds``). They must not reveal the seeds of later episodes.
    """
    return np.int64(siphash(_U(first), _U(0), _U(number)) >> _U(1))
