"""Exported products that call cblas: a C program with a cblas of its own."""

from __future__ import annotations

import subprocess

import pytest
import torch

import capture
from tests.capture.exporting.c_programs import bytes_of, need_tools, read
from tests.capture.exporting.models import MODELS

CBLAS = """
#define GEMM(name, T)                                                                             \\
    void name(int order, int ta, int tb, int m, int n, int k, T alpha, const T *a, int lda,       \\
              const T *b, int ldb, T beta, T *c, int ldc) {                                       \\
        if (order != 101 || lda < (ta == 111 ? k : m) || ldb < (tb == 111 ? n : k) || ldc < n)    \\
            abort();                                                                              \\
        calls++;                                                                                  \\
        for (int i = 0; i < m; i++)                                                               \\
            for (int j = 0; j < n; j++) {                                                         \\
                T sum = 0;                                                                        \\
                for (int p = 0; p < k; p++)                                                       \\
                    sum += a[ta == 111 ? i * lda + p : p * lda + i] *                             \\
                           b[tb == 111 ? p * ldb + j : j * ldb + p];                              \\
                c[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * c[i * ldc + j]);           \\
            }                                                                                     \\
    }
#include <stdio.h>
#include <stdlib.h>
static int calls;
static void tell(void) { fprintf(stderr, "%d calls\\n", calls); }
__attribute__((constructor)) static void begin(void) { atexit(tell); }
GEMM(cblas_sgemm, float)
GEMM(cblas_dgemm, double)
"""


def in_c(exported, tensors, folder):
    """The results, and how many products called cblas."""
    need_tools("x86-64")
    home = folder / "program"
    exported.save(str(home))
    (home / "cblas.c").write_text(CBLAS)
    subprocess.run(["make", "-s", "example", "BLAS=cblas.c"], cwd=home, check=True)
    names = [f"in{place}" for place in range(len(tensors))]
    for name, tensor in zip(names, tensors, strict=True):
        (home / name).write_bytes(bytes_of(tensor))
    interface = exported.native.interface
    written = [f"out{place}" for place in range(len(interface.memories))]
    done = subprocess.run(
        ["./example", *names, *written], cwd=home, check=True, capture_output=True, text=True
    )
    found = [read(home / written[result.place], result, {}) for result in interface.results]
    return found, int(done.stderr.split()[0])


def products(a, b, c, d):
    row, column = a[0], b.t()[0]
    return a @ b, b.t() @ a.t(), a @ d.t() + row[0], torch.bmm(c, c.transpose(1, 2)), b.t() @ column, c @ b[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_products_in_all_layouts(dtype, tmp_path):
    torch.manual_seed(0)
    args = [torch.randn(*shape, dtype=dtype) for shape in ((7, 5), (5, 9), (3, 4, 9), (6, 5))]
    exported = capture.export(products, args, blas="cblas")
    found, calls = in_c(exported, args, tmp_path)
    assert calls >= 6  # a product of a batch is one for each of its matrices
    torch.testing.assert_close(found, list(products(*args)), rtol=2e-5, atol=2e-5)


def test_a_model(tmp_path):
    torch.manual_seed(0)
    model, args = MODELS["encoder"]()
    exported = capture.export(model, args, blas="cblas", name="encoder")
    assert "library that has cblas" in exported.header
    found, calls = in_c(exported, list(args), tmp_path)
    assert calls >= 8
    with torch.no_grad():
        torch.testing.assert_close(found, [model(*args)], rtol=2e-5, atol=2e-5)
    with pytest.raises(capture.ExportError, match="calls cblas: it is for C programs"):
        capture.load(str(tmp_path / "program"))


def test_what_cblas_does_not_take_is_generated(tmp_path):
    def others(a, i):
        return a.expand(3, 5).t() @ a.expand(4, 5)[:3], i @ i.t(), a[:, :1] @ a

    args = [torch.randn(1, 5), torch.randint(-5, 5, (3, 4))]
    found, calls = in_c(capture.export(others, args, blas="cblas"), args, tmp_path)
    assert calls == 1
    torch.testing.assert_close(found, list(others(*args)))


def test_wrong_arguments():
    with pytest.raises(capture.UsageError, match="blas is 'mkl': write one of 'generated', 'cblas'"):
        capture.export(torch.mm, (torch.ones(2, 2), torch.ones(2, 2)), blas="mkl")
    with pytest.raises(capture.UsageError, match="no cblas to call"):
        capture.export(torch.mm, (torch.ones(2, 2), torch.ones(2, 2)), blas="cblas", target="wasm32")
