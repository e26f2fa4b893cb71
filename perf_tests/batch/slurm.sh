#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# An example for Slurm: measures on one device of a compute node and compares with an earlier run. Adapt the first
# lines; submit from the build tree, which a login node without the device can have built:
#
#     sbatch PATH/perf_tests/batch/slurm.sh [EARLIER_RESULTS]
#
#SBATCH --job-name=elaphos-perf
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=8
#SBATCH --gpus=1
#SBATCH --exclusive
#SBATCH --time=00:30:00
#SBATCH --output=elaphos-perf-%j.log
set -euo pipefail

build=${SLURM_SUBMIT_DIR:-$PWD}
earlier=${1:-}
results=$build/perf_results

# For host backends; a device ignores them.
export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-8} OMP_PROC_BIND=spread OMP_PLACES=threads

# ctest runs on the first node of the allocation. If the build was configured with CMAKE_TEST_LAUNCHER (srun), each
# test becomes a job step of its own; without it the tests run right here.
ctest --test-dir "$build" -C perf -L perf --output-on-failure

# Keep what was measured: the next run overwrites it.
kept=$build/perf_results_${SLURM_JOB_ID:-local}
cp -r "$results" "$kept"
echo "results: $kept"

# The script lies beside the performance tests in the source tree.
source=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build/CMakeCache.txt")
compare=$source/perf_tests/compare_results
[[ -x $compare ]] || compare=$source/compare_results
if [[ -n $earlier ]]; then
  "$compare" "$earlier" "$kept" --threshold 0.1
fi
