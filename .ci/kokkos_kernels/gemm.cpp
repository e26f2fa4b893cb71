// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <KokkosBlas3_gemm.hpp>
#include <Kokkos_Core.hpp>

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  int const n = 40;
  Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> a("a", n, n), b("b", n, n), c("c", n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      a(i, j) = i + 1;
      b(i, j) = j + 1;
    }
  }
  KokkosBlas::gemm(Kokkos::DefaultHostExecutionSpace(), "N", "N", 1.0, a, b, 0.0, c);
  Kokkos::fence();
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) wrong += c(i, j) != double(n) * (i + 1) * (j + 1);
  }
  return wrong == 0 ? 0 : 1;
}
