// What a cell holds: every axis, checks across axes, and an identity that depends on meaning alone.
#include "contract/cell.hpp"

#include "support.hpp"

namespace stepgauge::config {
namespace {

Cell cell_of(const std::string& defaults) {
  return suite_of("defaults: {" + defaults + "}\n").cells.at(0);
}

TEST(Cells, DefaultsFollowFamilyAndDevice) {
  const auto resnet = cell_of("workload: resnet50");
  EXPECT_EQ(resnet.device, "cuda");
  EXPECT_EQ(resnet.ddp.backend, "nccl");
  EXPECT_EQ(resnet.optimizer.name, "sgd");
  EXPECT_EQ(resnet.optimizer.lr, 0.1);
  EXPECT_EQ(resnet.optimizer.momentum, 0.9);
  EXPECT_EQ(resnet.optimizer.weight_decay, 0);
  EXPECT_EQ(resnet.workload.family, "resnet");
  EXPECT_EQ(resnet.workload.sizes.at("depth"), 50);
  EXPECT_EQ(resnet.workload.sizes.at("image"), 224);
  const auto llama = cell_of("workload: llama.tiny, device: cpu");
  EXPECT_EQ(llama.ddp.backend, "gloo");
  EXPECT_EQ(llama.optimizer.name, "adamw");
  EXPECT_EQ(llama.optimizer.lr, 1e-4);
  EXPECT_EQ(llama.optimizer.momentum, 0);
  EXPECT_EQ(llama.optimizer.weight_decay, 0.01);
}

TEST(Cells, EveryAxisReachesTheCell) {
  const auto cell = cell_of(
      "workload: {name: resnet18, width: 16, classes: 10}, batch: 8, image: 32, precision: bf16, compile: eager, "
      "checkpointing: none, ddp: {ranks: 4, backend: nccl, transport: socket, bucket_cap_mb: 0.5, first_bucket_mb: 2, "
      "gradient_as_bucket_view: false, find_unused: true, static_graph: true}, memory_format: channels_last, input: "
      "fresh, "
      "optimizer: {name: sgd, lr: 1e-3, momentum: 0.5, weight_decay: 1e-4}, device: cuda, worker: stepgauge, "
      "env: {NCCL_ALGO: Ring, OMP_NUM_THREADS: 2}, seed: 7, perturb: {step_percent: 5%, sleep: {phase: build, seconds: "
      "0.5}, "
      "extra_memory_mib: 64, fault: {kind: stop, rank: 3, step: 9}}");
  EXPECT_EQ(cell.workload.sizes,
            (std::map<std::string, std::int64_t>{{"classes", 10}, {"depth", 18}, {"image", 32}, {"width", 16}}));
  EXPECT_EQ(cell.batch, 8);
  EXPECT_EQ(cell.precision, "bf16");
  EXPECT_EQ(cell.ddp.ranks, 4);
  EXPECT_EQ(cell.ddp.transport, "socket");
  EXPECT_EQ(cell.ddp.bucket_cap_mb, 0.5);
  EXPECT_EQ(cell.ddp.first_bucket_mb, 2);
  EXPECT_FALSE(cell.ddp.gradient_as_bucket_view);
  EXPECT_TRUE(cell.ddp.find_unused);
  EXPECT_TRUE(cell.ddp.static_graph);
  EXPECT_EQ(cell.memory_format, "channels_last");
  EXPECT_EQ(cell.input, "fresh");
  EXPECT_EQ(cell.optimizer.lr, 0.001);
  EXPECT_EQ(cell.optimizer.momentum, 0.5);
  EXPECT_EQ(cell.optimizer.weight_decay, 1e-4);
  EXPECT_EQ(cell.env, (std::map<std::string, std::string>{{"NCCL_ALGO", "Ring"}, {"OMP_NUM_THREADS", "2"}}));
  EXPECT_EQ(cell.seed, 7);
  EXPECT_EQ(cell.perturb.step_percent, 5);
  EXPECT_EQ(cell.perturb.sleep_phase, "build");
  EXPECT_EQ(cell.perturb.sleep_s, 0.5);
  EXPECT_EQ(cell.perturb.extra_memory_mib, 64);
  ASSERT_TRUE(cell.perturb.fault.has_value());
  EXPECT_EQ(cell.perturb.fault->kind, "stop");
  EXPECT_EQ(cell.perturb.fault->rank, 3);
  EXPECT_EQ(cell.perturb.fault->step, 9);
  EXPECT_THAT(cell.id, testing::HasSubstr("PERTURBED"));
}

TEST(Cells, AxisMapsCompleteTheDefaults) {
  const auto suite = suite_of(
      "defaults: {workload: resnet18, ddp: {bucket_cap_mb: 50, transport: p2p_off}, env: {NCCL_DEBUG: WARN}, "
      "optimizer: {name: sgd, lr: 0.2}}\n"
      "axes: {ddp: [1, 2], env: [{}, {NCCL_ALGO: Ring}], optimizer: [sgd, adamw]}\n");
  EXPECT_EQ(suite.cells.size(), 8u);
  for (const auto& cell : suite.cells) {
    EXPECT_EQ(cell.ddp.bucket_cap_mb, 50);
    EXPECT_EQ(cell.ddp.transport, cell.ddp.ranks == 1 ? "auto" : "p2p_off");  // one rank has no transport
    EXPECT_EQ(cell.env.at("NCCL_DEBUG"), "WARN");
    EXPECT_EQ(cell.optimizer.lr, cell.optimizer.name == "sgd" ? 0.2 : 1e-4);
  }
}

TEST(Cells, SizesAreChecked) {
  expect_error("defaults: {workload: resnet19}\n", "3:22",
               {"unknown workload \"resnet19\"", "did you mean \"resnet18\""});
  expect_error("defaults: {workload: {width: 3}}\n", "3:22", {"\"name\" is missing"});
  expect_error("defaults: {workload: {name: resnet18, widht: 3}}\n", "3:39", {"unknown key \"widht\"", "\"width\""});
  expect_error("defaults: {workload: {name: resnet18, hidden: 3}}\n", "3:39", {"unknown key \"hidden\""});
  expect_error("defaults: {workload: {name: resnet18, width: 2000}}\n", "3:46", {"workload.width", "from 1 to 1024"});
  expect_error("defaults: {workload: {name: resnet18, depth: 19}}\n", "3:46",
               {"expected one of 18, 34, 50, 101, 152, found 19"});
  expect_error("defaults: {workload: [resnet18]}\n", "3:22", {"expected one value, found a list"});
  expect_error("axes: {workload: [[resnet18]]}\n", "3:19", {"axes.workload[0]: expected a workload's name or a map"});
  expect_error("defaults: {workload: {name: llama.tiny, hidden: 66}}\n", "3:49",
               {"hidden (66) must be a multiple of heads (4)"});
  expect_error("defaults: {workload: {name: llama.tiny, kv_heads: 3}}\n", "3:51",
               {"heads (4) must be a multiple of kv_heads (3)"});
  expect_error("defaults: {workload: {name: llama.tiny, hidden: 12}}\n", "3:49", {"hidden / heads (3) must be even"});
}

TEST(Cells, ValuesMustFitTogether) {
  expect_error("defaults: {device: cpu, workload: resnet18, ddp: {backend: nccl}}\n", "3:60",
               {"nccl", "needs device cuda"});
  expect_error("defaults: {device: cpu, workload: resnet18, ddp: {ranks: 2, transport: p2p_off}}\n", "3:72",
               {"setting of nccl"});
  expect_error("axes: {ddp: [{ranks: 1, transport: socket}]}\n", "3:36", {"at least 2 ranks"});
  expect_error("axes: {ddp: [{ranks: 2, transport: sockets}]}\n", "3:36", {"unknown value \"sockets\"", "\"socket\""});
  expect_error("axes: {ddp: [0]}\n", "3:14", {"axes.ddp[0]", "from 1 to 4096"});
  expect_error("axes: {ddp: [4097]}\n", "3:14", {"from 1 to 4096"});
  expect_error("axes: {ddp: [{rank: 2}]}\n", "3:15", {"unknown key \"rank\"", "\"ranks\""});
  expect_error("axes: {ddp: [{bucket_cap_mb: 25MB}]}\n", "3:30",
               {"axes.ddp[0].bucket_cap_mb", "25MB", "without a unit"});
  expect_error("defaults: {workload: llama.tiny, memory_format: channels_last}\n", "3:49",
               {"llama.tiny takes contiguous"});
  expect_error("defaults: {workload: resnet18, optimizer: {name: adamw, momentum: 0.9}}\n", "3:67", {"adamw has none"});
  expect_error("defaults: {optimizer: adam}\n", "3:23", {"unknown value \"adam\"", "\"adamw\""});
  expect_error("defaults: {workload: resnet18, perturb: {fault: {kind: kill, rank: 1}}}\n", "3:68",
               {"rank below 1", "found 1"});
  expect_error("defaults: {perturb: {fault: {kind: die}}}\n", "3:36", {"perturb.fault.kind", "unknown value \"die\""});
  expect_error("defaults: {perturb: {fault: {rank: 0}}}\n", "3:29", {"\"kind\" is missing"});
  expect_error("defaults: {perturb: {sleep: {phase: biuld, seconds: 1}}}\n", "3:37",
               {"unknown value \"biuld\"", "\"build\""});
  expect_error("defaults: {perturb: {sleep: {phase: build}}}\n", "3:29", {"\"seconds\" is missing"});
  expect_error("defaults: {perturb: {step_percent: -5%}}\n", "3:36", {"percentage from 0 to 10000"});
  expect_error("defaults: {perturb: nothing}\n", "3:21", {"expected none or a map"});
  expect_error("defaults: {input: frozen}\n", "3:19", {"unknown value \"frozen\""});
  expect_error("defaults: {device: gpu}\n", "3:20", {"unknown value \"gpu\"", "cuda"});
  expect_error("defaults: {seed: -1}\n", "3:18", {"defaults.seed"});
}

TEST(Cells, EnvironmentIsAllowListed) {
  expect_error("defaults: {env: {CUDA_VISIBLE_DEVICES: \"0\"}}\n", "3:18",
               {"must not set CUDA_VISIBLE_DEVICES", "--devices"});
  expect_error("defaults: {env: {LD_PRELOAD: x}}\n", "3:18", {"LD_PRELOAD", "LD_*"});
  expect_error("defaults: {env: {STEPGAUGE_CELL: x}}\n", "3:18", {"STEPGAUGE_*"});
  expect_error("defaults: {env: {PATH: x}}\n", "3:18", {"PATH", "a cell may set NCCL_*"});
  expect_error("defaults: {env: {NCCL_ALGO: [x]}}\n", "3:29", {"defaults.env.NCCL_ALGO", "as a string, found a list"});
  expect_error("defaults: {env: [NCCL_ALGO]}\n", "3:17", {"expected one value, found a list"});
}

std::string documents(const Suite& suite) {
  std::string out;
  for (const auto& cell : suite.cells) out += dump_line(to_json(cell)) + "\n";
  return out;
}

TEST(Identity, YamlAndJsonOfTheSameMeaningAreTheSameBytes) {
  const auto yaml = suite_of(
      "launches: 4\ndefaults:\n  device: cpu\n  optimizer: {lr: 1E-3}\n  env: {OMP_NUM_THREADS: 1, MKL_CBWR: 'a\"b'}\n"
      "axes:\n  workload: [resnet18, {name: llama.tiny, hidden: 128}]\n  precision: [fp32, bf16]\n  ddp: [1, {ranks: "
      "2, find_unused: True}]\n"
      "tolerance: {throughput: 5%}\nlimits: {launch: 2m}\nmeasure: {warmup_max: 1.5}\n"
      "overrides: [{match: {workload: \"llama.*\"}, set: {perturb: {step_percent: 5%}}}]\n");
  const auto json = json_suite(R"({
    "limits": {"launch": "120s"}, "tolerance": {"throughput": 0.05}, "measure": {"warmup_max": 15e-1},
    "overrides": [{"set": {"perturb": {"step_percent": 5.0}}, "match": {"workload": "llama.*"}}],
    "axes": {"ddp": [1, {"find_unused": true, "ranks": 2}], "precision": ["fp32", "bf16"],
             "workload": ["resnet18", {"hidden": 128, "name": "llama\u002etiny"}]},
    "defaults": {"env": {"MKL_CBWR": "a\u0022b", "OMP_NUM_THREADS": "1"}, "optimizer": {"lr": 0.001}, "device": "cpu"},
    "launches": 4, "name": "t", "stepgauge": 1})");
  EXPECT_EQ(yaml.cells.size(), 8u);
  EXPECT_EQ(documents(yaml), documents(json));
}

TEST(Identity, DependsOnMeaningAlone) {
  const auto a =
      cell_of("workload: {name: resnet18, width: 16, classes: 10}, optimizer: {lr: 1e-1, weight_decay: 0}, seed: 0");
  const auto b = cell_of(
      "seed: 00, optimizer: {weight_decay: 0.0, lr: 0.10}, workload: {classes: 10, width: 16, name: \"resnet18\"}");
  const auto c =
      cell_of("workload: {name: resnet18, width: 16, classes: 10}, perturb: {step_percent: 0}, ddp: {ranks: 1}");
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.id, c.id);
  EXPECT_NE(a.hash, cell_of("workload: {name: resnet18, width: 16, classes: 11}").hash);
  EXPECT_NE(a.hash, cell_of("workload: {name: resnet18, width: 16, classes: 10}, optimizer: {lr: 0.2}").hash);
  const auto measured = suite_of(
      "launches: 9\nmeasure: {steps: 3}\nrequires: {memory_gib: 3}\ndefaults: {workload: {name: resnet18, width: 16, "
      "classes: 10}}\n");
  EXPECT_EQ(measured.cells.at(0).id, a.id);
}

