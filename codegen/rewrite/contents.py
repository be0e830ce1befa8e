"""Which module has which keys of the tables. `scripts/contents.py` writes it."""

from __future__ import annotations

MADE_WITH = "torch 2.13, Python 3.11"

FUNCTIONS = {
    "codegen.rewrite.circular_padding": """
        torch._C._nn.pad torch.nn.functional.pad
    """,
    "codegen.rewrite.gradient_hooks": """
        register_hook torch._tensor.Tensor.register_hook
    """,
    "codegen.rewrite.own_gradients": """
        index_reduce index_reduce_ max median min nanmedian prod scatter_reduce scatter_reduce_
        torch._C._linalg.linalg_eig torch._C._linalg.linalg_eigh torch.index_reduce torch.max torch.median
        torch.min torch.nanmedian torch.prod torch.scatter_reduce
    """,
    "codegen.rewrite.primitives": """
        prims::_make_token prims::_sink_tokens prims::abs prims::acos prims::acosh prims::add prims::amax
        prims::amin prims::as_strided prims::as_strided_scatter prims::asin prims::asinh prims::atan
        prims::atan2 prims::atanh prims::bessel_i0 prims::bessel_i0e prims::bessel_i1 prims::bessel_i1e
        prims::bessel_j0 prims::bessel_j1 prims::bitwise_and prims::bitwise_not prims::bitwise_or
        prims::bitwise_xor prims::broadcast_in_dim prims::cat prims::cbrt prims::ceil prims::clone
        prims::collapse prims::collapse_view prims::conj prims::conj_physical prims::convert_element_type
        prims::copy_strided prims::copy_to prims::cos prims::cosh prims::device_put prims::digamma prims::div
        prims::empty_permuted prims::empty_strided prims::eq prims::erf prims::erf_inv prims::erfc
        prims::erfcx prims::exp prims::exp2 prims::expm1 prims::fft_c2c prims::fft_c2r prims::fft_r2c
        prims::fill prims::floor prims::fmax prims::fmin prims::fmod prims::frexp prims::gcd prims::ge
        prims::gt prims::hypot prims::igamma prims::igammac prims::imag prims::iota prims::isfinite
        prims::item prims::le prims::lgamma prims::log prims::log10 prims::log1p prims::log2 prims::lt
        prims::maximum prims::maximum_value prims::minimum prims::minimum_value prims::mul prims::ndtri
        prims::ne prims::neg prims::nextafter prims::normal prims::pow prims::prod prims::real
        prims::reciprocal prims::remainder prims::reshape prims::resize prims::rev prims::round prims::rsqrt
        prims::scalar_tensor prims::shift_left prims::shift_right_arithmetic prims::sign prims::signbit
        prims::sin prims::sinh prims::spherical_bessel_j0 prims::split_dim prims::sqrt prims::squeeze
        prims::sub prims::sum prims::svd prims::tan prims::tanh prims::transpose prims::trunc prims::var
        prims::view_of prims::where prims::xor_sum prims::zeta
    """,
    "codegen.rewrite.recurrent_operators": """
        torch.gru torch.lstm torch.rnn_relu torch.rnn_tanh
    """,
    "codegen.rewrite.simple": """
        .fill_diagonal_ fill_diagonal_
    """,
    "codegen.rewrite.value_checks": """
        nanquantile quantile torch._C._nn.one_hot torch.nanquantile torch.quantile
    """,
}

