// The process group over MPI, on every rank of an mpirun: if these fail, CPU cells of backend mpi train on wrong
// gradients, or hang where they should say what is wrong.
#include "worker/mpi/mpi_backend.hpp"

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "worker/mpi/mpi_calls.hpp"

namespace stepgauge::worker {
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<torch::Tensor>;

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

const std::vector<torch::ScalarType> number_types{torch::kFloat,    torch::kDouble, torch::kHalf,
                                                  torch::kBFloat16, torch::kByte,   torch::kChar,
                                                  torch::kShort,    torch::kInt,    torch::kLong};

class MpiBackendTest : public ::testing::Test {
 protected:
  /// 5 elements a piece: what is larger than INT_MAX elsewhere is in several pieces here.
  static constexpr std::int64_t piece = 5;

  const int rank_ = world_rank(), size_ = world_size();
  c10::intrusive_ptr<MpiBackend> whole_ = c10::make_intrusive<MpiBackend>(rank_, size_, MpiBackend::Checks{});
  c10::intrusive_ptr<MpiBackend> pieces_ =
      c10::make_intrusive<MpiBackend>(rank_, size_, MpiBackend::Checks{true}, piece);

  std::vector<c10::intrusive_ptr<MpiBackend>> both() const { return {whole_, pieces_}; }

