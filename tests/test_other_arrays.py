"""A batch writes into arrays of other libraries, where they lie in main memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hearts_env import BatchGame, HeartsError
from tests.refusals import raises_hearts_error


class Lent:
    """Another library's array, as much of it as DLPack asks for."""

    def __init__(self, array: Any, device: int = 1, *, copies: bool = False) -> None:
        self.array, self.device, self.copies = array, device, copies

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array.copy() if self.copies else self.array


def arrays_of(make: Any, batch: BatchGame) -> tuple[Any, Any]:
    size, n = batch.space.shape[0], batch.rules.num_actions
    return make((batch.num_games, size), "float32"), make((batch.num_games, n), "int8")


def tensor(shape: tuple[int, ...], dtype: str) -> Any:
    torch = pytest.importorskip("torch")
    return torch.zeros(shape, dtype=getattr(torch, dtype))


@pytest.mark.parametrize(
    "make", [tensor, lambda shape, dtype: Lent(np.zeros(shape, dtype))], ids=["torch", "dlpack"]
)
def test_foreign_arrays_are_written_in_place(make: Any) -> None:
    plain, lent = BatchGame("micro", 5, seed=1), BatchGame("micro", 5, seed=1)
    seen, masks = arrays_of(make, lent)
    assert lent.observe(seen) is seen
    assert lent.masks(masks) is masks
    for _ in range(8):
        assert np.array_equal(np.asarray(seen), plain.observe())
        assert np.array_equal(np.asarray(masks), plain.masks())
        actions = plain.masks().argmax(1)
        plain.play(actions)
        assert lent.step(actions, seen, masks)[0] is seen
    some = make((2, lent.rules.num_actions), "int8")
    assert lent.masks(some, games=np.array([1, 4])) is some
    assert np.array_equal(np.asarray(some), plain.masks()[[1, 4]])


def test_unwritable_arrays_are_refused() -> None:
    torch = pytest.importorskip("torch")
    batch = BatchGame("micro", 2, seed=1)
    shape = (2, *batch.space.shape)
    before = batch.states.copy()
    fixed = np.zeros(shape, np.int8)
    fixed.flags.writeable = False
    for out, message in (
        (torch.zeros(shape, dtype=torch.float64), "out float64"),
        (torch.zeros(shape, dtype=torch.bfloat16), "out Tensor BFloat16"),
        (torch.zeros(shape, requires_grad=True), "out Tensor"),
        (torch.zeros(shape[::-1]).T, "out"),
        (Lent(fixed), "out"),
        (Lent(np.zeros(shape, np.int8), device=2), "out Lent"),
        (Lent(np.zeros(shape, np.int8), copies=True), "out Lent"),
        ([[0] * shape[1]] * 2, "out"),
    ):
        with raises_hearts_error(HeartsError, *message.split()):
            batch.observe(out)
        with raises_hearts_error(HeartsError, "observations"):
            batch.step(batch.masks().argmax(1), out)
    both = torch.zeros((2, 4096), dtype=torch.int8)
    with raises_hearts_error(HeartsError, "masks"):
        batch.step(
            batch.masks().argmax(1),
            both.reshape(-1)[: 2 * shape[1]].reshape(shape),
            both.reshape(-1)[: 2 * batch.rules.num_actions].reshape(2, -1),
        )
    assert np.array_equal(batch.states, before)
