#include "replay/detail/pickle.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace stepgauge::replay::detail {
namespace {

constexpr std::uint32_t mark = 0xffffffff;
constexpr int deepest_json = 32;

/// Opcodes that make Python import, call or build something, or fetch what is not in the file.
constexpr std::array<std::pair<unsigned char, const char*>, 17> refused{{{'c', "GLOBAL"},
                                                                         {0x93, "STACK_GLOBAL"},
                                                                         {'R', "REDUCE"},
                                                                         {'b', "BUILD"},
                                                                         {'i', "INST"},
                                                                         {'o', "OBJ"},
                                                                         {0x81, "NEWOBJ"},
                                                                         {0x92, "NEWOBJ_EX"},
                                                                         {0x82, "EXT1"},
                                                                         {0x83, "EXT2"},
                                                                         {0x84, "EXT4"},
                                                                         {'P', "PERSID"},
                                                                         {'Q', "BINPERSID"},
                                                                         {0x97, "NEXT_BUFFER"},
                                                                         {0x98, "READONLY_BUFFER"},
                                                                         {0x8f, "EMPTY_SET"},
                                                                         {0x91, "FROZENSET"}}};

}  // namespace

/// The stack machine of a pickle, without the opcodes that run code.
class PickleMachine {
 public:
  PickleMachine(Pickle& out, std::string_view text, std::string_view origin, std::size_t most_values)
      : out_(out), text_(text), origin_(origin), most_values_(most_values) {}

  void run() {
    if (byte() != 0x80) fail("expected the PROTO opcode of a pickle");
    const auto protocol = byte();
    if (protocol < 2 || protocol > 5) fail(fmt::format("pickle protocol {}, expected 2 to 5", protocol));
    while (true) {
      const auto opcode = byte();
      if (opcode == '.') break;
      step(opcode);
    }
    out_.root_ = pop();
    if (!stack_.empty()) fail("expected one value at the end");
  }

 private:
  using Type = Pickle::Type;
  using Value = Pickle::Value;

