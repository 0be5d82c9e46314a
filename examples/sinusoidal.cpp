// The sinusoidal table of positions that is added to token embeddings: even columns sine, odd columns cosine.
#include <attune/attune.hpp>

#include "example.h"

int main() {
    float table[5][8];
    if (const attune::Status status = attune::sinusoidal(attune::TensorView(table[0], {5, 8})); !status)
        return example::fail(status.message);

    example::show("position", {"0", "1", "2", "3", "4"}, {"sin w0", "cos w0", "sin w1", "cos w1", "sin w2", "cos w2", "sin w3", "cos w3"},
                  table[0]);
    const example::Rows expected = {
        {0, 1, 0, 1, 0, 1, 0, 1},
        {0.8414709848, 0.5403023059, 0.0998334166, 0.9950041653, 0.0099998333, 0.9999500004, 0.0009999998, 0.9999995000},
        {0.9092974268, -0.4161468365, 0.1986693308, 0.9800665778, 0.0199986667, 0.9998000067, 0.0019999987, 0.9999980000},
        {0.1411200081, -0.9899924966, 0.2955202067, 0.9553364891, 0.0299955002, 0.9995500337, 0.0029999955, 0.9999955000},
        {-0.7568024953, -0.6536436209, 0.3894183423, 0.9210609940, 0.0399893342, 0.9992001067, 0.0039999893, 0.9999920000}};
    return example::check("table", table[0], expected) ? 0 : 1;
}
