"""From next word to assistant: functions by hand, in torch and in fractions; the page's numbers."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jinja2.sandbox import SandboxedEnvironment

from attention_docs.assistant import (
    add_low_rank,
    chat_text,
    dpo_loss,
    load_answers,
    masked_cross_entropy,
    preference_loss,
    preference_probability,
    tilted_policy,
)
from attention_docs.tokens import cut_text, load_vocabulary
from tests.conftest import scale_examples
from tests.exact import make_test_of_asked
from tests.page import Page, vector_of
from tests.test_heads import FILE, needs_model, read_in_torch, run_in_torch

ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-pencil": [
        [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)],
        [Fraction(1, 7), Fraction(2, 7), Fraction(4, 7)],
        [Fraction(1, 11), Fraction(2, 11), Fraction(8, 11)],
    ],
    "exercise-masked": [Fraction(3, 2), Fraction(8, 5), 3],
    "exercise-rank": [50_000, 4_000_000, 40_000_000],
}
test_what_exercises_ask = make_test_of_asked(ASKED)
KEPT = load_answers()
few = scale_examples(30)
seeds = st.integers(0, 2**32 - 1)


# --- a chat as text -------------------------------------------------------------------------------


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize(
    "messages",
    [
        [("user", "What is the capital of France?")],
        [("system", "Be brief."), ("user", "Hello"), ("assistant", "Hi."), ("user", "Bye")],
        [("assistant", "Hello")],
    ],
)
def test_a_chat_is_what_the_template_makes_of_it(
    messages: list[tuple[str, str]], is_open: bool
) -> None:
    """The template of the model's file, rendered as programs do."""
    template = SandboxedEnvironment().from_string(KEPT.template)
    known = [{"role": role, "content": content} for role, content in messages]
    wanted = template.render(messages=known, add_generation_prompt=is_open)
    assert chat_text(messages, is_open) == wanted


def test_the_chat_of_the_page(chapter: Page) -> None:
    template = SandboxedEnvironment().from_string(KEPT.template)
    known = [{"role": "user", "content": "What is the capital of France?"}]
    wanted = template.render(messages=known, add_generation_prompt=True)
    assert chapter.output("chat").strip() == wanted.strip()
    lines = read_token_lines(chapter.figure("chat"))
    drawn = "".join(token for tokens, _ in lines for token in tokens)
    assert drawn.replace("␣", " ").replace("⏎", "\n") == wanted
    both = "marks: <|im_start|> and <|im_end|>"
    assert [marks for _, marks in lines] == [both, both, "marks: <|im_start|>"]


def read_token_lines(described: str) -> list[tuple[list[str], str]]:
    """The tokens of each line of a figure, and what it says of the filled ones."""
    found = re.findall(r"Line \d+: (.+?)(?: \(([^()]+: [^()]+)\))?\.(?= Line|$)", described)
    return [(tokens.split(" · "), filled) for tokens, filled in found]


# --- losses ---------------------------------------------------------------------------------------


@few
@given(seeds)
def test_masked_cross_entropy_like_torch(seed: int) -> None:
    """torch leaves targets of -100 out; so must the gradient. What is left out may be NaN."""
    rng = np.random.default_rng(seed)
    logits = torch.tensor(rng.normal(size=(3, 5, 7)), requires_grad=True)
    targets, counted = rng.integers(7, size=(3, 5)), rng.random((3, 5)) < 0.5
    counted[rng.integers(3), rng.integers(5)] = True
    ignored = torch.from_numpy(np.where(counted, targets, -100))
    wanted = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ignored.flatten())
    found = masked_cross_entropy(logits, torch.from_numpy(targets), torch.from_numpy(counted))
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=0)
    slopes = (torch.autograd.grad(one, logits)[0] for one in (found, wanted))
    torch.testing.assert_close(*slopes, rtol=1e-10, atol=1e-15)
    spoiled = np.where(counted[..., None], logits.detach().numpy(), np.nan)
    in_numpy = masked_cross_entropy(spoiled, targets, counted)
    np.testing.assert_allclose(in_numpy, wanted.item(), rtol=1e-12)


@given(st.floats(-700, 700), st.floats(-700, 700))
def test_preferences_with_forty_digits(first: float, second: float) -> None:
    lead = mpmath.mpf(first) - mpmath.mpf(second)
    probability = 1 / (1 + mpmath.exp(-lead))
    a, b = np.array([first]), np.array([second])
    np.testing.assert_allclose(preference_probability(a, b), [float(probability)], rtol=1e-12)
    loss = float(mpmath.log1p(mpmath.exp(-lead)))
    np.testing.assert_allclose(preference_loss(a, b), [loss], rtol=1e-12)


