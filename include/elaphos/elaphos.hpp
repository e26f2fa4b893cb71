// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_ELAPHOS_HPP
#define ELAPHOS_ELAPHOS_HPP

#include <elaphos/autodiff.hpp>
#include <elaphos/batched_recurrence.hpp>
#include <elaphos/cells/elman.hpp>
#include <elaphos/cells/blended.hpp>
#include <elaphos/cells/gru.hpp>
#include <elaphos/cells/gru_reset_before.hpp>
#include <elaphos/cells/lem.hpp>
#include <elaphos/cells/lstm.hpp>
#include <elaphos/cells/minimal.hpp>
#include <elaphos/check_jacobian.hpp>
#include <elaphos/check_recurrence.hpp>
#include <elaphos/dual.hpp>
#include <elaphos/enqueue_solve.hpp>
#include <elaphos/errors.hpp>
#include <elaphos/inputs.hpp>
#include <elaphos/layers/bidirectional.hpp>
#include <elaphos/layers/dropout.hpp>
#include <elaphos/layers/layer_cell.hpp>
#include <elaphos/layers/layer_options.hpp>
#include <elaphos/layers/layer_report.hpp>
#include <elaphos/layers/readout.hpp>
#include <elaphos/layers/solve_layers.hpp>
#include <elaphos/layers/stack.hpp>
#include <elaphos/linear_gradient.hpp>
#include <elaphos/linear_options.hpp>
#include <elaphos/linear_recurrence.hpp>
#include <elaphos/options.hpp>
#include <elaphos/plan.hpp>
#include <elaphos/queued_report.hpp>
#include <elaphos/recurrence.hpp>
#include <elaphos/report.hpp>
#include <elaphos/solve.hpp>
#include <elaphos/team_recurrence.hpp>
#include <elaphos/version.hpp>
#include <elaphos/views.hpp>
#include <elaphos/warm_start.hpp>
#include <elaphos/workspace.hpp>

#endif
