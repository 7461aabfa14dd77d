"""Every public function refuses what its annotations do not allow, and says wanted and got.

The arguments, right and wrong, are made from the annotations as jaxtyping reads them.
"""

from __future__ import annotations

import importlib
import inspect
import re
import traceback
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from jaxtyping import Bool, Float, Float64, Int

from attention_docs.signatures import Array, checked
from tests.conftest import ROOT, report

KINDS = {  # by the dtypes of an annotation: a right dtype, a wrong one, and what messages call it
    Float[Array, ""].dtypes: (np.float64, np.int64, "real floats"),
    Float64[Array, ""].dtypes: (np.float64, np.float32, "float64"),
    Int[Array, ""].dtypes: (np.int64, np.float64, "integers"),
    Bool[Array, ""].dtypes: (np.bool_, np.float64, "booleans"),
}


class Slot(NamedTuple):
    """An argument, or a field of one, that takes an array."""

    argument: str
    field: str
    hint: Any

    @property
    def name(self) -> str:
        return f"{self.argument}.{self.field}" if self.field else self.argument

    @property
    def axes(self) -> list[str]:
        """The names of the axes, without those before the first name."""
        return [axis for axis in self.hint.dim_str.split() if axis[0] not in ".*"]

    @property
    def batch(self) -> str:
        return next((axis for axis in self.hint.dim_str.split() if axis[0] in ".*"), "")

    @property
    def is_float(self) -> bool:
        """One of those that share a dtype."""
        return self.hint.dtypes == Float[Array, ""].dtypes and self.hint.dim_str != "..."


def list_functions() -> list[Callable[..., Any]]:
    """The public functions of the modules that compute."""
    names = sorted(path.stem for path in (ROOT / "attention_docs").glob("[a-z]*.py"))
    modules = [importlib.import_module(f"attention_docs.{name}") for name in names]
    return [
        function
        for module in modules
        for name, function in vars(module).items()
        if inspect.isfunction(function) and function.__module__ == module.__name__
        if not name.startswith("_")
    ]


def drop_none(hint: Any) -> Any:
    """What stands before `| None`."""
    return typing.get_args(hint)[0] if typing.get_origin(hint) is types.UnionType else hint


def list_slots(function: Callable[..., Any]) -> list[Slot]:
    slots = []
    hints = typing.get_type_hints(inspect.unwrap(function))
    for argument, hint in hints.items():
        if argument == "return":
            continue
        hint = drop_none(hint)
        fields = typing.get_type_hints(hint) if hasattr(hint, "_fields") else {"": hint}
        for field, part in fields.items():
            part = drop_none(part)
            if hasattr(part, "dim_str"):
                slots.append(Slot(argument, field, part))
    return slots


FUNCTIONS = {
    f"{one.__module__.removeprefix('attention_docs.')}.{one.__name__}": one
    for one in list_functions()
    if list_slots(one)
}


def make_arrays(slots: list[Slot]) -> dict[Slot, np.ndarray]:
    """An array for each slot, which nothing may write to; all sizes differ."""
    names = sorted({axis for slot in slots for axis in slot.axes if not axis.isdigit()})
    sizes = {name: size for size, name in enumerate(names, start=3)}
    arrays = {
        slot: np.ones(
            [sizes.get(axis) or int(axis) for axis in slot.axes], KINDS[slot.hint.dtypes][0]
        )
        for slot in slots
    }
    for array in arrays.values():
        array.flags.writeable = False
    return arrays


def complete(function: Callable[..., Any], arrays: dict[Slot, Any]) -> dict[str, Any]:
    """Arguments with these arrays; whatever else a function wants is 1."""
    given: dict[str, Any] = {}
    fields: dict[str, dict[str, Any]] = {}
    for slot, array in arrays.items():
        (fields.setdefault(slot.argument, {}) if slot.field else given)[
            slot.field or slot.argument
        ] = array
    hints = typing.get_type_hints(inspect.unwrap(function))
    for argument, parts in fields.items():
        kind = drop_none(hints[argument])
        given[argument] = kind(**dict.fromkeys(kind._fields) | parts)
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.default is parameter.empty:
            given.setdefault(name, 1)
    return given


