#include "launch/listen_socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

namespace stepgauge::launch {

ListenSocket ListenSocket::open(const std::string& host) {
  const auto check = [&](int result) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), "cannot listen on " + host);
  };
  ListenSocket out;
  out.fd = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  check(out.fd.get());
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
    throw std::system_error(EINVAL, std::generic_category(), "cannot listen on " + host);
  }
  socklen_t size = sizeof address;
  check(::bind(out.fd.get(), reinterpret_cast<sockaddr*>(&address), size));
  check(::listen(out.fd.get(), SOMAXCONN));
  check(::getsockname(out.fd.get(), reinterpret_cast<sockaddr*>(&address), &size));
  out.port = ntohs(address.sin_port);
  return out;
}

}  // namespace stepgauge::launch
