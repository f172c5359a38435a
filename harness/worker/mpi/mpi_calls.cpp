#include "worker/mpi/mpi_calls.hpp"

#include <array>
#include <stdexcept>

namespace stepgauge::worker {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  throw std::runtime_error(
      std::string(call) + ": " +
      (length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : "MPI error " + std::to_string(code)));
}

std::string thread_level_name(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE:
      return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
      return "MPI_THREAD_SERIALIZED";
    case MPI_THREAD_MULTIPLE:
      return "MPI_THREAD_MULTIPLE";
    default:
      return "thread level " + std::to_string(level);
  }
}

bool is_reduced_as_float(at::ScalarType type) {
  return type == at::kHalf || type == at::kBFloat16;
}

MPI_Datatype mpi_type(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return MPI_FLOAT;
    case at::kDouble:
      return MPI_DOUBLE;
    case at::kByte:
      return MPI_UINT8_T;
    case at::kChar:
      return MPI_INT8_T;
    case at::kShort:
      return MPI_INT16_T;
    case at::kInt:
      return MPI_INT32_T;
    case at::kLong:
      return MPI_INT64_T;
    case at::kBool:
      return MPI_C_BOOL;
    default:
      TORCH_CHECK(false, "backend mpi reduces float, double, half, bfloat16, int8 to int64, uint8 and bool, not ",
                  c10::toString(type));
  }
}

MPI_Op mpi_operation(const c10d::ReduceOp& operation, at::ScalarType type) {
  using Kind = c10d::ReduceOp::RedOpType;
  const bool truth = type == at::kBool;
  const auto kind = static_cast<Kind>(operation);
  TORCH_CHECK(!(truth && kind == Kind::AVG), "backend mpi: booleans have no average");
  switch (kind) {
    case Kind::SUM:
    case Kind::AVG:
      return truth ? MPI_LOR : MPI_SUM;
    case Kind::PRODUCT:
      return truth ? MPI_LAND : MPI_PROD;
    case Kind::MIN:
      return truth ? MPI_LAND : MPI_MIN;
    case Kind::MAX:
      return truth ? MPI_LOR : MPI_MAX;
    default:
      TORCH_CHECK(false, "backend mpi reduces by sum, avg, product, min and max, not by operation ",
                  static_cast<int>(kind));
  }
}

}  // namespace stepgauge::worker
