"""Which module has which keys of the tables. `scripts/contents.py` writes it."""

from __future__ import annotations

MADE_WITH = "torch 2.13, Python 3.11"

BY_CODE = {
    "capture.variables.torch.compiled_callable": """
        CompiledModule.__call__ _as_a_block.<locals>.method_as_a_block _relay.<locals>.relay
    """,
    "capture.variables.torch.contexts": """
        autocast.__enter__ autocast.__exit__
    """,
    "capture.variables.torch.transforms": """
        grad.<locals>.wrapper grad_and_value.<locals>.wrapper jacfwd.<locals>.wrapper_fn
        jacrev.<locals>.wrapper_fn vmap.<locals>.wrapped
    """,
    "capture.variables.torch.wrappers": """
        _disable_dynamo.<locals>.inner _use_grad_for_differentiable.<locals>._use_grad
    """,
}

CALLS = {
    "capture.variables.callables.cached_function": """
        functools.cache functools.lru_cache
    """,
    "capture.variables.callables.debuggers": """
        builtins.breakpoint sys.setprofile sys.settrace
    """,
    "capture.variables.callables.deferred_rules": """
        .flush .write _warnings._filters_mutated _warnings.warn builtins.print logging.Logger.critical
        logging.Logger.debug logging.Logger.error logging.Logger.exception logging.Logger.fatal
        logging.Logger.info logging.Logger.isEnabledFor logging.Logger.log logging.Logger.warn
        logging.Logger.warning logging.critical logging.debug logging.error logging.fatal logging.getLogger
        logging.info logging.log logging.warn logging.warning
    """,
    "capture.variables.callables.rules": """
        <SimpleNamespace> <attrgetter> <itemgetter> <method> <methodcaller> <object> <partial> sys.exc_info
        sys.exception sys.getrecursionlimit torch._C._log_api_usage_once traceback.clear_frames typing.cast
    """,
    "capture.variables.containers.rules": """
        <OrderedDict> <Size> <defaultdict> <deque> <dict> <frozenset> <list> <mappingproxy> <range> <set>
        <slice> <tuple> None.__new__ builtins.sorted copy.copy
    """,
    "capture.variables.iterators.rules": """
        <count> <enumerate> <filter> <map> <repeat> <reversed> <zip> builtins.iter builtins.next itertools.tee
    """,
    "capture.variables.numbers.clock_reads": """
        time.monotonic time.monotonic_ns time.perf_counter time.perf_counter_ns time.process_time
        time.process_time_ns time.thread_time time.thread_time_ns time.time time.time_ns
    """,
    "capture.variables.numbers.random_object": """
        <Random>
    """,
    "capture.variables.numbers.rules": """
        <bytes> <complex> <float> <int> <str> builtins.abs builtins.divmod builtins.format builtins.pow
        builtins.repr builtins.round torch._get_sym_math_fn.<locals>.fn torch.arange torch.full
    """,
    "capture.variables.objects.class_rules": """
        <type> builtins.callable builtins.isinstance builtins.issubclass
    """,
    "capture.variables.objects.namespace_rules": """
        builtins.dir builtins.eval builtins.exec builtins.globals builtins.locals builtins.vars
    """,
    "capture.variables.objects.new_class": """
        <classmethod> <property> <staticmethod> builtins.__build_class__ collections.namedtuple
    """,
    "capture.variables.objects.rules": """
        builtins.delattr builtins.getattr builtins.hasattr builtins.hash builtins.id builtins.len
        builtins.setattr
    """,
    "capture.variables.objects.super_object": """
        <super>
    """,
    "capture.variables.objects.weak_reference": """
        <ReferenceType> <finalize> _weakref.proxy
    """,
    "capture.variables.operations.rules": """
        <bool> _operator.add _operator.and_ _operator.contains _operator.delitem _operator.eq
        _operator.floordiv _operator.ge _operator.getitem _operator.gt _operator.iadd _operator.iand
        _operator.ifloordiv _operator.ilshift _operator.imatmul _operator.imod _operator.imul _operator.invert
        _operator.ior _operator.ipow _operator.irshift _operator.is_ _operator.is_not _operator.isub
        _operator.itruediv _operator.ixor _operator.le _operator.lshift _operator.lt _operator.matmul
        _operator.mod _operator.mul _operator.ne _operator.neg _operator.not_ _operator.or_ _operator.pos
        _operator.pow _operator.rshift _operator.setitem _operator.sub _operator.truediv _operator.truth
        _operator.xor
    """,
    "capture.variables.tensors.from_arrays": """
        torch.as_tensor torch.asarray torch.from_numpy torch.tensor
    """,
    "capture.variables.tensors.new_parameter": """
        <Parameter>
    """,
    "capture.variables.tensors.numpy_random": """
        numpy.random
    """,
    "capture.variables.tensors.numpy_rules": """
        numpy
    """,
    "capture.variables.tensors.rules": """
        <BoolTensor> <ByteTensor> <CharTensor> <DoubleTensor> <FloatTensor> <HalfTensor> <IntTensor>
        <LongTensor> <ShortTensor> <Tensor>
    """,
    "capture.variables.tensors.tensor_hooks": """
        torch.utils.hooks.RemovableHandle.remove
    """,
    "capture.variables.tensors.tensor_subclass": """
        None._make_subclass
    """,
    "capture.variables.tensors.torch_function_overrides": """
        torch._C._disabled_torch_function_impl torch._C._get_function_stack_at torch._C._has_torch_function
        torch._C._has_torch_function_unary torch._C._has_torch_function_variadic
        torch._C._is_torch_function_all_disabled torch._C._is_torch_function_mode_enabled
        torch._C._len_torch_function_stack torch._C._pop_torch_function_stack
        torch._C._push_on_torch_function_stack torch._tensor.Tensor.__torch_function__
        torch.get_default_device torch.overrides.handle_torch_function
        torch.utils._device.DeviceContext.__torch_function__
    """,
    "capture.variables.text.rules": """
        capture.variables.text.polyfills.matches re.compile re.escape re.findall re.fullmatch re.match
        re.search re.split re.sub re.subn
    """,
    "capture.variables.torch.autograd_function": """
        torch.autograd.function.Function.apply
    """,
    "capture.variables.torch.autograd_grad": """
        torch.autograd.grad
    """,
    "capture.variables.torch.contexts": """
        <DisableTorchFunction> <DisableTorchFunctionSubclass> <_InferenceMode>
        torch.use_deterministic_algorithms
    """,
    "capture.variables.torch.derivative_functions": """
        torch.func.linearize torch.func.vjp
    """,
    "capture.variables.torch.flex_attention": """
        torch._higher_order_ops.flex_attention.FlexAttentionHOP.__call__
    """,
    "capture.variables.torch.higher_order_rules": """
        torch._higher_order_ops.map.map torch.cond torch.utils.checkpoint._disable_dynamo.<locals>.inner
    """,
    "capture.variables.torch.loop_rules": """
        torch._higher_order_ops.associative_scan.associative_scan
        torch._higher_order_ops.invoke_subgraph.invoke_subgraph_placeholder torch._higher_order_ops.scan.scan
        torch._higher_order_ops.while_loop.while_loop torch._higher_order_ops.wrap.Wrap.__call__
    """,
    "capture.variables.torch.nn_module": """
        capture.variables.torch.module_polyfills.hooks_after
    """,
    "capture.variables.torch.optimizer_rules": """
        torch._fused_adagrad_ torch._fused_adam_ torch._fused_adamw_ torch._fused_sgd_
        torch.optim.adam._multi_tensor_adam torch.optim.adam._single_tensor_adam
        torch.optim.sgd._multi_tensor_sgd torch.optim.sgd._single_tensor_sgd
    """,
    "capture.variables.torch.recurrent_rules": """
        torch._pack_padded_sequence torch._pad_packed_sequence torch.gru torch.lstm torch.rnn_relu
        torch.rnn_tanh
    """,
    "capture.variables.torch.rules": """
        <Buffer> <Variable> <_lazy_property_and_property> torch.nn.modules.transformer._detect_is_causal_mask
    """,
    "capture.variables.torch.transforms": """
        torch._functorch.eager_transforms.doesnt_support_saved_tensors_hooks.<locals>.fn
        torch._functorch.eager_transforms.grad_impl torch._functorch.vmap.vmap_impl torch.func.functionalize
        torch.func.grad torch.func.grad_and_value torch.func.hessian torch.func.jacfwd torch.func.jacrev
        torch.func.jvp torch.func.vmap
    """,
    "capture.variables.torch.wrappers": """
        <profile> _lru_cache_wrapper() torch._C._group_tensors_by_device_and_dtype
        torch._library.custom_ops.CustomOpDef.__call__ torch.masked._ops._combine_input_and_mask
        torch.nn.utils.stateless._untie_named_tensors_map torch.optim.optimizer._get_value
        torch.optim.optimizer._stack_if_compiling
    """,
}

