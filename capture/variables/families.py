"""All rules: importing this fills the table."""

from __future__ import annotations

from capture.variables.callables import cached_function
from capture.variables.callables import rules as library
from capture.variables.callables import searching_polyfills as searching
from capture.variables.containers import rules as containers
from capture.variables.iterators import polyfills as iteration
from capture.variables.iterators import rules as iterators
from capture.variables.numbers import random_object
from capture.variables.numbers import rules as numbers
from capture.variables.objects import class_rules as class_checks
from capture.variables.objects import namespace_rules as frame_locals
from capture.variables.objects import new_class, super_object, weak_reference
from capture.variables.objects import rules as attributes
from capture.variables.operations import rules as operators
from capture.variables.tensors import new_parameter as made_first
from capture.variables.tensors import numpy_rules as numpy_calls
from capture.variables.tensors import rules as tensor_types
from capture.variables.tensors import tensor_hooks
from capture.variables.text import rules as regular_expressions
from capture.variables.torch import autograd_function, derivative_functions
from capture.variables.torch import higher_order_rules as higher_order
from capture.variables.torch import loop_rules as loops
from capture.variables.torch import rules as torch_library
from capture.variables.torch import transforms as function_transform
from capture.variables.torch import wrappers as torch_wrappers

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
