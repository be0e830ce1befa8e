"""Build of the one C extension, `_capture`, from every C file in native/ and its folders.

Everything else about the distribution stands in pyproject.toml. In place, for development:

    python setup.py build_ext --inplace
"""

from __future__ import annotations

import os
from pathlib import Path

from setuptools import Extension, setup

HERE = Path(__file__).parent
SOURCES = sorted(str(path.relative_to(HERE)) for path in HERE.glob("native/**/*.c"))
HEADERS = sorted(str(path.relative_to(HERE)) for path in HERE.glob("native/**/*.h"))
SANITIZE = ["-fsanitize=address,undefined"] if os.environ.get("CAPTURE_SANITIZE") else []

# -O2 after the interpreter's own flags wins over its -O3: the hook is branches and pointer loads, not loops.
COMPILE_FLAGS = ["-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter", "-fvisibility=hidden"]
# C++ exceptions of torch pass through the callbacks that it calls (native/autograd/autograd_apply.c): their
# cleanups run.
COMPILE_FLAGS.append("-fexceptions")

setup(
    ext_modules=[
        Extension(
            "_capture",
            SOURCES,
            depends=HEADERS,
            include_dirs=["native"],
            define_macros=[("_GNU_SOURCE", None)],
            extra_compile_args=[*COMPILE_FLAGS, *SANITIZE],
            extra_link_args=["-ldl", *SANITIZE],
        )
    ],
)
