"""Regular expressions on constants: computed when the frame is captured."""

from __future__ import annotations

import re

import torch

from tests.capture.cases.registry import case, show

NUMBERED = re.compile(r"layer(?P<index>\d+)")


@case(1, 3)
def module_functions(x):
    count = len(re.findall(r"\d", "a1b2"))
    x = x + count + (1 if re.match("a", "abc") else 0)
    return x * 2, re.sub("a", "b", "aa"), re.split(",", "a,b"), re.fullmatch("a", "b")


@case(1, 2)
def existing_pattern(x):
    found = NUMBERED.match("layer12")
    x = x + int(found.group(1)) + bool(NUMBERED.search("none"))
    return x, found.groups(), found.start(), found["index"], found.groupdict(), NUMBERED.pattern


@case(2, 2)
def match_across_break(x):
    found = NUMBERED.match("layer12")
    y = x + 1
    show(found.group())
    return y * int(found.group(1))


@case(1, 1)
def wrong_pattern(x):
    try:
        re.compile("(")
    except re.error as error:
        return x + 1, str(error)


@case(1, 2)
def function_of_variable_functions(x):
    return torch._C._VariableFunctions.add(x, x) + 1
