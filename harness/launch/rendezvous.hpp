#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace stepgauge::launch {

inline constexpr const char* rendezvous_file_name = "rendezvous.json";

/// Where rank 0 listens for the others.
struct Rendezvous {
  std::string launch_id, address;
  std::uint16_t port = 0;
};

/// Written in one step (temporary file, rename). Throws std::system_error.
void publish(const std::filesystem::path& folder, const Rendezvous& rendezvous);

/// The rendezvous of this launch once rank 0 has published it; nullopt when `go_on()`, asked between looks (it may wait
/// some milliseconds), says no. Throws ContractError for a file of another launch.
std::optional<Rendezvous> await_rendezvous(const std::filesystem::path& folder, const std::string& launch_id,
                                           const std::function<bool()>& go_on);

}  // namespace stepgauge::launch
