"""Worlds of training: optimizers whose groups are edited, learning rates as tensors, closures, autograd modes
within each other, flags of the process, and generators of random numbers.

Each row: name, what makes the state, the called function of the state, the change.
"""

from __future__ import annotations

import types

import torch
from torch import nn

from tests.capture.worlds.registry import X, add_rows

OPTIMIZERS = {
    "sgd": lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9),
    "sgd_plain": lambda ps: torch.optim.SGD(ps, lr=0.1, foreach=False),
    "sgd_foreach": lambda ps: torch.optim.SGD(ps, lr=0.1, foreach=True, nesterov=True, momentum=0.5),
    "sgd_tensor": lambda ps: torch.optim.SGD(ps, lr=torch.tensor(0.1)),
    "adam": lambda ps: torch.optim.Adam(ps, lr=0.1),
    "adam_tensor": lambda ps: torch.optim.Adam(ps, lr=torch.tensor(0.1), capturable=False, foreach=False),
    "adamw": lambda ps: torch.optim.AdamW(ps, lr=0.1, amsgrad=True),
    "rmsprop": lambda ps: torch.optim.RMSprop(ps, lr=0.1, centered=True),
    "adagrad": lambda ps: torch.optim.Adagrad(ps, lr=0.1),
    "lbfgs": lambda ps: torch.optim.LBFGS(ps, lr=0.5, max_iter=3),
    "lbfgs_search": lambda ps: torch.optim.LBFGS(ps, max_iter=2, line_search_fn="strong_wolfe"),
}


def training(kind):
    """A model, its optimizer, and the number of steps with the closure."""

    def make():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
        state = types.SimpleNamespace(model=model, calls=0, factor=1.0, x=X / 10)
        state.optimizer = OPTIMIZERS[kind](model.parameters())
        return state

    return make


def step(state):
    """A step with a closure: loss, calls of the closure, parameters."""

    def closure():
        state.optimizer.zero_grad()
        state.calls += 1
        loss = (state.model(state.x) ** 2).mean() * state.factor
        loss.backward()
        return loss

    loss = state.optimizer.step(closure)
    return [loss.detach().clone(), state.calls, *[p.detach().clone() for p in state.model.parameters()]]


def plain_step(state):
    state.optimizer.zero_grad(set_to_none=state.calls == 0)
    loss = (state.model(state.x) ** 2).mean() * state.factor
    loss.backward()
    state.optimizer.step()
    return [loss.detach().clone(), *[p.detach().clone() for p in state.model.parameters()]]


def accumulated(state):
    for _ in range(2):
        (state.model(state.x) ** 2).mean().backward()
    return [p.grad.clone() for p in state.model.parameters()]


def clipped(state):
    state.optimizer.zero_grad()
    (state.model(state.x) ** 2).sum().backward()
    norm = nn.utils.clip_grad_norm_(state.model.parameters(), state.factor)
    state.optimizer.step()
    return [norm.clone(), *[p.detach().clone() for p in state.model.parameters()]]


def group(**options):
    return lambda s: s.optimizer.param_groups[0].update(options)


def add_group(state):
    extra = nn.Parameter(torch.ones(1))
    state.optimizer.add_param_group({"params": [extra], "lr": 0.5})
    state.model.register_parameter("extra", extra)


def split_group(state):
    first = state.optimizer.param_groups[0]
    moved = first["params"].pop()
    state.optimizer.param_groups.append({**first, "params": [moved], "lr": 0.7})


def new_state(state):
    state.optimizer.load_state_dict(OPTIMIZERS["adam"](state.model.parameters()).state_dict())


def new_optimizer(kind):
    return lambda s: setattr(s, "optimizer", OPTIMIZERS[kind](s.model.parameters()))


def doubled_gradients(optimizer, args, kwargs):
    for parameter in optimizer.param_groups[0]["params"]:
        parameter.grad.mul_(2)


