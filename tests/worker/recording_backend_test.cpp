// What a rank's process group records for the trace: collectives of a captured graph happen in its replays.
#include "worker/parallel/recording_backend.hpp"

#include <gtest/gtest.h>

#include "thread_group.hpp"
#include "worker/trace/trace_log.hpp"

namespace stepgauge::worker {
namespace {

TEST(RecordingBackend, CapturedCollectivesAreThoseOfEveryReplay) {
  run_ranks(1, [](int, c10::intrusive_ptr<c10d::Backend> inner) {
    TraceLog log;
    const auto backend = c10::make_intrusive<RecordingBackend>(std::move(inner), log, /*completion=*/false);
    std::vector<torch::Tensor> gradients{torch::ones({6})}, flags{torch::ones({2}, torch::kInt64)};
    const auto step = [&] {
      backend->allreduce(gradients, {});
      backend->allreduce(flags, {});
    };
    log.begin_capture();
    step();
    log.end_capture();
    log.repeat_captured();  // a replay that nobody traces
    log.record();
    for (int i = 0; i < 2; ++i) {
      log.begin_step();
      log.repeat_captured();
    }
    const auto& calls = log.collectives();
    ASSERT_EQ(calls.size(), 4u);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      EXPECT_EQ(calls[i].kind, "all_reduce");
      EXPECT_EQ(calls[i].sequence, static_cast<std::int64_t>(i));
      EXPECT_EQ(calls[i].bytes, i % 2 == 0 ? 24 : 16);
      EXPECT_EQ(calls[i].bucket, i % 2 == 0 ? 0 : -1);
      EXPECT_GE(calls[i].end_ns, calls[i].begin_ns);
    }
  });
}

TEST(RecordingBackend, ASkippedCollectiveIsNotMadeAndTheNextOneIs) {
  run_ranks(1, [](int, c10::intrusive_ptr<c10d::Backend> inner) {
    TraceLog log;
    const auto backend = c10::make_intrusive<RecordingBackend>(std::move(inner), log, /*completion=*/false);
    std::vector<torch::Tensor> values{torch::ones({6})};
    backend->plant("skip_collective");
    backend->allreduce(values, {})->wait();
    EXPECT_EQ(backend->traffic().now().at("all_reduce").calls, 0);
    backend->allreduce(values, {})->wait();
    EXPECT_EQ(backend->traffic().now().at("all_reduce").calls, 1);
    EXPECT_EQ(backend->traffic().now().at("all_reduce").bytes, 24);
  });
}

}  // namespace
}  // namespace stepgauge::worker
