#include "contract/json_io.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <set>
#include <system_error>

namespace stepgauge {
namespace {

void require_finite(const Json& value, const std::string& pointer) {
  if (value.is_number_float()) {
    if (!std::isfinite(value.get<double>())) {
      throw ContractError(
          fmt::format("{}: the number is not finite; leave it out and give a reason", pointer.empty() ? "/" : pointer));
    }
  } else if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      if (item.is_primitive() && !item.is_number_float()) continue;
      require_finite(item, pointer + "/" + key);
    }
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (value[i].is_primitive() && !value[i].is_number_float()) continue;
      if (value[i].is_number_float() && std::isfinite(value[i].get<double>())) continue;
      require_finite(value[i], pointer + "/" + std::to_string(i));
    }
  }
}

/// Throws when an object has the same key twice: nlohmann keeps the last one silently.
struct DuplicateKeyGuard {
  std::string origin;
  std::vector<std::set<std::string>> open;

  bool operator()(int /*depth*/, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) {
      open.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      open.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto key = parsed.get<std::string>();
      if (!open.back().insert(key).second) throw ContractError(fmt::format("{}: key \"{}\" stands twice", origin, key));
    }
    return true;
  }
};

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void throw_errno(const std::string& path, const char* what) {
  throw std::system_error(errno, std::generic_category(), fmt::format("{}: {}", path, what));
}

}  // namespace

std::string dump_line(const Json& value) {
  require_finite(value, "");
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string dump_pretty(const Json& value) {
  require_finite(value, "");
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json parse_json(std::string_view text, std::string_view origin) {
  try {
    return Json::parse(text, DuplicateKeyGuard{std::string(origin), {}});
  } catch (const nlohmann::json::exception& error) {
    throw ContractError(fmt::format("{}: not valid JSON: {}", origin, error.what()));
  }
}

std::string read_text_file(const std::string& path, std::size_t max_bytes) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) throw ContractError(fmt::format("{}: cannot open: {}", path, std::strerror(errno)));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) throw_errno(path, "cannot stat");
  if (!S_ISREG(info.st_mode)) {
    throw ContractError(fmt::format("{}: expected a regular file, found a {}", path,
                                    S_ISDIR(info.st_mode) ? "folder" : "special file"));
  }
  if (static_cast<std::size_t>(info.st_size) > max_bytes) {
    throw ContractError(fmt::format("{}: {} bytes, at most {} are read", path, info.st_size, max_bytes));
  }
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const auto count = ::read(file.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_errno(path, "cannot read");
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  text.resize(done);
  return text;
}

void write_text_file(const std::string& path, std::string_view text) {
  auto temporary = path;
  temporary += fmt::format(".tmp{}", ::getpid());
  {
    const FileDescriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.get() < 0) throw_errno(temporary, "cannot create");
    std::size_t done = 0;
    while (done < text.size()) {
      const auto count = ::write(file.get(), text.data() + done, text.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        const int saved = errno;
        ::unlink(temporary.c_str());
        errno = saved;
        throw_errno(path, "cannot write");
      }
      done += static_cast<std::size_t>(count);
    }
    if (::fsync(file.get()) != 0) throw_errno(temporary, "cannot fsync");
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) throw_errno(path, "cannot replace");
}

}  // namespace stepgauge
