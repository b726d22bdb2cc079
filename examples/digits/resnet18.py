"""ResNet18 (He et al. 2015, arXiv:1512.03385) with narrow stages and a stem for small images."""

from torch import Tensor, nn


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut; a stride or a change of width makes the shortcut a 1x1 convolution."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU()
        self.downsample = nn.Identity() if (inputs, stride) == (outputs, 1) else conv_1x1(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + self.downsample(x))


def conv_1x1(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))


def resnet18(widths: tuple[int, int, int, int], classes: int) -> nn.Sequential:
    """N x 1 x 32 x 32 -> N x classes logits. The stages see 32, 16, 8 and 4 pixels, hence a stem without a stride."""
    model = nn.Sequential()
    model.add_module("conv1", nn.Conv2d(1, widths[0], 3, 1, 1, bias=False))
    model.add_module("bn1", nn.BatchNorm2d(widths[0]))
    model.add_module("relu", nn.ReLU())
    inputs = widths[0]
    for stage, outputs in enumerate(widths, 1):
        stride = 1 if stage == 1 else 2
        blocks = nn.Sequential(BasicBlock(inputs, outputs, stride), BasicBlock(outputs, outputs, 1))
        model.add_module(f"layer{stage}", blocks)
        inputs = outputs
    model.add_module("avgpool", nn.AdaptiveAvgPool2d(1))
    model.add_module("flatten", nn.Flatten())
    model.add_module("fc", nn.Linear(inputs, classes))
    return model
