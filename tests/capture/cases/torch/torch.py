"""Parts of torch around plain operations: random numbers, numpy, subclasses, custom operators."""

from __future__ import annotations

import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.capture.cases.registry import case, default_args


def seeded(make):
    def args():
        torch.manual_seed(0)
        return make()

    return args


def module_on(make, *shape, train=True):
    def args():
        torch.manual_seed(0)
        return make().train(train), torch.randn(*shape)

    return args


def forward_and_gradients(model, x):
    result = model(x)
    while isinstance(result, tuple):
        result = result[0]
    result.square().sum().backward()
    return result.detach(), [p.grad for p in model.parameters()], [b.clone() for b in model.buffers()]


# --- random numbers: the global generator is where eager mode leaves it ---


@case(graphs=1, ops=14)
def random_numbers(x):
    torch.manual_seed(3)
    a = F.dropout(x, 0.5) + torch.rand(3, 4) + torch.randn_like(x) * torch.bernoulli(torch.full_like(x, 0.5))
    return (
        a,
        torch.rand(2),
        torch.randperm(5),
        torch.randint(0, 9, (3,)),
        torch.normal(0.0, 1.0, (2,)),
        torch.empty(2).uniform_(),
    )


@case(graphs=1, ops=1)
def random_with_generator(x):
    g = torch.Generator().manual_seed(5)
    return x + torch.rand(3, 4, generator=g), torch.rand(1, generator=g)


@case(graphs=2, ops=4)
def forked_random_state(x):
    torch.manual_seed(1)
    with torch.random.fork_rng():
        a = torch.rand(2)
    return a, torch.rand(2) + x.sum()


@case(graphs=3, ops=3)
def random_state_read_and_set(x):
    state = torch.get_rng_state()
    a = torch.rand(3)
    torch.set_rng_state(state)
    return torch.equal(a, torch.rand(3)), x + 1


@case(graphs=1, ops=2)
def python_random(x):
    random.seed(4)
    a = random.random()
    y = x * a
    return y + random.randint(1, 10), random.choice([1, 2, 3]), random.random()


@case(graphs=2, ops=4)
def python_random_on_both_sides_of_a_break(x):
    random.seed(4)
    y = x * random.uniform(1, 2) + random.random() * 3
    random.getstate()
    return y - random.randint(1, 6)


@case(graphs=2, ops=2)
def numpy_random(x):
    np.random.seed(4)
    y = x * float(np.random.rand())
    return y + np.random.randint(3), np.random.rand()


# --- numpy ---


@case(graphs=1, ops=6)
def to_numpy_and_back(x):
    a = (x * 2).numpy()
    return torch.from_numpy(np.floor(a)) + 1, a.sum(), a.shape


ARRAY = np.ones((2, 4), np.float32)


@case(graphs=1, ops=5)
def numpy_array_of_the_module(x):
    return torch.from_numpy(ARRAY) + x[0], float((ARRAY * 2).sum())


@case(graphs=1, ops=3)
def numpy_scalar(x):
    return x * np.float32(2.5) + np.sqrt(2.0) + np.pi


@case(graphs=1, ops=8)
def tensor_from_numpy_array(x):
    return torch.tensor(np.arange(3)) + torch.as_tensor(np.ones(3)) + x[:, 0]


# --- functions with other kinds of tensors ---


SPARSE = torch.eye(3).to_sparse()


@case(graphs=1, ops=1)
def sparse_tensor(x):
    return torch.sparse.mm(SPARSE, x) + 1


@case(
    graphs=1,
    ops=6,
    args=lambda: (torch.randn(3, dtype=torch.complex64, generator=torch.Generator().manual_seed(0)),),
)
def complex_argument(z):
    return z * 2 + 1j, z.abs(), z.conj().imag, torch.view_as_real(z)


@case(graphs=1, ops=1)
def meta_tensor(x):
    m = torch.ones(3, 4, device="meta")
    return (m + 1).shape, (m * 2).device.type, x + 1


@case(
    graphs=1, ops=1, args=lambda: (torch.quantize_per_tensor(torch.tensor([1.0, 2.0]), 0.1, 0, torch.quint8),)
)
def quantized_argument(q):
    return q.dequantize() + 1


NESTED = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])


@case(graphs=1, ops=3)
def nested_tensor(x):
    return [t + 1 for t in NESTED.unbind()], x * 2


class Tagged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(result, Tagged):
            result.tag = getattr(func, "__name__", "?")
        return result


@case(graphs=1, ops=2)
def tensor_subclass(x):
    y = x.as_subclass(Tagged) * 2 + 1
    return y.as_subclass(torch.Tensor), type(y).__name__, y.tag


class Proxy:
    def __init__(self, held):
        self.held = held

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        plain = [a.held if isinstance(a, Proxy) else a for a in args]
        return Proxy(func(*plain, **(kwargs or {})))


@case(graphs=1, ops=3, args=lambda: (Proxy(torch.ones(3)), torch.ones(3)))
def torch_function_object(p, x):
    return torch.add(p, x).held, torch.sin(p).held + 1


