#pragma once
// Containers as places of ranks: which engine is here, which image is meant, and the arguments that start and end one.
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "contract/json_io.hpp"
#include "machine/variables.hpp"

namespace stepgauge::launch {

using machine::Variables;

enum class ContainerEngine { podman, docker, apptainer };

std::string_view to_string(ContainerEngine engine);

/// Names the engine: its name or its path, whose last part is one of podman, docker and apptainer.
inline constexpr const char* container_engine_variable = "STEPGAUGE_CONTAINER_ENGINE";

/// No engine, or no such image; what() has the engine's own words.
class ContainerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An image that is here, as the engine knows it. All launches of a run start `id`, wherever the tag moves meanwhile.
struct ContainerImage {
  ContainerEngine engine = ContainerEngine::podman;
  std::string program;  ///< path of the engine
  std::string version;  ///< of the engine, in its own words
  std::string image;    ///< as written
  std::string id;       ///< of the image here; Apptainer: "sha256:" of the file, empty for a folder
  std::string digest;   ///< in the registry that it came from; empty: not told, e.g. of an image that was built here

  /// Whether descriptors of the client reach the program: Docker's daemon starts it, and hands on none.
  bool passes_descriptors() const { return engine != ContainerEngine::docker; }
  /// Whether the container may outlive the client, and has to be ended by name.
  bool outlives_client() const { return engine != ContainerEngine::apptainer; }
};

Json to_json(const ContainerImage& image);
/// ContractError naming `where` for a missing field or an unknown engine.
ContainerImage container_image_from_json(const Json& value, const std::string& where);

/// The first of podman, docker and apptainer in the PATH of `shell`, or the one that STEPGAUGE_CONTAINER_ENGINE names,
/// and no image yet. Throws ContainerError.
ContainerImage find_container_engine(const Variables& shell);

/// The engine as above, and what it says of the image. Nothing is pulled. Throws ContainerError.
ContainerImage find_container_image(const std::string& image, const Variables& shell);

/// One rank's container.
struct ContainerPlace {
  std::string name;                    ///< unique in time on this machine
  std::vector<std::string> program;    ///< in the image, with arguments
  std::vector<std::string> mounts;     ///< absolute paths, the same inside; without , : " and newlines
  std::vector<std::string> variables;  ///< names; the values are those of the client's environment
  bool gpus = false;                   ///< all of them: NCCL's paths between containers need that each sees all
  int descriptors = 0;                 ///< 3, 4, ... that the program inherits
  unsigned user = 0, group = 0;
};

/// argv that runs the program and stays until it has ended.
std::vector<std::string> container_arguments(const ContainerImage& image, const ContainerPlace& place);

/// Variables of a rank that reach its program in a container: all but those that say where things lie on this host
/// (PATH, HOME, LD_LIBRARY_PATH, ...), which are the image's own.
std::vector<std::string> container_variables(const Variables& rank);

/// Environment of the client: the shell's, with the rank's variables on top. Apptainer takes what it hands on as
/// APPTAINERENV_NAME; others of that kind are taken out.
Variables client_environment(const ContainerImage& image, const Variables& shell, const Variables& rank,
                             const std::vector<std::string>& variables);

/// Kills and removes the container, which may be gone already. Empty, or why it may still be there. Waits for at most
/// some seconds.
std::string end_container(const ContainerImage& image, const std::string& name);

/// Why the client ended without a word of the program: "podman found no program "x" in the image y: ..."; empty when
/// this exit code is not the engine's own.
std::string container_failure(const ContainerImage& image, const std::string& program, int exit_code,
                              const std::string& last_line);

}  // namespace stepgauge::launch
