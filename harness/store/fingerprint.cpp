#include "store/fingerprint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "store/detail/name.hpp"

namespace stepgauge::store {
namespace {

/// Sizes in GiB that cards are sold with; what a driver reports lies a little below.
constexpr std::array<int, 24> nominal_gib{2,  3,  4,  6,  8,  10, 11,  12,  16,  20,  24,  32,
                                          40, 48, 64, 80, 94, 96, 128, 141, 180, 192, 256, 288};

int nominal_size_gib(double mib) {
  const double gib = mib / 1024;
  for (const int size : nominal_gib) {
    if (gib <= size * 1.005) return size;
  }
  return static_cast<int>(std::ceil(gib / 32)) * 32;
}

const Json* member(const Json& value, const char* key) {
  const auto it = value.is_object() ? value.find(key) : value.end();
  return value.is_object() && it != value.end() ? &*it : nullptr;
}

std::string text_member(const Json& value, const char* key) {
  const auto* found = member(value, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

/// On a CPU the cores that a run may use are what it is measured on. A run on GPUs may be bound to some of its
/// machine's and is of that machine all the same (records of before do not know how many that has).
Json cpu_part(const Json& environment, bool uses_gpu) {
  const auto* cpu = member(environment, "cpu");
  if (cpu == nullptr) return nullptr;
  const auto model = text_member(*cpu, "model");
  const auto* cores = member(*cpu, uses_gpu && member(*cpu, "cores") != nullptr ? "cores" : "usable_cores");
  if (model.empty() || cores == nullptr || !cores->is_number_integer()) return nullptr;
  return {{"model", model}, {"cores", *cores}};
}

Json gpu_part(const Json& environment) {
  const auto* gpus = member(environment, "gpus");
  if (gpus == nullptr || !gpus->is_array() || gpus->empty()) return nullptr;
  std::map<std::pair<std::string, int>, int> groups;
  for (const auto& gpu : *gpus) {
    const auto name = text_member(gpu, "name");
    const auto* memory = member(gpu, "memory_mib");
    if (name.empty() || memory == nullptr || !memory->is_number()) return nullptr;
    ++groups[{name, nominal_size_gib(memory->get<double>())}];
  }
  Json out = Json::array();
  for (const auto& [group, count] : groups) {
    out.push_back({{"model", group.first}, {"memory_gib", group.second}, {"count", count}});
  }
  return out;
}

/// Number of GPU pairs per kind of link, whatever their indices.
Json link_part(const Json& environment) {
  Json out = Json::object();
  const auto* links = member(environment, "links");
  if (links == nullptr || !links->is_array()) return out;
  for (const auto& link : *links) {
    auto kind = text_member(link, "kind");
    if (kind.empty()) kind = "unknown";
    out[kind] = out.value(kind, 0) + 1;
  }
  return out;
}

std::string link_text(const Json& links) {
  std::string out;
  for (const auto& [kind, pairs] : links.items()) {
    const auto name = detail::slug(kind);
    const auto shown = name.rfind("nv", 0) == 0 ? std::string("nvlink") : name;
    if (out.find("-" + shown) == std::string::npos) out += "-" + shown;
  }
  return out;
}

}  // namespace

Json fingerprint(const Json& environment, bool uses_gpu) {
  const auto* inner = member(environment, "machine");
  const auto& machine = inner != nullptr ? *inner : environment;
  const auto cpu = cpu_part(machine, uses_gpu);
  if (cpu.is_null()) return Json::object();
  Json out{{"cpu", cpu}};
  if (!uses_gpu) return cpu.at("model") == "unknown" ? Json::object() : out;
  const auto gpus = gpu_part(machine);
  if (gpus.is_null()) return Json::object();
  out["gpus"] = gpus;
  out["links"] = link_part(machine);
  return out;
}

Json read_fingerprint(const Json& value, std::string_view where) {
  const auto found = require<Json>(value, "fingerprint", where);
  const auto inside = std::string(where) + ".fingerprint";
  if (found.is_null()) return Json::object();
  if (!found.is_object())
    throw ContractError(fmt::format("{}: expected an object, found {}", inside, found.type_name()));
  if (const auto* cpu = member(found, "cpu")) {
    require<std::string>(*cpu, "model", inside + ".cpu");
    require<int>(*cpu, "cores", inside + ".cpu");
  }
  if (const auto* gpus = member(found, "gpus")) {
    if (!gpus->is_array())
      throw ContractError(fmt::format("{}.gpus: expected a list, found {}", inside, gpus->type_name()));
    for (const auto& gpu : *gpus) {
      require<std::string>(gpu, "model", inside + ".gpus");
      require<int>(gpu, "count", inside + ".gpus");
    }
  }
  if (found.contains("links")) require<std::map<std::string, int>>(found, "links", inside);
  return found;
}

std::string fingerprint_slug(const Json& fingerprint) {
  if (!fingerprint.is_object() || fingerprint.empty()) return "unknown-machine";
  std::string out;
  if (const auto* gpus = member(fingerprint, "gpus")) {
    for (const auto& gpu : *gpus) {
      out += fmt::format("{}{}x-{}", out.empty() ? "" : "-", gpu.value("count", 0),
                         detail::slug(text_member(gpu, "model")));
    }
    if (const auto* links = member(fingerprint, "links")) out += link_text(*links);
  } else if (const auto* cpu = member(fingerprint, "cpu")) {
    out = fmt::format("cpu-{}-{}c", detail::slug(text_member(*cpu, "model")), cpu->value("cores", 0));
  } else {
    out = "machine";
  }
  if (out.size() > 80) out.resize(80);
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out + "-" + detail::short_hash(dump_line(fingerprint));
}

std::string moved_text(const Json& began, const Json& now) {
  if (began == now) return "";
  return fmt::format("began on another machine ({}, this is {}); start a new one", fingerprint_slug(began),
                     fingerprint_slug(now));
}

}  // namespace stepgauge::store