class CountCalls(torch.overrides.TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(getattr(func, "__name__", "?"))
        return func(*args, **(kwargs or {}))


@case(graphs=1, ops=2)
def torch_function_mode(x):
    with CountCalls() as mode:
        y = torch.sin(x) + 1
    return y, mode.names


# --- custom operators, scripted functions, profiler ---


@torch.library.custom_op("capture_cases::scaled_sum", mutates_args=())
def scaled_sum(x: torch.Tensor, factor: float) -> torch.Tensor:
    return torch.from_numpy(np.asarray(x.numpy().sum() * factor, dtype=np.float32))


@scaled_sum.register_fake
def _(x, factor):
    return x.new_empty(())


@torch.library.custom_op("capture_cases::add_to", mutates_args=("x",))
def add_to(x: torch.Tensor, y: torch.Tensor) -> None:
    x.add_(y)


@case(graphs=1, ops=3)
def custom_operator(x):
    return scaled_sum(x * 2, 3.0) + 1


@case(graphs=1, ops=3)
def custom_operator_by_name(x):
    return torch.ops.capture_cases.scaled_sum(x, 2.0) * torch.ops.capture_cases.scaled_sum.default(x, 1.0)


@case(graphs=1, ops=3)
def custom_operator_that_writes(x):
    y = x + 1
    add_to(y, x)
    return y * 2


@torch.jit.script
def scripted(x):
    return x * 2 + 1


@case(graphs=1, ops=4)
def scripted_function(x):
    return scripted(x + 1) * 3


@case(graphs=1, ops=2)
def profiler_range(x):
    with torch.profiler.record_function("range"):
        y = x * 2
    with torch.autograd.profiler.record_function("other", "args"):
        return y + 1


@case(graphs=4, ops=6)
def data_dependent_shapes(x):
    return x[x > 0] * 2, torch.nonzero(x > 0).shape, torch.unique((x > 0).long()) + 1


@case(graphs=3, ops=6)
def tensor_to_python_numbers(x):
    n = int(x.sum().abs()) + 1
    return x * n, x.tolist()[0][0] > 0, float(x[0, 0]), f"{x[0, 0].item():.3f}"


# --- library modules ---


@case(graphs=2, ops=7, args=module_on(lambda: nn.LSTM(4, 5, 2, batch_first=True), 3, 6, 4))
def lstm(model, x):
    return forward_and_gradients(model, x)


@case(graphs=2, ops=6, args=module_on(lambda: nn.GRU(4, 5, bidirectional=True), 3, 6, 4))
def gru(model, x):
    return forward_and_gradients(model, x)


@case(graphs=2, ops=6, args=module_on(lambda: nn.RNN(4, 5, nonlinearity="relu"), 3, 6, 4))
def rnn(model, x):
    return forward_and_gradients(model, x)


@case(graphs=1, ops=9, args=module_on(lambda: nn.LSTMCell(4, 5), 3, 4))
def lstm_cell(model, x):
    h, c = model(x)
    h, c = model(x * 2, (h, c))
    return h + c


@case(graphs=4, ops=7, args=module_on(lambda: nn.LSTM(4, 5), 6, 3, 4))
def packed_sequence(model, x):
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([6, 4, 2]))
    out, (h, _) = model(packed)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(out)
    return padded + 1, lengths, h


@case(graphs=1, ops=6, args=module_on(lambda: nn.MultiheadAttention(4, 2, batch_first=True), 3, 5, 4))
def multihead_attention(model, x):
    out, weights = model(x, x, x)
    return out + 1, weights


@case(
    graphs=2,
    ops=17,
    args=module_on(lambda: nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), 3, 5, 4),
)
def transformer_layer_training(model, x):
    return forward_and_gradients(model, x)


@case(
    graphs=1,
    ops=4,
    args=module_on(lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 3, 5, 4, train=False),
)
def transformer_layer_eval(model, x):
    with torch.no_grad():
        return model(x) + 1


@case(
    graphs=4,
    ops=None,
    args=module_on(
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2),
        3,
        5,
        4,
        train=False,
    ),
)
def transformer_encoder_eval(model, x):
    with torch.no_grad():
        return model(x, src_key_padding_mask=torch.zeros(3, 5, dtype=torch.bool)) + 1


@case(
    graphs=1,
    ops=40,
    args=seeded(lambda: (nn.Transformer(4, 2, 1, 1, 8, 0.0, batch_first=True), torch.randn(2, 3, 4))),
)
def transformer(model, x):
    return model(x, x * 2) + 1


@case(
    graphs=2,
    ops=3,
    args=seeded(
        lambda: (nn.EmbeddingBag(10, 3, mode="sum"), torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2]))
    ),
)
def embedding_bag(model, index, offsets):
    out = model(index, offsets)
    out.sum().backward()
    return out.detach(), model.weight.grad


@case(graphs=2, ops=8)
def ctc_loss(x):
    logs = F.log_softmax(torch.linspace(0, 1, 30).reshape(5, 2, 3), 2)
    return (
        F.ctc_loss(logs, torch.tensor([[1, 2], [2, 1]]), torch.tensor([5, 5]), torch.tensor([2, 2])) + x.sum()
    )