def find_refusal(function: Callable[..., Any], arrays: dict[Slot, Any]) -> str | None:
    """What the check of its signature says, or NumPy where it writes to what it was given."""
    try:
        function(**complete(function, arrays))
    except Exception as error:
        own = [frame.name for frame in traceback.extract_tb(error.__traceback__)][1:3]
        if own == ["check_and_call", "_check_arrays"] or "read-only" in str(error):
            return f"{type(error).__name__}: {error}"
    return None


Wrong = tuple[dict[Slot, Any], str]


def list_wrong(slots: list[Slot], right: dict[Slot, np.ndarray]) -> Iterator[Wrong]:
    """Every kind of wrong argument, and what is said of it."""
    for slot in slots:
        yield from list_wrong_kinds(slots, slot, right[slot])
        for place, axis in enumerate(slot.axes):
            yield resize(right, slot, place, 0, f"{slot.name} must not be empty, got shape {{}}")
            if message := tell_size(slots, slot, axis, right):
                yield resize(right, slot, place, right[slot].shape[place] + 20, message)
        axes = ", ".join([*filter(None, [slot.batch]), *slot.axes])
        others = [right[slot][0, ...]] if slot.axes else []
        for array in others if slot.batch else [*others, right[slot][None]]:
            told = f"ValueError: {slot.name} must have axes ({axes}), got shape {array.shape}"
            yield {slot: array}, told
    yield from list_wrong_batches(slots, right)


def list_wrong_kinds(slots: list[Slot], slot: Slot, array: np.ndarray) -> Iterator[Wrong]:
    _, wrong, words = KINDS[slot.hint.dtypes]
    is_numpy = slot.hint.array_type is np.ndarray
    kind = f"TypeError: {slot.name} must be {'a NumPy' if is_numpy else 'an'} array of {words}, got"
    yield {slot: array.tolist()}, f"{kind} {type(array.tolist()).__name__}"
    yield {slot: array.astype(wrong)}, f"{kind} {np.dtype(wrong).name}"
    if is_numpy:
        yield {slot: torch.tensor(array)}, f"{kind} Tensor"
    elif slot != slots[0]:
        library = f"{slots[0].name} and {slot.name} must be of one library"
        yield {slot: torch.tensor(array)}, f"TypeError: {library}, got ndarray and Tensor"
    first = next((one for one in slots if one.is_float), slot)
    if slot.is_float and slot != first:
        dtype = f"TypeError: {first.name} and {slot.name} must share a dtype"
        yield {slot: array.astype(np.float32)}, f"{dtype}, got float64 and float32"


def tell_size(slots: list[Slot], slot: Slot, axis: str, right: dict[Slot, np.ndarray]) -> str:
    """What is said of another size of an axis, with {} for the shape; "" if it may have any."""
    owners = [one for one in slots if axis in one.axes]
    if axis.isdigit() or (slot.axes.count(axis) > 1 and slot == owners[0]):
        axes = ", ".join([*filter(None, [slot.batch]), *slot.axes])
        return f"{slot.name} must have axes ({axes}), got shape {{}}"
    if len(owners) == 1:
        return ""
    word = {"n_k": "their number of tokens"}.get(axis, axis)
    if slot == owners[0]:
        pair, got = (slot, owners[1]), f"{{}} and {right[owners[1]].shape}"
    else:
        pair, got = (owners[0], slot), f"{right[owners[0]].shape} and {{}}"
    return f"{pair[0].name} and {pair[1].name} must share {word}, got {got}"


def resize(right: dict[Slot, np.ndarray], slot: Slot, place: int, size: int, message: str) -> Wrong:
    sizes = [*right[slot].shape]
    sizes[place] = size
    wrong = np.ones(sizes, right[slot].dtype)
    return {slot: wrong}, "ValueError: " + message.format(wrong.shape)