def test_dpo_moves_from_its_first_step() -> None:
    """Where the policy is the reference, the loss is ln 2 and its slopes are -β/2 and β/2."""
    before = torch.tensor([-3.0, -8.5], dtype=torch.float64)
    now = before.clone().requires_grad_()
    loss = dpo_loss(now[:1], now[1:], before[:1], before[1:], beta=0.3)
    assert loss.item() == pytest.approx(float(mpmath.log(2)), rel=1e-15)
    (slopes,) = torch.autograd.grad(loss.sum(), now)
    assert slopes.tolist() == pytest.approx([-0.15, 0.15], rel=1e-14)


@few
@given(seeds, st.floats(0.05, 5))
def test_dpo_like_torch(seed: int, beta: float) -> None:
    rng = np.random.default_rng(seed)
    chosen, rejected, chosen_before, rejected_before = rng.normal(-20, 5, (4, 6))
    lead = beta * (chosen - chosen_before - rejected + rejected_before)
    wanted = -torch.nn.functional.logsigmoid(torch.from_numpy(lead))
    found = dpo_loss(chosen, rejected, chosen_before, rejected_before, beta)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


# --- the best policy ------------------------------------------------------------------------------


def test_best_policy_in_fractions() -> None:
    """The reference 1/2, 1/3, 1/6 and e to the reward 3, 1, 6: at β = 1/2 the squares."""
    reference, powers = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], [3, 1, 6]
    for beta, exponent in ((1.0, 1), (0.5, 2)):
        products = [p * power**exponent for p, power in zip(reference, powers, strict=True)]
        wanted = [float(one / sum(products)) for one in products]
        found = tilted_policy(np.array([*map(float, reference)]), np.log([3.0, 1, 6]), beta)
        np.testing.assert_allclose(found, wanted, rtol=1e-13)


@few
@given(seeds, st.floats(0.1, 4))
def test_no_policy_is_better(seed: int, beta: float) -> None:
    """Random policies, and those next to the best one, into all directions."""
    rng = np.random.default_rng(seed)
    reference, rewards = rng.dirichlet(np.full(5, 3.0)), rng.normal(size=5)

    def worth(policy: Any) -> Any:
        return policy @ rewards - beta * (policy * np.log(policy / reference)).sum(axis=-1)

    best = tilted_policy(reference, rewards, beta)
    top = beta * np.log(reference @ np.exp(rewards / beta))
    assert worth(best) == pytest.approx(top, rel=1e-9, abs=1e-12)
    near = best * np.exp(rng.normal(0, 0.05, (200, 5)))
    others = np.concatenate([rng.dirichlet(np.ones(5), 200), near / near.sum(1, keepdims=True)])
    assert (worth(others) < top).all()


def test_low_rank() -> None:
    rng = np.random.default_rng(3)
    W, down, up = rng.normal(size=(6, 4)), rng.normal(size=(6, 2)), rng.normal(size=(2, 4))
    changed = add_low_rank(W, down, up, scale=0.5)
    wanted = [
        [W[i, j] + 0.5 * sum(down[i, r] * up[r, j] for r in range(2)) for j in range(4)]
        for i in range(6)
    ]
    np.testing.assert_allclose(changed, wanted, rtol=1e-13)
    assert np.linalg.matrix_rank(changed - W) == 2
    np.testing.assert_array_equal(add_low_rank(W, down, np.zeros((2, 4))), W)


# --- what was measured ----------------------------------------------------------------------------