OPTIMIZING = [
    *[(f"{kind}_other_rate", training(kind), plain_step, group(lr=0.01))
      for kind in ("sgd", "sgd_plain", "sgd_foreach", "adam", "adamw", "rmsprop", "adagrad")],
    *[(f"{kind}_with_a_closure", training(kind), step, lambda s: setattr(s, "factor", 2.0))
      for kind in ("sgd", "adam", "lbfgs", "lbfgs_search")],
    *[(f"{kind}_rate_filled", training(kind), plain_step,
       lambda s: s.optimizer.param_groups[0]["lr"].fill_(0.01)) for kind in ("sgd_tensor", "adam_tensor")],
    *[(f"{kind}_rate_replaced", training(kind), plain_step, group(lr=torch.tensor(0.02)))
      for kind in ("sgd_tensor", "adam_tensor")],
    ("rate_becomes_a_tensor", training("sgd_plain"), plain_step, group(lr=torch.tensor(0.02))),
    ("rate_becomes_a_number", training("sgd_tensor"), plain_step, group(lr=0.02)),
    ("lbfgs_other_rate", training("lbfgs"), step, group(lr=0.1)),
    ("lbfgs_more_iterations", training("lbfgs"), step, group(max_iter=5, max_eval=8)),
    ("lbfgs_other_data", training("lbfgs"), step, lambda s: setattr(s, "x", X / 5)),
    ("momentum", training("sgd"), plain_step, group(momentum=0.1)),
    ("momentum_off", training("sgd"), plain_step, group(momentum=0)),
    ("decay_on", training("sgd"), plain_step, group(weight_decay=0.1)),
    ("maximize", training("adam"), plain_step, group(maximize=True)),
    ("betas", training("adam"), plain_step, group(betas=(0.5, 0.6))),
    ("amsgrad_off", training("adamw"), plain_step, group(amsgrad=False)),
    ("foreach_on", training("sgd_plain"), plain_step, group(foreach=True)),
    ("group_added", training("sgd"), plain_step, add_group),
    ("group_split", training("sgd"), plain_step, split_group),
    ("group_emptied", training("sgd"), plain_step, group(params=[])),
    ("state_loaded", training("adam"), plain_step, new_state),
    ("state_forgotten", training("adam"), plain_step, lambda s: s.optimizer.state.clear()),
    ("another_optimizer", training("sgd"), plain_step, new_optimizer("adam")),
    ("hook_before_a_step", training("sgd"), plain_step,
     lambda s: s.optimizer.register_step_pre_hook(doubled_gradients)),
    ("hook_after_a_step", training("sgd"), lambda s: (plain_step(s), s.calls),
     lambda s: s.optimizer.register_step_post_hook(lambda o, a, k: setattr(s, "calls", s.calls + 1))),
    ("a_parameter_frozen", training("sgd"), plain_step, lambda s: s.model[0].weight.requires_grad_(False)),
    ("gradients_kept", training("sgd"), plain_step, lambda s: setattr(s, "calls", 1)),
    ("gradients_accumulated", training("sgd"), accumulated, lambda s: s.optimizer.zero_grad()),
    ("gradients_accumulated_in_zeros", training("sgd"), accumulated,
     lambda s: s.optimizer.zero_grad(set_to_none=False)),
    ("gradient_replaced", training("sgd"), accumulated,
     lambda s: setattr(s.model[0].weight, "grad", torch.ones(3, 4))),
    ("clipped_by_another_norm", training("sgd"), clipped, lambda s: setattr(s, "factor", 0.01)),
    ("schedule", training("sgd"), plain_step,
     lambda s: torch.optim.lr_scheduler.StepLR(s.optimizer, 1, gamma=0.1).step()),
    ("parameter_data_replaced", training("sgd"), plain_step,
     lambda s: setattr(s.model[0].weight, "data", torch.zeros(3, 4))),
]  # fmt: skip


class Entered:
    """A context manager that the change enters, and that the end of the world leaves."""

    def __init__(self, *contexts):
        self.contexts = contexts
        self.w = torch.ones(4, requires_grad=True)

    def enter(self):
        for context in self.contexts:
            context.__enter__()

    def restore(self):
        for context in reversed(self.contexts):
            context.__exit__(None, None, None)


def recorded(state):
    y = X * state.w
    return y.requires_grad, y.is_inference(), torch.is_grad_enabled(), torch.is_inference_mode_enabled()


def recorded_inside(context):
    """The modes inside of a block, and behind it."""

    def body(state):
        with context():
            inside = recorded(state)
        return inside, recorded(state)

    return body


def no_grad_in_a_function(state):
    @torch.no_grad()
    def inner():
        with torch.enable_grad():
            y = X * state.w
        return y.requires_grad, (X * state.w).requires_grad

    return inner(), recorded(state)


no_grad, grad, inference = torch.no_grad, torch.enable_grad, torch.inference_mode
MODES = [
    *[(f"{name}_around_{inner.__name__}", lambda contexts=contexts: Entered(*[c() for c in contexts]),
       recorded_inside(inner), Entered.enter)
      for name, contexts in [("no_grad", [no_grad]), ("inference", [inference]),
                             ("grad_in_no_grad", [no_grad, grad]), ("no_grad_in_grad", [grad, no_grad]),
                             ("inference_off_in_inference", [inference, lambda: inference(False)])]
      for inner in (no_grad, grad, inference)],
    *[(f"{name}_around_a_decorated_function", lambda context=context: Entered(context()),
       no_grad_in_a_function, Entered.enter)
      for name, context in [("no_grad", no_grad), ("inference", inference),
                            ("grad_set", lambda: torch.set_grad_enabled(True))]],
]  # fmt: skip


