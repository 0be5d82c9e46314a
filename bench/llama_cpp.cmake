# Included by llama.cpp's own project(), when pip builds it (requirements-ggml.txt): its library for programs, half of the build, isn't used.
set(LLAMA_BUILD_COMMON OFF)