CONSTANTS = {
    "capture.variables.containers.lists": """
        <list>
    """,
    "capture.variables.containers.mapping": """
        <dict>
    """,
    "capture.variables.containers.ranges": """
        <range> <slice>
    """,
    "capture.variables.containers.sequence": """
        <Size> <tuple>
    """,
    "capture.variables.containers.sets": """
        <frozenset> <set>
    """,
    "capture.variables.core.constant": """
        <NoneType> <NotImplementedType> <bool> <bytes> <complex> <ellipsis> <float> <int> <str>
    """,
    "capture.variables.numbers.symbolic": """
        <SymBool> <SymFloat> <SymInt>
    """,
}

CONSTANT_BASES = {
    "capture.variables.containers.named_tuple": """
        <tuple>
    """,
    "capture.variables.core.constant": """
        <Enum> <device> <dtype> <finfo> <iinfo> <layout> <memory_format> numpy
    """,
}

LATE = {
    "capture.variables.callables.rules": """
        is_in_onnx_export
    """,
    "capture.variables.torch.rules": """
        ModIndex.apply
    """,
}

MAKERS = {
    "capture.variables.callables.function": """
        <cell> <method>
    """,
    "capture.variables.callables.generic_alias": """
        <GenericAlias>
    """,
    "capture.variables.callables.native_method": """
        <method_descriptor>
    """,
    "capture.variables.callables.value_method": """
        <builtin_function_or_method>
    """,
    "capture.variables.containers.lists": """
        <list>
    """,
    "capture.variables.containers.mapping": """
        <dict>
    """,
    "capture.variables.containers.ranges": """
        <range>
    """,
    "capture.variables.containers.sequence": """
        <tuple>
    """,
    "capture.variables.core.exception": """
        <BaseException>
    """,
    "capture.variables.iterators.iterator": """
        <Iterator>
    """,
    "capture.variables.numbers.arithmetic": """
        <SymInt>
    """,
    "capture.variables.objects.instance": """
        <object> instance
    """,
    "capture.variables.objects.type_object": """
        <type>
    """,
    "capture.variables.tensors.tensor": """
        <Tensor>
    """,
}

