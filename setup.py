"""Build of the one C extension, `_capture`, from every C file in native/ and its folders.

It also contains the generated product of matrices, for each level of x86-64 with wide vectors: LLVM compiles
it here, so that no process of a user has to. Elsewhere BLAS computes all products.

Everything else about the distribution stands in pyproject.toml. In place, for development:

    python setup.py build_ext --inplace
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).parent
SOURCES = sorted(str(path.relative_to(HERE)) for path in HERE.glob("native/**/*.c"))
HEADERS = sorted(str(path.relative_to(HERE)) for path in HERE.glob("native/**/*.h"))
EMITTERS = sorted(str(path.relative_to(HERE)) for path in HERE.glob("codegen/llvm/**/*.py"))
SANITIZE = ["-fsanitize=address,undefined"] if os.environ.get("CAPTURE_SANITIZE") else []

# -O2 after the interpreter's own flags wins over its -O3: the hook is branches and pointer loads, not loops.
COMPILE_FLAGS = ["-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter", "-fvisibility=hidden"]
# C++ exceptions of torch pass through the callbacks that it calls (native/autograd/autograd_apply.c): their
# cleanups run.
COMPILE_FLAGS.append("-fexceptions")


class BuildExtension(build_ext):
    """It links what the emitters of this source tree write."""

    def build_extension(self, ext: Extension) -> None:
        if platform.machine() == "x86_64":
            ext.extra_objects = self.product_files()
        super().build_extension(ext)

    def product_files(self) -> list[str]:
        sys.path.insert(0, str(HERE))
        from codegen.llvm.dense.open_product import object_files

        folder = Path(self.build_temp)
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for level, data in object_files().items():
            path = folder / f"product-{level}.o"
            path.write_bytes(data)
            paths.append(str(path))
        return paths


setup(
    cmdclass={"build_ext": BuildExtension},
    ext_modules=[
        Extension(
            "_capture",
            SOURCES,
            depends=[*HEADERS, *EMITTERS],
            include_dirs=["native"],
            define_macros=[("_GNU_SOURCE", None)],
            extra_compile_args=[*COMPILE_FLAGS, *SANITIZE],
            extra_link_args=["-ldl", *SANITIZE],
        )
    ],
)
