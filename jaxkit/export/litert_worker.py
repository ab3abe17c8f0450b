"""What is done where the packages of LiteRT are: conversion and inference. A plain file, run by its path.

The other environment has neither JAX nor jaxkit, so this file imports nothing of them. Requests come by standard input
and answers leave by standard output, each a line of JSON and then as many bytes as its "size" says.
"""

import json
import os
import sys
import time

import numpy as np

ANY = "builtin.module(vhlo-legalize-stablehlo,reconcile-unrealized-casts,strip-debuginfo)"
WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


def convert(program: bytes, integers: bool) -> bytes:
    """A TFLite file of a serialised StableHLO (VHLO) module with one input and one output, by the names x and y.

    Args:
      program: bytes, of a module whose function is `main`.
      integers: whether marks (composites `quant.fake_quant`) become integers; that no mark remains is for the caller.
    """
    from litert_converter import converter_api_ext as api
    from litert_converter.mlir import ir, passmanager

    context = ir.Context()
    api.prepare_mlir_context(context)
    with context:
        module = ir.Module.parse(program)
        passmanager.PassManager.parse(ANY).run(module.operation)
        names = {"signature_name": "serving_default", "input_names": ["x"], "output_names": ["y"]}
        api.set_signature(module.operation, **names)
        module = api.merge_modules([module])
        config = api.ConvertToTFLConfig()
        if integers:
            # Without the strict mode marks stay in the file, as calls of functions that no kernel runs fast.
            config.qdq_conversion_mode, config.strict_qdq_mode = "STATIC", True
        api.run_convert_to_tfl_passes(module, passmanager.PassManager(), config)
        return bytes(api.export_flatbuffer_to_bytes(module.operation))


def layers(file: bytes) -> list[dict]:
    """Where the integers of convolutions and dense layers are in a file.

    Returns:
      A dict for each layer that has an int8 kernel: its operation; where its kernel and its bias begin and end (None:
      there is no bias); the scales of both.
    """
    from litert_converter import schema_py_generated as schema

    model, whole = schema.Model.GetRootAs(file), np.frombuffer(file, np.uint8)
    codes = {getattr(schema.BuiltinOperator, name): name for name in WEIGHTED}
    graph, found = model.Subgraphs(0), []
    for i in range(graph.OperatorsLength()):
        operator = graph.Operators(i)
        name = codes.get(model.OperatorCodes(operator.OpcodeIndex()).BuiltinCode())
        kernel = name and graph.Tensors(operator.Inputs(1))
        if name and kernel.Type() == schema.TensorType.INT8:
            index = operator.Inputs(2) if operator.InputsLength() > 2 else -1
            bias = graph.Tensors(index) if index >= 0 else None
            places = {"kernel": _place(model, whole, kernel), "bias": bias and _place(model, whole, bias)}
            found.append({"op": name, **places})
    return found


def _place(model, whole, tensor):
    content = model.Buffers(tensor.Buffer()).DataAsNumpy()
    start = content.ctypes.data - whole.ctypes.data
    return {"start": start, "stop": start + content.size, "scale": tensor.Quantization().ScaleAsNumpy().tolist()}


class Runner:
    """A file and an interpreter (XNNPACK, the default of LiteRT) for it."""

    def __init__(self, path, threads):
        from ai_edge_litert.interpreter import Interpreter

        self.interpreter = Interpreter(model_path=path, num_threads=threads)
        self.interpreter.allocate_tensors()
        self.input = self.interpreter.get_input_details()[0]
        self.output = self.interpreter.get_output_details()[0]

    @property
    def rows(self):
        """Examples in one call."""
        return int(self.input["shape"][0])

    def __call__(self, x):
        """One call, float32 `[rows, ...]` to float32."""
        self.interpreter.set_tensor(self.input["index"], x)
        self.interpreter.invoke()
        return self.interpreter.get_tensor(self.output["index"])

    def durations(self, count, seconds):
        """Seconds of each of many goes through `count` examples (zeros), as many as there is time for, 5 at least."""
        self.interpreter.set_tensor(self.input["index"], np.zeros(self.input["shape"], np.float32))
        calls, found = -(-count // self.rows), []
        self.interpreter.invoke()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(found) < 5:
            start = time.perf_counter()
            for _ in range(calls):
                self.interpreter.invoke()
            found.append(time.perf_counter() - start)
        return found

    def operations(self):
        """For each operation of the file its name, and whether all that it computes on are integers."""
        kinds = {t["index"]: np.dtype(t["dtype"]).kind for t in self.interpreter.get_tensor_details()}
        found = []
        for op in self.interpreter._get_ops_details():
            if op["op_name"] != "DELEGATE":
                taken = [kinds[i] for i in (*op["inputs"], *op["outputs"]) if i >= 0]
                found.append([op["op_name"], "f" not in taken])
        return found


def _answer(request, payload, runners):
    """A JSON value and bytes. `runners` are kept from one request to the next."""
    what = request["do"]
    if what == "convert":
        file = convert(payload, request["integers"])
        return {"layers": layers(file)}, file
    if what == "open":
        runners.append(Runner(request["path"], request["threads"]))
        return {"rows": runners[-1].rows}, b""
    if what == "run":
        y = runners[-1](np.frombuffer(payload, np.float32).reshape(request["shape"]))
        return {"shape": y.shape}, np.ascontiguousarray(y, np.float32).tobytes()
    if what == "durations":
        return {"seconds": runners[-1].durations(request["count"], request["seconds"])}, b""
    return {"operations": runners[-1].operations()}, b""


def main() -> None:
    """Answers until the input ends."""
    # The packages print to standard output, which is for answers alone.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    runners = []
    for line in sys.stdin.buffer:
        request = json.loads(line)
        payload = sys.stdin.buffer.read(request["size"])
        try:
            answer, content = _answer(request, payload, runners)
        except Exception as error:
            answer, content = {"error": f"{type(error).__name__}: {error}"}, b""
        answers.write(json.dumps({**answer, "size": len(content)}, default=int).encode() + b"\n" + content)
        answers.flush()


if __name__ == "__main__":
    main()
