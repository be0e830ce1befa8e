"""A convolution as one LLVM function that calls no library.

In:  `ConvolutionForm`, a target.
Out: `emit_convolution`: declarations and definition for `codegen.llvm.function_text.module_of`; the bytes of
     its workspace.

    kernel[channels out, channels in * y * x] @ image[channels in * y * x, output places]

The image is copied with its padding (`images`), and strips of the right factor are packed from the copy. A
convolution with one channel a group reads the copy itself (`depthwise`).
"""

from __future__ import annotations

from capture_records import dataclass
from codegen.llvm.dense.blocking import Plan, plans, workspace
from codegen.llvm.dense.depthwise import emit_depthwise
from codegen.llvm.dense.forms import Epilogue, MatmulForm, Strides
from codegen.llvm.dense.images import Image
from codegen.llvm.dense.matmul import definition
from codegen.llvm.dense.matrices import Matrices
from codegen.llvm.dense.product import Product
from codegen.llvm.dense.taps import Taps
from codegen.llvm.dense.writer import Number, Writer
from codegen.llvm.function_text import FunctionText
from codegen.llvm.target import Target
from codegen.llvm.types import SIZES


@dataclass(frozen=True, slots=True)
class ConvolutionForm:
    """output[b] = epilogue(convolution of image[b] with the kernel + bias); all dense, NCHW.

    `image`: the sizes of one image. `batch`: None if it is open. `bias`: one number a channel, or none.
    `epilogue` is told batch, channel and output place (row * width + column). Raises ValueError where the
    groups do not divide the channels, or a kernel, stride or dilation is below 1, or a padding below 0, or
    the output has no place.
    """

    dtype: str
    image: Image
    out_channels: int
    batch: int | None = 1
    groups: int = 1
    bias: bool = False
    operands: int = 0
    epilogue: Epilogue | None = None

    def __post_init__(self) -> None:
        image = self.image
        if self.groups < 1 or image.channels % self.groups or self.out_channels % self.groups:
            raise ValueError(
                f"{self.groups} groups do not divide {image.channels} and {self.out_channels} channels"
            )
        for name, least in (("kernel", 1), ("stride", 1), ("dilation", 1), ("padding", 0)):
            if min(getattr(image, name)) < least:
                raise ValueError(f"{name} is {getattr(image, name)}: expected {least} or more")
        if min(image.output) < 1:
            raise ValueError(f"the kernel {image.kernel} is larger than the padded image")
        self.product()  # raises for a dtype that has no product

    def product(self) -> MatmulForm:
        """The matrix product of one image and one group."""
        image = self.image
        inner = image.channels // self.groups * image.kernel[0] * image.kernel[1]
        places = image.output[0] * image.output[1]
        return MatmulForm(
            self.dtype,
            self.out_channels // self.groups,
            places,
            inner,
            bias=Strides(0, 1, 0) if self.bias else None,
            operands=self.operands,
            epilogue=self.epilogue,
        )

    def pointers(self) -> list[str]:
        """The pointer arguments, in order: output, left (the kernel), right (the image), bias, workspace."""
        return self.product().pointers()

    def arguments(self) -> list[str]:
        return ["batch"] if self.batch is None else []

    def signature(self, name: str) -> str:
        """The function in C."""
        return MatmulForm.signature(self, name)  # type: ignore[arg-type]

    @property
    def reads_image(self) -> bool:
        """Whether the right factor is the image as it lies: kernels of 1 x 1."""
        image = self.image
        return image.kernel == (1, 1) and image.stride == (1, 1) and image.padding == (0, 0)


def emit_convolution(
    form: ConvolutionForm, target: Target, symbol: str, linkage: str = ""
) -> tuple[dict[str, str], str]:
    """(declarations by name, definition) of the function `form.signature(symbol)`.

    Linkage and workspace are as in `matmul.emit_matmul`.
    """
    function = FunctionText()
    writer = Writer(function, target)
    batch: Number = "%batch" if form.batch is None else form.batch
    writer.loop_if(0, batch, 1, lambda number: _one_image(writer, form, number))
    return definition(function, target, symbol, linkage, form.pointers(), form.arguments())


def convolution_workspace_bytes(form: ConvolutionForm, target: Target) -> int:
    """Bytes of workspace; they do not depend on the batch."""
    writer = Writer(FunctionText(), target)
    copy = 0 if form.reads_image else form.image.elements(target.lanes(form.product().summed_in))
    return (_copy_begin(writer, form) + copy) * SIZES[form.product().summed_in]


def _is_depthwise(form: ConvolutionForm) -> bool:
    return form.groups == form.image.channels and not form.reads_image


def _plan(form: ConvolutionForm, target: Target) -> Plan:
    (plan,) = plans(form.product(), target, dots=False)
    return plan if form.reads_image else plan.packing_right()


def _copy_begin(writer: Writer, form: ConvolutionForm) -> int:
    """Elements of the workspace before the copy of the image."""
    if _is_depthwise(form):
        return 0
    product = form.product()
    space = workspace(writer, product, _plan(form, writer.target), product.values({}))
    return int(space.elements)


def _one_image(writer: Writer, form: ConvolutionForm, number: Number) -> None:
    image, product = form.image, form.product()
    source = writer.at(
        "%right", form.dtype, writer.multiply(number, image.channels * image.height * image.width)
    )
    copy = writer.at("%workspace", product.summed_in, _copy_begin(writer, form))
    if not form.reads_image:
        image.fill(writer, source, form.dtype, copy, product.summed_in)
    places = image.output[0] * image.output[1]
    channels = form.out_channels // form.groups
    assert product.inner is not None

    def group(group: Number) -> None:
        first = writer.multiply(group, channels)
        output = writer.add(
            writer.multiply(number, form.out_channels * places), writer.multiply(first, places)
        )
        inputs = image.channels // form.groups
        pointers = {
            "output": writer.at("%output", form.dtype, output),
            "left": writer.at("%left", form.dtype, writer.multiply(first, product.inner or 0)),
            "bias": writer.at("%bias", form.dtype, first),
            "right": writer.at(source, form.dtype, writer.multiply(group, inputs * places)),
        }
        values = product.values({})
        if form.reads_image:
            factors: Matrices = Matrices(writer, product, values, pointers, (number, first))
        else:
            begin = writer.at(
                copy, product.summed_in, writer.multiply(group, inputs * image.rows * image.row)
            )
            taps = Taps(writer, product, values, pointers, (number, first), (image, begin))
            if _is_depthwise(form):
                emit_depthwise(taps)
                return
            factors = taps
        plan = _plan(form, writer.target)
        space = workspace(writer, product, plan, values)
        Product(writer, plan, factors, values, product.summed_in, space).emit()

    writer.loop(0, form.groups, 1, group)