  [[noreturn]] void fail(std::string_view what) const {
    throw ContractError(fmt::format("{}: byte {}: {}", origin_, opcode_at_, what));
  }
  unsigned char byte() {
    opcode_at_ = at_;
    return take(1)[0];
  }
  const unsigned char* take(std::uint64_t size) {
    if (size > text_.size() - at_) fail("the pickle is cut off");
    const auto* out = reinterpret_cast<const unsigned char*>(text_.data()) + at_;
    at_ += size;
    return out;
  }
  std::uint64_t little_endian(std::size_t size) {
    const auto* bytes = take(size);
    std::uint64_t out = 0;
    for (std::size_t i = size; i-- > 0;) out = out << 8 | bytes[i];
    return out;
  }
  std::string_view counted(std::size_t size_of_count) {
    const auto size = little_endian(size_of_count);
    return {reinterpret_cast<const char*>(take(size)), size};
  }
  void push(Value value) {
    if (out_.values_.size() >= most_values_) fail(fmt::format("more than {} values", most_values_));
    stack_.push_back(static_cast<std::uint32_t>(out_.values_.size()));
    out_.values_.push_back(std::move(value));
  }
  void push(Type type, std::int64_t integer = 0) {
    Value value;
    value.type = type;
    value.integer = integer;
    push(std::move(value));
  }
  void push_text(std::string_view text) {
    Value value;
    value.type = Type::text;
    value.text = text;
    push(std::move(value));
  }
  std::uint32_t pop() {
    if (stack_.empty() || stack_.back() == mark) fail("a value is missing on the stack");
    const auto out = stack_.back();
    stack_.pop_back();
    return out;
  }
  std::uint32_t top() const {
    if (stack_.empty() || stack_.back() == mark) fail("a value is missing on the stack");
    return stack_.back();
  }
  std::vector<std::uint32_t> pop_to_mark() {
    auto at = stack_.size();
    while (at > 0 && stack_[at - 1] != mark) --at;
    if (at == 0) fail("a MARK is missing on the stack");
    std::vector<std::uint32_t> out(stack_.begin() + static_cast<std::ptrdiff_t>(at), stack_.end());
    stack_.resize(at - 1);
    return out;
  }
  void collect(Type type, std::vector<std::uint32_t> items) {
    Value value;
    value.type = type;
    value.items = std::move(items);
    push(std::move(value));
  }
  void collect_last(std::size_t count) {
    std::vector<std::uint32_t> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    collect(Type::tuple, std::move(items));
  }
  /// Counts against the limit: a list that appends one value again and again makes memory without new values.
  void extend(Type type, const std::vector<std::uint32_t>& items) {
    auto& value = out_.values_[top()];
    if (value.type != type) fail(type == Type::list ? "expected a list to append to" : "expected a dict to set in");
    if (type == Type::dict && items.size() % 2 != 0) fail("expected keys and values in pairs");
    if ((items_ += items.size()) > 4 * most_values_) fail(fmt::format("more than {} items", 4 * most_values_));
    value.items.insert(value.items.end(), items.begin(), items.end());
  }
  void memoize(std::uint64_t place) {
    if (memo_.size() >= most_values_) fail("the memo is too large");
    memo_[place] = top();
  }
  void recall(std::uint64_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) fail("the memo has no such entry");
    if (stack_.size() > most_values_) fail("the stack is too large");
    stack_.push_back(found->second);
  }
  void long_integer(std::size_t size) {
    if (size > 8) fail("an integer of more than 64 bits");
    auto bits = little_endian(size);
    if (size > 0 && size < 8 && (bits >> (8 * size - 1)) != 0) bits |= ~std::uint64_t{0} << (8 * size);
    push(Type::integer, static_cast<std::int64_t>(bits));
  }
  void real() {
    const auto* bytes = take(8);
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | bytes[i];
    Value value;
    value.type = Type::real;
    std::memcpy(&value.real, &bits, sizeof bits);
    push(std::move(value));
  }
  bool scalar(unsigned char opcode);
  bool container(unsigned char opcode);
  void step(unsigned char opcode);

  Pickle& out_;
  std::string_view text_, origin_;
  std::size_t most_values_, at_ = 0, opcode_at_ = 0, items_ = 0;
  std::vector<std::uint32_t> stack_;
  std::unordered_map<std::uint64_t, std::uint32_t> memo_;
};

bool PickleMachine::scalar(unsigned char opcode) {
  switch (opcode) {
    case 'N':
      push(Type::none);
      return true;
    case 0x88:
      push(Type::boolean, 1);
      return true;
    case 0x89:
      push(Type::boolean, 0);
      return true;
    case 'K':
      push(Type::integer, static_cast<std::int64_t>(little_endian(1)));
      return true;
    case 'M':
      push(Type::integer, static_cast<std::int64_t>(little_endian(2)));
      return true;
    case 'J':
      push(Type::integer, static_cast<std::int32_t>(little_endian(4)));
      return true;
    case 0x8a:
      long_integer(little_endian(1));
      return true;
    case 0x8b:
      long_integer(little_endian(4));
      return true;
    case 'G':
      real();
      return true;
    case 0x8c:
      push_text(counted(1));
      return true;  // SHORT_BINUNICODE
    case 'X':
      push_text(counted(4));
      return true;  // BINUNICODE
    case 0x8d:
      push_text(counted(8));
      return true;  // BINUNICODE8
    case 'U':
    case 'C':
      push_text(counted(1));
      return true;  // SHORT_BINSTRING, SHORT_BINBYTES
    case 'T':
    case 'B':
      push_text(counted(4));
      return true;  // BINSTRING, BINBYTES
    case 0x8e:
    case 0x96:
      push_text(counted(8));
      return true;  // BINBYTES8, BYTEARRAY8
    default:
      return false;
  }
}

