// stepgauge schema NAME: the JSON Schema of a file of the contract.
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "contract/schemas.hpp"

namespace stepgauge::cli {

void add_schema(Program& program) {
  auto name = std::make_shared<std::string>();
  auto* command = program.app.add_subcommand(
      "schema", "print the JSON Schema of a file: " + fmt::format("{}", fmt::join(schema_names(), ", ")));
  command->add_flag_callback(
      "--json", [] {}, "no effect: a schema is JSON already");
  command->add_option("name", *name, "which")->required()->check(CLI::IsMember(schema_names()));
  command->footer("Example: stepgauge schema record");
  command->callback([name] { fmt::print("{}", schema_text(*name)); });
}

}  // namespace stepgauge::cli
