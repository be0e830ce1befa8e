"""Faster convolutions: the memory layout of the tensors around them, products, and code of our own."""

from __future__ import annotations

import torch

FORWARD, BACKWARD = torch.ops.aten.convolution.default, torch.ops.aten.convolution_backward.default
