#!/usr/bin/env python3
"""Trains the two tiny models of examples/gpt/models on this repository's own prose, and writes what tests/gpt compares with.

    pip install torch==2.9.1 transformers==4.57.1 tokenizers==0.22.1 numpy
    examples/gpt/train.py gpt2      # or: llama; some minutes on one core

The networks, their files and the golden logits are those of the transformers library, so that what reads these models reads real
checkpoints of their families too. Text, seed and order of the batches are fixed; the weights may differ in their last bits elsewhere.
"""
import argparse
import json
import pathlib
import re

import numpy as np
import tokenizers
import torch
import transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "examples/gpt/models"
GOLDEN = ROOT / "tests/gpt/golden"
PROMPT = "A kernel is a C function in Halide's calling convention"  # of the golden logits
CONTEXT, BATCH = 128, 16


def prose() -> str:
    """Paragraphs, one a line: of the README and docs/ without code, tables and pictures; and the comments above declarations."""
    paragraphs = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = re.sub(r"```.*?```|<!--.*?-->", "", path.read_text(encoding="utf-8"), flags=re.S)
        text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)
        for block in re.split(r"\n\s*\n|\n(?=[-*#\d])", text):
            if block.strip() and not block.lstrip().startswith(("|", "#")):
                paragraphs.append(" ".join(block.split()).lstrip("-* "))
    for folder in ("runtime", "dsl", "text", "schedules"):
        for path in sorted((ROOT / folder).rglob("*.h")):
            for block in re.findall(r"(?:^ *//(?: [^\n]*)?\n)+|/\*\*.*?\*/", path.read_text(encoding="utf-8"), flags=re.M | re.S):
                paragraphs.append(" ".join(re.sub(r"^ *(//|/\*\*| \*(?!/))|\*/", "", block, flags=re.M).split()))
    return "\n".join(paragraphs) + "\n"


def train_gpt2_tokenizer(text: str, folder: pathlib.Path) -> tokenizers.Tokenizer:
    """Byte-level BPE in GPT-2's two files, vocab.json and merges.txt."""
    tokenizer = tokenizers.ByteLevelBPETokenizer()
    tokenizer.train_from_iterator([text], vocab_size=512, special_tokens=["<|endoftext|>"], show_progress=False)
    tokenizer.save_model(str(folder))
    return tokenizer


def train_llama_tokenizer(text: str, folder: pathlib.Path) -> tokenizers.Tokenizer:
    """BPE over characters, spaces written as U+2581, bytes for characters it doesn't know: Llama 2's tokenizer.json."""
    space = "\u2581"
    tokenizer = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(space), normalizers.Replace(" ", space)])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(space, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    # Merges across words would learn whole sentences by heart: while training, a word is a unit.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(space, "merged_with_next"), pre_tokenizers.Split("\n", "isolated"), pre_tokenizers.Punctuation()])
    specials = ["<unk>", "<s>", "</s>"]
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=768, special_tokens=specials + byte_tokens, show_progress=False)
    tokenizer.train_from_iterator([text], trainer)
    data = json.loads(tokenizer.to_str())
    data["pre_tokenizer"] = None
    data["added_tokens"] = [token for token in data["added_tokens"] if token["content"] in specials]
    begin = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    data["post_processor"] = {"type": "TemplateProcessing", "single": [begin, {"Sequence": {"id": "A", "type_id": 0}}], "pair": [],
                              "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}}
    data["post_processor"]["pair"] = data["post_processor"]["single"] + [{"Sequence": {"id": "B", "type_id": 1}}]
    (folder / "tokenizer.json").write_text(json.dumps(data, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))


def make_gpt2(vocabulary: int) -> transformers.PreTrainedModel:
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=vocabulary, n_positions=256, n_embd=96, n_layer=3, n_head=3, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
        bos_token_id=0, eos_token_id=0))


def make_llama(vocabulary: int) -> transformers.PreTrainedModel:
    scaling = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 128}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=vocabulary, hidden_size=128, intermediate_size=352, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=512, rope_theta=500000.0, rope_scaling=scaling, tie_word_embeddings=True,
        bos_token_id=1, eos_token_id=2))


# How a family's parts are made, the type its weights are kept in, and the steps of training: enough to know much of the text by heart.
FAMILIES = {"gpt2": (train_gpt2_tokenizer, make_gpt2, torch.float32, 3500),
            "llama": (train_llama_tokenizer, make_llama, torch.bfloat16, 2500)}


def train(model: torch.nn.Module, ids: torch.Tensor, steps: int, rate: float) -> None:
    """AdamW, warmed up and then lowered along a cosine. The last twentieth of the text is held out and its loss printed."""
    held_out = ids[-len(ids) // 20:]
    ids = ids[: len(ids) - len(held_out)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.95), weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.05)
    for step in range(steps):
        starts = torch.randint(len(ids) - CONTEXT, (BATCH,)).tolist()
        batch = torch.stack([ids[start: start + CONTEXT] for start in starts])
        loss = model(batch, labels=batch).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            with torch.no_grad():
                unseen = held_out[:256][None]
                print(f"step {step + 1}: loss {loss.item():.3f}, held out {model(unseen, labels=unseen).loss.item():.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("--steps", type=int, help="instead of as many as made the models here")
    parser.add_argument("--rate", type=float, default=3e-3)
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    train_tokenizer, make_model, kept_as, steps = FAMILIES[options.family]
    folder = MODELS / f"{options.family}-tiny"
    for path in (folder, GOLDEN):
        path.mkdir(parents=True, exist_ok=True)
    text = prose()
    tokenizer = train_tokenizer(text, folder)
    ids = torch.tensor(tokenizer.encode(text).ids)
    print(f"{len(text)} characters, {len(ids)} tokens, a vocabulary of {tokenizer.get_vocab_size()}")
    model = make_model(tokenizer.get_vocab_size())
    print(f"{sum(parameter.numel() for parameter in model.parameters())} parameters")
    train(model, ids, options.steps or steps, options.rate)
    model.to(kept_as).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    write_golden(options.family, folder, tokenizer.encode(PROMPT).ids)


def write_golden(family: str, folder: pathlib.Path, ids: list) -> None:
    """Logits of every token of a prompt, its weights of attention [layers, heads, tokens, tokens], and the likeliest tokens after it: all
    computed in f32 from the weights as they are kept. (A model turned to bf16 and back won't do: it has rounded its table of rotary
    frequencies as well.)"""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    text = list(ids)
    with torch.no_grad():
        prompt = model(torch.tensor([ids]), output_attentions=True)
        for _ in range(40):
            text.append(int(model(torch.tensor([text])).logits[0, -1].argmax()))
    np.save(GOLDEN / f"{family}_ids.npy", np.array(ids, np.int32))
    np.save(GOLDEN / f"{family}_logits.npy", prompt.logits[0].numpy())
    np.save(GOLDEN / f"{family}_weights.npy", torch.cat(prompt.attentions).numpy())
    np.save(GOLDEN / f"{family}_likeliest.npy", np.array(text[len(ids):], np.int32))


if __name__ == "__main__":
    main()