def list_wrong_batches(slots: list[Slot], right: dict[Slot, np.ndarray]) -> Iterator[Wrong]:
    """Of axes before the first name: one that another lacks, or 2 and 3 that should broadcast."""
    for batch in {slot.batch for slot in slots} - {""}:
        shared = [one for one in slots if one.batch == batch and (one.axes or batch[0] == "*")]
        first, *others = shared or [None]
        for other in others:
            changed = {first: np.stack([right[first]] * 2), other: np.stack([right[other]] * 3)}
            changed = changed if batch == "..." else {other: changed[other]}
            what = "broadcast together" if batch == "..." else "share their batch axes"
            got = f"{changed.get(first, right[first]).shape} and {changed[other].shape}"
            yield changed, f"ValueError: {first.name} and {other.name} must {what}, got {got}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_refuses_what_its_annotations_do_not_allow(name: str) -> None:
    function = FUNCTIONS[name]
    slots = list_slots(function)
    right = make_arrays(slots)
    assert find_refusal(function, right) is None
    report(
        f"{name} with another {', '.join(one.name for one in changed)}: {wanted!r}, got {got!r}"
        for changed, wanted in list_wrong(slots, right)
        if (got := find_refusal(function, right | changed)) != wanted
    )


UNREADABLE = ("[Array, 'n d'] | float", "[Array, 'n+1 d']", "[Array, 'n ...']", "32[Array, 'n d']")


@pytest.mark.parametrize("text", [*(f"Float{one}" for one in UNREADABLE), "None | Int[Array, 'n']"])
def test_an_annotation_that_cannot_be_read_is_refused(text: str) -> None:
    def function(query: Any) -> None:
        pass

    function.__annotations__["query"] = text
    with pytest.raises(TypeError, match=re.escape(f"Float[Array, '... n d'] | None, got {text}")):
        checked(function)


def test_all_chapters_are_there() -> None:
    assert len(FUNCTIONS) > 70
    assert {"softmax.softmax", "attention_function.attention", "in_pieces.merge"} <= set(FUNCTIONS)


# --- float32 gives what float64 gives

SPECIAL = """
    attention_function.drop cross_attention.decoder_block eight_steps.round_weights encoders.encode
    encoders.mask_words encoders.visible_word generation.attend_with_cache generation.cached_block
    generation.grouped_attention heads.copy_loss language_model.generate
    language_model.language_model language_model.sample language_model.token_ids
    language_model.without_head long_sequences.t5_bias maps.attention_flow maps.attention_rollout
    maps.with_residual minilm.read_sentence multi_head.multi_head_attention
    next_word.guess_by_layer next_word.next_tokens next_word.token_text next_word.whole_text
    positions.learned positions.rope sequences.window_layer smollm2.cut_neurons smollm2.decode_ids
    smollm2.encode_chat smollm2.encode_text smollm2.mean_outputs smollm2.neuron_activity
    smollm2.neuron_writes smollm2.run_model transformer_block.encoder_block positions.sinusoids
    learning.finite_differences precision.round_to precision.rounded_sum precision.rounded_product
    masking.apply_mask
    """
"""They refuse such arrays, or want a whole model: the tests of their chapters call them."""
LOSES = {
    "in_context.ridge_regression": "far from zero, the matrix that it solves is nearly singular",
    "in_pieces.backward_in_pieces": "what forward has found must be of the same scores",
    "memory.trigonometric_features": "the cosine of a large number depends on its last digits",
    "memory.positive_features": "e to the power of a hundred numbers overflows",
    "score_functions.angles": "the arccos of a cosine near 1 keeps half of the digits",
}


def list_floats(found: Any) -> Iterator[Any]:
    """The arrays of floats that a function has returned."""
    if isinstance(found, list | tuple):
        for one in found:
            yield from list_floats(one)
    elif hasattr(found, "dtype") and "float" in str(found.dtype):
        yield found