OPERATORS = {
    "codegen.rewrite.activations": """
        aten::leaky_relu aten::leaky_relu_backward aten::rrelu_with_noise aten::sgn aten::silu
        aten::silu_backward
    """,
    "codegen.rewrite.attention": """
        aten::_scaled_dot_product_flash_attention_for_cpu
        aten::_scaled_dot_product_flash_attention_for_cpu_backward
    """,
    "codegen.rewrite.categories": """
        aten::multinomial
    """,
    "codegen.rewrite.deterministic_fill": """
        aten::empty.memory_format aten::empty_like aten::empty_strided aten::new_empty aten::new_empty_strided
    """,
    "codegen.rewrite.half": """
        aten::_log_softmax aten::_native_batch_norm_legit aten::_native_batch_norm_legit.no_stats aten::addr
        aten::linalg_cross aten::logit aten::native_batch_norm aten::native_batch_norm_backward
        aten::native_layer_norm aten::soft_margin_loss aten::soft_margin_loss_backward aten::special_xlog1py
        aten::xlogy.Tensor
    """,
    "codegen.rewrite.losses": """
        aten::mse_loss aten::mse_loss_backward aten::nll_loss_backward aten::nll_loss_forward
    """,
    "codegen.rewrite.masked": """
        aten::masked_scatter aten::masked_scatter_backward
    """,
    "codegen.rewrite.norms": """
        aten::_log_softmax aten::_log_softmax_backward_data aten::_native_batch_norm_legit
        aten::_native_batch_norm_legit.no_stats aten::_softmax aten::_softmax_backward_data
        aten::linalg_vector_norm aten::native_batch_norm aten::native_batch_norm_backward
        aten::native_group_norm aten::native_group_norm_backward aten::native_layer_norm
        aten::native_layer_norm_backward
    """,
    "codegen.rewrite.pairs": """
        aten::_cdist_backward aten::_cdist_forward aten::_euclidean_dist aten::isin.Tensor_Tensor
    """,
    "codegen.rewrite.pooling": """
        aten::_adaptive_avg_pool2d aten::_adaptive_avg_pool2d_backward aten::_adaptive_avg_pool3d
        aten::_adaptive_avg_pool3d_backward aten::adaptive_max_pool2d aten::adaptive_max_pool2d_backward
        aten::adaptive_max_pool3d aten::adaptive_max_pool3d_backward aten::avg_pool2d
        aten::avg_pool2d_backward aten::avg_pool3d aten::avg_pool3d_backward aten::max_pool2d_with_indices
        aten::max_pool2d_with_indices_backward aten::max_pool3d_with_indices
        aten::max_pool3d_with_indices_backward
    """,
    "codegen.rewrite.products": """
        aten::addbmm aten::addmm aten::baddbmm aten::bmm aten::mm
    """,
    "codegen.rewrite.resampling": """
        aten::_upsample_nearest_exact1d aten::_upsample_nearest_exact1d_backward
        aten::_upsample_nearest_exact2d aten::_upsample_nearest_exact2d_backward
        aten::_upsample_nearest_exact3d aten::_upsample_nearest_exact3d_backward aten::reflection_pad1d
        aten::reflection_pad1d_backward aten::reflection_pad2d aten::reflection_pad2d_backward
        aten::reflection_pad3d aten::reflection_pad3d_backward aten::replication_pad1d
        aten::replication_pad1d_backward aten::replication_pad2d aten::replication_pad2d_backward
        aten::replication_pad3d aten::replication_pad3d_backward aten::upsample_bicubic2d
        aten::upsample_bicubic2d_backward aten::upsample_bilinear2d aten::upsample_bilinear2d_backward
        aten::upsample_linear1d aten::upsample_linear1d_backward aten::upsample_nearest1d
        aten::upsample_nearest1d_backward aten::upsample_nearest2d aten::upsample_nearest2d_backward
        aten::upsample_nearest3d aten::upsample_nearest3d_backward aten::upsample_trilinear3d
        aten::upsample_trilinear3d_backward
    """,
    "codegen.rewrite.search": """
        aten::bucketize.Tensor aten::searchsorted.Tensor
    """,
    "codegen.rewrite.simple": """
        aten::_trilinear aten::aminmax aten::angle aten::diagonal_copy aten::dist aten::dot
        aten::hardshrink_backward aten::index_reduce aten::ldexp.Tensor aten::max_unpool2d aten::max_unpool3d
        aten::round.decimals aten::scatter_reduce.two aten::softshrink aten::softshrink_backward
        aten::std.correction aten::std_mean.correction aten::unsafe_split.Tensor aten::unsafe_split_with_sizes
    """,
    "codegen.rewrite.special_functions": """
        aten::digamma aten::erfinv aten::i0 aten::mvlgamma aten::polygamma aten::special_i0e aten::special_i1
        aten::special_i1e aten::special_modified_bessel_i0 aten::special_modified_bessel_i1
    """,
    "codegen.rewrite.value_checks": """
        aten::binary_cross_entropy
    """,
}
