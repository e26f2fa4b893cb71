# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Elaphos(CMakePackage):
    """Nonlinear recurrences, evaluated in parallel over time, on any Kokkos execution space.

    The backend (OpenMP, CUDA, ...) is that of the Kokkos it is built with.
    """

    license("Apache-2.0 WITH LLVM-exception")

    # Nothing to download yet: spack develop --path CHECKOUT elaphos@main
    version("main")

    variant("shared", default=True, description="Build a shared library")
    variant("io", default=True, description="Read and write weights (Elaphos::io)")
    variant("hdf5", default=False, when="+io", description="Elaphos::io reads and writes HDF5 files")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("kokkos@4.5:5")
    # Kokkos 4 is C++17 unless asked.
    requires("^kokkos cxxstd=20", when="^kokkos@:4")
    depends_on("fmt@10:")
    depends_on("nlohmann-json@3.10:", when="+io", type="build")
    depends_on("hdf5@1.10.3:", when="+hdf5")
    depends_on("catch2@3.5:", type="test")

    def cmake_args(self):
        return [
            # nvcc_wrapper, where Kokkos was built with it
            self.define("CMAKE_CXX_COMPILER", self["kokkos"].kokkos_cxx),
            self.define("Kokkos_ROOT", self["kokkos"].prefix),
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("ELAPHOS_ENABLE_IO", "io"),
            self.define("ELAPHOS_ENABLE_HDF5", self.spec.satisfies("+hdf5")),
            self.define("ELAPHOS_ENABLE_TESTS", self.run_tests),
            self.define("ELAPHOS_ENABLE_EXAMPLES", False),
        ]
