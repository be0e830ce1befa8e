"""Which module has which keys of the tables. `scripts/contents.py` writes it."""

from __future__ import annotations

MADE_WITH = "torch 2.13, Python 3.11"

HANDLERS = {
    "capture.interpret.opcodes.attributes": """
        DELETE_ATTR LOAD_ATTR LOAD_METHOD STORE_ATTR
    """,
    "capture.interpret.opcodes.calls": """
        CALL CALL_FUNCTION_EX KW_NAMES MAKE_FUNCTION
    """,
    "capture.interpret.opcodes.collections": """
        BUILD_CONST_KEY_MAP BUILD_LIST BUILD_MAP BUILD_SLICE BUILD_TUPLE DICT_MERGE DICT_UPDATE LIST_APPEND
        LIST_EXTEND LIST_TO_TUPLE MAP_ADD SET_ADD
    """,
    "capture.interpret.opcodes.comparisons": """
        COMPARE_OP CONTAINS_OP IS_OP
    """,
    "capture.interpret.opcodes.control": """
        JUMP JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP POP_JUMP_IF_FALSE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE
        POP_JUMP_IF_TRUE RETURN_VALUE
    """,
    "capture.interpret.opcodes.exceptions": """
        BEFORE_WITH CHECK_EG_MATCH CHECK_EXC_MATCH POP_EXCEPT PREP_RERAISE_STAR PUSH_EXC_INFO RAISE_VARARGS
        RERAISE WITH_EXCEPT_START
    """,
    "capture.interpret.opcodes.loops": """
        FOR_ITER GET_ITER GET_YIELD_FROM_ITER RETURN_GENERATOR SEND YIELD_VALUE
    """,
    "capture.interpret.opcodes.names": """
        DELETE_DEREF DELETE_FAST DELETE_GLOBAL DELETE_NAME IMPORT_FROM IMPORT_NAME LOAD_BUILD_CLASS
        LOAD_CLASSDEREF LOAD_CLOSURE LOAD_DEREF LOAD_FAST LOAD_GLOBAL LOAD_NAME MAKE_CELL SETUP_ANNOTATIONS
        STORE_DEREF STORE_FAST STORE_GLOBAL STORE_NAME
    """,
    "capture.interpret.opcodes.operators": """
        BINARY_OP UNARY_INVERT UNARY_NEGATIVE UNARY_NOT UNARY_POSITIVE
    """,
    "capture.interpret.opcodes.patterns": """
        GET_LEN MATCH_CLASS MATCH_KEYS MATCH_MAPPING MATCH_SEQUENCE
    """,
    "capture.interpret.opcodes.sets": """
        BUILD_SET SET_UPDATE
    """,
    "capture.interpret.opcodes.stack": """
        COPY LOAD_ASSERTION_ERROR LOAD_CONST NOP POP_TOP PUSH_NULL SWAP
    """,
    "capture.interpret.opcodes.subscripts": """
        BINARY_SUBSCR DELETE_SUBSCR STORE_SUBSCR
    """,
    "capture.interpret.opcodes.texts": """
        BUILD_STRING FORMAT_VALUE
    """,
    "capture.interpret.opcodes.unpacking": """
        UNPACK_EX UNPACK_SEQUENCE
    """,
}
