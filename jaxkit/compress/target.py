"""What the runtimes that will run a quantized network demand of its numbers."""

import dataclasses

from jaxkit.ranges import one_of_names

NAMES = ("onnxruntime", "openvino", "litert", "tensorrt", "xla")
ISAS = ("avx2", "vnni")


@dataclasses.dataclass(frozen=True)
class Target:
    """The numbers that a runtime wants, and the arithmetic that it does with them.

    Attributes:
      name: of the runtime.
      activations: "uint8" or "int8".
      symmetric: zero points of activations are 0.
      pairs_saturate: the kernels add two products in int16, which saturates (`vpmaddubsw`, x86 without VNNI); weights
        must leave room for that, or results are wrong without a word.
      bias: "int32" with the scale of the sums, or "float32".
      add: how two scales meet: "folded" (one multiplier for each input and one constant, ONNX Runtime) or "divided"
        (the real sum, divided by the scale of the result, TFLite).
      tested: whether the runtime itself was run against this description.
    """

    name: str
    activations: str = "uint8"
    symmetric: bool = False
    pairs_saturate: bool = False
    bias: str = "int32"
    add: str = "divided"
    tested: bool = True


def target(name: str, *, isa: str = "avx2") -> Target:
    """The description of a runtime.

    Args:
      name: "onnxruntime", "openvino", "litert", "tensorrt" (never run here) or "xla".
      isa: of the CPUs that ONNX Runtime and OpenVINO will meet: "avx2" is right on all of them, "vnni" is for those
        with 8-bit dot products (VNNI, AMX, ARM) only and keeps a little more of the weights.

    Raises:
      ValueError: if there is no such name.
    """
    one_of_names("name", name, NAMES)
    one_of_names("isa", isa, ISAS)
    weak = isa == "avx2"
    return {
        "onnxruntime": Target(name, "uint8", pairs_saturate=weak, add="folded"),
        "openvino": Target(name, "uint8", pairs_saturate=weak),
        "litert": Target(name, "int8"),
        "tensorrt": Target(name, "int8", symmetric=True, bias="float32", tested=False),
        "xla": Target(name, "int8"),
    }[name]
