"""The list of the modules of all families that register something.

In:  nothing.
Out: the import of this module fills the tables of wrappers, makers, rules, classes and methods.

The order of the list has no meaning.
"""

from __future__ import annotations

import capture.variables.callables.cached_function
import capture.variables.callables.debuggers
import capture.variables.callables.deferred_rules
import capture.variables.callables.rules
import capture.variables.callables.searching_polyfills
import capture.variables.callables.wrap
import capture.variables.containers.rules
import capture.variables.containers.wrap
import capture.variables.iterators.polyfills
import capture.variables.iterators.rules
import capture.variables.iterators.wrap
import capture.variables.numbers.clock_reads
import capture.variables.numbers.random_object
import capture.variables.numbers.rules
import capture.variables.numbers.tensor_reads
import capture.variables.objects.class_rules
import capture.variables.objects.instance
import capture.variables.objects.namespace_rules
import capture.variables.objects.new_class
import capture.variables.objects.rules
import capture.variables.objects.super_object
import capture.variables.objects.weak_reference
import capture.variables.objects.wrap
import capture.variables.operations.rules
import capture.variables.tensors.new_parameter
import capture.variables.tensors.numpy_array
import capture.variables.tensors.numpy_rules
import capture.variables.tensors.rules
import capture.variables.tensors.tensor_data
import capture.variables.tensors.tensor_grad
import capture.variables.tensors.tensor_hooks
import capture.variables.tensors.tensor_rules
import capture.variables.tensors.wrap
import capture.variables.text.rules
import capture.variables.text.strings
import capture.variables.torch.autograd_function
import capture.variables.torch.derivative_functions
import capture.variables.torch.flex_attention
import capture.variables.torch.higher_order_rules
import capture.variables.torch.loop_rules
import capture.variables.torch.nn_module
import capture.variables.torch.optimizer_rules
import capture.variables.torch.rules
import capture.variables.torch.transforms
import capture.variables.torch.wrappers  # noqa: F401