@needs_model
def test_answers_again_in_torch() -> None:
    """The file's template and context; both answers token by token, and eight capitals."""
    metadata, p = read_in_torch(FILE.read_bytes())
    assert KEPT.template == metadata["tokenizer.chat_template"]
    assert KEPT.context == metadata["llama.context_length"]
    tokens = metadata["tokenizer.ggml.tokens"]
    ids = {token: i for i, token in enumerate(tokens)}
    ranks = load_vocabulary()[1]
    template = SandboxedEnvironment().from_string(KEPT.template)

    def encode(text: str) -> list[int]:
        found = []
        for part in re.split(r"(<[|]im_start[|]>|<[|]im_end[|]>)", text):
            found += [ids[part]] if part in ids else [ids[one] for one in cut_text(part, ranks)]
        return found

    def ask(about: str) -> list[int]:
        text = f"What is the capital of {about}?"
        if about == "strawberry":
            text = "How many r are in strawberry?"
        question = {"role": "user", "content": text}
        return encode(template.render(messages=[question], add_generation_prompt=True))

    def run(prompt: list[int]) -> torch.Tensor:
        logits, _ = run_in_torch(torch.tensor(prompt), p)
        return torch.softmax(logits.double(), dim=-1)

    for country, kept in KEPT.greedy.items():
        prompt, end = ask(country), "<|im_end|>"
        answer = [*encode(kept["text"]), ids[end]]
        rows = run(prompt + answer)[len(prompt) - 1 : -1]
        assert rows.argmax(dim=-1).tolist() == answer  # the likeliest token each time
        found = [row[i].item() for row, i in zip(rows, answer, strict=True)]
        np.testing.assert_allclose(found, [p for _, p in kept["tokens"]], rtol=0, atol=2e-3)
    for countries in KEPT.capitals.values():
        for country, kept in [*countries.items()][:4]:
            row = run(ask(country) + encode(f"The capital of {country} is"))[-1]
            wanted = [p for _, p in kept["likeliest"]]
            np.testing.assert_allclose(row.topk(10).values, wanted, rtol=0, atol=2e-3)
            perplexity = torch.exp(torch.special.entr(row).sum()).item()
            assert kept["perplexity"] == pytest.approx(perplexity, rel=0.01, abs=0.051)


# --- the chapter ----------------------------------------------------------------------------------


def test_pretraining(chapter: Page) -> None:
    """Six operations for each parameter and token, by hand."""
    rows = {row[""]: row for row in chapter.table("pretraining")}
    assert [row["operations"] for row in rows.values()] == [
        *("1.6 × 10²¹", "1.1 × 10²³", "3.3 × 10²⁴", "3.8 × 10²⁵")
    ]
    (years,) = chapter.values("pretraining")
    assert years == f"{round(2 * 10**12 * 3 // (4 * 250 * 60 * 24 * 365), -3):,}"


def test_bradley_terry(chapter: Page) -> None:
    """Leads of 0, ln 3, 2 and 5."""
    odds = [mpmath.mpf(1), mpmath.mpf(3), mpmath.exp(2), mpmath.exp(5)]
    for row, one in zip(chapter.table("bradley-terry"), odds, strict=True):
        assert float(row["probability of being preferred"]) == pytest.approx(
            float(one / (1 + one)), abs=0.00051
        )
        assert float(row["loss"]) == pytest.approx(float(mpmath.log(1 + 1 / one)), abs=0.00051)


def test_the_slider(chapter: Page) -> None:
    """e to the 2/β beside seven ones."""
    frames = chapter.frames("tilt")
    for frame, beta in zip(frames, (8, 4, 2, 1, 0.5, 0.25), strict=True):
        power = mpmath.exp(2 / mpmath.mpf(beta))
        found = re.search(r"\d\.\d{3}", frame.caption)
        assert found
        assert float(found[0]) == pytest.approx(float(power / (power + 7)), abs=0.00051)


def test_a_chat_asks_for_somebody_in_its_story(chapter: Page) -> None:
    """The answer is what this person does, and a full stop ends it."""
    lines = read_token_lines(chapter.figure("chats"))
    words = [word for tokens, _ in lines for word in tokens]
    assert [filled for _, filled in lines] == ["", "", f"count in the loss: {words[15]} and ."]
    assert (len(words), words[12], words[14], words[16]) == (17, "⟨ask⟩", "⟨answer⟩", ".")
    does = {words[i]: words[i + 1] for i in range(0, 12, 3)}
    assert does[words[13]] == words[15]


def spread(found: list[float]) -> tuple[float, float]:
    return min(found), max(found)


def test_tuning_on_answers(chapter: Page) -> None:
    """What the text says of the table; chance by the rule of the source, in fractions."""
    weights = [Fraction(1, k) for k in range(1, 9)]
    same = sum(w * w for w in weights) / sum(weights) ** 2
    chance = Fraction(1, 4) + Fraction(3, 4) * (same + (1 - same) / 8)
    before, answers, everything, fresh = chapter.vectors("answers", "right answers")
    losses = chapter.vectors("answers", "loss on new stories")
    assert before[:2] == [0.0, 0.0]  # of the marks of one start a verb comes, by luck a right one
    assert 0 < before[2] < float(chance)
    shown = [row["in the chat above"] for row in chapter.table("answers")]
    name, stop, verb = shown[0].split()
    assert (name, stop) == ("ann", ".")
    assert verb in read_token_lines(chapter.figure("chats"))[0][0][1::3]
    assert min(answers) > 0.2 + float(chance)
    assert abs(np.array(fresh) - float(chance)).max() < 0.1
    assert np.mean(answers) > np.mean(everything) > np.mean(fresh)
    assert min(losses[1]) > losses[0][0] + 0.3
    assert losses[0][0] < min(losses[2]) < min(losses[3])
    values = chapter.values("answers")
    assert abs(float(values[0]) - float(chance)) < 0.03  # of 4,000 draws
    assert values[1:] == [
        f"{one:.2f}"
        for one in (
            *spread(answers),
            *spread(everything),
            losses[0][0],
            min(*losses[1], *losses[2]),
        )
    ]


