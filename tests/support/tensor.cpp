#include "tensor.h"

namespace attune::test {

template class Tensor<float>;
template class Tensor<uint8_t>;
template class Tensor<int32_t>;
template class Tensor<int64_t>;

} // namespace attune::test
