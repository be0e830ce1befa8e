"""An example in C that calls an exported function, and the Makefile that links and runs it.

In:  the interface and the machine.
Out: the texts of example.c and Makefile.

    ./example                    # arguments made by a formula; prints the results
    ./example x.bin out.bin      # a file of raw numbers for each argument and for each result
    ./example --time 100         # the time of a call in seconds, the least of 100
    ./example batch=8 ...        # sizes that the caller chooses come first
"""

from __future__ import annotations

from codegen.export.c_text import C_TYPES, c_number, size_arguments, tensor_bytes
from codegen.export.interface import WORKSPACE_ALIGNMENT, Interface, Size, Tensor
from codegen.export.machine import Machine

#: by machine: the compiler and how its programs run here
TOOLS = {
    "x86-64": ("cc", ""),
    "aarch64": ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
    "armv7": ("arm-linux-gnueabihf-gcc", "qemu-arm"),
    "riscv64": ("riscv64-linux-gnu-gcc", "qemu-riscv64"),
}

#: example.c, with %(name)s in place of names
EXAMPLE = """\
/* Calls %(name)s. Build and run it with `make run`. */
#define _POSIX_C_SOURCE 200112L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "%(name)s.h"

static void *memory(int64_t bytes) {
    void *found = NULL;
    if (posix_memalign(&found, %(alignment)d, bytes > 0 ? (size_t)bytes : 1) != 0) {
        fprintf(stderr, "no memory for %%lld bytes\\n", (long long)bytes);
        exit(1);
    }
    memset(found, 0, bytes > 0 ? (size_t)bytes : 1);
    return found;
}

static void move(const char *path, const char *mode, void *data, int64_t bytes) {
    FILE *file = fopen(path, mode);
    size_t moved = 0;
    if (file != NULL)
        moved = mode[0] == 'r' ? fread(data, 1, (size_t)bytes, file) : fwrite(data, 1, (size_t)bytes, file);
    if (file == NULL || fclose(file) != 0 || moved != (size_t)bytes) {
        fprintf(stderr, "%%s: expected a file of %%lld bytes\\n", path, (long long)bytes);
        exit(1);
    }
}

int main(int argc, char **argv) {
%(sizes)s    int timed = argc == 3 && strcmp(argv[1], "--time") == 0 ? atoi(argv[2]) : 0;
    int files = argc == 1 + %(count)d && !timed;
%(allocate)s    void *workspace = memory(%(name)s_workspace_bytes(%(size_arguments)s));
    if (files) {
%(read)s    } else {
%(fill)s    }
    double best = 1e30;
    for (int i = 0; i < (timed > 0 ? timed : 1); i++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        int32_t status = %(name)s(%(call)s);
        clock_gettime(CLOCK_MONOTONIC, &end);
        if (status != 0) {
            fprintf(stderr, "%(name)s failed: %%d\\n", (int)status);
            return 1;
        }
        double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
        best = seconds < best ? seconds : best;
    }
    if (timed) {
        printf("%%.9f\\n", best);
        return 0;
    }
    if (files) {
%(write)s    } else {
%(print)s    }
    return 0;
}
"""

MAKEFILE = """\
# make run: builds the example and runs it. make lib%(name)s.so: the library, from the object file.
CC = %(compiler)s
CFLAGS = -O2 -Wall
RUN = %(run)s
%(blas)s
# no rules of make's own: the assembly is without the constants
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:

run: example
\t$(RUN) ./example

example: example.c %(name)s.h %(name)s.o
\t$(CC) $(CFLAGS) -o $@ example.c %(name)s.o %(libraries)s %(static)s

lib%(name)s.so: %(name)s.o
\t$(CC) -shared -o $@ %(name)s.o %(libraries)s

.PHONY: run
"""


def example_c(interface: Interface) -> str:
    """The example. Written arguments count as results too: their file is written behind the call."""
    outputs = [*(tensor for tensor in interface.arguments if tensor.written), *interface.memories]
    tensors = [*interface.arguments, *interface.memories]
    first = 1 + len(interface.arguments)
    return EXAMPLE % {
        "name": interface.name,
        "alignment": WORKSPACE_ALIGNMENT,
        "count": len(interface.arguments) + len(outputs),
        "sizes": _sizes(interface),
        "allocate": "".join(
            f"    {C_TYPES[tensor.dtype]} *{tensor.name} = memory({_bytes(tensor)});\n" for tensor in tensors
        ),
        "size_arguments": size_arguments(interface),
        "read": "".join(
            f'        move(argv[{place}], "rb", {tensor.name}, {_bytes(tensor)});\n'
            for place, tensor in enumerate(interface.arguments, 1)
        ),
        "fill": "".join(map(_fill, interface.arguments)),
        "call": ", ".join(
            [
                *(tensor.name for tensor in interface.arguments),
                *(size.name for size in interface.sizes),
                *(tensor.name for tensor in interface.memories),
                "workspace",
            ]
        ),
        "write": "".join(
            f'        move(argv[{place}], "wb", {tensor.name}, {_bytes(tensor)});\n'
            for place, tensor in enumerate(outputs, first)
        ),
        "print": "".join(map(_print, outputs)),
    }


def makefile(interface: Interface, machine: Machine) -> str:
    compiler, run = TOOLS[machine.name]
    return MAKEFILE % {
        "name": interface.name,
        "compiler": compiler,
        "run": run,
        "blas": "BLAS = -lopenblas\n" if interface.cblas else "",
        "libraries": "$(BLAS) -lm" if interface.cblas else "-lm",
        "static": "-static" if run else "",
    }


def _sizes(interface: Interface) -> str:
    """The sizes, and a loop that takes `name=value` from the arguments."""
    if not interface.sizes:
        return ""
    names = [size.name for size in interface.sizes]
    wanted = [f'strncmp(argv[1], "{name}=", {len(name) + 1}) == 0 ? &{name} : ' for name in names]
    return (
        "".join(f"    int64_t {size.name} = {usual_size(size)};\n" for size in interface.sizes)
        + "    for (; argc > 1; argc--, argv++) {\n"
        + f"        int64_t *size = {''.join(wanted)}NULL;\n"
        + "        if (size == NULL)\n            break;\n"
        + "        *size = atoll(strchr(argv[1], '=') + 1);\n    }\n"
    )


def usual_size(size: Size) -> int:
    """The size of the example where nothing is said."""
    return min(max(size.least, 4), size.most)


def _bytes(tensor: Tensor) -> str:
    return c_number(tensor_bytes(tensor))


def _count(tensor: Tensor) -> str:
    return f"({_bytes(tensor)}) / (int64_t)sizeof({C_TYPES[tensor.dtype]})"


def _fill(tensor: Tensor) -> str:
    """Small numbers; halves and integers stay 0, which is an index of any table."""
    kind = C_TYPES[tensor.dtype]
    if kind not in ("float", "double"):
        return ""
    return (
        f"        for (int64_t i = 0; i < {_count(tensor)}; i++)\n"
        f"            {tensor.name}[i] = ({kind})((i * 37 + 11) % 101) / 50 - 1;\n"
    )


def _print(tensor: Tensor) -> str:
    kind = C_TYPES[tensor.dtype]
    shown, cast = ("%g", "double") if kind in ("float", "double") else ("%lld", "long long")
    return (
        f'        printf("{tensor.name}:");\n'
        f"        for (int64_t i = 0; i < {_count(tensor)} && i < 8; i++)\n"
        f'            printf(" {shown}", ({cast}){tensor.name}[i]);\n'
        f'        printf("\\n");\n'
    )
