# What `cmake --install` puts where: static libraries, headers, the CMake package, the pkg-config file, and the sources from
# which attune_add_kernel builds its generator.
include(CMakePackageConfigHelpers)

set(ATTUNE_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/attune")
set(ATTUNE_DATA_DIR "${CMAKE_INSTALL_DATADIR}/attune")

install(TARGETS attune attune_halide_runtime EXPORT attuneTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(
    EXPORT attuneTargets
    NAMESPACE attune::
    DESTINATION "${ATTUNE_CMAKE_DIR}"
)
install(DIRECTORY runtime/include/attune DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
if(ATTUNE_BUILD_TOOLS)
    install(TARGETS attune_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

get_property(attention_schedules GLOBAL PROPERTY ATTUNE_ATTENTION_SCHEDULES)
list(REMOVE_DUPLICATES attention_schedules)
configure_package_config_file(
    cmake/attuneConfig.cmake.in attuneConfig.cmake
    INSTALL_DESTINATION "${ATTUNE_CMAKE_DIR}"
    PATH_VARS ATTUNE_DATA_DIR
)
write_basic_package_version_file(attuneConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
    FILES
        "${CMAKE_CURRENT_BINARY_DIR}/attuneConfig.cmake"
        "${CMAKE_CURRENT_BINARY_DIR}/attuneConfigVersion.cmake"
        cmake/AttuneKernels.cmake
        cmake/AttuneCuda.cmake
        cmake/AttuneGenerate.cmake
        cmake/AttuneHalide.cmake
    DESTINATION "${ATTUNE_CMAKE_DIR}"
)

# The prefix is found from where the file is, so that all may be moved; a folder that is given absolutely stays where it is.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(pkgconfig_prefix "${CMAKE_INSTALL_PREFIX}")
else()
    file(RELATIVE_PATH pkgconfig_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" pkgconfig_prefix "\${pcfiledir}/${pkgconfig_prefix}")
endif()
foreach(folder LIBDIR INCLUDEDIR)
    set(pkgconfig_${folder} "\${prefix}/${CMAKE_INSTALL_${folder}}")
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
        set(pkgconfig_${folder} "${CMAKE_INSTALL_${folder}}")
    endif()
endforeach()
configure_file(cmake/attune.pc.in attune.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/attune.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

get_property(symbols GLOBAL PROPERTY ATTUNE_RUNTIME_SYMBOLS)
install(FILES "${symbols}" DESTINATION "${ATTUNE_DATA_DIR}" RENAME halide_symbols.txt)
install(FILES cmake/generator/CMakeLists.txt DESTINATION "${ATTUNE_DATA_DIR}/generator")
install(
    DIRECTORY text dsl schedules generators
    DESTINATION "${ATTUNE_DATA_DIR}/generator"
    FILES_MATCHING
    PATTERN "*.h"
    PATTERN "*.cpp"
    PATTERN "*.in"
    PATTERN "*.json"
    PATTERN "CMakeLists.txt"
)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/attune")
