"""A guard program as plain data: another process checks an entry without making its guards.

In:  the instructions that `guards.program.assemble` has written.
Out: `program_data`: data for JSON. `program_of`: the program, about the objects of this process, and
     references to all that its guards name.

    CHECK_TYPE r0 <address>    ->    words [.., 0x7f..], addresses [1, 0]: word 1 is the address of object 0

Words that differ between processes are filled in anew: addresses of objects, hashes of keys.
"""

from __future__ import annotations

import base64
import itertools
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import _capture

from guards.assembler import ProgramAssembler
from guards.plain import OF_THE_PROCESS, Writer, identified
from guards.plain_values import NotPlain, Objects, Plain, plain_key, real
from guards.program import Assembled, InPython
from guards.values import ObjectRef, weakly


def program_data(assembled: Assembled | InPython, writer: Writer) -> dict[str, Plain] | None:
    """None where something in the program has no plain form. The guards have been written."""
    if isinstance(assembled, InPython):
        return None
    try:
        return _data(assembled, writer)
    except NotPlain:
        return None


def _data(assembled: Assembled, writer: Writer) -> dict[str, Plain]:
    text = assembled.text
    named: dict[int, ObjectRef] = {ref.id: ref for ref in assembled.references()}
    named |= {ref.id: ref for _, ref in text.addresses}
    numbers = {key: number for number, key in enumerate(named)}
    return {
        "words": _packed(text.words),
        "addresses": _packed_pairs((place, numbers[ref.id]) for place, ref in text.addresses),
        "hashes": _packed_pairs(text.hashes),
        "hashes_of_objects": _packed_pairs((place, numbers[ref.id]) for place, ref in text.hashes_of_objects),
        "answers": _packed_pairs(_counts_of_changes(text)),
        "counts": [assembled.registers, assembled.ints, len(assembled.slots), assembled.places],
        "constants": [plain_key(value, writer.objects) for value in text.objects],
        "objects": [writer.identified.get(ref.id) or identified(writer, ref) for ref in named.values()],
    }


def _counts_of_changes(text: ProgramAssembler) -> Iterator[tuple[int, int]]:
    """The words of answers that the reader takes from its own process, and the indices of the functions."""
    for place in text.answers:
        function = text.words[place - 2]
        if _counts_changes(text.objects[function]):
            yield place, function


def _counts_changes(function: Any) -> bool:
    return any(function is known for known in OF_THE_PROCESS)


def program_of(data: dict[str, Plain], objects: Objects) -> tuple[Any, list[Any]]:
    """The program, and the objects that its guards name. Raises what reading wrong data raises."""
    words = _unpacked(data["words"])
    constants = [real(each, objects) for each in data["constants"]]
    named = [real(each, objects) for each in data["objects"]]
    for place, number in _in_pairs(data["addresses"]):
        words[place] = id(named[number])
    for place, number in _in_pairs(data["hashes"]):
        if type(constants[number]) is str:
            constants[number] = sys.intern(constants[number])  # as the encoder does
        words[place] = hash(constants[number])
    for place, number in _in_pairs(data["hashes_of_objects"]):
        words[place] = hash(named[number])
    for place, number in _in_pairs(data["answers"]):
        if not _counts_changes(constants[number]):
            raise TypeError(f"no count of changes: {constants[number]!r}")
        words[place] = len(constants)
        constants.append(constants[number]())
    registers, ints, slots, places = data["counts"]
    held = (*constants, *[value for value in named if weakly(value) is None])
    return _capture.GuardProgram(words.tobytes(), held, registers, ints, slots, places=places), named


def _packed_pairs(pairs: Iterable[tuple[int, int]]) -> str:
    return _packed(itertools.chain.from_iterable(pairs))


def _in_pairs(data: str) -> Iterable[tuple[int, int]]:
    numbers = _unpacked(data)
    return zip(numbers[::2], numbers[1::2], strict=True)


def _packed(numbers: Iterable[int]) -> str:
    signed = array("q", [word - (1 << 64) if word >= 1 << 63 else word for word in numbers])
    return base64.b64encode(zlib.compress(signed.tobytes(), 1)).decode()


def _unpacked(data: str) -> array[int]:
    numbers = array("q")
    try:
        numbers.frombytes(zlib.decompress(base64.b64decode(data)))
    except zlib.error as error:
        raise ValueError(f"no words of a program: {error}") from error
    return numbers
