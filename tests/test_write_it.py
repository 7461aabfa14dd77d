"""Functions that a reader writes: a model answer is right, every known mistake has its words."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional
from torch.nn.attention.flex_attention import create_mask

from attention_docs.figures.tasks import Failure, Task, detach, find_failure, judge
from attention_docs.softmax import softmax
from tests.conftest import BUILT, ROOT
from tests.page import Page
from tests.test_live_pages import keeper, needs_live
from tests.written import judge_page, list_written

__all__ = ["keeper"]  # a fixture

SECTION = r"# --8<-- \[start:{name}\]\n(.*?)# --8<-- \[end:{name}\]"


def read_section(slug: str, name: str) -> str:
    listing = (ROOT / "docs" / "listings" / f"{slug}.py").read_text(encoding="utf-8")
    found = re.search(SECTION.format(name=name), listing, re.DOTALL)
    return found[1] if found else ""


CHAPTERS = sorted(
    path.stem
    for path in (ROOT / "docs" / "listings").glob("*.py")
    if read_section(path.stem, "writing")
)


@pytest.fixture(name="names")
def run_sections(slug: str) -> dict[str, Any]:
    """What the sections of the exercise set, with nothing of the chapter but its softmax."""
    names: dict[str, Any] = {"np": np, "softmax": softmax}
    for name in ("writing", "writing-answer", "writing-checks"):
        exec(read_section(slug, name), names)
    return names


@pytest.mark.parametrize("slug", CHAPTERS)
def test_the_first_verdict_is_of_the_smallest_input(
    slug: str, page: Callable[[str, str], Page]
) -> None:
    """What the page shows before anything is written: of the model, and of the given lines."""
    head, *rows = page("en", slug).tables["out-writing-checks"]
    assert head == ["", "✗ Not yet: the smallest input that breaks it"]
    shown = dict(rows)
    assert shown["wanted"] != shown["got"]
    assert len(rows) > 2


@pytest.mark.parametrize("slug", CHAPTERS)
def test_an_answer_is_accepted_and_every_mistake_is_told(slug: str, names: dict[str, Any]) -> None:
    task: Task = names["writing"]
    assert find_failure(detach(task.answer), task) is None
    assert len(task.mistakes) >= 3
    for sentence, mistake in task.mistakes.items():
        failure = find_failure(detach(mistake), task)
        assert isinstance(failure, Failure), sentence
        assert failure.mistake == sentence
    begun = next(one for name, one in names.items() if name.startswith("your_"))
    assert find_failure(begun, task) is not None


def t(array: Any) -> torch.Tensor:
    return torch.tensor(np.asarray(array))


def attend(query: Any, key: Any, value: Any, **options: Any) -> torch.Tensor:
    return functional.scaled_dot_product_attention(t(query), t(key), t(value), **options)


def softmax_gradient(weights: Any, by_weights: Any) -> torch.Tensor:
    scores = t(weights).log().requires_grad_()
    (found,) = torch.autograd.grad(scores.softmax(dim=-1), scores, t(by_weights))
    return found


def merge(one: Any, two: Any) -> torch.Tensor:
    """By the logarithms of both masses, which have no unit."""
    (first, second), m = (t(part) for part in (one, two)), t(max(one[0], two[0]))
    logs = torch.stack([part[0] + part[1].log() for part in (first, second)])
    output = logs.softmax(dim=0) @ torch.stack([first[2], second[2]])
    return torch.stack([m, (logs.logsumexp(dim=0) - m).exp(), output])


def replace_pairs(ids: Any, first: int, second: int, new: int) -> torch.Tensor:
    """On the text of the ids, which regular expressions read from left to right, too."""
    text = " ".join(map(str, ids))
    replaced = re.sub(rf"\b{first} {second}\b", str(new), text)
    return torch.tensor([int(one) for one in replaced.split()])


def descend(x: Any, y: Any, question: Any, rate: Any) -> torch.Tensor:
    w = torch.zeros(x.shape[1], dtype=torch.float64, requires_grad=True)
    (found,) = torch.autograd.grad(((t(x) @ w - t(y)) ** 2).sum() / 2, w)
    return -rate * found @ t(question)


def step_downhill(state: Any, key: Any, value: Any, rate: Any) -> torch.Tensor:
    """One step down the gradient of half the squared error of what the key recalls."""
    S = t(state).requires_grad_()
    (found,) = torch.autograd.grad(((t(key) @ S - t(value)) ** 2).sum() / 2, S)
    return (S - rate * found).detach()


# What each model answer is compared with: torch's own function.
TORCH: dict[str, Callable[..., Any]] = {
    "assistant": lambda p, rewards, beta: (t(rewards) / beta + t(p).log()).softmax(dim=0),
    "attention-function": lambda q, k, v, mask: attend(q, k, v, attn_mask=t(mask)),
    "batches": lambda s: create_mask(
        lambda _, __, q, k: (t(s)[q] == t(s)[k]) & (t(s)[k] > 0) & (k <= q),
        *(None, None, len(s), len(s), "cpu"),
    )[0, 0],
    "encoders": lambda x, real: torch.nn.functional.batch_norm(
        t(x), t(x)[real].mean(dim=0), t(x)[real].var(dim=0, correction=0), eps=0.0
    ),
    "cross-attention": lambda lengths, n: torch.nn.utils.rnn.pad_sequence(
        [torch.ones(length) for length in [*lengths, n]], batch_first=True
    )[:-1, None],
    "eight-steps": lambda Q, K, V: attend(Q, K, V, scale=1.0),
    "generation": lambda q, k, v, K, V: attend(
        q[None], np.concatenate([K, k[None]]), np.concatenate([V, v[None]])
    )[0],
    "maps": lambda maps: torch.linalg.multi_dot(
        [torch.lerp(t(A), t(np.eye(len(A))), 0.5) for A in [*maps[::-1], np.eye(maps.shape[1])]]
    ),
    "in-context": descend,
    "in-pieces": merge,
    "kernels": lambda queries, places, heights, h: (
        (torch.cdist(t(queries)[:, None], t(places)[:, None]) ** 2 / (-2 * h**2)).softmax(dim=-1)
        @ t(heights)
    ),
    "language-model": lambda logits, targets: functional.cross_entropy(t(logits), t(targets)),
    "learning": softmax_gradient,
    "long-sequences": lambda n, slope: (
        -slope * torch.cdist(torch.arange(n)[:, None].double(), torch.arange(n)[:, None].double())
    ).masked_fill(torch.ones(n, n).triu(1) > 0, -torch.inf),
    "memory": step_downhill,
    "masking": lambda n: torch.ones(n, n).tril(),
    "multi-head": lambda x, h: torch.stack(t(x).chunk(h, dim=-1)),
    "positions": lambda x, angles: torch.view_as_real(
        torch.view_as_complex(t(x)) * torch.exp(1j * t(angles))
    ),
    "precision": lambda scores, mask, c: (c * (t(scores) / c).tanh()).masked_fill(
        ~t(mask), -torch.inf
    ),
    "real-models": lambda x, scale: functional.rms_norm(t(x), [x.shape[1]], t(scale), eps=0),
    "scaling": lambda q, k: torch.einsum("ic,jc->ij", t(q), t(k)) / t(q.shape[1]) ** 0.5,
    "score-functions": lambda q, k: functional.cosine_similarity(t(q)[:, None], t(k)[None], dim=-1),
    "sequences": lambda g, v: torch.distributions.Categorical(t(g)).probs @ t(v),
    "softmax": lambda scores: t(scores).softmax(dim=-1),
    "tokens": replace_pairs,
    "transformer-block": lambda x: functional.layer_norm(t(x), [x.shape[1]], eps=0),
}


@pytest.mark.parametrize("slug", CHAPTERS)
def test_an_answer_gives_what_torch_gives(slug: str, names: dict[str, Any]) -> None:
    task: Task = names["writing"]
    for arguments in task.draw_inputs():
        wanted = TORCH[slug](*arguments).double().numpy()
        np.testing.assert_allclose(np.asarray(task.answer(*arguments), float), wanted, atol=1e-9)


TWICE = Task(
    lambda x: 2 * x,
    [(np.ones(1),), (np.arange(2.0),)],
    {"squared": lambda x: x * x},
    lambda rng: (rng.normal(size=4),),
)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (lambda x: x + x, "✓ Right on all 5 inputs"),
        (lambda x: x * x, "squared"),
        (lambda x: None, "nothing: the function returns no value"),
        (lambda x: x[2], "IndexError: index 2 is out of bounds"),
        (lambda x: "two", "two"),
        (lambda x: [[2.5]], "[[2.5000]]"),
        (lambda x: {}, "dict"),
    ],
)
def test_whatever_is_written_is_judged(written: Callable[..., Any], words: str) -> None:
    assert words in repr(judge(written, TWICE))


def test_an_input_that_is_changed_is_changed_for_nobody_else() -> None:
    def double(x: Any) -> Any:
        x *= 2
        return x

    assert find_failure(double, TWICE) is None
    assert TWICE.inputs[0][0] == 1


@pytest.mark.parametrize("slug", ["softmax"])
def test_a_mistake_is_known_beside_another_one(names: dict[str, Any]) -> None:
    """Of a softmax over the queries that overflows as well, the first is told."""

    def wrong(scores: Any) -> Any:
        return np.exp(scores) / np.exp(scores).sum(axis=0)

    failure = find_failure(wrong, names["writing"])
    assert failure is not None
    assert str(failure.mistake).startswith("Softmax over the queries")


def test_a_rare_likeness_is_no_known_mistake() -> None:
    """Twice and the square agree at 2 alone."""
    inputs, mistakes = [(2.0,), (3.0,)], {"doubled": lambda x: 2 * x}
    task = Task(lambda x: x, inputs, mistakes, lambda rng: (rng.uniform(4, 5),))
    failure = find_failure(lambda x: x * x, task)
    assert failure is not None
    assert (failure.got, failure.mistake) == (4, None)


# Each chapter in English; in another language the same code runs, in its words.
TYPED = [("en", slug) for slug in CHAPTERS]
TYPED += [(lang, "masking") for lang in BUILT if lang != "en"]


@needs_live
@pytest.mark.parametrize(("lang", "slug"), TYPED)
def test_what_a_reader_types_is_judged(lang: str, slug: str, keeper: Any, site: Path) -> None:
    """The model answer is accepted and counted as solved, each known mistake told in its words."""
    verdicts = [*judge_page(keeper, site, slug, lang)]
    assert len(verdicts) > 3
    assert not [fault for _, fault in verdicts if fault]


def test_a_page_judges_what_its_listing_asks_for(site: Path) -> None:
    assert list_written(site) == CHAPTERS
