#pragma once
// What the link of two GPUs should give, from what NVML says of it.
#include <optional>
#include <string>

#include "machine/machine.hpp"

namespace stepgauge::machine {

struct LinkRate {
  std::string text;            ///< "NVLink 4, 18 links", "PCIe 5.0 x16 through one switch"
  std::optional<double> gbps;  ///< GB/s (1e9) in one direction; absent where the parts are not known
  std::string source;          ///< of the rate
};

/// NVLink: links x the rate of the generation in one direction, 20 GB/s (NVLink 1), 25 (2 to 4), 50 (5), as in NVIDIA's
/// data sheets of P100, V100, A100, H100 and B200. The generation is that of the compute capability: drivers name
/// NVLink 5 on some H100. PCIe: lanes x transfers x encoding of the generation (PCI-SIG: 8, 16, 32, 64 GT/s; 128b/130b,
/// FLIT 236/256 from 6.0), the slower of the two devices; packet headers take some 10 to 15 % of it.
LinkRate link_rate(const Machine& machine, const GpuLink& link);

}  // namespace stepgauge::machine
