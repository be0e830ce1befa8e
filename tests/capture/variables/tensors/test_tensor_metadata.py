"""What a tensor says of itself: its base, version, place in autograd's graph, memory, layout.

In:  tensors made in many ways, and a question about each that decides a branch.
Out: eager's answer, and eager's side of the branch.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import capture

MAKERS = """
x * 2
(x * 2).t()
(x * 2).t()[0]
(x * 2).reshape(6)
(x * 2).t().contiguous()
(x * 2).contiguous()
(x * 2).to(torch.float32)
(x * 2).detach()
(x * 2).data
(x * 2).view_as(x)
(x * 2).mul_(3)
(x * 2).t_()
(x * 2).unsqueeze_(0)
(x * 2).unbind(0)[1]
(x * 2).expand(2, 2, 3)
(x * 2).expand(2, 3)
(x * 2).squeeze()
(x * 2).as_strided((2,), (1,))
(x * 2).detach_()
(x * 2).view(torch.int32)
(x * 2).as_subclass(torch.Tensor)
torch.ops.aten.alias(x * 2)
torch.unsafe_chunk(x * 2, 2)[0]
torch.complex(x, x).real
torch.nn.functional.relu(x * 2, inplace=True)
torch.mul(x, 2, out=torch.empty(2, 3))
torch.ones(2, 3)
torch.ones(2, 3)[0]
torch.ones(2, 3).requires_grad_()
torch.ones(2, 3).zero_().add_(1)
torch.ones(2, 3, requires_grad=True) * 2
torch.empty(0).set_(x * 2)
torch.empty(2, 3).copy_(p)
without_grad(lambda: p * 2)
without_grad(lambda: p[0])
without_grad(lambda: (p * 2)[0])
in_inference(lambda: x * 2)
in_inference(lambda: (x * 2)[0])
in_inference(lambda: x[0])
x
x[0]
x.detach()
x.data
x.as_subclass(torch.Tensor)
p
p.t()
p.data
p * 2
(p * 2)[0]
p.chunk(2)[1]
p.clone()
p.as_subclass(torch.Tensor)
p.detach().requires_grad_(False)
view
view[0]
view + 1
of_parameter
of_parameter[0]
of_parameter.detach()
one_of_many
one_of_many[0:1]
inference
inference[0]
inference * 2
written.add_(1)
written.add_(1)[0]
""".strip().split("\n")
QUESTIONS = """
t._base is None
t._base is t
t._base is x
t._base.shape if t._base is not None else None
t._is_view()
t.grad_fn is None
type(t.grad_fn).__name__
t.is_leaf
t._version if not t.is_inference() else None
t.output_nr
t.retains_grad
t.requires_grad
t.is_contiguous(), t.stride(), t.storage_offset(), t.dim_order()
t.is_inference(), t.is_conj(), t._is_zerotensor(), t.is_shared()
t.names, t.name
t._backward_hooks is None, t._post_accumulate_grad_hooks is None
sorted(t.__dict__)
t.untyped_storage().nbytes(), t.storage().size()
t.data_ptr() == x.data_ptr(), t.data_ptr() == p.data_ptr()
t.data_ptr() - t.untyped_storage().data_ptr()
t.untyped_storage()._cdata == x.untyped_storage()._cdata
t.untyped_storage().data_ptr() == view.untyped_storage().data_ptr()
t is x, t is p, t is view
id(t) == id(x), id(t) == id(p), id(t) == id(t)
type(t).__name__, isinstance(t, torch.nn.Parameter)
t._cdata == x._cdata
""".strip().split("\n")
NAMES = "x, p, view, of_parameter, one_of_many, inference, written"
FORMS = {
    "read": "    t = {maker}\n    answer = {question}\n",
    "read behind a break": "    t = {maker}\n    capture.graph_break()\n    answer = {question}\n",
    "read in a function": "    answer = ask(make({names}), {names})\n",
}


def without_grad(make):
    with torch.no_grad():
        return make()


def in_inference(make):
    with torch.inference_mode():
        return make()


def arguments() -> list[torch.Tensor]:
    torch.manual_seed(0)
    with torch.inference_mode():
        inference = torch.randn(2, 3)
    return [
        torch.randn(2, 3),
        torch.nn.Parameter(torch.randn(2, 3)),
        torch.randn(4, 2, 3)[1],
        torch.nn.Parameter(torch.randn(4, 2, 3))[1],
        torch.randn(3, 2, 3, requires_grad=True).unbind(0)[1],
        inference,
        torch.randn(2, 3),
    ]


def program(maker: str, question: str, form: str) -> Any:
    lines = f"def make({NAMES}):\n    return {maker}\n"
    lines += f"def ask(t, {NAMES}):\n    return {question}\n"
    body = FORMS[form].format(maker=maker, question=question, names=NAMES)
    lines += f"def program({NAMES}):\n{body}    return answer, (x + 1 if answer else x - 1)\n"
    namespace = {
        "torch": torch,
        "capture": capture,
        "without_grad": without_grad,
        "in_inference": in_inference,
    }
    exec(compile(lines, f"<{question} of {maker}>", "exec"), namespace)
    return namespace["program"]


def outcome(run: Any) -> Any:
    try:
        answer, result = run(*arguments())
    except (RuntimeError, AttributeError) as error:
        return type(error)
    return repr(answer), result.tolist()


#: behind a break the node is that of the graph, which has another name
CASES = [
    (question, form)
    for question in QUESTIONS
    for form in FORMS
    if (question, form) != ("type(t.grad_fn).__name__", "read behind a break")
]


@pytest.mark.sweep
@pytest.mark.parametrize(("question", "form"), CASES)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::capture.CaptureWarning")
def test_answers_are_those_of_eager(question: str, form: str) -> None:
    check(MAKERS, question, form)


@pytest.mark.parametrize(
    "question", ["t._base is None", "t._is_view()", "t._version", "t.is_leaf", "type(t.grad_fn).__name__"]
)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::capture.CaptureWarning")
def test_questions_about_some_tensors(question: str) -> None:
    check(MAKERS[1:24:3], question, "read in a function")


def check(makers: list[str], question: str, form: str) -> None:
    for maker in makers:
        run = program(maker, question, form)
        captured = capture.compile(program(maker, question, form), backend="aot_eager")
        expected = outcome(run)
        assert [outcome(captured), outcome(captured)] == [expected, expected], maker
