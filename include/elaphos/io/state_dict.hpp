// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IO_STATE_DICT_HPP
#define ELAPHOS_IO_STATE_DICT_HPP

#include <elaphos/cells/layer_weights.hpp>
#include <elaphos/io/file_error.hpp>
#include <elaphos/io/impl/tensor_transfer.hpp>
#include <elaphos/io/tensor.hpp>
#include <elaphos/views.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elaphos::io {

/// \brief Named tensors on the host, in the order in which they were inserted: what PyTorch calls a state_dict.
class StateDict {
 public:
  std::size_t size() const { return m_tensors.size(); }
  bool empty() const { return m_tensors.empty(); }
  bool contains(std::string_view name) const { return m_places.contains(name); }

  auto begin() const { return m_tensors.begin(); }
  auto end() const { return m_tensors.end(); }

  /// \brief The tensor of that name. Throws `InvalidArgument`, with the most similar names, where there is none.
  const Tensor& at(std::string_view name) const;

  /// \brief A new View that holds the numbers of a tensor, converted to the View's scalar type.
  ///
  /// `View` is LayoutRight, of float or double (const or not), in any memory space that `ExecutionSpace` reaches.
  /// Doubles become floats by rounding to nearest. Copies on `exec`, and returns when the copy is complete. Throws
  /// `InvalidArgument` unless the tensor is there, has the View's rank, and is of numbers (F32 or F64).
  template <class View, class ExecutionSpace>
  View view(const ExecutionSpace& exec, std::string_view name) const {
    return impl::to_view<View>(exec, numbers(name, View::rank()));
  }

  /// \brief The same on the default instance of the memory's own execution space.
  template <class View>
  View view(std::string_view name) const {
    return view<View>(typename View::memory_space::execution_space(), name);
  }

  /// \brief Adds a tensor, at the end. Throws `InvalidArgument` where the name is taken, `dtype` is not one of the
  /// safetensors format's, or `bytes` is not as long as the shape says.
  void insert(Tensor tensor);

  /// \brief Adds the numbers of a View of float or double in any memory space: as F32 or F64.
  ///
  /// Copies on `exec`, after what was enqueued there, and returns when the copy is complete. Throws `InvalidArgument`
  /// where the name is taken or the View is not contiguous.
  template <class ExecutionSpace, class View>
  void insert(const ExecutionSpace& exec, std::string name, const View& view) {
    check_free(name);
    insert(impl::to_tensor(exec, std::move(name), view));
  }

  /// \brief The same on the default instance of the memory's own execution space.
  template <class View>
  void insert(std::string name, const View& view) {
    insert(typename View::memory_space::execution_space(), std::move(name), view);
  }

  /// \brief Removes a tensor. Throws as `at` does.
  void erase(std::string_view name);

  /// Not for callers: throws `InvalidArgument` where the name is taken.
  void check_free(std::string_view name) const;

 private:
  const Tensor& numbers(std::string_view name, std::size_t rank) const;

  std::vector<Tensor> m_tensors;
  std::map<std::string, std::size_t, std::less<>> m_places;
};

/// \brief Reads a file in the safetensors format, as safetensors.torch.save_file writes it.
///
/// F16 and BF16 become F32, exactly; other types stay what they are. Throws `FileError` for a file that is not exactly
/// what the format allows: nothing may overlap, be left over, or have another size than its shape says.
StateDict read_safetensors(const std::filesystem::path& file);

/// \brief Writes a file in the safetensors format; safetensors.torch.load_file reads it.
///
/// The file appears, or is replaced, once it is complete. Throws `InvalidArgument` for names that the format cannot
/// hold (not UTF-8, or "__metadata__"), `FileError` where writing fails.
void write_safetensors(const std::filesystem::path& file, const StateDict& dict);

/// \brief Reads Elaphos' own text format: a line `name F32|F64 extents...`, then the numbers. See docs/weights.md.
///
/// Throws `FileError`, with the line, for whatever does not fit.
StateDict read_text(const std::filesystem::path& file);

/// \brief Writes the text format with as many digits as give the same numbers back.
///
/// The file appears, or is replaced, once it is complete. Throws `InvalidArgument` for types other than F32 and F64 and
/// for names that are empty, hold white space or control characters, or begin with #; `FileError` where writing fails.
void write_text(const std::filesystem::path& file, const StateDict& dict);

/// \brief Reads an HDF5 file, as h5py writes it: each dataset is a tensor, one within groups, a/b/c, is called a.b.c.
///
/// Either byte order; F16 and BF16 become F32, exactly; attributes are skipped. Throws `FileError` where anything else is
/// in the file (text, compound types, links that are not hard ones, filters other than gzip, shuffle and fletcher32), it
/// is damaged or unreasonably large, or Elaphos::io was built without HDF5. See docs/weights.md about threads, and about
/// files from strangers.
StateDict read_hdf5(const std::filesystem::path& file);

/// \brief Writes an HDF5 file with one dataset for each tensor, under the tensor's name; h5py reads it.
///
/// The file appears, or is replaced, once it is complete, and is built in memory before. Throws `InvalidArgument` for
/// names that HDF5 cannot hold (empty, a dot alone, with /, not UTF-8), more than 32 extents, and the types C64, F8, F6
/// and F4; `FileError` where writing fails or Elaphos::io was built without HDF5.
void write_hdf5(const std::filesystem::path& file, const StateDict& dict);