bool PickleMachine::container(unsigned char opcode) {
  switch (opcode) {
    case ']':
      push(Type::list);
      return true;
    case '}':
      push(Type::dict);
      return true;
    case ')':
      push(Type::tuple);
      return true;
    case '(':
      stack_.push_back(mark);
      return stack_.size() <= most_values_ || (fail("the stack is too large"), true);
    case 'l':
      collect(Type::list, pop_to_mark());
      return true;
    case 't':
      collect(Type::tuple, pop_to_mark());
      return true;
    case 'd': {
      auto items = pop_to_mark();
      if (items.size() % 2 != 0) fail("expected keys and values in pairs");
      collect(Type::dict, std::move(items));
      return true;
    }
    case 0x85:
      collect_last(1);
      return true;
    case 0x86:
      collect_last(2);
      return true;
    case 0x87:
      collect_last(3);
      return true;
    case 'a': {
      const auto item = pop();
      extend(Type::list, {item});
      return true;
    }
    case 'e': {
      const auto items = pop_to_mark();
      extend(Type::list, items);
      return true;
    }
    case 's': {
      const auto value = pop();
      const auto key = pop();
      extend(Type::dict, {key, value});
      return true;
    }
    case 'u': {
      const auto items = pop_to_mark();
      extend(Type::dict, items);
      return true;
    }
    default:
      return false;
  }
}

void PickleMachine::step(unsigned char opcode) {
  if (scalar(opcode) || container(opcode)) return;
  for (const auto& [code, name] : refused) {
    if (opcode == code) fail(fmt::format("the opcode {} is refused: only plain data are read, no code is run", name));
  }
  switch (opcode) {
    case 'q':
      memoize(little_endian(1));
      return;
    case 'r':
      memoize(little_endian(4));
      return;
    case 0x94:
      memoize(memo_.size());
      return;
    case 'h':
      recall(little_endian(1));
      return;
    case 'j':
      recall(little_endian(4));
      return;
    case '0':
      pop();
      return;
    case '1':
      pop_to_mark();
      return;
    case '2': {
      const auto value = top();
      if (stack_.size() > most_values_) fail("the stack is too large");
      stack_.push_back(value);
      return;
    }
    case 0x95:
      little_endian(8);
      return;  // FRAME: its length is not needed
    default:
      fail(fmt::format("the opcode 0x{:02x} is not one of plain data in protocols 2 to 5", opcode));
  }
}

Pickle::Pickle(std::string_view text, std::string_view origin, std::size_t most_values) : origin_(origin) {
  PickleMachine(*this, text, origin, most_values).run();
}

const Pickle::Value* Pickle::find(const Value& dict, std::string_view key) const {
  if (dict.type != Type::dict) return nullptr;
  for (std::size_t i = dict.items.size(); i >= 2; i -= 2) {  // the last one counts, as in Python
    const auto& name = at(dict.items[i - 2]);
    if (name.type == Type::text && name.text == key) return &at(dict.items[i - 1]);
  }
  return nullptr;
}

Json Pickle::json(const Value& value, std::size_t& left, std::string_view leave_out) const {
  return json(value, left, leave_out, 0);
}

Json Pickle::json(const Value& value, std::size_t& left, std::string_view leave_out, int depth) const {
  if (left == 0) throw ContractError(origin_ + ": the values of the pickle are too many when written out");
  if (depth > deepest_json)
    throw ContractError(fmt::format("{}: more than {} levels of values", origin_, deepest_json));
  --left;
  switch (value.type) {
    case Type::none:
      return nullptr;
    case Type::boolean:
      return value.integer != 0;
    case Type::integer:
      return value.integer;
    case Type::real:
      return value.real;
    case Type::text:
      return std::string(value.text);
    default:
      break;
  }
  if (value.type != Type::dict) {
    auto out = Json::array();
    for (const auto item : value.items) out.push_back(json(at(item), left, leave_out, depth + 1));
    return out;
  }
  auto out = Json::object();
  for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
    const auto& key = at(value.items[i]);
    if (key.type != Type::text || key.text == leave_out) continue;
    out[std::string(key.text)] = json(at(value.items[i + 1]), left, leave_out, depth + 1);
  }
  return out;
}

}  // namespace stepgauge::replay::detail
