"""The C++ workloads against torchvision and transformers: names, shapes and order, then loss, gradients and statistics.

If this fails, numbers measured on a workload of ours say nothing about the public model of that name.
"""

import json
import os
import pathlib
import subprocess

import pytest
import torch
import torchvision
import transformers

ROOT = pathlib.Path(os.environ["STEPGAUGE_SOURCE_DIR"])
PROGRAM = pathlib.Path(os.environ["STEPGAUGE_BIN_DIR"]) / "describe_workload"

torch.set_num_threads(1)


def family(name: str) -> dict:
    return json.loads((ROOT / "workloads" / name / "workload.json").read_text())


def sizes_of(name: str, **changes) -> dict:
    defaults = {key: size["default"] for key, size in family(name)["sizes"].items() if "default" in size}
    return defaults | changes


def describe(*args: str) -> dict:
    done = subprocess.run([PROGRAM, *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def make_resnet(sizes: dict) -> torch.nn.Module:
    """torchvision has no base width: its constructor is given a ResNet whose stem and stages are set from ours."""
    block, counts = {
        18: ("BasicBlock", [2, 2, 2, 2]),
        34: ("BasicBlock", [3, 4, 6, 3]),
        50: ("Bottleneck", [3, 4, 6, 3]),
        101: ("Bottleneck", [3, 4, 23, 3]),
        152: ("Bottleneck", [3, 8, 36, 3]),
    }[sizes["depth"]]
    resnet = torchvision.models.resnet
    if sizes["width"] == 64:
        return getattr(torchvision.models, f"resnet{sizes['depth']}")(weights=None, num_classes=sizes["classes"])
    block_class = getattr(resnet, block)

    class Narrow(resnet.ResNet):
        def _make_layer(self, block, planes, blocks, stride=1, dilate=False):
            if self.inplanes == 64 and planes == 64:  # the stem is made already: narrow it
                self.inplanes = sizes["width"]
                self.conv1 = torch.nn.Conv2d(3, self.inplanes, kernel_size=7, stride=2, padding=3, bias=False)
                self.bn1 = torch.nn.BatchNorm2d(self.inplanes)
            return super()._make_layer(block, planes * sizes["width"] // 64, blocks, stride, dilate)

    model = Narrow(block_class, counts, num_classes=sizes["classes"])
    model.fc = torch.nn.Linear(8 * sizes["width"] * block_class.expansion, sizes["classes"])
    return model


def make_llama(sizes: dict) -> torch.nn.Module:
    config = transformers.LlamaConfig(
        num_hidden_layers=sizes["layers"],
        hidden_size=sizes["hidden"],
        num_attention_heads=sizes["heads"],
        num_key_value_heads=sizes["kv_heads"],
        intermediate_size=sizes["ffn"],
        vocab_size=sizes["vocab"],
        max_position_embeddings=sizes["sequence"],
        rms_norm_eps=1e-5,
        tie_word_embeddings=False,
        use_cache=False,
        attn_implementation="sdpa",
    )
    assert config.rope_parameters["rope_theta"] == 10000.0
    return transformers.LlamaForCausalLM(config)


MAKERS = {"resnet": make_resnet, "llama": make_llama}
PRESETS = [(name, preset) for name in MAKERS for preset in family(name)["presets"]]


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_names_shapes_and_order(name: str, preset: str) -> None:
    sizes = sizes_of(name, **family(name)["presets"][preset])
    ours = describe("shapes", name, json.dumps(sizes))
    with torch.device("meta"):
        reference = MAKERS[name](sizes)
    persistent = reference.state_dict().keys()
    assert ours["parameters"] == [[key, list(value.shape)] for key, value in reference.named_parameters()]
    assert ours["buffers"] == [
        [key, list(value.shape)] for key, value in reference.named_buffers() if key in persistent
    ]


def reference_loss(name: str, model: torch.nn.Module, inputs: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    if name == "resnet":
        return torch.nn.functional.cross_entropy(model(inputs), target)
    return torch.nn.functional.cross_entropy(model(input_ids=inputs).logits.flatten(0, 1), target.flatten())


SMALL = [
    ("resnet", {"depth": 18, "width": 16, "classes": 10, "image": 40}),
    ("resnet", {"depth": 50, "width": 8, "classes": 10, "image": 33}),
    ("llama", {"layers": 3, "hidden": 48, "heads": 6, "kv_heads": 2, "ffn": 80, "vocab": 97, "sequence": 33}),
    ("llama", {"layers": 2, "hidden": 64, "heads": 4, "kv_heads": 4, "ffn": 176, "vocab": 256, "sequence": 64}),
]


@pytest.mark.parametrize(("name", "sizes"), SMALL, ids=[f"{n}-{i}" for i, (n, _) in enumerate(SMALL)])
def test_loss_gradients_and_statistics(name: str, sizes: dict, tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    model = MAKERS[name](sizes).train()
    with torch.no_grad():
        for key, value in model.named_parameters():
            if value.dim() == 1:  # norms away from 1 and 0, or their use would not show
                value.add_(torch.randn_like(value) * 0.2)
            elif name == "llama":  # attention far from uniform, or positions would hardly matter
                value.mul_(8)
    if name == "resnet":
        inputs = torch.randn(4, 3, sizes["image"], sizes["image"])
        target = torch.randint(sizes["classes"], (4,))
    else:
        tokens = torch.randint(sizes["vocab"], (4, sizes["sequence"] + 1))
        inputs, target = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    saved = tmp_path / "state.pt"
    state = {key: value.detach().clone() for key, value in model.state_dict().items()}
    torch.save({"state": state, "input": inputs, "target": target}, saved)

    loss = reference_loss(name, model, inputs, target)
    loss.backward()
    ours = describe("evaluate", name, json.dumps(sizes), str(saved))

    assert ours["loss"] == pytest.approx(loss.item(), rel=1e-5)
    assert ours["gradients"] == pytest.approx(
        {key: value.grad.norm().item() for key, value in model.named_parameters()}, rel=2e-4
    )
    persistent = model.state_dict()
    assert ours["buffers"] == pytest.approx(
        {key: value.double().sum().item() for key, value in model.named_buffers() if key in persistent}, rel=1e-5, abs=1e-4
    )
