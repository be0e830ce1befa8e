"""Imports make no circle of more than two files, those inside functions included, those for types not."""

from __future__ import annotations

import grimp
import networkx

PACKAGES = ("capture", "codegen", "guards", "cache")


def test_no_circle_is_larger_than_two_files() -> None:
    modules = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True, cache_dir=None)
    imports = networkx.DiGraph(
        (module, other)
        for module in modules.modules
        for other in modules.find_modules_directly_imported_by(module)
    )
    assert len(imports) > 400  # all folders are packages that grimp sees
    circles = [sorted(files) for files in networkx.strongly_connected_components(imports) if len(files) > 2]
    assert not circles
