#include "verdict/separation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <tuple>

namespace stepgauge::verdict {
namespace {

using Bits = std::vector<std::uint64_t>;

constexpr std::size_t most_values = 16;  ///< of an axis on which "anything but" is tried

/// Which of the good cells a condition leaves out.
Bits excluded_by(const SeparatingTerm& term, const std::vector<const SeparationCell*>& good) {
  Bits out((good.size() + 63) / 64, 0);
  for (std::size_t i = 0; i < good.size(); ++i) {
    const auto found = good[i]->settings.find(term.axis);
    const bool same = found != good[i]->settings.end() && found->second == term.value;
    if (same != term.equal) out[i / 64] |= std::uint64_t{1} << (i % 64);
  }
  return out;
}

struct Candidate {
  SeparatingTerm term;
  Bits excluded;
};

/// The axes that a reader thinks of first stand for those that vary with them.
std::size_t rank_of(const std::string& axis) {
  static constexpr std::array<std::string_view, 8> first{"compile", "precision",     "ddp.ranks", "workload",
                                                         "batch",   "checkpointing", "device",    "worker"};
  return static_cast<std::size_t>(std::find(first.begin(), first.end(), axis) - first.begin());
}

bool before(const SeparatingTerm& a, const SeparatingTerm& b) {
  return std::tuple(!a.equal, rank_of(a.axis), a.axis, a.value) <
         std::tuple(!b.equal, rank_of(b.axis), b.axis, b.value);
}

/// Conditions that hold for every bad cell: on axes that vary, one value; and "anything but" each value that no bad
/// cell has, where the axis has more than two values.
std::vector<SeparatingTerm> shared_terms(const std::vector<const SeparationCell*>& bad,
                                         const std::vector<const SeparationCell*>& good) {
  static const std::string none;
  const auto value_of = [](const SeparationCell& cell, const std::string& axis) -> const std::string& {
    const auto found = cell.settings.find(axis);
    return found == cell.settings.end() ? none : found->second;
  };
  std::set<std::string> axes;
  for (const auto* side : {&bad, &good}) {
    for (const auto* cell : *side) {
      for (const auto& entry : cell->settings) axes.insert(entry.first);
    }
  }
  std::vector<SeparatingTerm> out;
  for (const auto& axis : axes) {
    std::set<std::string> in_bad, in_good;
    for (const auto* cell : bad) in_bad.insert(value_of(*cell, axis));
    for (const auto* cell : good) in_good.insert(value_of(*cell, axis));
    if (in_bad.size() == 1 && !in_bad.begin()->empty()) out.push_back({axis, *in_bad.begin(), true, {}});
    std::set<std::string> all(in_bad);
    all.insert(in_good.begin(), in_good.end());
    if (all.size() < 3 || all.size() > most_values) continue;
    for (const auto& value : in_good) {
      if (in_bad.count(value) == 0 && !value.empty()) out.push_back({axis, value, false, {}});
    }
  }
  std::sort(out.begin(), out.end(), before);
  return out;
}

/// Conditions that leave out the same good cells are one: the first of them, with the others beside it.
std::vector<Candidate> candidates_of(const std::vector<SeparatingTerm>& terms,
                                     const std::vector<const SeparationCell*>& good) {
  std::vector<Candidate> out;
  std::map<Bits, std::size_t> places;
  for (const auto& term : terms) {
    auto bits = excluded_by(term, good);
    if (std::all_of(bits.begin(), bits.end(), [](std::uint64_t word) { return word == 0; })) continue;
    const auto [place, is_new] = places.emplace(bits, out.size());
    if (is_new) {
      out.push_back({term, std::move(bits)});
    } else {
      out[place->second].term.also.push_back(term.text());
    }
  }
  return out;
}

class Search {
 public:
  Search(const std::vector<Candidate>& candidates, std::size_t good) : candidates_(candidates), all_(good / 64, ~0ull) {
    if (good % 64 != 0) all_.push_back((std::uint64_t{1} << (good % 64)) - 1);
  }

