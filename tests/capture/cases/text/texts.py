"""Texts: regular expressions with functions, templates over dicts, translation, bytes."""

from __future__ import annotations

import base64
import enum
import os
import pathlib
import re
import sys
import zlib

from tests.capture.cases.registry import case


@case(1, 1)
def substitution_by_a_function(x):
    k = 3
    pattern = re.compile("a+")
    return (
        x + 1,
        re.sub(r"(\d)", lambda match: str(int(match[1]) + k), "1a2"),
        pattern.sub(lambda match: match.group() * 2, "xaay", count=1),
        pattern.subn(lambda match: None, string="aba"),
        re.sub("A+", lambda match: "b", "aA", flags=re.IGNORECASE),
        re.sub("a*", lambda match: "-", "baac"),
        re.subn("a", "b", "aa", 1),
        re.sub("a", lambda match: str(len(match.string)), "aa", 1, re.IGNORECASE),
    )


@case(1, 1)
def substitution_that_fails(x):
    texts = []
    for pattern in ("(", "a"):
        try:
            re.sub(pattern, lambda match: 1, "bab")
        except (re.error, TypeError) as error:
            texts.append(str(error))
    return x + 1, texts


@case(1, 1)
def groups_of_a_match(x):
    match = re.match(r"(\w+)-(?P<n>\d+)(z)?", "ab-12 c")
    return (
        x + int(match["n"]),
        match.groups(),
        match.groups("q"),
        match.re.groups,
        match.lastgroup,
        match.lastindex,
    )


@case(1, 1)
def translations_and_templates(x):
    try:
        "{missing}".format_map({})
    except KeyError as error:
        text = str(error)
    return (
        x + 1,
        text,
        "Hello".translate({72: "J", 101: None}),
        "a".translate(str.maketrans({"a": "q"})),
        "{a}-{b:>3}".format_map({"a": 1, "b": x.shape[0]}),
        bytes([1, 2]),
        b"ab".translate(bytes(range(256))),
    )


@case(1, 1)
def encodings_and_paths(x):
    return x + 1, base64.b64encode(b"a"), zlib.crc32(b"a"), os.fspath("a"), sys.intern("b")


class Letter(str, enum.Enum):
    A = "ab"
    B = "cd"


class OwnLookup(enum.EnumMeta):
    def __getitem__(cls, name):
        return "own " + name


class LookedUp(enum.Enum, metaclass=OwnLookup):
    A = 1


@case(1, 1)
def members_that_are_texts(x):
    return x + 1, Letter["A"], Letter.A[0], list(Letter.B), Letter.A + "z", LookedUp["A"]


@case(1, 1)
def traceback_is_there(x):
    try:
        raise ValueError("a")
    except ValueError as error:
        return x + 1, error.__traceback__ is None, error.__traceback__ is not None


TEMPLATE = "{}-{}".format


@case(1, 1)
def methods_of_texts_as_values(x):
    return (
        x + 1,
        TEMPLATE(1, 2),
        list(map(", ".join, [["a", "b"]])),
        str(pathlib.PurePosixPath("/a") / "b.txt"),
    )


@case(None, None)
def templates_over_one_tensor(x):
    y = x * 2
    text = "%s"
    text %= y[0]
    return y, "%s" % x[0], "%r" % (y > 0), "%s and %r" % (x[0], 1), text, b"%r" % x[0], "%d" % torch.tensor(3)
