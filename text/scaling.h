// The scaling of a rotary position: "llama3(8, 1, 4, 8192)".
#pragma once

#include "position.h"
#include "reader.h"

namespace attune::text {

class ScalingReader : protected Reader {
protected:
    using Reader::Reader;

    bool read_scaling(RotaryScaling &scaling);
};

} // namespace attune::text
