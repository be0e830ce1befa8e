"""Which module has which keys of the tables. `scripts/contents.py` writes it."""

from __future__ import annotations

MADE_WITH = "torch 2.13, Python 3.11"

LOWERINGS = {
    "codegen.lower.activation": """
        aten::gelu aten::gelu_backward
    """,
    "codegen.lower.assertions": """
        aten::_assert_async aten::_assert_async.msg
    """,
    "codegen.lower.copies": """
        aten::clone aten::copy prims::clone
    """,
    "codegen.lower.creation": """
        aten::_efficientzerotensor aten::arange aten::arange.start aten::arange.start_step
        aten::empty.memory_format aten::empty_like aten::empty_strided aten::eye aten::eye.m aten::fill.Scalar
        aten::fill.Tensor aten::full aten::full_like aten::linspace aten::logspace aten::new_empty
        aten::new_empty_strided aten::new_full aten::new_ones aten::new_zeros aten::ones aten::ones_like
        aten::scalar_tensor aten::tril aten::tril_indices aten::triu aten::triu_indices aten::zeros
        aten::zeros_like prims::iota
    """,
    "codegen.lower.indexing": """
        aten::_unsafe_index.Tensor aten::constant_pad_nd aten::diagonal_scatter aten::embedding aten::gather
        aten::index.Tensor aten::index_select aten::select_scatter aten::slice_scatter
    """,
    "codegen.lower.joining": """
        aten::cat aten::copy_ aten::roll aten::stack
    """,
    "codegen.lower.pointwise": """
        aten::_to_copy aten::abs aten::acos aten::acosh aten::add.Scalar aten::add.Tensor aten::addcdiv
        aten::addcmul aten::asin aten::asinh aten::atan aten::atan2 aten::atanh aten::bitwise_and.Scalar
        aten::bitwise_and.Scalar_Tensor aten::bitwise_and.Tensor aten::bitwise_left_shift.Scalar_Tensor
        aten::bitwise_left_shift.Tensor aten::bitwise_left_shift.Tensor_Scalar aten::bitwise_not
        aten::bitwise_or.Scalar aten::bitwise_or.Scalar_Tensor aten::bitwise_or.Tensor
        aten::bitwise_right_shift.Scalar_Tensor aten::bitwise_right_shift.Tensor
        aten::bitwise_right_shift.Tensor_Scalar aten::bitwise_xor.Scalar aten::bitwise_xor.Scalar_Tensor
        aten::bitwise_xor.Tensor aten::ceil aten::clamp aten::clamp.Tensor aten::clamp_max
        aten::clamp_max.Tensor aten::clamp_min aten::clamp_min.Tensor aten::copysign.Scalar
        aten::copysign.Tensor aten::cos aten::cosh aten::div.Scalar aten::div.Scalar_mode aten::div.Tensor
        aten::div.Tensor_mode aten::eq.Scalar aten::eq.Tensor aten::erf aten::erfc aten::exp aten::exp2
        aten::expm1 aten::floor aten::floor_divide aten::floor_divide.Scalar aten::fmax aten::fmin
        aten::fmod.Scalar aten::fmod.Tensor aten::ge.Scalar aten::ge.Tensor aten::gt.Scalar aten::gt.Tensor
        aten::hypot aten::isfinite aten::isinf aten::isnan aten::isneginf aten::isposinf aten::le.Scalar
        aten::le.Tensor aten::lerp.Scalar aten::lerp.Tensor aten::lgamma aten::log aten::log10 aten::log1p
        aten::log2 aten::logical_and aten::logical_not aten::logical_or aten::logical_xor aten::lt.Scalar
        aten::lt.Tensor aten::masked_fill.Scalar aten::masked_fill.Tensor aten::maximum aten::minimum
        aten::mul.Scalar aten::mul.Tensor aten::ne.Scalar aten::ne.Tensor aten::neg aten::nextafter
        aten::pow.Scalar aten::pow.Tensor_Scalar aten::pow.Tensor_Tensor aten::reciprocal aten::relu
        aten::remainder.Scalar aten::remainder.Scalar_Tensor aten::remainder.Tensor aten::round aten::rsqrt
        aten::rsub.Scalar aten::rsub.Tensor aten::sgn aten::sigmoid aten::sigmoid_backward aten::sign
        aten::signbit aten::sin aten::sinh aten::sqrt aten::sub.Scalar aten::sub.Tensor aten::tan aten::tanh
        aten::tanh_backward aten::threshold aten::threshold_backward aten::to.dtype aten::true_divide.Tensor
        aten::trunc aten::where.Scalar aten::where.ScalarOther aten::where.ScalarSelf aten::where.self
        prims::convert_element_type
    """,
    "codegen.lower.pooling": """
        aten::avg_pool2d aten::max_pool2d_with_indices
    """,
    "codegen.lower.reduction": """
        aten::all aten::all.dim aten::all.dims aten::amax aten::amin aten::any aten::any.dim aten::any.dims
        aten::argmax aten::argmin aten::max aten::max.dim aten::mean aten::mean.dim aten::min aten::min.dim
        aten::prod aten::prod.dim_int aten::std.correction aten::sum aten::sum.dim_IntList aten::var
        aten::var.correction aten::var.dim aten::var_mean.correction aten::var_mean.dim prims::var
    """,
    "codegen.lower.scan": """
        aten::cummax aten::cummin aten::cumprod aten::cumsum
    """,
    "codegen.lower.scattering": """
        aten::_unsafe_index_put aten::embedding_dense_backward aten::index_add aten::index_copy
        aten::index_fill.int_Scalar aten::index_fill.int_Tensor aten::index_put aten::index_reduce aten::put
        aten::scatter.reduce aten::scatter.src aten::scatter.value aten::scatter.value_reduce
        aten::scatter_add aten::scatter_reduce.two aten::take
    """,
    "codegen.lower.updates": """
        codegen.trace.updates.adam codegen.trace.updates.sgd
    """,
    "codegen.lower.view": """
        aten::_reshape_alias aten::_unsafe_view aten::alias aten::as_strided aten::broadcast_to aten::chunk
        aten::detach aten::diagonal aten::expand aten::flatten.using_ints aten::flip aten::lift_fresh
        aten::lift_fresh_copy aten::narrow aten::permute aten::repeat aten::reshape aten::select.int
        aten::slice.Tensor aten::split.Tensor aten::split_with_sizes aten::squeeze aten::squeeze.dim
        aten::squeeze.dims aten::t aten::transpose.int aten::unbind.int aten::unfold aten::unsqueeze
        aten::view aten::view_copy
    """,
    "codegen.lower.windows": """
        aten::col2im aten::im2col
    """,
}