/// Frozen: another id would cut every baseline off from its past.
TEST(Identity, IdsAreFrozen) {
  const auto suite = suite_of(
      "defaults: {device: cpu}\ninclude:\n  - {workload: resnet18}\n"
      "  - {workload: llama.1.1b, device: cuda, batch: 8, sequence: 2048, precision: bf16_pure, ddp: {ranks: 2, "
      "transport: p2p_off}}\n"
      "  - {workload: {name: resnet18, width: 16, image: 32}, env: {OMP_NUM_THREADS: 2}, perturb: {step_percent: "
      "5%}}\n");
  EXPECT_THAT(suite.cells,
              testing::ElementsAre(
                  testing::Field(&Cell::id, "resnet18.b1/eager/fp32/cpu.ddp1-503ab6a2"),
                  testing::Field(&Cell::id, "llama.1.1b.b8/eager/bf16_pure/cuda.ddp2.p2p_off-6fca5e76"),
                  testing::Field(
                      &Cell::id,
                      "resnet18.image32.width16.b1/eager/fp32/cpu.ddp1/OMP_NUM_THREADS=2/PERTURBED.step+5%-6bcdbabe")));
}

TEST(Identity, CellsSurviveTheirJson) {
  for (const auto& cell :
       suite_of("defaults: {device: cpu}\naxes: {workload: [resnet18, llama.tiny], ddp: [1, 2]}\n").cells)
    EXPECT_EQ(dump_line(to_json(cell_from_json(to_json(cell), "cell"))), dump_line(to_json(cell)));
}

}  // namespace
}  // namespace stepgauge::config
