"""Writes graphs of TensorFlow with its own results: the data of tests/capture/graphdef.

Run it once, in an environment of its own (the project does not need TensorFlow):

    python3.11 -m venv /tmp/tf && /tmp/tf/bin/pip install tensorflow-cpu
    /tmp/tf/bin/python scripts/tensorflow_graphs.py tests/data/graphdef

NAME.pb is a frozen graph, NAME.npz has its inputs (`input:NAME`) and results (`output:NAME`).
operators.npz has a small graph for each operator and variant, with the same keys behind "VARIANT/".
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

keras = tf.keras
layers = keras.layers
raw = tf.raw_ops
#: operators whose graphs can't be made for open sizes
FIXED = {"Unpack"}
random = np.random.default_rng(0)


def numbers(*shape: int, dtype: str = "float32") -> np.ndarray:
    values = random.standard_normal(shape)
    return (values * 5).astype(dtype) if np.dtype(dtype).kind in "iu" else values.astype(dtype)


def frozen(function: Callable, signature: list[tf.TensorSpec], inputs: list[np.ndarray]) -> dict:
    """The graph of `function`, with its constants inside, and its results."""
    traced = tf.function(lambda *values: function(*values), input_signature=signature)
    made = convert_variables_to_constants_v2(traced.get_concrete_function(), lower_control_flow=False)
    results = made(*[tf.constant(value) for value in inputs])
    found = {"graph": np.frombuffer(made.graph.as_graph_def().SerializeToString(), np.uint8)}
    for tensor, value in zip(made.inputs, inputs):
        found[f"input:{tensor.name}"] = value
    for tensor, value in zip(made.outputs, results):
        found[f"output:{tensor.name}"] = value.numpy()
    return found


# --- graphs of models -------------------------------------------------------------------------------------


def models() -> Iterator[tuple[str, Callable, list, list[np.ndarray]]]:
    images = tf.TensorSpec((None, 28, 28, 1))
    rows = tf.TensorSpec((None, 16))

    def model(name: str, spec: tf.TensorSpec, value: np.ndarray, *stack: layers.Layer):
        found = keras.Sequential([layers.Input(spec.shape[1:]), *stack])
        for weight in found.weights:  # batch norms have moments other than 0 and 1
            if "moving" in weight.path:
                weight.assign(random.uniform(0.5, 1.5, weight.shape))
        return name, lambda x: found(x, training=False), [spec], [value]

    image = numbers(2, 28, 28, 1)
    yield model(
        "mnist_cnn", images, image,
        layers.Conv2D(8, 3, activation="relu"), layers.MaxPooling2D(),
        layers.Conv2D(16, 3, activation="relu"), layers.MaxPooling2D(),
        layers.Flatten(), layers.Dense(10, activation="softmax"),
    )  # fmt: skip
    yield model(
        "mlp", rows, numbers(3, 16),
        layers.Dense(32, activation="elu"), layers.Dense(32, activation="tanh"), layers.Dense(4),
    )  # fmt: skip
    yield model(
        "separable", images, image,
        layers.SeparableConv2D(8, 3, strides=2, padding="same"), layers.BatchNormalization(),
        layers.ReLU(6), layers.SeparableConv2D(8, 3, padding="same", depth_multiplier=2),
        layers.GlobalAveragePooling2D(), layers.Dense(5),
    )  # fmt: skip

    inside = layers.Input((28, 28, 1))
    x = layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(inside)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    y = layers.Conv2D(8, 3, padding="same")(x)
    y = layers.Add()([x, layers.BatchNormalization()(y)])
    y = layers.AveragePooling2D(3, 2, padding="same")(y)
    residual = keras.Model(inside, layers.Dense(10)(layers.Flatten()(y)))
    yield "residual", lambda x: residual(x, training=False), [images], [image]

    words = layers.Input((6, 16))
    attended = layers.MultiHeadAttention(2, 8)(words, words)
    x = layers.LayerNormalization()(layers.Add()([words, attended]))
    x = layers.Add()([x, layers.Dense(16)(layers.Dense(32, activation="gelu")(x))])
    attention = keras.Model(words, layers.LayerNormalization()(x))
    yield (
        "attention",
        lambda x: attention(x, training=False),
        [tf.TensorSpec((None, 6, 16))],
        [numbers(2, 6, 16)],
    )

    table, to_class = tf.constant(numbers(20, 8)), tf.constant(numbers(8, 3))

    def text(ids):
        """An embedding, masked means, and sizes that the batch decides."""
        present = tf.cast(tf.not_equal(ids, 0), tf.float32)[:, :, tf.newaxis]
        mean = tf.reduce_sum(tf.gather(table, ids) * present, 1) / tf.maximum(tf.reduce_sum(present, 1), 1.0)
        scores = tf.nn.log_softmax(tf.matmul(mean, to_class))
        return scores, tf.argmax(scores, -1, output_type=tf.int32)

    yield "text", text, [tf.TensorSpec((None, None), tf.int32)], [np.array([[3, 7, 0], [1, 2, 19]], np.int32)]

    recurrent, first = tf.constant(numbers(4, 8)), tf.constant(numbers(5, 8))

    def unrolled(x):
        state = tf.zeros([tf.shape(x)[0], 4])
        for step in tf.unstack(x, axis=1):
            update, candidate = tf.split(tf.matmul(state, recurrent) + tf.matmul(step, first), 2, axis=-1)
            gate = tf.sigmoid(update)
            state = gate * state + (1.0 - gate) * tf.tanh(candidate)
        return state

    yield "recurrent", unrolled, [tf.TensorSpec((None, 7, 5))], [numbers(3, 7, 5)]

    def heads(x):
        """Sizes of the input: reshapes, a transpose, a mask from ranges."""
        shape = tf.shape(x)
        batch, length = shape[0], shape[1]
        split = tf.transpose(tf.reshape(x, tf.stack([batch, length, 4, shape[2] // 4])), [0, 2, 1, 3])
        scores = tf.matmul(split, split, transpose_b=True) * tf.math.rsqrt(tf.cast(shape[2] // 4, tf.float32))
        place = tf.range(length)
        scores = tf.where(place[:, tf.newaxis] >= place[tf.newaxis], scores, -1e9)
        mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), split), [0, 2, 1, 3])
        return tf.reshape(mixed, tf.concat([shape[:2], [-1]], 0))

    yield "causal_heads", heads, [tf.TensorSpec((None, None, 8))], [numbers(2, 5, 8)]

    def boxes(centres, sizes):
        half = sizes * 0.5
        low, high = centres - half, centres + half
        area = tf.reduce_prod(tf.nn.relu(high - low), -1)
        inner = tf.nn.relu(tf.minimum(high[:, None], high[None]) - tf.maximum(low[:, None], low[None]))
        shared = tf.reduce_prod(inner, -1)
        return shared / (area[:, None] + area[None] - shared + 1e-6)

    pairs = tf.TensorSpec((None, 2))
    yield "boxes", boxes, [pairs, pairs], [numbers(4, 2), np.abs(numbers(4, 2)) + 0.5]

    small, wide = tf.constant(numbers(3, 3, 2, 4) / 4), tf.constant(numbers(3, 3, 6, 2) / 4)

    def skip(x):
        """A small U: pooled, stretched, joined, padded."""
        down = tf.nn.leaky_relu(tf.nn.conv2d(x, small, 2, "SAME"))
        up = tf.repeat(tf.repeat(down, 2, 1), 2, 2)[:, : tf.shape(x)[1], : tf.shape(x)[2]]
        joined = tf.pad(tf.concat([x, up], -1), [[0, 0], [1, 1], [1, 1], [0, 0]])
        return tf.nn.softplus(tf.nn.conv2d(joined, wide, 1, "VALID"))

    yield "skip", skip, [tf.TensorSpec((None, 12, 12, 2))], [numbers(2, 12, 12, 2)]


# --- one operator each ------------------------------------------------------------------------------------


UNARY = (
    "Abs", "Neg", "Square", "Exp", "Tanh", "Sigmoid", "Relu", "Relu6", "Elu", "Selu", "LeakyRelu", "Softplus",
    "Softmax", "LogSoftmax", "Erf", "Erfc", "Round", "Sin", "Cos", "Sinh", "Cosh", "Tan", "Floor", "Ceil",
    "Sign", "Softsign", "Expm1", "Reciprocal",
)  # fmt: skip
BINARY = (
    "Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum", "FloorDiv", "Div", "SquaredDifference", "FloorMod",
    "TruncateMod",
)  # fmt: skip
COMPARISONS = ("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual")
_FEATURES = ("Relu", "Relu6", "Elu", "Selu", "LeakyRelu", "Softplus", "Softsign")


def operators() -> Iterator[tuple[str, Callable, list[np.ndarray]]]:
    x, y = numbers(3, 4), numbers(3, 4)
    positive = np.abs(x) + 0.1
    for name in UNARY:
        parameter = "logits" if "Softmax" in name else "features" if name in _FEATURES else "x"
        for kind in ("float32", "float64", "float16"):
            yield f"{name}.{kind}", call(name, parameter), [(x * 4).astype(kind)]
    for name in ("Sqrt", "Rsqrt", "Log", "Log1p"):
        yield name, call(name, "x"), [positive]
    for name in BINARY:
        yield f"{name}.float", call(name, "x", "y"), [x, y]
        yield f"{name}.broadcast", call(name, "x", "y"), [numbers(2, 1, 4), numbers(5, 1)]
        whole = [numbers(3, 4, dtype="int32"), np.array([[3], [-2], [7]], "int32")]
        yield f"{name}.int32", call(name, "x", "y"), whole
    yield "RealDiv", call("RealDiv", "x", "y"), [x, y]
    yield "Pow", call("Pow", "x", "y"), [positive, y]
    for name in COMPARISONS:
        yield name, call(name, "x", "y"), [np.round(x), np.round(y)]
    for name in ("LogicalAnd", "LogicalOr"):
        yield name, call(name, "x", "y"), [x > 0, y > 0]
    yield "LogicalNot", call("LogicalNot", "x"), [x > 0]
    for name in ("IsFinite", "IsInf", "IsNan"):
        yield name, call(name, "x"), [np.array([1, np.inf, -np.inf, np.nan], "float32")]
    edges = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5, 100.0], "float32")
    for name in ("Sign", "Exp", "Tanh", "Round", "Sqrt"):
        yield f"{name}.edges", call(name, "x"), [edges]
    yield "Relu6.edges", call("Relu6", "features"), [edges]
    yield "Softplus.edges", call("Softplus", "features"), [edges]
    limits = np.array([-7, -1, 1, 2**31 - 1, -(2**31)], "int32")
    for name in BINARY:
        yield f"{name}.edges", call(name, "x", "y"), np.meshgrid(edges, edges)
        yield f"{name}.limits", call(name, "x", "y"), np.meshgrid(limits, limits[[0, 2, 3]])
    yield "Einsum", lambda a, b: tf.einsum("bij,bkj->bik", a, b), [numbers(2, 3, 4), numbers(2, 5, 4)]
    yield "AddN", lambda a, b: raw.AddN(inputs=[a, b, a]), [x, y]
    yield "Select.rows", lambda a, b: raw.Select(condition=[True, False, True], x=a, y=b), [x, y]
    yield "Select.same", lambda c, a, b: raw.Select(condition=c, x=a, y=b), [x > 0, x, y]
    yield "SelectV2", lambda c, a, b: raw.SelectV2(condition=c, t=a, e=b), [x[:, :1] > 0, x, y[0]]
    for kind in (tf.int32, tf.int64, tf.bool, tf.float16, tf.float64, tf.uint8):
        yield f"Cast.{kind.name}", lambda a, kind=kind: tf.cast(a, kind), [np.abs(x) * 3]
    yield from shapes(x, y)
    yield from reductions()
    yield from windows()


def call(name: str, *parameters: str) -> Callable:
    return lambda *values: getattr(raw, name)(**dict(zip(parameters, values)))


def shapes(x: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, Callable, list[np.ndarray]]]:
    cube = numbers(2, 3, 4)
    yield "Reshape", lambda a: tf.reshape(a, [2, -1]), [x]
    yield "Squeeze.all", lambda a: tf.squeeze(a), [numbers(1, 3, 1)]
    yield "Squeeze.one", lambda a: tf.squeeze(a, [-1]), [numbers(1, 3, 1)]
    yield "ExpandDims", lambda a: tf.expand_dims(a, -2), [x]
    yield "Transpose", lambda a: tf.transpose(a, [2, 0, 1]), [cube]
    yield "Concat", lambda a, b: tf.concat([a, b], -1), [x, y]
    yield "Split", lambda a: tf.split(a, 2, 1), [x]
    yield "SplitV", lambda a: tf.split(a, [1, -1, 2], -1), [cube]
    yield "Slice", lambda a: tf.slice(a, [0, 1, 2], [-1, 2, 1]), [cube]
    yield "StridedSlice.plain", lambda a: a[:, 1:, ::2], [cube]
    yield "StridedSlice.back", lambda a: a[::-1, 2:0:-1, -1::-2], [cube]
    yield "StridedSlice.shrink", lambda a: a[..., -1, tf.newaxis], [cube]
    yield "StridedSlice.new", lambda a: a[tf.newaxis, ..., tf.newaxis, 1:3], [cube]
    yield "StridedSlice.empty", lambda a: a[2:1, 5:], [cube]
    yield "StridedSlice.open", lambda a: a[:, :-1][1], [cube]
    yield "Pack", lambda a, b: tf.stack([a, b], -1), [x, y]
    yield "Unpack", lambda a: tf.unstack(a, axis=1), [x]
    yield "Tile", lambda a: tf.tile(a, [2, 3]), [x]
    yield "Pad", lambda a: tf.pad(a, [[1, 2], [0, 3]]), [x]
    yield "PadV2", lambda a: tf.pad(a, [[1, 2], [0, 3]], constant_values=-1.5), [x]
    yield "Pad.int32", lambda a: tf.pad(a, [[1, 0]]), [np.arange(3, dtype="int32")]
    yield "Shape", lambda a: tf.shape(a), [cube]
    yield "Shape.int64", lambda a: tf.shape(a, tf.int64) * 2, [cube]
    yield "Size", lambda a: raw.Size(input=a), [cube]
    yield "Rank", lambda a: raw.Rank(input=a), [cube]
    yield "Shape.float", lambda a: tf.cast(raw.Shape(input=a), tf.float32) / 2.0, [cube]
    yield "Fill", lambda a: tf.fill(raw.Shape(input=a), 2.5), [cube]
    yield "Range", lambda a: tf.range(1, raw.Shape(input=a)[1], 1), [numbers(2, 6)]
    yield "Range.float", lambda a: a + tf.range(0.0, 1.0, 0.25), [numbers(2, 4)]
    yield "Gather.0", lambda a, i: tf.gather(a, i), [cube, np.array([[1, 0], [0, 0]], "int32")]
    yield "Gather.last", lambda a, i: tf.gather(a, i, axis=-1), [cube, np.array([3, 1], "int64")]
    yield "Gather.scalar", lambda a, i: tf.gather(a, i, axis=1), [cube, np.array(2, "int32")]
    yield "OneHot.last", lambda i: tf.one_hot(i, 4), [np.array([[0, 3], [-1, 5]], "int32")]
    yield "OneHot.first", lambda i: tf.one_hot(i, 4, 5, -5, axis=0), [np.array([0, 2], "int32")]
    yield "MatMul", lambda a, b: tf.matmul(a, b, transpose_b=True), [x, y]
    yield "MatMul.a", lambda a, b: raw.MatMul(a=a, b=b, transpose_a=True), [x, y]
    yield "BatchMatMul", lambda a, b: tf.matmul(a, b, adjoint_a=True), [cube, numbers(2, 3, 5)]
    yield "BatchMatMulV2", lambda a, b: tf.matmul(a, b), [cube, numbers(5, 1, 4, 2)]
    yield "Zeros", lambda a: tf.zeros_like(a) + tf.ones_like(a), [x]


def reductions() -> Iterator[tuple[str, Callable, list[np.ndarray]]]:
    cube = numbers(2, 3, 4)
    for name in ("sum", "mean", "max", "min", "prod"):
        reduce = getattr(tf, f"reduce_{name}")
        for axes in (None, [], [1], [-1, 0]):
            for kept in (False, True):
                yield f"{name}.{axes}.{kept}", lambda a, r=reduce, i=axes, k=kept: r(a, i, keepdims=k), [cube]
        if name != "mean":
            yield f"{name}.int32", lambda a, r=reduce: r(a, 1), [numbers(2, 3, dtype="int32")]
    yield "All", lambda a: tf.reduce_all(a, 1), [cube > -1]
    yield "Any", lambda a: tf.reduce_any(a, [0, 2], keepdims=True), [cube > 1]
    yield "ArgMax", lambda a: tf.argmax(a, 1), [np.round(cube)]
    yield "ArgMax.int32", lambda a: tf.argmax(a, -1, tf.int32), [np.round(cube)]
    yield "ArgMin", lambda a: tf.argmin(a, 0), [np.round(cube)]


def windows() -> Iterator[tuple[str, Callable, list[np.ndarray]]]:
    for height, width in ((8, 7), (5, 6)):
        images = numbers(2, height, width, 3)
        for padding in ("SAME", "VALID"):
            for kernel, stride in ((1, 1), (2, 1), (3, 1), (3, 2), (2, 3), (4, 2)):
                name = f"{height}x{width}.{padding}.{kernel}.{stride}"
                weights, each = (
                    tf.constant(numbers(kernel, kernel, 3, 4)),
                    tf.constant(numbers(kernel, 3, 3, 2)),
                )
                size, step = [1, kernel, kernel, 1], [1, stride, stride, 1]

                def conv(a, weights=weights, stride=stride, padding=padding):
                    return tf.nn.conv2d(a, weights, stride, padding)

                def depthwise(a, each=each, step=step, padding=padding):
                    return tf.nn.depthwise_conv2d(a, each, step, padding)

                yield f"Conv2D.{name}", conv, [images]
                yield f"DepthwiseConv2dNative.{name}", depthwise, [images]
                for pool in ("MaxPool", "AvgPool"):

                    def pooled(a, pool=pool, size=size, step=step, padding=padding):
                        first = "input" if pool == "MaxPool" else "value"
                        return getattr(raw, pool)(**{first: a}, ksize=size, strides=step, padding=padding)

                    yield f"{pool}.{name}", pooled, [images]
    images, weights = numbers(2, 9, 8, 3), numbers(3, 2, 3, 4)
    yield "Conv2D.dilated", lambda a, w: tf.nn.conv2d(a, w, 1, "SAME", dilations=2), [images, weights]
    explicit = [[0, 0], [1, 2], [0, 3], [0, 0]]
    yield "Conv2D.explicit", lambda a, w: tf.nn.conv2d(a, w, 2, explicit), [images, weights]
    yield "Conv2D.uneven", lambda a, w: tf.nn.conv2d(a, w, [1, 2, 1, 1], "SAME"), [images, weights]
    yield "BiasAdd", lambda a, b: tf.nn.bias_add(a, b), [images, numbers(3)]
    yield "BiasAdd.NCHW", lambda a, b: tf.nn.bias_add(a, b, "NCHW"), [images, numbers(9)]
    moments = [numbers(3), numbers(3), numbers(3), np.abs(numbers(3)) + 0.5]
    for training in (False, True):

        def norm(a, scale, offset, mean, variance, training=training):
            return raw.FusedBatchNormV3(
                x=a, scale=scale, offset=offset, mean=mean, variance=variance, epsilon=1e-3,
                is_training=training, exponential_avg_factor=1.0,
            )[:3]  # fmt: skip

        yield f"FusedBatchNormV3.{training}", norm, [images, *moments]


def main(folder: str) -> None:
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    keras.utils.set_random_seed(0)
    for name, function, signature, inputs in models():
        found = frozen(function, signature, inputs)
        (target / f"{name}.pb").write_bytes(found.pop("graph").tobytes())
        np.savez_compressed(target / f"{name}.npz", **found)
    small = {}
    for name, function, inputs in operators():
        shapes = [value.shape if name in FIXED else [None] * value.ndim for value in inputs]
        signature = [tf.TensorSpec(shape, value.dtype) for shape, value in zip(shapes, inputs)]
        try:
            found = frozen(function, signature, inputs)
        except (tf.errors.OpError, ValueError, TypeError) as error:
            raise SystemExit(f"{name}: {error}") from error
        small.update({f"{name}/{key}": value for key, value in found.items()})
    np.savez_compressed(target / "operators.npz", **small)


if __name__ == "__main__":
    main(sys.argv[1])
