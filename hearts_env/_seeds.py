"""Seeds that may be handed out: what they were made from cannot be computed from them.

The seeds of deals follow from one another by a mixing function that runs backwards as well as
forwards (``derived_seed``), so that whoever is given one of them can find the others, and with
them the cards. What a player is given while cards are hidden comes from here instead. Small seeds
(0, 1, 2, ...) can still be found by trying them all: where that matters, draw a large one.
"""

from __future__ import annotations

from hashlib import blake2b


def secret_seed(seed: int, *purpose: int | str) -> int:
    """The number from 0 to 2**63 - 1 that belongs to a seed and a purpose.

    Always the same for the same arguments, on every machine. Neither the seed nor the number of
    another purpose can be computed from it: it is a blake2b hash, keyed with the seed.

    Args:
        seed: any whole number; the secret.
        purpose: what the number is for, in words and whole numbers.
    """
    words = [repr(part if isinstance(part, str) else int(part)) for part in purpose]
    key = blake2b(str(int(seed)).encode(), digest_size=32).digest()
    digest = blake2b("\0".join(words).encode(), digest_size=8, key=key).digest()
    return int.from_bytes(digest, "little") >> 1