def restored(setter, old):
    """The state of a world whose end calls `setter(old)`."""
    return lambda: types.SimpleNamespace(restore=lambda: setter(old), w=torch.ones(4, 4))


MATMUL = torch.backends.mkldnn.matmul


def backend_precision():
    return restored(lambda value: setattr(MATMUL, "fp32_precision", value), MATMUL.fp32_precision)()


FLAGS = [
    ("deterministic", restored(torch.use_deterministic_algorithms, False),
     lambda s: (X.index_add(0, torch.tensor([0, 0]), X[:2]), torch.are_deterministic_algorithms_enabled()),
     lambda s: torch.use_deterministic_algorithms(True)),
    ("deterministic_warns_only", restored(torch.use_deterministic_algorithms, False),
     lambda s: (X + 1, torch.is_deterministic_algorithms_warn_only_enabled()),
     lambda s: torch.use_deterministic_algorithms(True, warn_only=True)),
    ("debug_mode", restored(torch.set_deterministic_debug_mode, 0),
     lambda s: (X + 1, torch.get_deterministic_debug_mode()),
     lambda s: torch.set_deterministic_debug_mode("error")),
    ("matmul_medium", restored(torch.set_float32_matmul_precision, "highest"),
     lambda s: (X @ s.w, torch.get_float32_matmul_precision()),
     lambda s: torch.set_float32_matmul_precision("medium")),
    ("matmul_of_the_backend", backend_precision, lambda s: (X @ s.w, MATMUL.fp32_precision),
     lambda s: setattr(MATMUL, "fp32_precision", "bf16")),
    ("flush_denormal", restored(torch.set_flush_denormal, False),
     lambda s: torch.full((3,), 1e-30) * torch.tensor(1e-10),
     lambda s: torch.set_flush_denormal(True)),
    ("print_options", restored(lambda v: torch.set_printoptions(profile=v), "default"),
     lambda s: (X + 1, str(X)[:20]), lambda s: torch.set_printoptions(precision=1)),
]  # fmt: skip


def generator(seed=7):
    return lambda: types.SimpleNamespace(g=torch.Generator().manual_seed(seed), kept=None)


RANDOM = [
    ("generator_seeded", generator(), lambda s: torch.rand(4, generator=s.g), lambda s: s.g.manual_seed(1)),
    ("generator_replaced", generator(), lambda s: torch.randn(3, generator=s.g) + X[:, 0],
     lambda s: setattr(s, "g", torch.Generator().manual_seed(3))),
    ("generator_state_set", generator(), lambda s: torch.randperm(6, generator=s.g),
     lambda s: s.g.set_state(torch.Generator().manual_seed(9).get_state())),
    ("generator_drawn_elsewhere", generator(), lambda s: torch.randint(9, (4,), generator=s.g),
     lambda s: torch.rand(5, generator=s.g)),
    ("generator_in_place", generator(), lambda s: torch.zeros(4).normal_(generator=s.g) + 1,
     lambda s: s.g.manual_seed(2)),
    ("generator_given_up", generator(), lambda s: torch.bernoulli(torch.full((9,), 0.5), generator=s.g),
     lambda s: setattr(s, "g", None)),
    ("global_state_kept", generator(),
     lambda s: (torch.get_rng_state() if s.kept is None else s.kept, torch.rand(2))[1],
     lambda s: torch.set_rng_state(torch.Generator().manual_seed(4).get_state())),
    ("fork", generator(), lambda s: forked(s), lambda s: torch.manual_seed(11)),
    ("dropout_reseeded", generator(), lambda s: nn.functional.dropout(X, 0.5),
     lambda s: torch.manual_seed(11)),
    ("seed_inside", generator(), lambda s: (torch.manual_seed(s.g.initial_seed()), torch.rand(3))[1],
     lambda s: s.g.manual_seed(12)),
    ("initialised_inside", generator(), lambda s: nn.init.normal_(torch.empty(4)),
     lambda s: torch.manual_seed(2)),
    ("module_made_inside", generator(), lambda s: nn.Linear(4, 2)(X).detach(),
     lambda s: torch.manual_seed(2)),
]  # fmt: skip


def forked(state):
    with torch.random.fork_rng():
        torch.manual_seed(5)
        inside = torch.rand(2)
    return inside, torch.rand(2)


for prefix, rows in (("train", OPTIMIZING), ("mode", MODES), ("flag", FLAGS), ("random", RANDOM)):
    add_rows(prefix, rows)
