#include "contract/trace_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace stepgauge {
namespace {

constexpr std::size_t buffer_bytes = 256u << 10;
constexpr int deflate_level = 1;  ///< a trace is written while others wait; level 6 takes three times as long

[[noreturn]] void throw_errno(int error, const std::string& path, const char* what) {
  throw std::system_error(error, std::generic_category(), fmt::format("{}: {}", path, what));
}

/// Which bytes of a JSON string stand for themselves: printable ASCII but for quote and backslash.
constexpr std::array<bool, 256> plain_bytes() {
  std::array<bool, 256> out{};
  for (int c = 0x20; c < 0x7f; ++c) out[static_cast<std::size_t>(c)] = c != '"' && c != '\\';
  return out;
}
constexpr auto plain = plain_bytes();

/// Bytes of the UTF-8 sequence that `text` begins with; 0 when it is none (overlong forms and surrogates are none).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool outside = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                       (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
  return outside ? 0 : length;
}

void append_escaped(std::string& out, unsigned char byte) {
  switch (byte) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
  }
}

void append_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    std::size_t run = 0;
    while (run < text.size() && plain[static_cast<unsigned char>(text[run])]) ++run;
    out.append(text.data(), run);
    text.remove_prefix(run);
    if (text.empty()) break;
    const auto lead = static_cast<unsigned char>(text.front());
    std::size_t length = 1;
    if (lead < 0x80) {
      append_escaped(out, lead);
    } else if (const auto valid = utf8_length(text); valid > 0) {
      out.append(text.data(), length = valid);
    } else {
      out += "\xef\xbf\xbd";
    }
    text.remove_prefix(length);
  }
  out += '"';
}

void append_integer(std::string& out, std::int64_t value) {
  const fmt::format_int digits(value);
  out.append(digits.data(), digits.size());
}

/// Microseconds with three decimals, every digit of the nanoseconds.
void append_us(std::string& out, std::int64_t ns) {
  if (ns < 0) out += '-';
  const auto size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  const fmt::format_int whole(size / 1000);
  out.append(whole.data(), whole.size());
  const auto rest = static_cast<int>(size % 1000);
  const char decimals[] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
  out.append(decimals, sizeof decimals);
}

}  // namespace

struct TraceFileWriter::State {
  std::string path, temporary;
  std::int64_t base_ns = 0;
  int fd = -1;  ///< of our own beside zlib's, to sync the file with after zlib has closed its one
  gzFile gzip = nullptr;
  std::string buffer;
  bool first = true;

  ~State() {
    if (gzip != nullptr) ::gzclose(gzip);
    if (fd < 0) return;
    ::close(fd);
    ::unlink(temporary.c_str());
  }

  void open();
  void flush();
  void begin_event(char phase, std::string_view category, std::string_view name, std::int64_t pid, std::int64_t tid);
  void add_time(const char* key, std::int64_t ns);
  void add_text(const char* key, std::string_view text);
  void end_event();
  void metadata(std::int64_t pid, std::int64_t tid, std::string_view what, std::string_view key, std::string_view text);
  void metadata(std::int64_t pid, std::int64_t tid, std::string_view what, int sort_index);
  void finish();
};

void TraceFileWriter::State::open() {
  fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) throw_errno(errno, temporary, "cannot create");
  const int second = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (second < 0) throw_errno(errno, temporary, "cannot create");
  gzip = ::gzdopen(second, fmt::format("wb{}", deflate_level).c_str());
  if (gzip == nullptr) {
    ::close(second);
    throw_errno(ENOMEM, temporary, "cannot compress");
  }
  ::gzbuffer(gzip, buffer_bytes);
  buffer.reserve(buffer_bytes + (64u << 10));
}

void TraceFileWriter::State::flush() {
  errno = 0;
  if (!buffer.empty() && ::gzwrite(gzip, buffer.data(), static_cast<unsigned>(buffer.size())) == 0) {
    throw_errno(errno != 0 ? errno : EIO, path, "cannot write");
  }
  buffer.clear();
}

void TraceFileWriter::State::begin_event(char phase, std::string_view category, std::string_view name, std::int64_t pid,
                                         std::int64_t tid) {
  buffer += first ? "{\"ph\":\"" : ",\n{\"ph\":\"";
  first = false;
  buffer += phase;
  buffer += '"';
  if (!category.empty()) add_text(",\"cat\":", category);
  add_text(",\"name\":", name);
  buffer += ",\"pid\":";
  append_integer(buffer, pid);
  buffer += ",\"tid\":";
  append_integer(buffer, tid);
}

void TraceFileWriter::State::add_time(const char* key, std::int64_t ns) {
  buffer += key;
  append_us(buffer, ns);
}

