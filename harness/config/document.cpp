#include "config/document.hpp"

#include <boost/locale/utf.hpp>
#include <system_error>

#include "config/config_error.hpp"
#include "config/detail/parsers.hpp"
#include "config/reader.hpp"
#include "contract/json_io.hpp"

namespace stepgauge::config {
namespace {

Mark position(const detail::FileName& file, std::string_view text, std::size_t offset) {
  const auto head = text.substr(0, offset);
  const auto lines = static_cast<int>(std::count(head.begin(), head.end(), '\n'));
  return {file, lines + 1, static_cast<int>(head.size() - (head.rfind('\n') + 1)) + 1};
}

/// Text that is no UTF-8, or holds control characters, is no suite, whatever its name.
void require_clean_text(std::string_view text, const detail::FileName& file) {
  namespace utf = boost::locale::utf;
  for (auto it = text.begin(); it != text.end();) {
    const auto begin = it;
    const auto code = utf::utf_traits<char>::decode(it, text.end());
    const auto offset = static_cast<std::size_t>(begin - text.begin());
    if (code == utf::illegal || code == utf::incomplete)
      fail(position(file, text, offset), "not valid UTF-8; a suite is UTF-8 text");
    if ((code < 0x20 && code != '\t' && code != '\n' && code != '\r') || code == 0x7f)
      fail(position(file, text, offset), "a control character; a suite is plain text");
  }
}

bool is_json(std::string_view text, const std::string& origin, Format format) {
  if (format != Format::automatic) return format == Format::json;
  const auto extension = std::filesystem::path(origin).extension();
  if (extension == ".json") return true;
  if (extension == ".yaml" || extension == ".yml") return false;
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

}  // namespace

NodePtr parse_document(std::string_view text, const std::string& origin, Format format) {
  if (text.size() > max_document_bytes) throw ConfigError(origin, 0, 0, "larger than 1 MiB");
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  const auto file = std::make_shared<const std::string>(origin);
  require_clean_text(text, file);
  const std::string body(text);
  const auto root =
      is_json(text, origin, format) ? detail::parse_json_tree(body, file) : detail::parse_yaml_tree(body, file);
  if (root == nullptr || root->kind == Node::Kind::null)
    throw ConfigError(origin, 1, 1, "the file is empty; expected a map that starts with \"stepgauge: 1\"");
  return root;
}

NodePtr load_document(const std::filesystem::path& path) {
  const auto origin = path.string();
  try {
    return parse_document(read_text_file(path, max_document_bytes), origin);
  } catch (const ContractError& error) {
    std::string_view message = error.what();
    if (message.substr(0, origin.size() + 2) == origin + ": ") message.remove_prefix(origin.size() + 2);
    throw ConfigError(origin, 0, 0, message);
  } catch (const std::system_error& error) {
    throw ConfigError(origin, 0, 0, error.code().message());
  }
}

}  // namespace stepgauge::config