namespace impl {

/// What PyTorch calls the tensors of a layer, or, without a number, of a cell.
struct LayerNames {
  std::string input_weights;
  std::string hidden_weights;
  std::string input_bias;
  std::string hidden_bias;
};

/// Throws `InvalidArgument` for a negative layer, and for a cell in reverse.
LayerNames layer_names(std::string_view prefix, std::optional<int> layer, bool reverse);

/// Throws `InvalidArgument` for weights with several heads.
void check_single_head(int heads);

template <class Scalar, class MemorySpace, class ExecutionSpace>
LayerWeights<Scalar, MemorySpace> layer_weights(const ExecutionSpace& exec, const StateDict& dict,
                                                const LayerNames& names) {
  using Matrix = MatrixView<const Scalar, MemorySpace>;
  using Vector = VectorView<const Scalar, MemorySpace>;
  LayerWeights<Scalar, MemorySpace> weights;
  weights.input_weights = dict.view<Matrix>(exec, names.input_weights);
  weights.hidden_weights = dict.view<Matrix>(exec, names.hidden_weights);
  // One of the two alone is a damaged dict, not a layer without biases.
  if (dict.contains(names.input_bias) || dict.contains(names.hidden_bias)) {
    weights.input_bias = dict.view<Vector>(exec, names.input_bias);
    weights.hidden_bias = dict.view<Vector>(exec, names.hidden_bias);
  } else {
    const VectorView<Scalar, MemorySpace> zeros(Kokkos::view_alloc(exec, "Elaphos::zero_bias"),
                                                weights.hidden_weights.extent(0));
    exec.fence("Elaphos::io: zero biases");
    weights.input_bias = zeros;
    weights.hidden_bias = zeros;
  }
  return weights;
}

}  // namespace impl

/// \brief The weights of layer number `layer` of the nn.RNN, nn.GRU or nn.LSTM called `prefix`.
///
/// Reads prefix.weight_ih_l0, weight_hh_l0, bias_ih_l0 and bias_hh_l0, with `reverse` those that end in _reverse. With
/// `std::nullopt` as layer, those of a cell (nn.GRUCell): weight_ih, ... An empty prefix stands for a model that is the
/// layer itself. Without both biases (bias=False) they are zeros. Copies on `exec`, and returns when the copies are
/// complete. Throws `InvalidArgument` as `StateDict::view` does; how the shapes fit is checked by the cell.
template <class Scalar, class ExecutionSpace>
requires(Kokkos::is_execution_space<ExecutionSpace>::value)
    LayerWeights<Scalar, typename ExecutionSpace::memory_space> layer_weights(const ExecutionSpace& exec,
                                                                              const StateDict& dict,
                                                                              std::string_view prefix,
                                                                              std::optional<int> layer,
                                                                              bool reverse = false) {
  return impl::layer_weights<Scalar, typename ExecutionSpace::memory_space>(exec, dict,
                                                                            impl::layer_names(prefix, layer, reverse));
}

/// \brief The same on the default instance of the memory's own execution space.
template <class Scalar, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
LayerWeights<Scalar, MemorySpace> layer_weights(const StateDict& dict, std::string_view prefix,
                                                std::optional<int> layer, bool reverse = false) {
  return impl::layer_weights<Scalar, MemorySpace>(typename MemorySpace::execution_space(), dict,
                                                  impl::layer_names(prefix, layer, reverse));
}

/// \brief Adds the four tensors of a layer, or of a cell, under the names that `layer_weights` reads.
///
/// Copies on `exec`, after what was enqueued there, and returns when the copies are complete. Throws `InvalidArgument`,
/// and adds nothing, where one of the names is taken, a View is not contiguous, or `weights` have several heads, which
/// PyTorch's layers do not have and a file could not tell.
template <class ExecutionSpace, class Scalar, class MemorySpace>
requires(Kokkos::is_execution_space<ExecutionSpace>::value) void add_layer_weights(
    const ExecutionSpace& exec, StateDict& dict, std::string_view prefix, std::optional<int> layer,
    const LayerWeights<Scalar, MemorySpace>& weights, bool reverse = false) {
  const impl::LayerNames names = impl::layer_names(prefix, layer, reverse);
  impl::check_single_head(weights.heads);
  Tensor tensors[] = {impl::to_tensor(exec, names.input_weights, weights.input_weights),
                      impl::to_tensor(exec, names.hidden_weights, weights.hidden_weights),
                      impl::to_tensor(exec, names.input_bias, weights.input_bias),
                      impl::to_tensor(exec, names.hidden_bias, weights.hidden_bias)};
  for (const Tensor& tensor : tensors) dict.check_free(tensor.name);
  for (Tensor& tensor : tensors) dict.insert(std::move(tensor));
}

/// \brief The same on the default instance of the memory's own execution space.
template <class Scalar, class MemorySpace>
void add_layer_weights(StateDict& dict, std::string_view prefix, std::optional<int> layer,
                       const LayerWeights<Scalar, MemorySpace>& weights, bool reverse = false) {
  add_layer_weights(typename MemorySpace::execution_space(), dict, prefix, layer, weights, reverse);
}

}  // namespace elaphos::io

#endif