  /// Small whole numbers that differ between ranks and elements; sums and products are exact in every type.
  torch::Tensor mine(torch::ScalarType type, int rank, std::int64_t elements = 13) const {
    return (torch::arange(elements, torch::kLong).remainder(3) + rank + 1).to(type);
  }
  torch::Tensor expected(torch::ScalarType type, c10d::ReduceOp::RedOpType op) const {
    auto out = mine(torch::kLong, 0);
    for (int rank = 1; rank < size_; ++rank) {
      const auto next = mine(torch::kLong, rank);
      if (op == c10d::ReduceOp::PRODUCT)
        out = out * next;
      else if (op == c10d::ReduceOp::MIN)
        out = torch::minimum(out, next);
      else if (op == c10d::ReduceOp::MAX)
        out = torch::maximum(out, next);
      else
        out = out + next;
    }
    if (op == c10d::ReduceOp::AVG) {
      if (torch::isFloatingType(type)) return (out.to(torch::kDouble) / size_).to(type);
      out = out.div(size_, "trunc");
    }
    return out.to(type);
  }
};

TEST_F(MpiBackendTest, EveryTypeIsReducedExactly) {
  using Op = c10d::ReduceOp;
  for (const auto& backend : both()) {
    for (const auto type : number_types) {
      for (const auto op : {Op::SUM, Op::AVG, Op::PRODUCT, Op::MIN, Op::MAX}) {
        Tensors tensors{mine(type, rank_)};
        c10d::AllreduceOptions options;
        options.reduceOp = op;
        backend->allreduce(tensors, options)->wait();
        const bool rounds = op == Op::AVG && torch::isFloatingType(type);
        EXPECT_TRUE(rounds ? torch::allclose(tensors[0], expected(type, op), 1e-6)
                           : torch::equal(tensors[0], expected(type, op)))
            << torch::toString(type) << " operation " << static_cast<int>(op) << "\n"
            << tensors[0];
      }
    }
  }
}

TEST_F(MpiBackendTest, BooleansAreSummedByOr) {
  Tensors any{torch::tensor({rank_ == 0, false, true})}, all{torch::tensor({rank_ == 0, false, true})};
  whole_->allreduce(any, {})->wait();
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MIN;
  whole_->allreduce(all, options)->wait();
  EXPECT_TRUE(torch::equal(any[0], torch::tensor({true, false, true})));
  EXPECT_TRUE(torch::equal(all[0], torch::tensor({false, false, true})));
}

TEST_F(MpiBackendTest, CoalescedOnesAndReduceToOneRank) {
  for (const auto& backend : both()) {
    Tensors several{mine(torch::kFloat, rank_), mine(torch::kLong, rank_), mine(torch::kBFloat16, rank_)};
    backend->allreduce_coalesced(several, c10d::AllreduceCoalescedOptions())->wait();
    for (const auto& tensor : several)
      EXPECT_TRUE(torch::equal(tensor, expected(tensor.scalar_type(), c10d::ReduceOp::SUM)));
    Tensors one{mine(torch::kHalf, rank_)};
    c10d::ReduceOptions options;
    options.rootRank = size_ - 1;
    backend->reduce(one, options)->wait();
    if (rank_ == size_ - 1) {
      EXPECT_TRUE(torch::equal(one[0], expected(torch::kHalf, c10d::ReduceOp::SUM)));
    }
  }
}

TEST_F(MpiBackendTest, BroadcastAndGather) {
  for (const auto& backend : both()) {
    Tensors tensors{mine(torch::kDouble, rank_)};
    c10d::BroadcastOptions root;
    root.rootRank = size_ - 1;
    backend->broadcast(tensors, root)->wait();
    EXPECT_TRUE(torch::equal(tensors[0], mine(torch::kDouble, size_ - 1)));

    Tensors inputs{mine(torch::kLong, rank_)};
    std::vector<Tensors> outputs(1);
    for (int i = 0; i < size_; ++i) outputs[0].push_back(torch::zeros_like(inputs[0]));
    backend->allgather(outputs, inputs, {})->wait();
    auto flat = torch::zeros({13 * size_}, torch::kLong);
    backend->_allgather_base(flat, inputs[0], {})->wait();
    for (int i = 0; i < size_; ++i) {
      EXPECT_TRUE(torch::equal(outputs[0][static_cast<std::size_t>(i)], mine(torch::kLong, i)));
      EXPECT_TRUE(torch::equal(flat.narrow(0, 13 * i, 13), mine(torch::kLong, i)));
    }
  }
}

TEST_F(MpiBackendTest, ReduceScatterAndAllToAll) {
  for (const auto& backend : both()) {
    for (const auto type : {torch::kFloat, torch::kBFloat16, torch::kInt}) {
      auto input = mine(type, rank_, 4 * size_), output = torch::zeros({4}, type);
      backend->_reduce_scatter_base(output, input, {})->wait();
      auto sum = torch::zeros({4 * size_}, torch::kLong);
      for (int rank = 0; rank < size_; ++rank) sum += mine(torch::kLong, rank, 4 * size_);
      EXPECT_TRUE(torch::equal(output, sum.narrow(0, 4 * rank_, 4).to(type)));
    }
    // Rank r sends r + 1 rows of 100 r + s to each rank s.
    std::vector<std::int64_t> sent(static_cast<std::size_t>(size_), rank_ + 1), received;
    Tensors rows, expected_rows;
    for (int other = 0; other < size_; ++other) {
      received.push_back(other + 1);
      rows.push_back(torch::full({rank_ + 1, 3}, 100 * rank_ + other, torch::kLong));
      expected_rows.push_back(torch::full({other + 1, 3}, 100 * other + rank_, torch::kLong));
    }
    auto input = torch::cat(rows), output = torch::zeros_like(torch::cat(expected_rows));
    backend->alltoall_base(output, input, received, sent, {})->wait();
    EXPECT_TRUE(torch::equal(output, torch::cat(expected_rows)));
  }
}

TEST_F(MpiBackendTest, ARingOfSendsBeforeReceivesEnds) {
  const int next = (rank_ + 1) % size_, before = (rank_ + size_ - 1) % size_;
  for (const auto elements : {3, 1 << 20}) {  // eager and rendezvous messages
    Tensors out{torch::full({elements}, rank_, torch::kInt)}, in{torch::zeros({elements}, torch::kInt)};
    auto sent = whole_->send(out, next, 7);
    auto received = whole_->recv(in, before, 7);
    received->wait();
    sent->wait();
    EXPECT_TRUE(torch::equal(in[0], torch::full({elements}, before, torch::kInt)));
  }
}

TEST_F(MpiBackendTest, WorkThatIsNotWaitedForRunsInOrder) {
  Tensors values{torch::ones({1000}, torch::kDouble)};
  std::vector<c10::intrusive_ptr<c10d::Work>> works;
  std::vector<int> order;
  for (int i = 0; i < 20; ++i) {
    works.push_back(whole_->allreduce(values, {}));
    works.back()->getFuture()->addCallback([&order, i](c10::ivalue::Future&) { order.push_back(i); });
  }
  for (const auto& work : works) work->wait();
  EXPECT_EQ(values[0][0].item<double>(), std::pow(size_, 20)) << "each one starts from the sum of the one before";
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()) && order.size() == 20);
  EXPECT_TRUE(works.front()->isSuccess());
  EXPECT_TRUE(works.back()->getFuture()->value().toTensorVector().front().is_alias_of(values[0]));
}

