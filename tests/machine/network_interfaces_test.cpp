// The list that the dry run, doctor and the launcher share: an interface that one of them does not see makes a cell
// unsupported, or a launch fail, for a name that is right.
#include "machine/network_interfaces.hpp"

#include <gmock/gmock.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <set>

#include "machine/machine.hpp"

namespace stepgauge::machine {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsSupersetOf;

std::vector<std::string> names_here() {
  std::vector<std::string> out;
  for (const auto& item : network_interfaces()) out.push_back(item.name);
  return out;
}

TEST(NetworkInterfaces, AreThoseThatTheKernelNumbersEachOnce) {
  auto* const numbered = ::if_nameindex();
  ASSERT_NE(numbered, nullptr);
  std::vector<std::string> expected;
  for (const auto* item = numbered; item->if_index != 0; ++item) expected.emplace_back(item->if_name);
  ::if_freenameindex(numbered);
  const auto names = names_here();
  EXPECT_THAT(names, IsSupersetOf(expected));
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}

TEST(NetworkInterfaces, TheLoopbackOneIsKnownAsSuch) {
  const auto all = network_interfaces();
  const auto lo = std::find_if(all.begin(), all.end(), [](const auto& item) { return item.name == "lo"; });
  ASSERT_NE(lo, all.end());
  EXPECT_TRUE(lo->loopback);
  EXPECT_TRUE(lo->up);
  EXPECT_EQ(lo->address, "127.0.0.1");
}

TEST(NetworkInterfaces, OfTheMachineAreTheSameByName) {
  auto names = names_here();
  std::sort(names.begin(), names.end());
  EXPECT_THAT(inspect().interfaces, ElementsAreArray(names));
}

TEST(Ipv4Text, IsEmptyForAnythingElse) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(0x0a000004);
  EXPECT_EQ(ipv4_text(reinterpret_cast<const sockaddr*>(&v4)), "10.0.0.4");
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  EXPECT_EQ(ipv4_text(reinterpret_cast<const sockaddr*>(&v6)), "");
  EXPECT_EQ(ipv4_text(nullptr), "");
}

}  // namespace
}  // namespace stepgauge::machine
