"""Every opcode of this interpreter is handled, or has a stated reason why not."""

from __future__ import annotations

import dis

from capture.bytecode.dialects import dialect
from capture.interpret.opcodes.registry import HANDLERS, handler_of


def test_every_opcode_is_handled_or_unsupported_with_a_reason() -> None:
    assert set(dis.opmap) - set(dialect.UNSUPPORTED) <= set(filter(handler_of, dis.opmap))


def test_no_opcode_is_both() -> None:
    assert not any(map(handler_of, dialect.UNSUPPORTED))


def test_the_tables_name_real_opcodes() -> None:
    acts = {dialect.SAME_AS.get(name, name) for name in dis.opmap}
    assert set(dialect.UNSUPPORTED) <= set(dis.opmap)
    assert set(HANDLERS.all()) >= acts - set(dialect.UNSUPPORTED)


def test_reasons_say_something() -> None:
    assert all(len(reason) > 10 for reason in dialect.UNSUPPORTED.values())
