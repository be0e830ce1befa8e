"""Modules whose class, or whose `__getattr__`, is the program's: it sees each access once."""

from __future__ import annotations

import types

import pytest
import torch

import capture

x = torch.ones(2)
log = []


class Logging(types.ModuleType):
    def __getattribute__(self, name):
        log.append(("get", name))
        return types.ModuleType.__getattribute__(self, name)

    def __setattr__(self, name, value):
        log.append(("set", name, value))
        types.ModuleType.__setattr__(self, name, value)

    def __delattr__(self, name):
        log.append(("delete", name))
        types.ModuleType.__delattr__(self, name)


class False_(types.ModuleType):
    def __bool__(self):
        log.append("asked")
        return False


class Setter(types.ModuleType):
    @property
    def doubled(self):
        return 3

    @doubled.setter
    def doubled(self, value):
        log.append(("doubled", value))


def answer(name):
    log.append(("missing", name))
    return 5


logging, false, setter, plain = (
    Logging("logging"),
    False_("false"),
    Setter("setter"),
    types.ModuleType("plain"),
)
answering = types.ModuleType("answering")
answering.__getattr__ = answer


def changes_and_reads(x):
    logging.foo = 12
    y = x * logging.foo
    del logging.foo
    return y


def decides(x):
    return x + 1 if false else x - 1


def sets_a_property(x):
    setter.doubled = 4
    return x * setter.doubled


def reads_what_is_missing(x):
    return x * answering.thing


def asks_for_types(x):
    return x + 1, type(logging) is Logging, isinstance(false, types.ModuleType), type(plain).__name__


def sets_an_attribute(x):
    plain.value = 3
    return x * plain.value


PROGRAMS = (
    changes_and_reads, decides, sets_a_property, reads_what_is_missing, asks_for_types, sets_an_attribute,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_class_of_modules_sees_what_it_sees_in_python(program):
    log.clear()
    expected = program(x)
    seen = list(log)
    compiled = capture.compile(program, backend="eager")
    for _ in range(2):
        log.clear()
        assert str(compiled(x)) == str(expected)
        assert log == seen
