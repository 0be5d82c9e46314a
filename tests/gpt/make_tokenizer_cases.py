#!/usr/bin/env python3
"""Writes what tokenizer_test.cpp compares with: texts and their tokens by the tokenizers library, golden/tokenizer_cases.json.

    pip install tokenizers==0.22.1

Besides those of the tiny models, two tokenizers are made here for the test alone: one of Llama 3's form, and one with Metaspace.
"""
import json
import pathlib
import sys

from tokenizers import AddedToken, ByteLevelBPETokenizer, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parents[1] / "examples/gpt/models"
GOLDEN = HERE / "golden"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
TEXTS = [
    "", "a", " ", "  ", "\n", " \n \n", "Hello world", " Hello  world ", "it's we'll I'M THEY'RE 'tis 'D o'clock'", "1234567 12 3.14159",
    "softmax(x / T)\n\n\treturn y;\r\n", "trailing spaces   ", "tabs\t\tand\u00a0no-break", "na\u00efve caf\u00e9 \u00c5ngstr\u00f6m",
    "\u65e5\u672c\u8a9e\u306e\u6587", "\u0440\u0443\u0441\u0441\u043a\u0438\u0439 \u0442\u0435\u043a\u0441\u0442", "emoji \U0001f600\U0001f468\u200d\U0001f469 end",
    "\u0661\u0662\u0663 \u00bd \u2167 x\u00b2", "e\u0301 combining", "\u2581lower \u2581\u2581 block", "x\u2028y\u3000z", "'\u017f 'S", "!!!\n\n  ???",
    "a\u200bb", "<s>not always special</s>", "<|endoftext|>A kernel<|begin_of_text|> of one's own", "</s> x", "attention attention attention",
    "#include <attune/attune.hpp>\nint main() { return 0; }",
]


def llama3(text: str) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=420, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator([text], trainer)
    data = json.loads(tokenizer.to_str())
    data["model"]["vocab"][" kernel".replace(" ", "\u0120") + "s"] = 420  # a whole word that no merge makes
    tokenizer = Tokenizer.from_str(json.dumps(data))
    tokenizer.add_special_tokens([AddedToken("<|begin_of_text|>", special=True), AddedToken("<|end_of_text|>", special=True)])
    template = processors.TemplateProcessing(single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", 421)])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return tokenizer


def metaspace() -> Tokenizer:
    data = json.loads((MODELS / "llama-tiny/tokenizer.json").read_text(encoding="utf-8"))
    data["normalizer"] = None
    data["pre_tokenizer"] = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False}
    return Tokenizer.from_str(json.dumps(data))


def main() -> None:
    text = pathlib.Path(sys.argv[0]).resolve().parents[2].joinpath("README.md").read_text(encoding="utf-8")
    gpt2 = MODELS / "gpt2-tiny"
    tokenizers = {
        "gpt2": ByteLevelBPETokenizer(str(gpt2 / "vocab.json"), str(gpt2 / "merges.txt")),
        "llama": Tokenizer.from_file(str(MODELS / "llama-tiny/tokenizer.json")),
        "llama3": llama3(text),
        "metaspace": metaspace(),
    }
    tokenizers["gpt2"].add_special_tokens(["<|endoftext|>"])
    for name in ("llama3", "metaspace"):
        folder = GOLDEN / name
        folder.mkdir(parents=True, exist_ok=True)
        data = json.loads(tokenizers[name].to_str())
        (folder / "tokenizer.json").write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    cases = {}
    for name, tokenizer in tokenizers.items():
        encoded = [tokenizer.encode(text).ids for text in TEXTS]
        cases[name] = [{"text": text, "ids": ids, "decoded": tokenizer.decode(ids)} for text, ids in zip(TEXTS, encoded)]
    lines = json.dumps(cases, ensure_ascii=True).replace('{"text"', '\n{"text"')
    (GOLDEN / "tokenizer_cases.json").write_text(lines + "\n")


if __name__ == "__main__":
    main()
