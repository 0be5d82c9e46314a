#include "stream.h"

#include <immintrin.h>

namespace {

struct CopyLine {
    void operator()(char *to, const char *from) const { _mm512_stream_si512(reinterpret_cast<__m512i *>(to), _mm512_loadu_si512(from)); }
};

} // namespace

extern "C" int attune_stream_avx512(char *to, const char *from, int64_t bytes, const char *next) {
    attune::runtime::stream(to, from, bytes, next, CopyLine());
    return 0;
}
