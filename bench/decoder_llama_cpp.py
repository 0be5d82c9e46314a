"""The decoder of gpt_bench in llama.cpp: weights from a GGUF file, keys and values in f16, with its flash attention and without."""
import ctypes
import sys

import llama_cpp
import numpy as np

import decoder_shape
import gguf_file

FORMS = {"flash attention": llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED, "plain attention": llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED}
ERROR = 4  # enum ggml_log_level


@llama_cpp.llama_log_callback
def print_errors(level, message, _):
    if level == ERROR:
        print(message.decode(), end="", file=sys.stderr)


def context_of(model, threads, flash_attention):
    parameters = llama_cpp.llama_context_default_params()
    parameters.n_ctx, parameters.n_batch = 2 * decoder_shape.PROMPT, decoder_shape.PROMPT
    parameters.n_threads = parameters.n_threads_batch = threads
    parameters.flash_attn_type = flash_attention
    context = llama_cpp.llama_init_from_model(model, parameters)
    if not context:
        raise RuntimeError("llama.cpp made no context")
    return context


def forms(shape, threads, dtype, folder):
    """Writes the model into `folder` unless it is there. For each form run(tokens, begin), which cuts its cache to `begin` tokens, adds
    `tokens` and returns the last one's logits."""
    path = folder / f"random-{dtype}.gguf"
    if not path.exists():
        gguf_file.write(path.with_suffix(".part"), shape, dtype)
        path.with_suffix(".part").rename(path)
    llama_cpp.llama_log_set(print_errors, None)
    llama_cpp.llama_backend_init()
    parameters = llama_cpp.llama_model_default_params()
    parameters.load_mode = llama_cpp.LLAMA_LOAD_MODE_NONE  # memory of its own, which may lie in huge pages
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), parameters)
    if not model:
        raise RuntimeError(f"llama.cpp can't load {path}")

    def form(flash_attention):
        context = context_of(model, threads, flash_attention)

        def run(tokens, begin):
            llama_cpp.llama_memory_seq_rm(llama_cpp.llama_get_memory(context), 0, begin, -1)
            array = (llama_cpp.llama_token * len(tokens))(*tokens)  # a batch doesn't keep it
            if status := llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(array, len(tokens))):
                raise RuntimeError(f"llama_decode returned {status}")
            logits = llama_cpp.llama_get_logits_ith(context, -1)
            return np.ctypeslib.as_array(ctypes.cast(logits, ctypes.POINTER(ctypes.c_float)), (shape.vocabulary,)).copy()
        return run
    return {name: form(flash_attention) for name, flash_attention in FORMS.items()}
