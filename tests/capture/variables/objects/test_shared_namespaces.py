"""Objects whose `__dict__` becomes one, or another one, between two calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture

Program = Callable[[torch.Tensor, Any, Any], torch.Tensor]


class Box:
    def __init__(self, value: Any) -> None:
        self.value = value


def stores_what_the_other_lacks(x: torch.Tensor, a: Any, b: Any) -> torch.Tensor:
    a.extra = 5
    return x * getattr(b, "extra", 3)


def stores_what_the_other_has(x: torch.Tensor, a: Any, b: Any) -> torch.Tensor:
    a.value = a.value + 1
    return x * b.value


def stores_in_both(x: torch.Tensor, a: Any, b: Any) -> torch.Tensor:
    a.value = a.value + 1
    b.value = b.value + 10
    return x * a.value


def stores_through_the_dict(x: torch.Tensor, a: Any, b: Any) -> torch.Tensor:
    a.__dict__["value"] = 7
    return x * b.value


def runs(fn: Program, make: Callable[[], tuple[Any, Any]]) -> list[Any]:
    x, (a, b) = torch.ones(2), make()
    results = [fn(x, a, b).tolist() for _ in range(3)]
    vars(a).pop("extra", None)
    b.__dict__ = a.__dict__
    results += [fn(x, a, b).tolist() for _ in range(3)]
    b.__dict__ = {"value": 4}
    return [*results, *(fn(x, a, b).tolist() for _ in range(3)), a.value, b.value]


PROGRAMS = [
    stores_what_the_other_lacks,
    stores_what_the_other_has,
    stores_in_both,
    stores_through_the_dict,
]


@pytest.mark.parametrize("values", [(1, 2), (1, 1), (1.5, 2.5)], ids=str)
@pytest.mark.parametrize("program", PROGRAMS)
def test_two_objects_come_to_share_it(program: Program, values: tuple[Any, Any]) -> None:
    def make() -> tuple[Box, Box]:
        return Box(values[0]), Box(values[1])

    expected = runs(program, make)
    assert runs(capture.compile(program), make) == expected


@pytest.mark.parametrize("program", PROGRAMS)
def test_two_modules_come_to_share_it(program: Program) -> None:
    def make() -> tuple[Any, Any]:
        modules = torch.nn.Identity(), torch.nn.Identity()
        modules[0].value, modules[1].value = 1, 2
        return modules

    expected = runs(program, make)
    assert runs(capture.compile(program), make) == expected


def test_a_dict_becomes_that_of_an_object() -> None:
    def program(x: torch.Tensor, box: Box, values: dict[str, int]) -> torch.Tensor:
        box.value = box.value + 1
        return x * values["value"]

    def run(fn: Any) -> list[Any]:
        x, box, values = torch.ones(2), Box(1), {"value": 3}
        results = [fn(x, box, values).tolist() for _ in range(3)]
        box.__dict__ = values
        return results + [fn(x, box, values).tolist() for _ in range(3)]

    assert run(capture.compile(program)) == run(program)
