#include "summary/effective.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "summary/communication_settings.hpp"
#include "summary/mode_settings.hpp"

namespace stepgauge::summary {
namespace {

/// `ranks[0].settings.<part>.<key>`; nullopt where it is not there.
std::optional<Json> setting_value(const std::vector<RankRecord>& ranks, const char* part, const char* key) {
  if (ranks.empty()) return std::nullopt;
  const auto settings = ranks.front().detail.value("settings", Json::object());
  const auto values = settings.value(part, Json::object());
  const auto found = values.find(key);
  return found != values.end() ? std::optional<Json>(*found) : std::nullopt;
}

std::string setting_text(const std::vector<RankRecord>& ranks, const char* part, const char* key) {
  const auto value = setting_value(ranks, part, key);
  if (!value) return "";
  return value->is_string() ? value->get<std::string>() : value->is_null() ? "none" : value->dump();
}

using TypeCounts = std::map<std::string, std::int64_t>;

/// Calls of matrix products, convolutions and attention by type, over the operators whose name starts with `prefix`.
TypeCounts operator_types(const std::vector<RankRecord>& ranks, std::string_view prefix) {
  TypeCounts counts;
  const auto operators = setting_value(ranks, "used", "operator_types");
  if (!operators) return counts;
  for (const auto& [name, types] : operators->items()) {
    if (name.compare(0, prefix.size(), prefix) != 0) continue;
    for (const auto& [type, count] : types.items()) counts[type] += count.get<std::int64_t>();
  }
  return counts;
}

std::string most_common(const TypeCounts& counts) {
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? "" : most->first;
}

/// TF32 kernels of cuBLAS, cuDNN and CUTLASS say so in their names.
bool is_tf32_kernel(const std::string& name) {
  return name.find("tf32") != std::string::npos || name.find("s1688") != std::string::npos ||
         name.find("TF32") != std::string::npos;
}

bool any_kernel(const std::vector<trace::RankTimeline>& timelines, bool (*matches)(const std::string&)) {
  return std::any_of(timelines.begin(), timelines.end(), [&](const trace::RankTimeline& timeline) {
    return std::any_of(timeline.names.begin(), timeline.names.end(), matches);
  });
}

std::string operator_type_of(const std::string& precision) {
  if (precision == "bf16" || precision == "bf16_pure") return "BFloat16";
  if (precision == "fp16") return "Half";
  return "Float";
}

Setting judge_precision(const Cell& cell, const std::vector<RankRecord>& ranks,
                        const std::vector<trace::RankTimeline>& timelines) {
  Setting out{"precision", cell.precision, "", "", false};
  const auto autocast = setting_text(ranks, "set", "autocast");
  const auto parameters = setting_text(ranks, "used", "parameter_type");
  if (!autocast.empty()) out.set = fmt::format("autocast {}, parameters {}", autocast, parameters);
  const auto type = most_common(operator_types(ranks, "aten::"));
  if (type.empty()) return out;
  if (is_fp8(cell.precision)) {
    const auto fp8 = most_common(operator_types(ranks, "aten::_scaled_mm"));
    if (!fp8.empty()) out.used = fp8;
    // A compiler may put kernels of its own in the products' place, which no operator tells of.
    if (fp8.empty() && has_compile_caches(cell.compile)) return out;
    out.ineffective = fp8.rfind("Float8", 0) != 0;
    if (out.used.empty()) out.used = type + ", no scaled product";
    return out;
  }
  out.used = type;
  out.ineffective = type != operator_type_of(cell.precision);
  const bool device = !timelines.empty() && !timelines.front().host_time;
  if (type == "Float" && device) {
    const bool tf32 = any_kernel(timelines, is_tf32_kernel);
    out.used += tf32 ? ", TF32 kernels" : ", no kernel named TF32";
    if (cell.precision == "fp32" && tf32) out.ineffective = true;
  }
  return out;
}

/// Buckets as planned against the collectives of the traced steps.
Setting judge_buckets(const Cell& cell, const std::vector<RankRecord>& ranks,
                      const std::vector<trace::RankTimeline>& timelines) {
  Setting out{"buckets", fmt::format("{:g} MiB, first {:g} MiB", cell.ddp.bucket_cap_mb, cell.ddp.first_bucket_mb), "",
              "", false};
  const auto planned = setting_value(ranks, "used", "bucket_bytes");
  if (!planned || timelines.empty() || timelines.front().steps.empty()) return out;
  const auto bytes = planned->get<std::vector<std::int64_t>>();
  std::int64_t sum = 0;
  for (const auto one : bytes) sum += one;
  out.set = fmt::format("{} buckets, {} bytes a step", bytes.size(), sum);
  const auto steps = static_cast<std::int64_t>(timelines.front().steps.size());
  const bool hooked = !cell.ddp.hook.empty();
  std::int64_t seen = 0, seen_bytes = 0;
  for (const auto& collective : timelines.front().collectives) {
    const auto at = collective.host.begin;
    const bool counts = hooked ? collective.bytes > 0 : collective.bucket >= 0;
    if (!counts || timelines.front().phases.empty()) continue;
    if (at < timelines.front().phases.front().time.begin) continue;  // steps before the marks
    ++seen;
    seen_bytes += collective.bytes;
  }
  if (seen == 0) return out;
  out.used = fmt::format("{:g} collectives, {:g} bytes a step", static_cast<double>(seen) / static_cast<double>(steps),
                         static_cast<double>(seen_bytes) / static_cast<double>(steps));
  if (hooked) return out;  // the collectives are the hook's own
  out.ineffective = seen != steps * static_cast<std::int64_t>(bytes.size()) || seen_bytes != steps * sum;
  return out;
}

/// Which attention ran: "flash", "efficient", "cudnn", "math", as PyTorch names its kernels.
Setting note_attention(const std::vector<RankRecord>& ranks) {
  Setting out{"attention", "", "", "", false};
  for (const char* kind : {"flash", "efficient", "cudnn", "fused", "math", "attention_math"}) {
    if (!operator_types(ranks, fmt::format("aten::_scaled_dot_product_{}", kind)).empty()) {
      out.used = std::string(kind) == "attention_math" ? "math" : kind;
      return out;
    }
  }
  return out;
}

}  // namespace

std::vector<Setting> judge_settings(const Cell& cell, const std::vector<RankRecord>& ranks,
                                    const std::vector<trace::RankTimeline>& timelines,
                                    const std::vector<NcclLog>& logs) {
  std::vector<Setting> out{judge_precision(cell, ranks, timelines)};
  Setting format{"memory_format", cell.memory_format, "", setting_text(ranks, "used", "memory_format"), false};
  format.ineffective = !format.used.empty() && format.used != cell.memory_format;
  out.push_back(format);
  if (cell.ddp.ranks > 1) {
    for (auto& setting : judge_communication(cell, ranks, logs)) out.push_back(std::move(setting));
    out.push_back(judge_buckets(cell, ranks, timelines));
  }
  if (auto attention = note_attention(ranks); !attention.used.empty()) out.push_back(std::move(attention));
  for (auto& setting : judge_mode(cell, ranks, timelines)) out.push_back(std::move(setting));
  return out;
}

std::string ineffective_reason(const std::vector<Setting>& settings) {
  std::vector<std::string> parts;
  for (const auto& one : settings) {
    if (!one.ineffective) continue;
    if (one.why.empty()) {
      parts.push_back(fmt::format("{}: asked {}, set {}, used {}", one.name, one.asked,
                                  one.set.empty() ? "unknown" : one.set, one.used));
    } else {
      parts.push_back(one.why);
    }
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

Json to_json(const std::vector<Setting>& settings) {
  auto out = Json::object();
  for (const auto& one : settings) {
    Json item = Json::object();
    if (!one.asked.empty()) item["asked"] = one.asked;
    if (!one.set.empty()) item["set"] = one.set;
    if (!one.used.empty()) item["used"] = one.used;
    item["ineffective"] = one.ineffective;
    out[one.name] = item;
  }
  return out;
}

}  // namespace stepgauge::summary
