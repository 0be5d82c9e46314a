#!/usr/bin/env python3
"""Writes the checkpoints that checkpoint_forms_test.cpp loads, golden/forms: forms that the tiny models don't have, with random weights.

    pip install torch==2.9.1 transformers==4.57.1 numpy

Each folder holds a checkpoint as the transformers library saves it, ids.npy, and logits.npy as that library computes them in f32.
"""
import pathlib

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file

FORMS = pathlib.Path(__file__).resolve().parent / "golden/forms"
COUNT = 40  # tokens


def save(name: str, model: torch.nn.Module, kept_as: torch.dtype, shard: str = "1GB") -> None:
    folder = FORMS / name
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.15) if parameter.dim() > 1 else parameter.add_(0.2 * torch.randn_like(parameter))
    model.to(kept_as).save_pretrained(folder, max_shard_size=shard)
    (folder / "generation_config.json").unlink(missing_ok=True)
    model = type(model).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    ids = torch.randint(model.config.vocab_size, (1, COUNT))
    with torch.no_grad():
        logits = model(ids).logits[0]
    np.save(folder / "ids.npy", ids[0].numpy().astype(np.int32))
    np.save(folder / "logits.npy", logits.numpy())


def drop_prefix(folder: pathlib.Path, prefix: str) -> None:
    """Names tensors as the first published GPT-2 checkpoints do."""
    path = folder / "model.safetensors"
    tensors = {name.removeprefix(prefix): tensor for name, tensor in load_file(path).items()}
    save_file(tensors, path, metadata={"format": "pt"})


def main() -> None:
    torch.manual_seed(1)
    gpt2 = {"vocab_size": 61, "n_positions": 48, "n_embd": 30, "n_layer": 2, "n_head": 3}
    llama = {"vocab_size": 61, "hidden_size": 32, "intermediate_size": 52, "num_hidden_layers": 2, "num_attention_heads": 4,
             "max_position_embeddings": 64}
    save("gpt2_without_prefix", transformers.GPT2LMHeadModel(transformers.GPT2Config(
        **gpt2, n_inner=44, activation_function="gelu", layer_norm_epsilon=1e-3)), torch.float16)
    drop_prefix(FORMS / "gpt2_without_prefix", "transformer.")
    save("gpt2_own_head", transformers.GPT2LMHeadModel(transformers.GPT2Config(**gpt2, tie_word_embeddings=False)), torch.float16)
    save("llama_shards_biases", transformers.LlamaForCausalLM(transformers.LlamaConfig(
        **llama, num_key_value_heads=1, head_dim=12, attention_bias=True, rms_norm_eps=1e-3)), torch.bfloat16, shard="12KB")
    save("llama_linear_scaling", transformers.LlamaForCausalLM(transformers.LlamaConfig(
        **llama, rope_theta=5000.0, rope_scaling={"rope_type": "linear", "factor": 2.5}, hidden_act="gelu")), torch.float16)
    save("mistral_window", transformers.MistralForCausalLM(transformers.MistralConfig(
        **llama, num_key_value_heads=2, sliding_window=7)), torch.float16)


if __name__ == "__main__":
    main()
