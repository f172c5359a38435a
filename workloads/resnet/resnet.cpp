#include "workloads/resnet/resnet.hpp"

#include <ATen/OpMathType.h>

#include <stdexcept>
#include <utility>

#include "workloads/layers.hpp"
#include "workloads/sizes.hpp"

namespace stepgauge::workloads {
namespace {

constexpr int64_t kImageChannels = 3;
constexpr int64_t kMinImage = 8;

struct ConvShape {
  int64_t in, out, kernel, stride;
};

/// One residual block: its convolutions in order, and the 1x1 projection of the shortcut where the shape
/// changes.
struct BlockShape {
  std::vector<ConvShape> convs;
  std::optional<ConvShape> shortcut;
};

/// The whole network as shapes: what the modules are built from and the FLOPs are counted on.
struct NetworkShape {
  ConvShape stem;
  std::vector<std::vector<BlockShape>> stages;
  int64_t features;
};

BlockShape block_shape(bool bottleneck, int64_t in, int64_t planes, int64_t stride) {
  BlockShape block;
  const int64_t out = bottleneck ? 4 * planes : planes;
  if (bottleneck) {
    block.convs = {{in, planes, 1, 1}, {planes, planes, 3, stride}, {planes, out, 1, 1}};
  } else {
    block.convs = {{in, planes, 3, stride}, {planes, planes, 3, 1}};
  }
  if (stride != 1 || in != out) block.shortcut = ConvShape{in, out, 1, stride};
  return block;
}

NetworkShape network_shape(const ResNetSizes& sizes) {
  static const std::map<int64_t, std::vector<int64_t>> blocks{
      {18, {2, 2, 2, 2}}, {34, {3, 4, 6, 3}}, {50, {3, 4, 6, 3}}, {101, {3, 4, 23, 3}}, {152, {3, 8, 36, 3}}};
  const auto& counts = blocks.at(sizes.depth);
  const bool bottleneck = sizes.depth >= 50;
  NetworkShape shape{{kImageChannels, sizes.width, 7, 2}, {}, 0};
  int64_t channels = sizes.width;
  for (size_t stage = 0; stage < counts.size(); ++stage) {
    const int64_t planes = sizes.width << stage;
    auto& list = shape.stages.emplace_back();
    for (int64_t block = 0; block < counts[stage]; ++block) {
      list.push_back(block_shape(bottleneck, channels, planes, block == 0 && stage > 0 ? 2 : 1));
      channels = list.back().convs.back().out;
    }
  }
  shape.features = channels;
  return shape;
}

std::shared_ptr<Conv2d> make_conv(const ConvShape& shape, const ParameterFactory& make) {
  return std::make_shared<Conv2d>(shape.in, shape.out, shape.kernel, shape.stride, make);
}

/// Children "0" (convolution) and "1" (batch norm), as torchvision's Sequential numbers them.
class Shortcut : public torch::nn::Module {
 public:
  Shortcut(const ConvShape& shape, const ParameterFactory& make)
      : conv_(register_module("0", make_conv(shape, make))),
        norm_(register_module("1", std::make_shared<BatchNorm2d>(shape.out, make))) {}

  torch::Tensor forward(const torch::Tensor& x) const { return norm_->forward(conv_->forward(x)); }

 private:
  std::shared_ptr<Conv2d> conv_;
  std::shared_ptr<BatchNorm2d> norm_;
};

/// Basic block or bottleneck, by the number of its convolutions: conv1, bn1, conv2, bn2 (, conv3, bn3),
/// downsample.
class Block : public torch::nn::Module {
 public:
  Block(const BlockShape& shape, const ParameterFactory& make) {
    for (size_t i = 0; i < shape.convs.size(); ++i) {
      const auto number = std::to_string(i + 1);
      convs_.push_back(register_module("conv" + number, make_conv(shape.convs[i], make)));
      norms_.push_back(register_module("bn" + number, std::make_shared<BatchNorm2d>(shape.convs[i].out, make)));
    }
    if (shape.shortcut) {
      shortcut_ = register_module("downsample", std::make_shared<Shortcut>(*shape.shortcut, make));
    }
  }

  torch::Tensor forward(const torch::Tensor& x) const {
    auto y = x;
    for (size_t i = 0; i < convs_.size(); ++i) {
      y = norms_[i]->forward(convs_[i]->forward(y));
      if (i + 1 < convs_.size()) y.relu_();
    }
    y += shortcut_ ? shortcut_->forward(x) : x;
    return y.relu_();
  }

 private:
  std::vector<std::shared_ptr<Conv2d>> convs_;
  std::vector<std::shared_ptr<BatchNorm2d>> norms_;
  std::shared_ptr<Shortcut> shortcut_;
};

/// A numbered list of blocks, "0", "1", ...
class Stage : public torch::nn::Module {
 public:
  Stage(const std::vector<BlockShape>& shapes, const ParameterFactory& make) {
    for (const auto& shape : shapes) {
      blocks_.push_back(register_module(std::to_string(blocks_.size()), std::make_shared<Block>(shape, make)));
    }
  }

  /// `first`: index of its first block in the network.
  torch::Tensor forward(torch::Tensor x, std::size_t first, Recomputation& recomputation) const {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto& block = *blocks_[i];
      x = recomputation.run(
          first + i, block, [&block](const torch::Tensor& input) { return block.forward(input); }, x);
    }
    return x;
  }
  std::size_t size() const { return blocks_.size(); }

