# Programs that are taken to another machine by themselves.
include_guard(GLOBAL)

# attune_link_alone(PROGRAM): built as Release it needs nothing but the C library, and on a GPU NVIDIA's driver, which is opened when asked for.
function(attune_link_alone program)
    target_link_options(${program} PRIVATE "$<$<CONFIG:Release>:-static-libstdc++;-static-libgcc>")
endfunction()
