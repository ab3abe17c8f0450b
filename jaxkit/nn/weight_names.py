"""How PyTorch libraries name the weights of small networks."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jaxkit.nn.blocks import InvertedResidual, SeparableConv, SqueezeExcite

Row = tuple[Any, ...]
MARKS = {
    "efficientnet_lite_pytorch": "_conv_stem.weight",
    "timm": "conv_stem.weight",
    "torchvision": "features.0.0.weight",
    "transformers": "conv_stem.convolution.weight",
}


def layout_of(model: Any, state: Mapping[str, Any]) -> str:
    """Which library named the weights.

    Raises:
      ValueError: if none is known that has this network.
    """
    known = {layout for name, layout in LAYOUTS if name == type(model).__name__}
    for layout in sorted(known):
        mark = MARKS[layout]
        if any(name == mark or (layout == "transformers" and "conv_stem." in name) for name in state):
            return layout
    raise ValueError(
        f"names such as {', '.join(sorted(state)[:3])} are of no library that has a {type(model).__name__}; "
        f"known: {', '.join(sorted(known))}"
    )


def _efficientnet_lite_pytorch(model: Any, state: Mapping[str, Any]) -> Iterator[Row]:
    yield model.stem, "_conv_stem", "_bn0"
    for index, block in enumerate(model.blocks):
        prefix = f"_blocks.{index}."
        if block.expand is not None:
            yield block.expand, f"{prefix}_expand_conv", f"{prefix}_bn0"
        yield block.depthwise, f"{prefix}_depthwise_conv", f"{prefix}_bn1"
        yield block.project, f"{prefix}_project_conv", f"{prefix}_bn2"
    yield model.head, "_conv_head", "_bn1"
    yield model.classify, "_fc"


def _timm(model: Any, state: Mapping[str, Any]) -> Iterator[Row]:
    yield model.stem, "conv_stem", "bn1"
    places = sorted({tuple(map(int, name.split(".")[1:3])) for name in state if name.startswith("blocks.")})
    prefixes = [f"blocks.{stage}.{index}." for stage, index in places]
    for block, prefix in zip(model.blocks, prefixes, strict=False):
        yield from _timm_block(block, prefix)
    if hasattr(model, "widen"):
        yield model.head, f"{prefixes[-1]}conv", f"{prefixes[-1]}bn1"
        yield model.widen, "conv_head"
    elif hasattr(model, "head"):
        yield model.head, "conv_head", "bn2"
    yield model.classify, "classifier"


def _timm_block(block: Any, prefix: str) -> Iterator[Row]:
    parts = _parts(block)
    convolutions = ("conv_dw", "conv_pw") if len(parts) == 2 else ("conv_pw", "conv_dw", "conv_pwl")
    for number, (part, name) in enumerate(zip(parts, convolutions, strict=True), start=1):
        yield part, f"{prefix}{name}", f"{prefix}bn{number}"
    if _gate(block) is not None:
        yield block.gate.reduce, f"{prefix}se.conv_reduce"
        yield block.gate.expand, f"{prefix}se.conv_expand"


def _torchvision_v2(model: Any, state: Mapping[str, Any]) -> Iterator[Row]:
    yield model.stem, "features.0.0", "features.0.1"
    for index, block in enumerate(model.blocks, start=1):
        *inner, project = _parts(block)
        for place, part in enumerate(inner):
            yield part, f"features.{index}.conv.{place}.0", f"features.{index}.conv.{place}.1"
        yield project, f"features.{index}.conv.{len(inner)}", f"features.{index}.conv.{len(inner) + 1}"
    last = len(model.blocks) + 1
    yield model.head, f"features.{last}.0", f"features.{last}.1"
    yield model.classify, "classifier.1"


def _torchvision_v3(model: Any, state: Mapping[str, Any]) -> Iterator[Row]:
    yield model.stem, "features.0.0", "features.0.1"
    for index, block in enumerate(model.blocks, start=1):
        *inner, project = _parts(block)
        gates = [] if _gate(block) is None else [block.gate]
        for place, part in enumerate([*inner, *gates, project]):
            prefix = f"features.{index}.block.{place}."
            if isinstance(part, SqueezeExcite):
                yield part.reduce, f"{prefix}fc1"
                yield part.expand, f"{prefix}fc2"
            else:
                yield part, f"{prefix}0", f"{prefix}1"
    last = len(model.blocks) + 1
    yield model.head, f"features.{last}.0", f"features.{last}.1"
    yield model.widen, "classifier.0"
    yield model.classify, "classifier.3"


def _transformers_v1(model: Any, state: Mapping[str, Any]) -> Iterator[Row]:
    root = "mobilenet_v1."
    yield _transformers(model.stem, f"{root}conv_stem")
    parts = [part for block in model.blocks for part in _parts(block)]
    for index, part in enumerate(parts):
        yield _transformers(part, f"{root}layer.{index}")
    yield model.classify, "classifier"


def _transformers_v2(model: Any, state: Mapping[str, Any]) -> Iterator[Row]:
    root = "mobilenet_v2."
    yield _transformers(model.stem, f"{root}conv_stem.first_conv")
    for index, block in enumerate(model.blocks, start=-1):
        prefix = f"{root}conv_stem" if index < 0 else f"{root}layer.{index}"
        if block.expand is not None:
            yield _transformers(block.expand, f"{prefix}.expand_1x1")
        yield _transformers(block.depthwise, f"{prefix}.conv_3x3")
        yield _transformers(block.project, f"{prefix}.reduce_1x1")
    yield _transformers(model.head, f"{root}conv_1x1")
    yield model.classify, "classifier"


def _transformers(module: Any, prefix: str) -> Row:
    return module, f"{prefix}.convolution", f"{prefix}.normalization"


def _parts(block: InvertedResidual | SeparableConv) -> list:
    """The convolutions of a block in their order."""
    if isinstance(block, SeparableConv):
        return [block.depthwise, block.pointwise]
    return [part for part in (block.expand, block.depthwise, block.project) if part is not None]


def _gate(block: InvertedResidual | SeparableConv) -> SqueezeExcite | None:
    return getattr(block, "gate", None)


# The names, and the padding and epsilon that all such weights were trained with, where they agree.
LAYOUTS: dict[tuple[str, str], tuple[Callable[..., Iterator[Row]], str | None, float | None]] = {
    ("EfficientNetLite", "efficientnet_lite_pytorch"): (_efficientnet_lite_pytorch, "same", 1e-3),
    ("EfficientNetLite", "timm"): (_timm, None, None),
    ("MobileNetV1", "timm"): (_timm, "torch", 1e-5),
    ("MobileNetV1", "transformers"): (_transformers_v1, "same", 1e-3),
    ("MobileNetV2", "timm"): (_timm, "torch", 1e-5),
    ("MobileNetV2", "torchvision"): (_torchvision_v2, "torch", 1e-5),
    ("MobileNetV2", "transformers"): (_transformers_v2, "same", 1e-3),
    ("MobileNetV3", "timm"): (_timm, None, None),
    ("MobileNetV3", "torchvision"): (_torchvision_v3, "torch", 1e-3),
}
