#include "launch/container.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>

#include "contract/digest.hpp"
#include "contract/lower_case.hpp"
#include "contract/suggest.hpp"
#include "launch/rank_process.hpp"
#include "launch/text.hpp"
#include "machine/captured_command.hpp"

namespace stepgauge::launch {
namespace {

using Words = std::vector<std::string>;

constexpr std::array engines{ContainerEngine::podman, ContainerEngine::docker, ContainerEngine::apptainer};
constexpr std::size_t answer_bytes = 4u << 20;
constexpr std::chrono::seconds answer_limit{60}, end_limit{15};

const Words& engine_names() {
  static const Words names{"podman", "docker", "apptainer"};
  return names;
}

std::optional<ContainerEngine> engine_from(const std::string& name) {
  for (const auto engine : engines) {
    if (to_string(engine) == name) return engine;
  }
  return std::nullopt;
}

std::string path_of(const Variables& shell) {
  const auto found = shell.find("PATH");
  return found == shell.end() ? "/usr/local/bin:/usr/bin:/bin" : found->second;
}

ContainerImage named_engine(const std::string& name, const Variables& shell) {
  const auto base = std::filesystem::path(name).filename().string();
  const auto engine = engine_from(base);
  if (!engine)
    throw ContainerError(fmt::format("{}={}: expected podman, docker or apptainer, or a path that ends so{}",
                                     container_engine_variable, name, suggestion(base, engine_names())));
  const auto program = find_program(name, path_of(shell));
  if (program.empty() || ::access(program.c_str(), X_OK) != 0)
    throw ContainerError(fmt::format("{}={}: no such program", container_engine_variable, name));
  return {*engine, program, {}, {}, {}, {}};
}

ContainerImage find_engine(const Variables& shell) {
  const auto named = shell.find(container_engine_variable);
  if (named != shell.end() && !named->second.empty()) return named_engine(named->second, shell);
  for (const auto engine : engines) {
    auto program = find_program(std::string(to_string(engine)), path_of(shell));
    if (!program.empty()) return {engine, std::move(program), {}, {}, {}, {}};
  }
  throw ContainerError(
      fmt::format("no container engine: none of podman, docker and apptainer is in PATH, and {} names none",
                  container_engine_variable));
}

machine::CapturedCommand ask(const Words& argv, std::chrono::seconds limit = answer_limit) {
  return machine::run_captured(argv, answer_bytes, limit);
}

std::string first_line(const std::string& text) {
  return printable(text.substr(0, text.find('\n')), 100);
}

/// "sha256:..." of "registry/name@sha256:...".
std::string digest_of(const Json& shown) {
  const auto digests = shown.find("RepoDigests");
  if (digests == shown.end() || !digests->is_array() || digests->empty() || !digests->front().is_string()) return "";
  const auto first = digests->front().get<std::string>();
  const auto at = first.find('@');
  return at == std::string::npos ? first : first.substr(at + 1);
}

void inspect_image(ContainerImage& image) {
  const auto shown = ask({image.program, "image", "inspect", image.image});
  if (shown.exit_code != 0) {
    throw ContainerError(fmt::format("{0} does not show the image: {1}; it has to be here: {0} pull {2}",
                                     to_string(image.engine), printable(shown.problem()), image.image));
  }
  Json answer;
  try {
    answer = parse_json(shown.out, "image inspect");
  } catch (const ContractError&) {
    answer = nullptr;
  }
  const bool good = answer.is_array() && !answer.empty() && answer.front().is_object() &&
                    answer.front().contains("Id") && answer.front().at("Id").is_string();
  if (!good)
    throw ContainerError(fmt::format("{} image inspect {}: no JSON with an \"Id\"", image.program, image.image));
  image.id = answer.front().at("Id").get<std::string>();
  image.digest = digest_of(answer.front());
}

void inspect_file(ContainerImage& image) {
  if (image.image.find("://") != std::string::npos)
    throw ContainerError(
        fmt::format("apptainer runs files here: apptainer pull FILE {}, then container:FILE", image.image));
  image.image = std::filesystem::absolute(image.image).lexically_normal().string();
  const auto shown = ask({image.program, "inspect", image.image});
  if (shown.exit_code != 0)
    throw ContainerError(fmt::format("apptainer does not show the image: {}", printable(shown.problem())));
  if (std::filesystem::is_regular_file(image.image)) image.id = "sha256:" + sha256_hex_of_file(image.image);
}

void add(Words& to, std::initializer_list<std::string> words) {
  to.insert(to.end(), words);
}

void add(Words& to, const Words& words) {
  to.insert(to.end(), words.begin(), words.end());
}

Words apptainer_arguments(const ContainerImage& image, const ContainerPlace& place) {
  Words out{image.program, "exec", "--cleanenv", "--no-home"};
  if (place.gpus) out.push_back("--nv");
  for (const auto& mount : place.mounts) add(out, {"--bind", mount});
  out.push_back(image.image);
  add(out, place.program);
  return out;
}

bool is_of_the_host(const std::string& name) {
  static constexpr std::array<std::string_view, 11> names{"PATH",
                                                          "HOME",
                                                          "TMPDIR",
                                                          "PYTHONPATH",
                                                          "LD_LIBRARY_PATH",
                                                          "VIRTUAL_ENV",
                                                          "XDG_CACHE_HOME",
                                                          "CUDA_HOME",
                                                          "CUDA_PATH",
                                                          "NVIDIA_VISIBLE_DEVICES",
                                                          "NVIDIA_DRIVER_CAPABILITIES"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::string_view to_string(ContainerEngine engine) {
  return engine_names()[static_cast<std::size_t>(engine)];
}

Json to_json(const ContainerImage& image) {
  return {{"engine", to_string(image.engine)},
          {"program", image.program},
          {"version", image.version},
          {"image", image.image},
          {"id", image.id},
          {"digest", image.digest}};
}

ContainerImage container_image_from_json(const Json& value, const std::string& where) {
  const auto name = require<std::string>(value, "engine", where);
  const auto engine = engine_from(name);
  if (!engine)
    throw ContractError(fmt::format("{}: \"engine\" is \"{}\"{}", where, name, suggestion(name, engine_names())));
  return {*engine,
          require<std::string>(value, "program", where),
          require<std::string>(value, "version", where),
          require<std::string>(value, "image", where),
          require<std::string>(value, "id", where),
          require<std::string>(value, "digest", where)};
}

ContainerImage find_container_engine(const Variables& shell) {
  auto out = find_engine(shell);
  out.version = first_line(ask({out.program, "--version"}).out);
  return out;
}

ContainerImage find_container_image(const std::string& image, const Variables& shell) {
  try {
    auto out = find_container_engine(shell);
    out.image = image;
    out.engine == ContainerEngine::apptainer ? inspect_file(out) : inspect_image(out);
    return out;
  } catch (const ContainerError& error) {
    throw ContainerError(fmt::format("container:{}: {}", image, error.what()));
  }
}

std::vector<std::string> container_arguments(const ContainerImage& image, const ContainerPlace& place) {
  if (image.engine == ContainerEngine::apptainer) return apptainer_arguments(image, place);
  const bool podman = image.engine == ContainerEngine::podman;
  Words out{image.program, "run",       "--rm", "--init", "--pull=never", "--name",
            place.name,    "--network", "host", "--ipc",  "host"};
  add(out, {"--user", fmt::format("{}:{}", place.user, place.group)});
  if (podman && place.user != 0) add(out, {"--userns", "keep-id"});  // or the launch's folder belongs to somebody else
  if (podman) add(out, {"--http-proxy=false"});
  if (podman && place.descriptors > 0) add(out, {fmt::format("--preserve-fds={}", place.descriptors)});
  if (place.gpus) podman ? add(out, {"--device", "nvidia.com/gpu=all"}) : add(out, {"--gpus", "all"});
  for (const auto& mount : place.mounts) add(out, {"--mount", fmt::format("type=bind,source={0},target={0}", mount)});
  for (const auto& name : place.variables) add(out, {"--env", name});
  add(out, {"--entrypoint", place.program.front(), image.id});
  out.insert(out.end(), place.program.begin() + 1, place.program.end());
  return out;
}

std::vector<std::string> container_variables(const Variables& rank) {
  std::vector<std::string> out;
  for (const auto& [name, value] : rank) {
    if (!is_of_the_host(name)) out.push_back(name);
  }
  return out;
}

Variables client_environment(const ContainerImage& image, const Variables& shell, const Variables& rank,
                             const std::vector<std::string>& variables) {
  auto out = shell;
  if (image.engine == ContainerEngine::apptainer) {
    std::erase_if(out, [](const auto& item) {
      return item.first.starts_with("APPTAINERENV_") || item.first.starts_with("SINGULARITYENV_");
    });
    for (const auto& name : variables) out["APPTAINERENV_" + name] = rank.at(name);
  }
  for (const auto& [name, value] : rank) out[name] = value;
  return out;
}

std::string end_container(const ContainerImage& image, const std::string& name) {
  if (!image.outlives_client()) return "";
  ask({image.program, "kill", name}, end_limit);  // it may have ended, or be gone
  const auto removed = ask({image.program, "rm", "--force", name}, end_limit);
  const auto words = lower_case(removed.error);
  const bool gone =
      words.find("no such container") != std::string::npos || words.find("no container with") != std::string::npos;
  if (removed.exit_code == 0 || gone || removed.error.find("already in progress") != std::string::npos) return "";
  return fmt::format("the container {} may still be there: {}", name, printable(removed.problem()));
}

std::string container_failure(const ContainerImage& image, const std::string& program, int exit_code,
                              const std::string& last_line) {
  const auto engine = to_string(image.engine);
  const auto words = last_line.empty() ? fmt::format("it exited with {}", exit_code) : last_line;
  const bool apptainer = image.engine == ContainerEngine::apptainer;
  if (exit_code == 125 || (apptainer && exit_code == 255 && last_line.find("not found") == std::string::npos))
    return fmt::format("{} cannot start the container of {}: {}", engine, image.image, words);
  // Podman's init begins, and does not find what it is to run.
  const bool init_found_none = exit_code == 1 && last_line.find("(catatonit:") != std::string::npos &&
                               last_line.find("failed to exec") != std::string::npos;
  if (exit_code == 127 || (apptainer && exit_code == 255) || init_found_none)
    return fmt::format("{} found no program \"{}\" in the image {}: {}", engine, program, image.image, words);
  if (exit_code == 126)
    return fmt::format("{} cannot run \"{}\" in the image {}: {}", engine, program, image.image, words);
  return "";
}

}  // namespace stepgauge::launch