void TraceFileWriter::State::add_text(const char* key, std::string_view text) {
  buffer += key;
  append_string(buffer, text);
}

void TraceFileWriter::State::end_event() {
  buffer += '}';
  if (buffer.size() >= buffer_bytes) flush();
}

void TraceFileWriter::State::metadata(std::int64_t pid, std::int64_t tid, std::string_view what, std::string_view key,
                                      std::string_view text) {
  begin_event('M', "", what, pid, tid);
  add_text(",\"ts\":0,\"args\":{", key);
  add_text(":", text);
  buffer += '}';
  end_event();
}

void TraceFileWriter::State::metadata(std::int64_t pid, std::int64_t tid, std::string_view what, int sort_index) {
  begin_event('M', "", what, pid, tid);
  buffer += ",\"ts\":0,\"args\":{\"sort_index\":";
  append_integer(buffer, sort_index);
  buffer += '}';
  end_event();
}

void TraceFileWriter::State::finish() {
  buffer += "\n]}\n";
  flush();
  errno = 0;
  const auto closed = ::gzclose(std::exchange(gzip, nullptr));
  if (closed != Z_OK) throw_errno(errno != 0 ? errno : EIO, path, "cannot write");
  if (::fsync(fd) != 0) throw_errno(errno, path, "cannot fsync");
  if (::rename(temporary.c_str(), path.c_str()) != 0) throw_errno(errno, path, "cannot replace");
  ::close(std::exchange(fd, -1));
}

TraceFileWriter::TraceFileWriter(const std::string& path, std::int64_t base_ns, const Json& head)
    : state_(std::make_unique<State>()) {
  if (!head.is_object()) throw std::invalid_argument(path + ": the head of a trace is a JSON object");
  auto fields = head;
  fields["baseTimeNanoseconds"] = base_ns;
  auto text = dump_pretty(fields);  // with a blank behind each colon, which HTA looks for
  text.erase(text.rfind("\n}"));    // the object goes on with the events
  state_->path = path;
  state_->temporary = fmt::format("{}.tmp{}", path, ::getpid());
  state_->base_ns = base_ns;
  state_->open();
  (state_->buffer += text) += ",\n\"traceEvents\":[\n";
}

TraceFileWriter::~TraceFileWriter() = default;

void TraceFileWriter::complete(std::string_view category, std::string_view name, std::int64_t pid, std::int64_t tid,
                               std::int64_t begin_ns, std::int64_t end_ns, std::string_view args_json) {
  auto& out = *state_;
  out.begin_event('X', category, name, pid, tid);
  out.add_time(",\"ts\":", begin_ns - out.base_ns);
  out.add_time(",\"dur\":", end_ns - begin_ns);
  if (!args_json.empty()) (out.buffer += ",\"args\":") += args_json;
  out.end_event();
}

void TraceFileWriter::counter(std::string_view name, std::int64_t pid, std::int64_t at_ns, double value) {
  if (!std::isfinite(value)) return;
  auto& out = *state_;
  out.begin_event('C', "", name, pid, 0);
  out.add_time(",\"ts\":", at_ns - out.base_ns);
  out.add_text(",\"args\":{", name);
  fmt::format_to(std::back_inserter(out.buffer), ":{}}}", value);
  out.end_event();
}

void TraceFileWriter::flow(std::uint64_t id, std::int64_t from_pid, std::int64_t from_tid, std::int64_t from_ns,
                           std::int64_t to_pid, std::int64_t to_tid, std::int64_t to_ns) {
  auto& out = *state_;
  const auto number = fmt::format_int(id);
  const auto half = [&](char phase, std::int64_t pid, std::int64_t tid, std::int64_t at_ns, const char* rest) {
    out.begin_event(phase, "ac2g", "ac2g", pid, tid);
    out.add_time(",\"ts\":", at_ns - out.base_ns);
    (out.buffer += ",\"id\":").append(number.data(), number.size()) += rest;
    out.end_event();
  };
  half('s', from_pid, from_tid, from_ns, "");
  half('f', to_pid, to_tid, to_ns, ",\"bp\":\"e\"");
}

void TraceFileWriter::name_process(std::int64_t pid, std::string_view name, std::string_view labels, int sort_index) {
  state_->metadata(pid, 0, "process_name", "name", name);
  state_->metadata(pid, 0, "process_labels", "labels", labels);
  state_->metadata(pid, 0, "process_sort_index", sort_index);
}

void TraceFileWriter::name_thread(std::int64_t pid, std::int64_t tid, std::string_view name, int sort_index) {
  state_->metadata(pid, tid, "thread_name", "name", name);
  state_->metadata(pid, tid, "thread_sort_index", sort_index);
}

void TraceFileWriter::close() {
  if (state_ != nullptr && state_->fd >= 0) state_->finish();
}

}  // namespace stepgauge
