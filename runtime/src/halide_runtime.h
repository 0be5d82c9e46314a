// HalideRuntime.h under the names Attune's copy of the Halide runtime has. The build prefixes every symbol of that runtime, so that Attune
// links beside other libraries that Halide generated.
#pragma once

#define halide_default_can_use_target_features attune_halide_default_can_use_target_features
#define halide_set_custom_can_use_target_features attune_halide_set_custom_can_use_target_features
#define halide_set_custom_do_par_for attune_halide_set_custom_do_par_for
#define halide_set_custom_free attune_halide_set_custom_free
#define halide_set_custom_malloc attune_halide_set_custom_malloc
#define halide_set_custom_print attune_halide_set_custom_print
#define halide_set_error_handler attune_halide_set_error_handler

#include <HalideRuntime.h>