@case(graphs=2, ops=5, args=module_on(lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), 2, 4))
def weight_norm(model, x):
    return forward_and_gradients(model, x)


@case(
    graphs=2, ops=19, args=module_on(lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)), 2, 4)
)
def spectral_norm(model, x):
    return forward_and_gradients(model, x)


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).transpose(-1, -2)


def symmetric_linear():
    model = nn.Linear(4, 4)
    nn.utils.parametrize.register_parametrization(model, "weight", Symmetric())
    return model


@case(graphs=2, ops=8, args=module_on(symmetric_linear, 2, 4))
def parametrized(model, x):
    return forward_and_gradients(model, x)


def lazy_forward(x):
    torch.manual_seed(0)
    model = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d())
    return model(x) + 1, model(x * 2)


case(graphs=None)(lazy_forward)


@case(graphs=2, ops=8, args=module_on(lambda: nn.BatchNorm1d(4), 5, 4))
def batch_norm_training(model, x):
    return forward_and_gradients(model, x)


@case(
    graphs=3,
    ops=8,
    args=module_on(
        lambda: nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 4), nn.RReLU(), nn.AlphaDropout(0.3)), 5, 4
    ),
)
def random_modules(model, x):
    torch.manual_seed(9)
    return forward_and_gradients(model, x), torch.rand(2)


@case(graphs=3, ops=17, args=default_args)
def clip_and_vectors(x):
    p = nn.Parameter(x * 1)
    (p * 3).sum().backward()
    norm = nn.utils.clip_grad_norm_([p], 1.0)
    return norm, p.grad, nn.utils.parameters_to_vector([p])


# --- Python code of torch that is part of the graph ---


@case(graphs=1, ops=4, args=default_args)
def tensor_methods_called_through_the_class(x):
    return (
        torch.Tensor.__rsub__(x, 2),
        torch.Tensor.__rpow__(x, 2.0),
        torch.Tensor.norm(x),
        torch.Tensor.add(x, 1),
    )


@case(graphs=1, args=default_args)
def masked_reductions(x):
    mask = x > 0
    return (
        torch.masked.sum(x, 1, mask=mask),
        torch.masked.amax(x, 0, mask=mask),
        torch.masked.mean(x),
        torch.masked.softmax(x, 1, mask=mask),
    )


# --- Python's types in the place of dtypes ---


@case(graphs=1, ops=7)
def python_types_as_dtypes(x):
    made = torch.tensor(0, dtype=int), torch.zeros(3, dtype=float), torch.full((2,), 1, dtype=complex)
    return *made, x.to(float), x.sum(dtype=float), (x > 0).to(dtype=bool)


@case(graphs=1, ops=1)
def tensor_type_as_dtype(x):
    return x.type(torch.DoubleTensor)


@case(graphs=1, ops=5, args=lambda: (torch.ones(3), torch.tensor(0.5)))
def tensors_read_for_numbers(x, rate):
    return x.add(x, alpha=rate), torch.addcmul(x, x, x, value=-rate)


# --- torch._check ---


@case(graphs=1, ops=1)
def checked_sizes(x):
    torch._check(x.size(0) > 2, lambda: f"{x.size(0)} rows")
    torch._check(x.dim() == 2)
    return x.sin()


@case(graphs=0)
def check_that_fails(x):
    torch._check(x.size(0) > 20, lambda: f"{x.size(0)} rows")
    return x.sin()


GRAPH_MODULE = torch.fx.symbolic_trace(lambda x, y=3: torch.sin(x) + y)


@case(graphs=1, ops=3)
def graph_modules_are_called(x):
    return GRAPH_MODULE(x) * 2


@case(graphs=1, ops=1)
def helpers_of_torchscript(x):
    try:
        torch.jit._unwrap_optional(None)
    except AssertionError:
        x = torch.jit.annotate(torch.Tensor, x)
    return torch.jit._unwrap_optional(x) + torch.onnx.is_in_onnx_export()


@case(graphs=1, ops=3)
def repeats_of_a_known_sum(x):
    return torch.repeat_interleave(x[0], torch.tensor([1, 0, 2, 1]), output_size=4)


@case(graphs=1, ops=1)
def names_that_torch_lacks(x):
    try:
        torch.no_such_name
    except AttributeError as error:
        return x + 1, str(error), hasattr(torch, "no_such_name_either"), hasattr(torch.backends, "mps")


@case(graphs=1, ops=3, args=lambda: ([torch.ones(2), torch.zeros(3)], (torch.ones(4),)))
def in_place_on_an_argument(tensors, more):
    result = torch._foreach_add_(tensors, 1.0)
    return result is tensors, torch._foreach_mul_(more, 2.0) is more, more[0] + 1


@case(graphs=1, ops=4)
def in_place_on_a_list(x):
    a, b = x + 1, x * 2
    tensors = [a, b]
    result = torch._foreach_add_(tensors, 1.0)
    return result, result is tensors, torch._foreach_zero_([b])