  /// Every choice of `size` of the first `count` candidates that together leave out all good cells.
  std::vector<Conjunction> of_size(std::size_t size, std::size_t count) {
    found_.clear();
    chosen_.clear();
    choose(size, 0, count, Bits(all_.size(), 0));
    return found_;
  }

 private:
  void choose(std::size_t size, std::size_t from, std::size_t count, const Bits& excluded) {
    if (size == 0) {
      if (excluded != all_) return;
      auto& terms = found_.emplace_back();
      for (const auto* candidate : chosen_) terms.push_back(candidate->term);
      return;
    }
    for (std::size_t i = from; i + size <= count; ++i) {
      auto together = excluded;
      for (std::size_t word = 0; word < together.size(); ++word) together[word] |= candidates_[i].excluded[word];
      chosen_.push_back(&candidates_[i]);
      choose(size - 1, i + 1, count, together);
      chosen_.pop_back();
    }
  }

  const std::vector<Candidate>& candidates_;
  Bits all_;
  std::vector<const Candidate*> chosen_;
  std::vector<Conjunction> found_;
};

}  // namespace

std::string SeparatingTerm::text() const {
  return equal ? fmt::format("{}={}", axis, value) : fmt::format("{} other than {}", axis, value);
}

std::string text_of(const Conjunction& terms) {
  std::vector<std::string> parts;
  for (const auto& term : terms) parts.push_back(term.text());
  return fmt::format("{}", fmt::join(parts, " and "));
}

std::string_view to_string(SeparationKind kind) {
  switch (kind) {
    case SeparationKind::uniform:
      return "uniform";
    case SeparationKind::separated:
      return "separated";
    case SeparationKind::alone:
      return "alone";
    case SeparationKind::healthy:
      return "healthy";
    default:
      return "none";
  }
}

Separation separate(const std::vector<SeparationCell>& cells) {
  std::vector<const SeparationCell*> bad, good;
  Separation out;
  for (const auto& cell : cells) {
    if (cell.health == Health::bad) bad.push_back(&cell);
    if (cell.health == Health::good) good.push_back(&cell);
  }
  out.bad = bad.size();
  out.good = good.size();
  out.unjudged = cells.size() - bad.size() - good.size();
  if (bad.empty()) {
    out.kind = SeparationKind::healthy;
    return out;
  }
  if (good.empty()) {
    out.kind = bad.size() == 1 ? SeparationKind::alone : SeparationKind::uniform;
    return out;
  }
  const auto candidates = candidates_of(shared_terms(bad, good), good);
  const auto equal = static_cast<std::size_t>(std::count_if(
      candidates.begin(), candidates.end(), [](const Candidate& candidate) { return candidate.term.equal; }));
  Search search(candidates, good.size());
  for (std::size_t size = 1; size <= most_separating_terms && out.conjunctions.empty(); ++size) {
    out.conjunctions = search.of_size(size, equal);
    if (out.conjunctions.empty()) out.conjunctions = search.of_size(size, candidates.size());
  }
  out.kind = out.conjunctions.empty() ? SeparationKind::none : SeparationKind::separated;
  return out;
}

Json to_json(const Separation& separation) {
  Json conjunctions = Json::array();
  for (const auto& terms : separation.conjunctions) {
    Json list = Json::array();
    for (const auto& term : terms)
      list.push_back({{"axis", term.axis}, {"value", term.value}, {"equal", term.equal}, {"also", term.also}});
    conjunctions.push_back(std::move(list));
  }
  return {{"kind", to_string(separation.kind)},
          {"bad", separation.bad},
          {"good", separation.good},
          {"unjudged", separation.unjudged},
          {"conjunctions", std::move(conjunctions)}};
}

}  // namespace stepgauge::verdict
