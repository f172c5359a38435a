#include "launch/rendezvous.hpp"

#include <fmt/format.h>

#include "contract/json_io.hpp"
#include "launch/engine_request.hpp"

namespace stepgauge::launch {

void publish(const std::filesystem::path& folder, const Rendezvous& rendezvous) {
  write_text_file(
      (folder / rendezvous_file_name).string(),
      dump_line({{"launch_id", rendezvous.launch_id}, {"address", rendezvous.address}, {"port", rendezvous.port}}));
}

std::optional<Rendezvous> await_rendezvous(const std::filesystem::path& folder, const std::string& launch_id,
                                           const std::function<bool()>& go_on) {
  while (!is_there(folder, rendezvous_file_name)) {
    if (!go_on()) return std::nullopt;
  }
  const auto path = (folder / rendezvous_file_name).string();
  const auto value = parse_json(read_text_file(path), path);
  const Rendezvous out{require<std::string>(value, "launch_id", path), require<std::string>(value, "address", path),
                       require<std::uint16_t>(value, "port", path)};
  if (out.launch_id != launch_id) {
    throw ContractError(fmt::format("{}: it is of launch {}, expected {}", path, out.launch_id, launch_id));
  }
  return out;
}

}  // namespace stepgauge::launch
