#include "trace/detail/byte_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "trace/reader.hpp"

namespace stepgauge::trace::detail {
namespace {

constexpr int gzip_window = 15 + 16;  ///< zlib: gzip wrapping only

}  // namespace

struct ByteSource::State {
  std::string path;
  int fd = -1;
  std::array<unsigned char, 256 << 10> raw;
  std::size_t begin = 0, end = 0;  ///< of the raw bytes not used yet
  std::uint64_t read_so_far = 0;   ///< bytes of the file
  bool gzip = false, member_open = false;
  z_stream inflater{};

  ~State() {
    if (gzip) ::inflateEnd(&inflater);
    if (fd >= 0) ::close(fd);
  }

  [[noreturn]] void fail(const std::string& what) const { throw TraceError(fmt::format("{}: {}", path, what)); }
  bool fill();
  bool at_gzip_magic() const { return end - begin >= 2 && raw[begin] == 0x1f && raw[begin + 1] == 0x8b; }
  std::size_t copy(char* into, std::size_t size);
  std::size_t inflate(char* into, std::size_t size);
  bool next_member();
};

/// More raw bytes behind those not used yet; false at the end of the file.
bool ByteSource::State::fill() {
  std::memmove(raw.data(), raw.data() + begin, end - begin);
  end -= begin;
  begin = 0;
  ssize_t count = 0;
  do {
    count = ::read(fd, raw.data() + end, raw.size() - end);
  } while (count < 0 && errno == EINTR);
  if (count < 0) fail(fmt::format("cannot read: {}", std::strerror(errno)));
  end += static_cast<std::size_t>(count);
  read_so_far += static_cast<std::uint64_t>(count);
  return count > 0;
}

std::size_t ByteSource::State::copy(char* into, std::size_t size) {
  if (begin == end && !fill()) return 0;
  const auto count = std::min(size, end - begin);
  std::memcpy(into, raw.data() + begin, count);
  begin += count;
  return count;
}

/// gzip allows several compressed members one behind the other, and nothing else behind the last.
bool ByteSource::State::next_member() {
  if (end - begin < 2) fill();
  if (begin == end) return false;
  if (!at_gzip_magic()) {
    fail(fmt::format("other data follow the end of the gzip data at byte {} of the file", read_so_far - (end - begin)));
  }
  ::inflateReset(&inflater);
  member_open = true;
  return true;
}

std::size_t ByteSource::State::inflate(char* into, std::size_t size) {
  inflater.next_out = reinterpret_cast<Bytef*>(into);
  inflater.avail_out = static_cast<uInt>(size);
  while (inflater.avail_out == size) {
    if (!member_open && !next_member()) return 0;
    if (begin == end && !fill()) {
      fail(fmt::format("the gzip data are cut off: the file ends after {} bytes", read_so_far));
    }
    inflater.next_in = raw.data() + begin;
    inflater.avail_in = static_cast<uInt>(end - begin);
    const auto result = ::inflate(&inflater, Z_NO_FLUSH);
    begin = end - inflater.avail_in;
    member_open = result != Z_STREAM_END;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      fail(fmt::format("damaged gzip data before byte {} of the file: {}", read_so_far - (end - begin),
                       inflater.msg != nullptr ? inflater.msg : "cannot inflate"));
    }
  }
  return size - inflater.avail_out;
}

ByteSource::ByteSource(const std::string& path, std::string_view expected)
    : path_(path), state_(std::make_unique<State>()) {
  state_->path = path;
  state_->fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (state_->fd < 0) state_->fail(fmt::format("cannot open: {}", std::strerror(errno)));
  struct stat info {};
  if (::fstat(state_->fd, &info) != 0) state_->fail(fmt::format("cannot open: {}", std::strerror(errno)));
  if (!S_ISREG(info.st_mode)) {
    state_->fail(fmt::format("expected {}, found a {}", expected, S_ISDIR(info.st_mode) ? "folder" : "special file"));
  }
  if (!state_->fill()) state_->fail(fmt::format("the file is empty; expected {}", expected));
  if (state_->at_gzip_magic()) {
    if (::inflateInit2(&state_->inflater, gzip_window) != Z_OK) state_->fail("cannot inflate: out of memory");
    state_->gzip = state_->member_open = true;
  }
}

ByteSource::~ByteSource() = default;

std::size_t ByteSource::read(char* into, std::size_t size) {
  return state_->gzip ? state_->inflate(into, size) : state_->copy(into, size);
}

bool ByteSource::gzip() const {
  return state_->gzip;
}

}  // namespace stepgauge::trace::detail