POLYFILLS = {
    "capture.variables.callables.polyfills": """
        _collections._count_elements _functools.reduce _operator.concat _operator.countOf _operator.indexOf
        builtins.all builtins.any builtins.max builtins.min builtins.sum math.prod
    """,
    "capture.variables.callables.searching_polyfills": """
        _bisect.bisect_left _bisect.bisect_right _bisect.insort_left _bisect.insort_right
        _functools.cmp_to_key _heapq.heapify _heapq.heappop _heapq.heappush _heapq.heappushpop
        _heapq.heapreplace
    """,
    "capture.variables.iterators.polyfills": """
        <accumulate> <chain> <combinations> <combinations_with_replacement> <compress> <cycle> <dropwhile>
        <filterfalse> <groupby> <islice> <pairwise> <permutations> <product> <starmap> <takewhile>
        <zip_longest> None.from_iterable
    """,
    "capture.variables.torch.wrappers": """
        <record_function>
    """,
}

STRING_METHODS = {
    "capture.variables.text.strings": """
        % format format_map
    """,
}

TENSOR_ATTRIBUTES = {
    "capture.variables.tensors.tensor_data": """
        data
    """,
    "capture.variables.tensors.tensor_grad": """
        grad
    """,
    "capture.variables.tensors.tensor_rules": """
        __class__ _base device grad_fn is_leaf nbytes output_nr retains_grad
    """,
}

