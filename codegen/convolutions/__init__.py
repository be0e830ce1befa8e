"""Faster convolutions: the memory layout of the tensors around them."""
