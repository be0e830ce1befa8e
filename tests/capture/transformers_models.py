"""Architectures of the transformers package with small random weights.

`ARCHITECTURES[name]()` gives (module, keyword arguments). Each row of the tables names the configuration, the
model and the further arguments of its configuration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn as nn

Made = tuple[nn.Module, dict[str, Any]]
ARCHITECTURES: dict[str, Callable[[], Made]] = {}

TEXT = {
    "vocab_size": 50,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
FEW_HEADS = {"num_key_value_heads": 2}
N_LAYERS = {"n_embd": 32, "n_layer": 2, "n_head": 4}
LANGUAGE_MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "roberta": ("RobertaConfig", "RobertaForMaskedLM", {"max_position_embeddings": 40}),
    "electra": ("ElectraConfig", "ElectraForMaskedLM", {"embedding_size": 16}),
    "albert": ("AlbertConfig", "AlbertForMaskedLM", {"embedding_size": 16}),
    "distilbert": (
        "DistilBertConfig",
        "DistilBertForMaskedLM",
        {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64},
    ),
    "deberta": ("DebertaConfig", "DebertaForMaskedLM", {}),
    "mpnet": ("MPNetConfig", "MPNetForMaskedLM", {"max_position_embeddings": 40}),
    "xlnet": ("XLNetConfig", "XLNetLMHeadModel", {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64}),
    "fnet": ("FNetConfig", "FNetForMaskedLM", {}),
    "mixtral": ("MixtralConfig", "MixtralForCausalLM", {**FEW_HEADS, "num_local_experts": 4}),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", FEW_HEADS),
    "gemma2": ("Gemma2Config", "Gemma2ForCausalLM", {**FEW_HEADS, "head_dim": 8}),
    "phi": ("PhiConfig", "PhiForCausalLM", {}),
    "falcon": ("FalconConfig", "FalconForCausalLM", {}),
    "bloom": ("BloomConfig", "BloomForCausalLM", {"n_layer": 2, "n_head": 4}),
    "opt": ("OPTConfig", "OPTForCausalLM", {"ffn_dim": 64, "word_embed_proj_dim": 32}),
    "gptj": ("GPTJConfig", "GPTJForCausalLM", {**N_LAYERS, "rotary_dim": 4}),
    "mamba": ("MambaConfig", "MambaForCausalLM", {"state_size": 8}),
    "gpt_neox": ("GPTNeoXConfig", "GPTNeoXForCausalLM", {}),
    "gpt_oss": ("GptOssConfig", "GptOssForCausalLM", {**FEW_HEADS, "head_dim": 8, "num_local_experts": 4}),
    "ctrl": ("CTRLConfig", "CTRLLMHeadModel", {**N_LAYERS, "dff": 64, "n_positions": 40}),
    "gpt_neo": (
        "GPTNeoConfig",
        "GPTNeoForCausalLM",
        {"num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]], "window_size": 4},
    ),
}

SEQUENCE_TO_SEQUENCE = {
    "vocab_size": 50,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
    "max_position_embeddings": 64,
}
TRANSLATORS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bart": ("BartConfig", "BartForConditionalGeneration", {}),
    "marian": ("MarianConfig", "MarianMTModel", {}),
    "plbart": ("PLBartConfig", "PLBartForConditionalGeneration", {}),
    "t5": (
        "T5Config",
        "T5ForConditionalGeneration",
        {"d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4},
    ),
}

PATCHES = {**TEXT, "image_size": 16, "patch_size": 4}
STRIPES = {"image_size": 32, "patch_size": 4, "embed_dim": 8, "depths": [1, 1], "num_heads": [1, 2]}
STAGES = {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1]}
VISION_MODELS: dict[str, tuple[str, str, int, dict[str, Any]]] = {
    "deit": ("DeiTConfig", "DeiTForImageClassification", 16, PATCHES),
    "swin": ("SwinConfig", "SwinForImageClassification", 32, {**STRIPES, "window_size": 4}),
    "convnext": ("ConvNextConfig", "ConvNextForImageClassification", 32, STAGES),
    "regnet": (
        "RegNetConfig",
        "RegNetForImageClassification",
        32,
        {**STAGES, "embedding_size": 8, "groups_width": 4},
    ),
    "segformer": (
        "SegformerConfig",
        "SegformerForImageClassification",
        32,
        {**STAGES, "num_attention_heads": [1, 1, 2, 2], "decoder_hidden_size": 16},
    ),
}


def tokens(length: int = 12) -> torch.Tensor:
    return torch.randint(3, 50, (2, length))


def build(config: str, model: str, settings: dict[str, Any]) -> nn.Module:
    import transformers

    made: nn.Module = getattr(transformers, model)(getattr(transformers, config)(**settings))
    return made


def language_model(config: str, model: str, more: dict[str, Any]) -> Made:
    inputs = {
        "input_ids": tokens(),
        "attention_mask": torch.ones(2, 12, dtype=torch.long),
        "labels": tokens(),
    }
    return build(config, model, {**TEXT, **more}), inputs


def translator(config: str, model: str, more: dict[str, Any]) -> Made:
    inputs = {"input_ids": tokens(), "labels": tokens(8)}
    return build(config, model, {**SEQUENCE_TO_SEQUENCE, **more}), inputs


def vision_model(config: str, model: str, size: int, more: dict[str, Any]) -> Made:
    return build(config, model, {"num_labels": 5, **more}), {"pixel_values": torch.randn(2, 3, size, size)}


def whisper() -> Made:
    more = {"num_mel_bins": 8, "max_source_positions": 20, "max_target_positions": 20}
    model = build("WhisperConfig", "WhisperForConditionalGeneration", {**SEQUENCE_TO_SEQUENCE, **more})
    return model, {"input_features": torch.randn(2, 8, 40), "labels": tokens(8)}


def row(make: Callable[..., Made], *settings: Any) -> Callable[[], Made]:
    return lambda: make(*settings)


ARCHITECTURES.update({name: row(language_model, *settings) for name, settings in LANGUAGE_MODELS.items()})
ARCHITECTURES.update({name: row(translator, *settings) for name, settings in TRANSLATORS.items()})
ARCHITECTURES.update({name: row(vision_model, *settings) for name, settings in VISION_MODELS.items()})
ARCHITECTURES["whisper"] = whisper