TENSOR_METHODS = {
    "capture.variables.numbers.tensor_reads": """
        narrow
    """,
    "capture.variables.tensors.numpy_inputs": """
        numpy
    """,
    "capture.variables.tensors.tensor_flag": """
        requires_grad_
    """,
    "capture.variables.tensors.tensor_hooks": """
        register_hook register_post_accumulate_grad_hook
    """,
    "capture.variables.tensors.tensor_rules": """
        __getitem__ __iter__ __setitem__ _is_view detach_ nelement new new_tensor type
    """,
    "capture.variables.tensors.tensor_subclass": """
        as_subclass
    """,
}

TENSOR_STORES = {
    "capture.variables.tensors.tensor_data": """
        data
    """,
    "capture.variables.tensors.tensor_flag": """
        requires_grad
    """,
    "capture.variables.tensors.tensor_grad": """
        grad
    """,
}

WRAPPERS = {
    "capture.variables.callables.generic_alias": """
        <GenericAlias> <UnionType>
    """,
    "capture.variables.callables.native_method": """
        <method_descriptor> <wrapper_descriptor>
    """,
    "capture.variables.callables.partial": """
        <partial>
    """,
    "capture.variables.callables.wrap": """
        <HookedFunction> <OpOverload> <OpOverloadPacket> <ScriptFunction> <_lru_cache_wrapper> <attrgetter>
        <builtin_function_or_method> <cell> <function> <itemgetter> <method> <methodcaller>
    """,
    "capture.variables.containers.wrap": """
        <OrderedDict> <Size> <defaultdict> <deque> <dict> <frozenset> <list> <mappingproxy> <range> <set>
        <slice> <tuple>
    """,
    "capture.variables.core.constant": """
        <NoneType> <NotImplementedType> <SDPBackend> <bool> <bytes> <code> <complex> <device> <dtype>
        <ellipsis> <finfo> <float> <iinfo> <int> <layout> <memory_format> <str>
    """,
    "capture.variables.iterators.wrap": """
        <count> <dict_itemiterator> <dict_items> <dict_keyiterator> <dict_keys> <dict_valueiterator>
        <dict_values> <enumerate> <filter> <list_iterator> <list_reverseiterator> <map> <odict_items>
        <odict_keys> <odict_values> <range_iterator> <repeat> <tuple_iterator> <zip>
    """,
    "capture.variables.numbers.random_object": """
        <Random>
    """,
    "capture.variables.objects.thread_local": """
        <_local>
    """,
    "capture.variables.objects.weak_reference": """
        <CallableProxyType> <ProxyType> <ReferenceType>
    """,
    "capture.variables.objects.wrap": """
        <module> by_base
    """,
    "capture.variables.tensors.numpy_random": """
        <cython_function_or_method> numpy.random
    """,
    "capture.variables.tensors.numpy_rules": """
        numpy
    """,
    "capture.variables.tensors.tensor_descriptor": """
        <getset_descriptor> <method-wrapper>
    """,
    "capture.variables.tensors.wrap": """
        <Parameter> <Tensor>
    """,
    "capture.variables.text.rules": """
        <Match> <Pattern>
    """,
}
