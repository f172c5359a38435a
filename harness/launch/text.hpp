#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace stepgauge::launch {

/// Printable UTF-8: control characters (C0, DEL, C1) and bytes that are no UTF-8 become "\xNN", tab "\t", CR "\r".
/// At most `max_bytes` of input are kept, then "...".
std::string printable(std::string_view text, std::size_t max_bytes = 400);

/// The last `count` lines, printable; blank lines at the end do not count.
std::vector<std::string> last_lines(std::string_view text, std::size_t count);

/// "SIGSEGV (Segmentation fault)".
std::string signal_text(int signal);

}  // namespace stepgauge::launch