TEST_F(MpiBackendTest, AnotherLengthFailsEveryRankAndNamesTheOddOne) {
  if (size_ < 2) GTEST_SKIP() << "needs two ranks";
  Tensors tensors{torch::ones({rank_ == size_ - 1 ? 32 : 16})};
  auto work = pieces_->allreduce(tensors, {});
  try {
    work->wait();
    FAIL() << "a mismatch went unnoticed";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 0 ALLREDUCE of 64 bytes, rank " + std::to_string(size_ - 1) +
                                        " ALLREDUCE of 128 bytes"));
  }
  EXPECT_FALSE(work->isSuccess());
  Tensors later{torch::ones({2})};
  try {
    pieces_->allreduce(later, {})->wait();
    FAIL() << "the ranks no longer agree on what comes next";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("not started, since an earlier call failed: the ranks do not make"));
  }
  whole_->barrier({})->wait();
}

TEST_F(MpiBackendTest, AnotherCollectiveFailsEveryRank) {
  if (size_ < 2) GTEST_SKIP() << "needs two ranks";
  Tensors tensors{torch::ones({4})};
  const auto work = rank_ == 1 ? pieces_->broadcast(tensors, {}) : pieces_->allreduce(tensors, {});
  try {
    work->wait();
    FAIL() << "a mismatch went unnoticed";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 1 BROADCAST of 16 bytes"));
  }
}

TEST_F(MpiBackendTest, WhatMpiCannotDoIsRefusedByName) {
  Tensors complex{torch::zeros({2}, torch::kComplexFloat)}, two{torch::zeros({2}), torch::zeros({2})},
      strided{torch::zeros({4, 4}).select(1, 0)};
  try {
    whole_->allreduce(complex, {})->wait();
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("not ComplexFloat"));
  }
  EXPECT_THROW(whole_->allreduce(two, {}), c10::Error);
  EXPECT_THROW(whole_->allreduce(strided, {}), c10::Error);
  EXPECT_THROW(c10::make_intrusive<MpiBackend>(rank_ + 1, size_ + 1, MpiBackend::Checks{}), std::runtime_error);
}

/// What the worker wraps a model with: the gradients are the mean over the ranks of what each would have alone.
TEST_F(MpiBackendTest, TheReducerAveragesGradients) {
  auto group = c10::make_intrusive<c10d::ProcessGroup>(c10::make_intrusive<c10d::HashStore>(), rank_, size_);
  group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::MPI, whole_);
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::MPI);
  torch::manual_seed(7 + rank_);
  torch::nn::Linear model(8, 4);
  const auto parameters = model->parameters();
  c10d::verify_params_across_processes(group, parameters, std::nullopt);
  Tensors state;
  for (const auto& parameter : parameters) state.push_back(parameter.detach());
  c10d::broadcast_coalesced(group, state, 1 << 20, 0);
  const auto gradients_of = [&](int rank) {
    return torch::autograd::grad({model->forward(torch::full({2, 8}, rank + 1.0F)).square().sum()}, parameters);
  };
  Tensors mean;
  for (int rank = 0; rank < size_; ++rank) {
    const auto one = gradients_of(rank);
    for (std::size_t i = 0; i < one.size(); ++i) {
      if (rank == 0)
        mean.push_back(one[i] / size_);
      else
        mean[i] += one[i] / size_;
    }
  }
  c10d::Reducer reducer(parameters, {{1}, {0}}, group, {false, false}, 1 << 20, false, true, {}, 1 << 20, false, false,
                        {});
  for (int step = 0; step < 3; ++step) {
    for (auto parameter : parameters) parameter.mutable_grad().reset();
    reducer.prepare_for_forward();
    reducer.rebuild_buckets();
    const auto loss = model->forward(torch::full({2, 8}, rank_ + 1.0F)).square().sum();
    reducer.prepare_for_backward({});
    loss.backward();
    for (std::size_t i = 0; i < parameters.size(); ++i) EXPECT_TRUE(torch::allclose(parameters[i].grad(), mean[i]));
  }
}

}  // namespace
}  // namespace stepgauge::worker

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
  const int mine = RUN_ALL_TESTS();
  MPI_Finalize();
  return mine;
}