def test_preferences_tilt_the_toy(chapter: Page) -> None:
    """The best policy and its divergence by hand; what the text says of the models."""
    rows, went = (
        {row[""]: row for row in chapter.table(name)} for name in ("preferences", "noise")
    )
    (share,) = chapter.vectors("preferences", "stories in which Ann sings")[0]
    for name, power in (("β = 1", 2), ("β = 1/2", 4), ("β = 1/2, coin", 0)):
        near = []
        for p in (share - 0.005, share + 0.005):
            best = p * mpmath.exp(power) / (p * mpmath.exp(power) + 1 - p)
            least = best * mpmath.log(best / p) + (1 - best) * mpmath.log((1 - best) / (1 - p))
            near.append((best, least))
        shown = rows[name]["with the best policy"], went[name]["that of the best policy"]
        for printed, found in zip(map(float, shown), zip(*near, strict=True), strict=True):
            assert min(found) - 0.005 <= printed <= max(found) + 0.005
    _, one, half, coin = chapter.vectors("preferences", "stories in which Ann sings")
    others = chapter.vectors("preferences", "others' sentences with “sings”")
    far = [vector_of(row["divergence from the reference"]) for row in went.values()]
    assert abs(np.array(one) - float(rows["β = 1"]["with the best policy"])).max() < 0.06
    assert max(half) < float(rows["β = 1/2"]["with the best policy"])
    assert min(others[2]) > 1.5 * others[0][0]
    assert sum(ann > 1.5 * share for ann in coin) == 1
    least = [float(went[name]["that of the best policy"]) for name in ("β = 1", "β = 1/2")]
    detours = np.array([np.array(far[k]) / least[k] for k in (0, 1)])
    values = chapter.values("costs")
    preferred = f"{round(100 / (1 + mpmath.exp(-2)))}%"
    assert values[0] == preferred
    said = [max(coin), min(others[2]), max(others[2]), others[0][0]]
    assert values[1:5] == [f"{one:.2f}" for one in said]
    assert abs(np.array(others[3]) - others[0][0]).max() < 0.02  # with the coin, as before
    # Two more marks in the table hardly change the loss on stories, which have none.
    assert float(values[5]) == pytest.approx(float(chapter.values("answers")[5]), abs=0.03)
    (before,), *after = chapter.vectors("preferences", "loss on ordinary stories")
    rises = [float(np.mean(one)) - before for one in after]
    assert values[5] == f"{before:.2f}"
    assert float(values[6]) == pytest.approx(rises[0], abs=0.06)
    assert f"{rises[0]:.1f}" == f"{rises[2]:.1f}" == values[6]  # and with the coin
    assert rises[1] > 2 * max(rises[0], rises[2])
    best = rows["β = 1/2"]["with the best policy"]
    assert values[7:10] == [f"{min(half):.2f}", f"{max(half):.2f}", best]
    assert [float(one) for one in values[10:12]] == pytest.approx(
        [detours.min(), detours.max()], abs=0.1
    )
    assert values[12:14] == [f"{min(far[2]):.2f}", f"{max(far[2]):.2f}"]


def test_the_best_of_many(chapter: Page) -> None:
    """β ln C in fractions: e to the reward is 1, 2, 4."""
    for row, beta in zip(chapter.table("policy-drawn"), (2, 1, 0.5), strict=True):
        powers = [mpmath.power(base, 1 / mpmath.mpf(beta)) for base in (1, 2, 4)]
        wanted = beta * mpmath.log(powers[0] / 2 + powers[1] / 4 + powers[2] / 4)
        for column in ("β ln C", "best policy"):
            assert float(row[column]) == pytest.approx(float(wanted), abs=0.00051)
        assert float(row["best of the others"]) <= float(row["best policy"])


