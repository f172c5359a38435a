// What a user may type after `compare`.
#include "store/load.hpp"

#include <cstdlib>

#include "store/baseline.hpp"
#include "store/fingerprint.hpp"
#include "support.hpp"

namespace stepgauge::store {
namespace {

using namespace stepgauge::testing;

class Load : public Scratch {
 protected:
  Load() { options_.baselines = folder_ / "baselines"; }

  std::filesystem::path saved(const Json& machine) {
    auto set = result_set("runs/a", {measured(make_cell(), {{"throughput", {1, 2, 3}}})});
    set.fingerprint = machine;
    return save(set, options_.baselines, {});
  }

  LoadOptions options_;
};

TEST_F(Load, RunFolderAndFile) {
  { RunFolder::create(folder_ / "r", run_info({make_cell()})); }
  EXPECT_EQ(load_result_set((folder_ / "r").string(), options_).name, (folder_ / "r").string());
  EXPECT_EQ(load_result_set(saved(cpu_machine()).string(), options_).suite, "unit");
}

TEST_F(Load, NamedBaseline) {
  EXPECT_THROW(load_result_set("baseline:unit", options_), BaselineMissing);
  saved(cpu_machine());
  EXPECT_EQ(load_result_set("baseline:unit", options_).cells.size(), 1u);
  saved(gpu_machine("NVIDIA H200"));
  const auto ambiguous = error_of([&] { load_result_set("baseline:unit", options_); });
  EXPECT_NE(ambiguous.find("could be any of"), std::string::npos) << ambiguous;
  const auto slug = fingerprint_slug(gpu_machine("NVIDIA H200"));
  EXPECT_EQ(load_result_set("baseline:unit@" + slug, options_).fingerprint, gpu_machine("NVIDIA H200"));
  options_.slug = slug;
  EXPECT_EQ(load_result_set("baseline:unit", options_).fingerprint, gpu_machine("NVIDIA H200"));
  options_.slug = "another-machine";
  const auto missing = error_of([&] { load_result_set("baseline:unit", options_); });
  EXPECT_NE(missing.find("no baseline of suite \"unit\" for another-machine"), std::string::npos) << missing;
  EXPECT_NE(missing.find("unit@" + slug), std::string::npos) << missing;
}

TEST_F(Load, GitRevision) {
  const auto path = saved(cpu_machine());
  const auto relative = std::filesystem::relative(path, folder_).string();
  const auto git = "git -C '" + folder_.string() + "' -c user.name=t -c user.email=t@t -c commit.gpgsign=false ";
  const auto quiet = std::string(" >/dev/null 2>&1");
  if (std::system(
          (git + "init" + quiet + " && " + git + "add ." + quiet + " && " + git + "commit -m x --no-verify" + quiet)
              .c_str()) != 0) {
    GTEST_SKIP() << "git does not work here";
  }
  std::filesystem::remove(path);
  const auto old = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  const auto back = error_of([&] { EXPECT_EQ(load_result_set("HEAD:" + relative, options_).cells.size(), 1u); });
  const auto bad = error_of([&] { load_result_set("HEAD:nowhere.jsonl", options_); });
  const auto option = error_of([&] { load_result_set("--output=x:y", options_); });
  std::filesystem::current_path(old);
  EXPECT_EQ(back, "");
  EXPECT_NE(bad.find("git show failed"), std::string::npos) << bad;
  EXPECT_NE(option.find("no git revision"), std::string::npos) << option;
}

TEST_F(Load, NothingThatFits) {
  const auto error = error_of([&] { load_result_set("runs/none", options_); });
  EXPECT_NE(error.find("no such run folder or baseline file"), std::string::npos) << error;
  EXPECT_NE(error_of([&] { load_result_set(folder_.string(), options_); }).find("holds no run"), std::string::npos);
}

}  // namespace
}  // namespace stepgauge::store
