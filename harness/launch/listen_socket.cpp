#include "launch/listen_socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

namespace stepgauge::launch {

namespace {

ListenSocket bound(const std::string& host, bool listens) {
  const auto check = [&](int result) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), "cannot listen on " + host);
  };
  ListenSocket out;
  out.fd = machine::UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  check(out.fd.get());
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
    throw std::system_error(EINVAL, std::generic_category(), "cannot listen on " + host);
  }
  socklen_t size = sizeof address;
  const int reuse = 1;
  if (!listens) check(::setsockopt(out.fd.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse));
  check(::bind(out.fd.get(), reinterpret_cast<sockaddr*>(&address), size));
  if (listens) check(::listen(out.fd.get(), SOMAXCONN));
  check(::getsockname(out.fd.get(), reinterpret_cast<sockaddr*>(&address), &size));
  out.port = ntohs(address.sin_port);
  return out;
}

}  // namespace

ListenSocket ListenSocket::open(const std::string& host) {
  return bound(host, true);
}

ListenSocket ListenSocket::reserve(const std::string& host) {
  return bound(host, false);
}

}  // namespace stepgauge::launch
