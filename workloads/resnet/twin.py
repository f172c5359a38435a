"""ResNet in Python: the same network, parameter names and order as resnet.cpp (torchvision's v1.5 layout).

It is what the compile modes compile, so it is written as one would write it for torch.compile: plain modules, no Python
state in forward, the loss inside the module."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

IMAGE_CHANNELS = 3
STAGES = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
BOTTLENECK_FROM = 50


def convolution(inputs: int, outputs: int, kernel: int, stride: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=(kernel - 1) // 2, bias=False)


def shortcut(inputs: int, outputs: int, stride: int) -> nn.Sequential | None:
    """The projection of the skipped path, where the block changes the shape."""
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))


class Block(nn.Module):
    """What both kinds of blocks share. In place saves memory and a pass when eager; a compiler does the same by itself, and must not
    meet it in a block that it recomputes in part."""

    in_place = True
    downsample: nn.Sequential | None

    def active(self, x: Tensor) -> Tensor:
        return F.relu(x, inplace=self.in_place)

    def joined(self, y: Tensor, x: Tensor) -> Tensor:
        skipped = x if self.downsample is None else self.downsample(x)
        return self.active(y.add_(skipped) if self.in_place else y + skipped)


class BasicBlock(Block):
    expansion = 1

    def __init__(self, inputs: int, planes: int, stride: int) -> None:
        super().__init__()
        self.conv1 = convolution(inputs, planes, 3, stride)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = convolution(planes, planes, 3, 1)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = shortcut(inputs, planes, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = self.active(self.bn1(self.conv1(x)))
        return self.joined(self.bn2(self.conv2(y)), x)


class Bottleneck(Block):
    expansion = 4

    def __init__(self, inputs: int, planes: int, stride: int) -> None:
        super().__init__()
        self.conv1 = convolution(inputs, planes, 1, 1)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = convolution(planes, planes, 3, stride)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = convolution(planes, planes * self.expansion, 1, 1)
        self.bn3 = nn.BatchNorm2d(planes * self.expansion)
        self.downsample = shortcut(inputs, planes * self.expansion, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = self.active(self.bn1(self.conv1(x)))
        y = self.active(self.bn2(self.conv2(y)))
        return self.joined(self.bn3(self.conv3(y)), x)


class ResNet(nn.Module):
    """Images [batch, 3, side, side] and classes [batch] -> mean cross entropy."""

    def __init__(self, depth: int, width: int, classes: int) -> None:
        super().__init__()
        block = Bottleneck if depth >= BOTTLENECK_FROM else BasicBlock
        self.conv1 = convolution(IMAGE_CHANNELS, width, 7, 2)
        self.bn1 = nn.BatchNorm2d(width)
        channels = width
        for stage, count in enumerate(STAGES[depth]):
            planes = width << stage
            strides = [2 if stage > 0 else 1] + [1] * (count - 1)
            blocks = []
            for stride in strides:
                blocks.append(block(channels, planes, stride))
                channels = planes * block.expansion
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(channels, classes)
        self.loss_type = torch.float32

    def forward(self, images: Tensor, classes: Tensor) -> Tensor:
        x = F.relu(self.bn1(self.conv1(images)), inplace=True)
        x = F.max_pool2d(x, 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        logits = self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))
        return F.cross_entropy(logits.to(self.loss_type), classes)


def build(sizes: dict[str, int]) -> nn.Module:
    """The model without storage, on the meta device."""
    if sizes["depth"] not in STAGES:
        raise ValueError(f"resnet: no depth {sizes['depth']} (known: {', '.join(map(str, STAGES))})")
    with torch.device("meta"):
        return ResNet(sizes["depth"], sizes["width"], sizes["classes"])


def loss(model: nn.Module, images: Tensor, classes: Tensor) -> Tensor:
    return model(images, classes)


def blocks(model: nn.Module) -> list[nn.Module]:
    """The residual blocks in order: the units of activation checkpointing."""
    return [block for stage in (model.layer1, model.layer2, model.layer3, model.layer4) for block in stage]


def settle(model: nn.Module, device: torch.device, work_type: torch.dtype, eager: bool) -> None:
    """Fixes what depends on how it runs, before anything is compiled. work_type: of the matrix products, autocast's or the
    parameters'."""
    model.loss_type = torch.promote_types(work_type, torch.float32)
    for block in blocks(model):
        block.in_place = eager


def head(model: nn.Module) -> nn.Module:
    """The layer that stays in the parameters' precision under fp8."""
    return model.fc
