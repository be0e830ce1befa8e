"""All rules: importing this fills the table."""

from __future__ import annotations

from capture.polyfills import iteration, searching
from capture.rules import (
    attributes,
    class_checks,
    containers,
    frame_locals,
    higher_order,
    iterators,
    library,
    loops,
    numbers,
    numpy_calls,
    operators,
    regular_expressions,
    tensor_types,
    torch_library,
)
from capture.variables import (
    autograd_function,
    cached_function,
    derivative_functions,
    function_transform,
    made_first,
    new_class,
    random_object,
    super_object,
    tensor_hooks,
    torch_wrappers,
    weak_reference,
)

FAMILIES = (
    attributes,
    class_checks,
    containers,
    frame_locals,
    higher_order,
    iteration,
    iterators,
    library,
    loops,
    numbers,
    numpy_calls,
    operators,
    regular_expressions,
    searching,
    tensor_types,
    torch_library,
    autograd_function,
    cached_function,
    derivative_functions,
    made_first,
    new_class,
    function_transform,
    random_object,
    super_object,
    tensor_hooks,
    torch_wrappers,
    weak_reference,
)
