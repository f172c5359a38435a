#pragma once
// Collectives and element types under one name, whoever wrote the log.
#include <cstdint>
#include <string_view>

namespace stepgauge::replay {

enum class Kind : std::uint8_t {
  all_reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  reduce,
  barrier,
  all_to_all,
  gather,
  scatter,
  send,
  recv,
  other,  ///< a name that is none of these, e.g. a coalesced group of several
};

/// "all_reduce", ...; the names of docs/collective_log.md.
std::string_view to_string(Kind kind);

/// From any spelling: "all_reduce", "nccl:_all_gather_base", "ALLREDUCE_COALESCED", "AllReduce", "nccl:send 0->1".
Kind kind_from(std::string_view name);

/// send and recv: between two ranks, so other ranks have other sequence numbers.
bool point_to_point(Kind kind);

/// Ends on no rank before every rank has entered it. Not so: broadcast, reduce, gather, scatter, on which a rank may go
/// on alone.
bool ends_together(Kind kind);

/// Every rank gives as many bytes as the others. Not so: all_to_all, gather and scatter.
bool equal_sizes(Kind kind);

/// The call site is a phase in which ranks are made ready, each in its time: "setup", or one that our worker has up to
/// and with its first step.
bool is_setup(std::string_view call_site);

/// "float32" from "float32", "Float" (c10) or "torch.float32"; "" when not known.
std::string_view dtype_from(std::string_view name);

/// Of NCCL's ncclDataType_t; "" when not known.
std::string_view dtype_from_nccl(std::int64_t number);

/// Bytes of an element of a type that dtype_from() gave; 0 for "".
std::int64_t dtype_bytes(std::string_view dtype);

}  // namespace stepgauge::replay
