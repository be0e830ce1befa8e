"""Worlds of tensors: a tensor is changed in place, or another one replaces it."""

from __future__ import annotations

import torch
from torch import nn

from tests.capture.worlds.registry import WORLDS, World, X

#: name, the function that makes the world, the called function, the change
ROWS = [
    ("t_requires_grad", lambda:torch.ones(4),lambda t:(X*t).requires_grad,lambda t:t.requires_grad_()),
    ("t_data", lambda:torch.ones(4),lambda t:X*t,lambda t:setattr(t,"data",torch.zeros(4))),
    ("t_data_dtype", lambda:torch.ones(4),lambda t:X*t,
     lambda t:setattr(t,"data",torch.zeros(4,dtype=torch.float64))),
    ("t_data_shape", lambda:torch.ones(4),lambda t:X*t,lambda t:setattr(t,"data",torch.full((1,),3.))),
    ("t_data_strides", lambda:torch.ones(3,4),lambda t:(X*t,(t*1).stride()),
     lambda t:setattr(t,"data",torch.ones(4,3).T)),
    ("t_set_", lambda:torch.ones(4),lambda t:X*t,lambda t:t.set_(torch.zeros(4))),
    ("t_set_shape", lambda:torch.ones(4),lambda t:X*t,lambda t:t.set_(torch.full((1,),3.))),
    ("t_resize", lambda:torch.ones(4),lambda t:X*t.sum(),lambda t:t.resize_(2)),
    ("t_storage_resized", lambda:torch.ones(4),lambda t:(X*1,t.untyped_storage().size()),
     lambda t:t.untyped_storage().resize_(64)),
    ("t_unsqueeze_", lambda:torch.ones(3),lambda t:(t*1).shape,lambda t:t.unsqueeze_(1)),
    ("t_transpose_", lambda:torch.ones(3,4),lambda t:(X*t.reshape(3,4),(t*1).shape),lambda t:t.t_()),
    ("t_conj", lambda:torch.ones(4,dtype=torch.complex64)*1j,
     lambda t:torch.view_as_real(torch.resolve_conj(t)),
     lambda t:setattr(t,"data",(torch.ones(4,dtype=torch.complex64)*1j).conj())),
    ("t_neg", lambda:torch.ones(4),lambda t:X*t,lambda t:setattr(t,"data",torch._neg_view(torch.ones(4)))),
    ("t_grad", lambda:torch.ones(4,requires_grad=True),lambda t:X if t.grad is None else X+t.grad,
     lambda t:setattr(t,"grad",torch.ones(4))),
    ("t_attr", lambda:torch.ones(4),lambda t:X+getattr(t,"foo",1),lambda t:setattr(t,"foo",5)),
    ("t_leaf", lambda:[torch.ones(4,requires_grad=True)],lambda t:(t[0].is_leaf,(X*t[0]).requires_grad),
     lambda t:t.__setitem__(0,t[0]*1)),
    ("t_version", lambda:torch.ones(4),lambda t:(X*1,t._version),lambda t:t.add_(0)),
    ("t_retains_grad", lambda:torch.ones(4,requires_grad=True)*1,lambda t:(X*1,t.retains_grad),
     lambda t:t.retain_grad()),
    ("t_class", lambda:torch.ones(4),lambda t:X*t,lambda t:setattr(t,"__class__",nn.Parameter)),
    ("t_alias_inputs", lambda:[torch.ones(4),torch.ones(4)],
     lambda t:(t[0].add_(1), t[1].add_(1), X * t[0] * t[1])[2],lambda t:t.__setitem__(1,t[0])),
    ("t_alias_view", lambda:[torch.ones(4),torch.ones(4)],lambda t:(t[0].add_(1),X*t[0]*t[1])[1],
     lambda t:t.__setitem__(1,t[0][:])),
    ("t_overlap", lambda:[torch.ones(8)[:4],torch.ones(4)],lambda t:(t[0].add_(1),X*t[0]*t[1])[1],
     lambda t:(lambda b:(t.__setitem__(0,b[:4]),t.__setitem__(1,b[2:6])))(torch.ones(8))),
    ("t_expanded", lambda:[torch.ones(3,4)],lambda t:(X*t[0]),
     lambda t:t.__setitem__(0,torch.full((1,4),2.).expand(3,4))),
    ("t_hook", lambda:torch.ones(4,requires_grad=True),lambda t:torch.autograd.grad((X*t).sum(),t)[0],
     lambda t:t.register_hook(lambda g:g*5)),
    ("t_sparse", lambda:[torch.ones(3,4)],lambda t:(t[0]*2).to_dense(),
     lambda t:t.__setitem__(0,torch.eye(3,4).to_sparse())),
    ("t_meta", lambda:[torch.ones(3,4)],lambda t:(t[0]*2).device.type,
     lambda t:t.__setitem__(0,torch.ones(3,4,device="meta"))),
    ("t_inference", lambda:[torch.ones(3,4)],lambda t:((t[0]*2).is_inference(),),
     lambda t:t.__setitem__(0,torch.inference_mode()(lambda:torch.ones(3,4))())),
    ("t_quant", lambda:[torch.ones(3,4)],lambda t:t[0].is_quantized,
     lambda t:t.__setitem__(0,torch.quantize_per_tensor(torch.ones(3,4),.1,0,torch.quint8))),
    ("t_0d_int", lambda:[torch.tensor(1)],lambda t:X[t[0]],lambda t:t[0].fill_(2)),
    ("t_channels_last", lambda:[torch.randn(2,3,4,4)],
     lambda t:((t[0]*2).stride(),t[0].is_contiguous(memory_format=torch.channels_last)),
     lambda t:t.__setitem__(0,t[0].to(memory_format=torch.channels_last))),
    ("t_offset", lambda:[torch.arange(8.)[:4]],lambda t:X*t[0],
     lambda t:t.__setitem__(0,torch.arange(8.)[4:])),
    ("t_storage_offset", lambda:[torch.arange(8.)[:4]],lambda t:(X*t[0],t[0].storage_offset()),
     lambda t:t.__setitem__(0,torch.arange(8.)[4:])),
    ("t_empty", lambda:[torch.arange(4.)],lambda t:(t[0]*2,len(t[0])),
     lambda t:t.__setitem__(0,torch.ones(0))),
    ("t_len1", lambda:[torch.arange(4.)],lambda t:X*t[0],lambda t:t.__setitem__(0,torch.ones(1))),
    ("t_ndim", lambda:[torch.arange(4.)],lambda t:X*t[0],lambda t:t.__setitem__(0,torch.tensor(2.))),
    ("t_view_of_leaf", lambda:[torch.ones(4,requires_grad=True)],lambda t:(t[0]*2).grad_fn is not None,
     lambda t:t.__setitem__(0,t[0].detach())),
    ("t_swapped", lambda: torch.ones(4), lambda t: X + t if t.ndim == 1 else X + t.T,
     lambda t: torch.utils.swap_tensors(t, torch.zeros(4, 1))),
]  # fmt: skip


def make_world(make, body, change):
    made = make()
    return (lambda: body(made)), (lambda: change(made))


for name, *parts in ROWS:
    WORLDS.append(World(name, lambda parts=parts: make_world(*parts)))
