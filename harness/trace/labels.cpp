#include "trace/labels.hpp"

#include <cctype>

namespace stepgauge::trace {
namespace {

constexpr int shown_depth = 2;  ///< template arguments deeper than that are cut off at their first word

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

/// Walks over a demangled name once and keeps what tells kernels apart.
class Shortening {
 public:
  explicit Shortening(std::string_view name) : name_(name) {}

  std::string run() {
    for (at_ = 0; at_ < name_.size(); ++at_) step(name_[at_]);
    return out_;
  }

 private:
  void step(char c) {
    if (c == '(' || c == '{') {
      // What a function holds inside (its lambdas) says less than its own name.
      if (depth_ > 0 && !out_.empty() && is_word(out_.back())) cut();
      skip_group(c, c == '(' ? ')' : '}');
    } else if (name_.substr(at_, 2) == "::") {
      drop_qualifier();
      ++at_;
    } else if (c == '<') {
      if (depth_ >= shown_depth) cut();
      put(c);
      ++depth_;
    } else if (c == '>') {
      close();
    } else {
      if (depth_ == shown_depth && !is_word(c) && c != '*') cut();
      if (depth_ == 1 && c == ',') cut_at_ = 0;
      put(c);
    }
  }

  void put(char c) {
    if (cut_at_ == 0) out_ += c;
  }

  /// Nothing more of this list of arguments (in the outermost one: of this argument) is shown.
  void cut() {
    if (cut_at_ != 0) return;
    out_ += "..";
    cut_at_ = depth_;
  }

  void close() {
    if (cut_at_ == depth_) cut_at_ = 0;
    while (cut_at_ == 0 && !out_.empty() && out_.back() == ' ') out_.pop_back();
    put('>');
    --depth_;
  }

  /// Parameters, lambdas and anonymous namespaces.
  void skip_group(char open, char close) {
    int nested = 0;
    for (; at_ < name_.size(); ++at_) {
      nested += (name_[at_] == open) - (name_[at_] == close);
      if (nested == 0) return;
    }
  }

  void drop_qualifier() {
    if (cut_at_ != 0) return;
    while (!out_.empty() && is_word(out_.back())) out_.pop_back();
  }

  std::string_view name_;
  std::string out_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int cut_at_ = 0;  ///< depth at which the rest is left out; 0: all is shown
};

}  // namespace

std::string_view to_string(ActivityClass type) {
  static constexpr std::string_view words[] = {"compute", "communication", "copy"};
  return words[static_cast<std::size_t>(type)];
}

std::string_view to_string(ActivityKind kind) {
  static constexpr std::string_view words[] = {"kernel", "memcpy", "memset", "operator", "collective"};
  return words[static_cast<std::size_t>(kind)];
}

std::string short_name(ActivityKind kind, std::string_view name) {
  if (kind == ActivityKind::host_op) {
    constexpr std::string_view engine = "autograd::engine::";
    return std::string(name.substr(name.starts_with(engine) ? engine.size() : 0));
  }
  if (kind != ActivityKind::kernel) return std::string(name);
  auto out = Shortening(name.starts_with("void ") ? name.substr(5) : name).run();
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out.empty() ? std::string(name) : out;
}

}  // namespace stepgauge::trace