def list_moved(slots: list[Slot]) -> Iterator[dict[Slot, np.ndarray]]:
    """Positive numbers, of which one array after another, then each, is far from zero, or large."""
    rng, arrays = np.random.default_rng(0), make_arrays(slots)
    floats = [slot for slot in slots if KINDS[slot.hint.dtypes][0] is np.float64]
    for slot in floats:
        shape = arrays[slot].shape or ((2, 3) if slot.batch else ())
        arrays[slot] = rng.uniform(0.1, 1, shape).astype(np.float32)
    for slot in floats:
        yield arrays | {slot: arrays[slot] + np.float32(1000)}
        yield arrays | {slot: arrays[slot] * np.float32(1000)}
    yield arrays | {slot: arrays[slot] + np.float32(1000) for slot in floats}


def list_losses(function: Callable[..., Any], slots: list[Slot]) -> Iterator[float]:
    """How far float32 goes from float64 in each library, as a share of the largest number."""
    numpy_alone = any(slot.hint.array_type is np.ndarray for slot in slots)
    for arrays in list_moved(slots):
        double = {s: a.astype(float) if "float" in str(a.dtype) else a for s, a in arrays.items()}
        truths = [*list_floats(function(**complete(function, double)))]
        tensors = [] if numpy_alone else [{s: torch.tensor(a) for s, a in arrays.items()}]
        for given in (arrays, *tensors):
            found = [*list_floats(function(**complete(function, given)))]
            for one, truth in zip(found, truths, strict=True):
                assert numpy_alone or str(one.dtype).endswith("float32")
                gap = np.abs(np.asarray(one, float) - truth).max()
                yield gap / max(1, np.abs(truth).max())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32_loses_few_digits(name: str) -> None:
    """In either library. Far from zero, a variance as E x² − (E x)² would lose four more."""
    losses = list_losses(FUNCTIONS[name], list_slots(FUNCTIONS[name]))
    if name in SPECIAL.split():
        with pytest.raises((ValueError, TypeError, AttributeError)):
            list(losses)
    else:
        assert all(loss < 3e-3 for loss in losses) == (name not in LOSES)


# --- NaN and ±∞ beside masked places

BESIDE = {"key": ("same", "NaN or same"), "value": ("NaN", "NaN")}
"""What a key that a mask hides, or its value, makes of the outputs where it is NaN, ∞ or −∞: with
booleans, then with floats, which add −∞ to its score. A weight of 0 times NaN is NaN."""
ABSENT = """
    cross_attention.decoder_block encoders.encode generation.latent_attention
    in_pieces.backward_in_pieces masking.apply_mask transformer_block.encoder_block
    """
"""They take models, latents or scores instead of keys and values."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("spoiled", BESIDE)
@pytest.mark.parametrize(
    "name",
    [
        name
        for name, function in FUNCTIONS.items()
        if "mask" in inspect.signature(function).parameters and name not in ABSENT.split()
    ],
)
def test_what_stands_beside_masked_places(name: str, spoiled: str) -> None:
    function, rng = FUNCTIONS[name], np.random.default_rng(0)
    arrays = {slot: rng.uniform(0.1, 1, [4] * len(slot.axes)) for slot in list_slots(function)}
    keep = np.ones((4, 4), bool) & (np.arange(4) < 3)
    hint = typing.get_type_hints(inspect.unwrap(function))["mask"]
    masks = [keep, np.where(keep, 0, -np.inf)][: 2 if hint is Any else 1]
    for mask, wanted in zip(masks, BESIDE[spoiled], strict=False):
        outputs = []
        for number in (0, np.nan, np.inf, -np.inf):
            changed = {slot: array.copy() for slot, array in arrays.items()}
            (slot,) = (slot for slot in changed if slot.name == spoiled)
            changed[slot][..., 3, :] = number or changed[slot][..., 3, :]
            given = complete(function, changed) | {"mask": mask}
            outputs.append(next(one for one in list_floats(function(**given)) if one.ndim > 1))
        clean, *others = outputs
        assert np.isfinite(clean).all()
        found = {"same" if np.array_equal(one, clean) else tell_kind(one) for one in others}
        assert " or ".join(sorted(found)) == wanted


def tell_kind(array: Any) -> str:
    return "NaN" if np.isnan(array).all() else "some numbers"
