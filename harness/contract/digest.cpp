#include "contract/digest.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace stepgauge {
namespace {

class Sha256 {
 public:
  Sha256() : context_(::EVP_MD_CTX_new(), &::EVP_MD_CTX_free) {
    if (!context_ || ::EVP_DigestInit_ex(context_.get(), ::EVP_sha256(), nullptr) != 1)
      throw std::runtime_error("SHA-256 is not available");
  }
  void add(const void* bytes, std::size_t count) { ::EVP_DigestUpdate(context_.get(), bytes, count); }
  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    ::EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
    std::string out;
    for (unsigned i = 0; i < size; ++i) out += fmt::format("{:02x}", digest[i]);
    return out;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  Sha256 digest;
  digest.add(bytes.data(), bytes.size());
  return digest.hex();
}

std::string sha256_hex_of_file(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  if (!file) throw std::system_error(errno, std::generic_category(), path);
  Sha256 digest;
  std::array<char, 1u << 16> buffer;
  while (const auto count = std::fread(buffer.data(), 1, buffer.size(), file.get())) digest.add(buffer.data(), count);
  if (std::ferror(file.get()) != 0) throw std::system_error(EIO, std::generic_category(), path);
  return digest.hex();
}

}  // namespace stepgauge
