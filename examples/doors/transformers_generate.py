"""Transformers: `generate` and a pipeline with a captured model, compared with eager."""

from __future__ import annotations

import torch
from counted import counted
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, pipeline

import capture

WORDS = ["<unk>", "<pad>", "<end>", "the", "small", "red", "cat", "dog", "bird", "sees", "hears", "likes"]


def make_model() -> GPT2LMHeadModel:
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(WORDS),
        n_positions=64,
        n_embd=32,
        n_layer=2,
        n_head=4,
        bos_token_id=2,
        eos_token_id=None,
    )
    return GPT2LMHeadModel(config).eval()


def make_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", pad_token="<pad>")


def main() -> None:
    model, tokenizer = make_model(), make_tokenizer()
    prompt = tokenizer("the small cat sees", return_tensors="pt")
    how = {"max_new_tokens": 20, "do_sample": False, "pad_token_id": 1}
    expected = model.generate(**prompt, **how)

    fast = capture.compile(model)  # a module of its class: generate calls the captured forward
    assert torch.equal(fast.generate(**prompt, **how), expected)
    print(f"generate: {counted()}, {tokenizer.decode(expected[0])}")

    write = pipeline("text-generation", model=model, tokenizer=tokenizer)
    before = write("the red bird", max_new_tokens=8, do_sample=False)
    write.model = fast
    assert write("the red bird", max_new_tokens=8, do_sample=False) == before
    with capture.enable():  # what pays of the whole pipeline
        assert write("the red bird", max_new_tokens=8, do_sample=False) == before
    print("pipeline:", before[0]["generated_text"])


if __name__ == "__main__":
    main()
