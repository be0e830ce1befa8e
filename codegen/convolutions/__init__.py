"""Faster convolutions: the memory layout of the tensors around them."""

from __future__ import annotations

import torch

FORWARD, BACKWARD = torch.ops.aten.convolution.default, torch.ops.aten.convolution_backward.default
