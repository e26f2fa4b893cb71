// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_UNROLL_HPP
#define ELAPHOS_IMPL_UNROLL_HPP

// A device's register array may be indexed by constants alone: loops over one must be unrolled, or it lies in memory and
// each load waits for the one before. Host compilers do not know the pragma.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define ELAPHOS_UNROLL _Pragma("unroll")
#define ELAPHOS_PRAGMA(text) _Pragma(#text)
/// So many rounds at a time.
#define ELAPHOS_UNROLL_BY(rounds) ELAPHOS_PRAGMA(unroll (rounds))
#else
#define ELAPHOS_UNROLL
#define ELAPHOS_UNROLL_BY(rounds)
#endif

#endif
