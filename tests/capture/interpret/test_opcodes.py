"""Every opcode of this interpreter is handled, or has a stated reason why not."""

from __future__ import annotations

import dis

from capture.bytecode.dialects import dialect
from capture.interpret.opcodes import HANDLERS


def test_every_opcode_is_handled_or_unsupported_with_a_reason() -> None:
    missing = set(dis.opmap) - set(HANDLERS) - set(dialect.UNSUPPORTED)
    assert not missing


def test_no_opcode_is_both() -> None:
    assert not set(HANDLERS) & set(dialect.UNSUPPORTED)


def test_the_tables_name_real_opcodes() -> None:
    assert set(HANDLERS) | set(dialect.UNSUPPORTED) <= set(dis.opmap)


def test_reasons_say_something() -> None:
    assert all(len(reason) > 10 for reason in dialect.UNSUPPORTED.values())