 private:
  std::vector<std::shared_ptr<Block>> blocks_;
};

class ResNet : public Model {
 public:
  ResNet(const ResNetSizes& sizes, const ParameterFactory& make) {
    const auto shape = network_shape(sizes);
    conv1_ = register_module("conv1", make_conv(shape.stem, make));
    bn1_ = register_module("bn1", std::make_shared<BatchNorm2d>(shape.stem.out, make));
    for (size_t i = 0; i < shape.stages.size(); ++i) {
      stages_.push_back(
          register_module("layer" + std::to_string(i + 1), std::make_shared<Stage>(shape.stages[i], make)));
    }
    fc_ = register_module("fc", Linear::torch_default(shape.features, sizes.classes, make));
    for (const auto& module : modules(/*include_self=*/false)) {
      if (auto norm = std::dynamic_pointer_cast<BatchNorm2d>(module)) norms_.push_back(std::move(norm));
    }
  }

  torch::Tensor loss(const Batch& batch) override {
    auto x = bn1_->forward(conv1_->forward(batch.input)).relu_();
    x = at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
    std::size_t first = 0;
    for (const auto& stage : stages_) {
      x = stage->forward(x, first, recomputation());
      first += stage->size();
    }
    const auto logits = fc_->forward(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
    if (is_training()) count_batch();
    return at::cross_entropy_loss(logits.to(at::toOpMathType(logits.scalar_type())), batch.target);
  }
  std::size_t blocks() const override {
    std::size_t count = 0;
    for (const auto& stage : stages_) count += stage->size();
    return count;
  }

 private:
  void count_batch() const {
    torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> counters;
    counters.reserve(norms_.size());
    for (const auto& norm : norms_) counters.push_back(norm->num_batches_tracked());
    at::_foreach_add_(counters, 1);
  }

  std::shared_ptr<Conv2d> conv1_;
  std::shared_ptr<BatchNorm2d> bn1_;
  std::vector<std::shared_ptr<Stage>> stages_;
  std::shared_ptr<Linear> fc_;
  std::vector<std::shared_ptr<BatchNorm2d>> norms_;
};

/// Side of a convolution's or pool's output with padding (kernel - 1) / 2 and an odd kernel.
int64_t strided(int64_t side, int64_t stride) {
  return (side - 1) / stride + 1;
}

double conv_macs(const ConvShape& conv, int64_t out_side) {
  return static_cast<double>(conv.in) * static_cast<double>(conv.out) * static_cast<double>(conv.kernel * conv.kernel) *
         static_cast<double>(out_side * out_side);
}

/// Multiply-adds of one image's forward pass.
double forward_macs(const ResNetSizes& sizes) {
  const auto shape = network_shape(sizes);
  int64_t side = strided(sizes.image, shape.stem.stride);
  double macs = conv_macs(shape.stem, side);
  side = strided(side, 2);
  for (const auto& stage : shape.stages) {
    for (const auto& block : stage) {
      for (const auto& conv : block.convs) {
        side = strided(side, conv.stride);
        macs += conv_macs(conv, side);
      }
      if (block.shortcut) macs += conv_macs(*block.shortcut, side);
    }
  }
  return macs + static_cast<double>(shape.features) * static_cast<double>(sizes.classes);
}

class ResNetWorkload : public Workload {
 public:
  explicit ResNetWorkload(const ResNetSizes& sizes) : sizes_(sizes) {}

  std::shared_ptr<Model> build(const torch::TensorOptions& options, torch::Generator generator) const override {
    return std::make_shared<ResNet>(sizes_, ParameterFactory{options, std::move(generator)});
  }

  Batch make_batch(int64_t batch, torch::Device device, torch::Dtype dtype, torch::Generator generator) const override {
    const auto options = torch::TensorOptions().device(device);
    auto input = at::randn({batch, kImageChannels, sizes_.image, sizes_.image}, generator, options.dtype(dtype));
    auto target = at::randint(0, sizes_.classes, {batch}, generator, options.dtype(torch::kLong));
    return {std::move(input), std::move(target)};
  }

  int64_t categories() const override { return sizes_.classes; }

  ModelFlops flops(int64_t batch) const override {
    return {3.0 * 2.0 * forward_macs(sizes_) * static_cast<double>(batch),
            "3 x forward; forward = 2 x multiply-adds of convolutions and fc x batch"};
  }

  int64_t work_per_step(int64_t batch) const override { return batch; }
  std::string work_unit() const override { return "samples"; }

 private:
  ResNetSizes sizes_;
};

}  // namespace

std::unique_ptr<Workload> make_resnet(const nlohmann::json& json) {
  ResNetSizes sizes;
  sizes.depth = read_size("resnet", json, "depth", 1);
  sizes.width = read_size("resnet", json, "width", 1);
  sizes.classes = read_size("resnet", json, "classes", 2);
  sizes.image = read_size("resnet", json, "image", kMinImage);
  for (const int64_t depth : {18, 34, 50, 101, 152}) {
    if (sizes.depth == depth) return std::make_unique<ResNetWorkload>(sizes);
  }
  throw std::invalid_argument("resnet: no depth " + std::to_string(sizes.depth) + " (known: 18, 34, 50, 101, 152)");
}

}  // namespace stepgauge::workloads
