"""Writes torch_networks.json: the names, the shapes and the logits of networks of torchvision and timm.

    python -m tests.golden.torch_networks

Needs torchvision 0.29 and timm 1.0, which the tests do without: torchvision's wheel is built for another PyTorch. With
`pip install --no-deps torchvision timm` the layers work, and `register_fake` has nothing to register to.
"""

import json
from pathlib import Path

import torch

from tests.golden.filled import filled, picture

MODELS = {
    "timm efficientnet_lite0": ("timm", "efficientnet_lite0"),
    "timm mobilenetv1_100": ("timm", "mobilenetv1_100"),
    "timm tf_mobilenetv3_small_100": ("timm", "tf_mobilenetv3_small_100"),
    "torchvision mobilenet_v2": ("torchvision", "mobilenet_v2"),
    "torchvision mobilenet_v3_large": ("torchvision", "mobilenet_v3_large"),
}
CLASSES = 8


def main() -> None:
    register = torch.library.register_fake
    torch.library.register_fake = lambda name, *rest, **more: (
        (lambda function: function) if str(name).startswith("torchvision::") else register(name, *rest, **more)
    )
    found = {title: _described(*place) for title, place in MODELS.items()}
    Path(__file__).with_suffix(".json").write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")


def _described(library: str, name: str) -> dict:
    import timm
    import torchvision

    make = timm.create_model if library == "timm" else torchvision.models.get_model
    model = make(name, num_classes=CLASSES).eval()
    ends = ("running_mean", "running_var", "num_batches_tracked")
    shapes = {key: list(value.shape) for key, value in model.state_dict().items() if not key.endswith(ends)}
    state = {key: torch.tensor(value) for key, value in filled(shapes).items()}
    told = model.load_state_dict(state, strict=False)
    assert not told.unexpected_keys and all(key.endswith("num_batches_tracked") for key in told.missing_keys)
    with torch.no_grad():
        logits = model(torch.tensor(picture().transpose(0, 3, 1, 2)))
    return {"shapes": {key: " ".join(map(str, shape)) for key, shape in shapes.items()}, "logits": logits.tolist()}


if __name__ == "__main__":
    main()