def test_three_texts(chapter: Page) -> None:
    """The probabilities in fractions, by hand; rewards 0, ln 3, ln 3 and β = 1."""
    half, third, sixth = Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)
    products = [half * 1, third * 3, sixth * 3]
    best = [one / sum(products) for one in products]
    assert best == [Fraction(1, 4), half, Fraction(1, 4)]
    ln2, ln3 = mpmath.log(2), mpmath.log(3)
    wanted = [  # mean reward, divergence and their difference, worked out by hand
        ([half, third, sixth], ln3 / 2, 0),
        (best, 3 * ln3 / 4, 3 * (ln3 - ln2) / 4 - ln2 / 4),
        ([0, 1, 0], ln3, ln3),
    ]
    for row, (policy, reward, divergence) in zip(chapter.table("three-texts"), wanted, strict=True):
        cells = [float(one) for one in list(row.values())[1:]]
        exact = [*map(float, policy), float(reward), float(divergence), float(reward - divergence)]
        assert cells[:3] == pytest.approx(exact[:3], abs=0.0051)
        assert cells[3:] == pytest.approx(exact[3:], abs=0.00051)
    assert float(chapter.values("policy")[0]) == pytest.approx(float(ln2), abs=0.00051)


def test_a_stable_formula_stands_still(chapter: Page) -> None:
    """The right slope is -σ(0) = -1/2; the wrong one is 0."""
    wrong, right = chapter.table("mistake-still")
    assert wrong["loss"] == right["loss"] == f"{float(mpmath.log(2)):.4f}"
    assert [float(row["slope"].replace("−", "-")) for row in (wrong, right)] == [0, -0.5]


def test_low_rank_counts(chapter: Page) -> None:
    rows = chapter.table("rank")
    whole = [576 * 576, 1536 * 576]
    low = [8 * (576 + 576), 8 * (1536 + 576)]
    assert chapter.column("rank", "entries of the matrix") == whole
    assert chapter.column("rank", "trained at rank 8") == low
    fewer = [f"{a / b:.0f}" for a, b in zip(whole, low, strict=True)]
    assert [row["as many times fewer"] for row in rows] == fewer
    square, narrow = 8 * (576 + 576), 8 * (576 + 192)
    counts = [square + narrow, 2 * (square + narrow), 2 * (square + narrow) + 3 * low[1]]
    assert chapter.values("low-rank") == [f"{one:,}" for one in counts]


def test_alpha_over_rank(chapter: Page) -> None:
    """By hand for a fixed rank: α twice as large makes 4 and 2; by ranks, other random columns."""
    eight, double, more = chapter.grid("alpha")
    assert (eight, double) == ([1, 1, 1], [2, 4, 2])
    assert more[0] == 0.5
    assert more[1:] == pytest.approx([1, 2], abs=0.25)


def test_what_it_invents(chapter: Page) -> None:
    """A bar for each of the kept answers, in their order; the check is of all pairs of both."""
    bars = re.findall(r"(\w+) (\d+\.\d) for (\w+)[;.]", chapter.figure("invents"))
    kept = [one for kind in ("real", "made up") for one in KEPT.capitals[kind].items()]
    assert [country for _, _, country in bars] == [country for country, _ in kept]
    for (token, perplexity, _), (_, one) in zip(bars, kept, strict=True):
        assert token == one["likeliest"][0][0].strip()
        assert float(perplexity) == one["perplexity"]
    assert max(float(bar[1]) for bar in bars[:12]) < min(float(bar[1]) for bar in bars[12:])
    real = KEPT.capitals["real"].values()
    known = sum(one["name"].startswith(one["likeliest"][0][0].strip()) for one in real)
    around = [p for _, p in KEPT.greedy["Zubrowka"]["tokens"][1:8]]
    made_up = KEPT.capitals["made up"].values()
    put_off = sum(one["likeliest"][0][0] in (" a", " the") for one in made_up)
    assert chapter.values("invents") == [f"{min(around):.2f}", str(known), str(put_off)]
    countries = {**KEPT.capitals["real"], **KEPT.capitals["made up"]}
    assert chapter.names("countries") == [*countries]
    for row, kept in zip(chapter.table("countries"), countries.values(), strict=True):
        token, p = kept["likeliest"][0]
        assert (row["likeliest token"], row["probability"]) == (token.strip(), f"{p:.2f}")
    assert chapter.values("assistant")[:2] == [
        KEPT.greedy[one]["text"] for one in ("France", "Zubrowka")
    ]
    assert chapter.values("chat") == [f"{KEPT.context:,d}"]


def test_exercises(chapter: Page) -> None:
    assert [*chapter.table("exercise-pencil")[0].values()] == ["0.25", "0.25", "0.50"]
    assert [*chapter.table("exercise-masked")[0].values()] == ["1.5", "1.6"]
    assert chapter.table("exercise-rank")[0] == {
        "two factors": "50,000",
        "whole matrix": "4,000,000",
    }
