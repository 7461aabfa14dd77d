"""From a model of text to an assistant: the text of a chat, losses of its tuning, preferences."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

from jaxtyping import Bool, Float, Int

from attention_docs.checks import requires
from attention_docs.language_model import cross_entropy
from attention_docs.signatures import Array, array_namespace, checked
from attention_docs.softmax import softmax
from attention_docs.tokens import FOLDER

ANSWERS = "answers.json"
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
"""What the template of SmolLM2-135M-Instruct says first, unless a chat begins otherwise."""


class Answers(NamedTuple):
    """What SmolLM2-135M-Instruct answers, as measured.

    Attributes:
        template: the template of its chats, as it stands in the model's file.
        context: the largest number of tokens that it was trained to read at once.
        greedy: for three questions the answer of the likeliest tokens, as "text" and "tokens",
            each with its probability.
        capitals: for each kind of country, "real" or "made up", the countries; of each the "name"
            of its capital, if there is one, the "likeliest" tokens after "The capital of … is",
            and the "perplexity" of that distribution.
    """

    template: str
    context: int
    greedy: dict[str, dict[str, Any]]
    capitals: dict[str, dict[str, dict[str, Any]]]


# --- a chat as text -------------------------------------------------------------------------------


@requires(
    lambda messages: f"roles must be system, user or assistant, got {[r for r, _ in messages]}",
    lambda messages: {role for role, _ in messages} <= {"system", "user", "assistant"},
)
def chat_text(messages: Sequence[tuple[str, str]], is_open: bool = True) -> str:
    """The one text that a chat is to SmolLM2-135M-Instruct, as its template writes it.

    Args:
        messages: each a role, "system", "user" or "assistant", and what it says.
        is_open: whether the text ends where the assistant is to go on.

    Raises:
        ValueError: another role.

    Source:
        `tokenizer.chat_template` in the model's file; OpenAI 2023, "Chat Markup Language".

    Examples:
        >>> print(chat_text([("system", "Be brief."), ("user", "Hello")]))
        <|im_start|>system
        Be brief.<|im_end|>
        <|im_start|>user
        Hello<|im_end|>
        <|im_start|>assistant
        <BLANKLINE>
    """
    if messages and messages[0][0] != "system":
        messages = [("system", SYSTEM), *messages]
    said = [f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in messages]
    return "".join(said) + ("<|im_start|>assistant\n" if is_open else "")


# --- tuning on answers ----------------------------------------------------------------------------


@requires(
    "counted must hold True somewhere", lambda counted: bool(array_namespace(counted).any(counted))
)
def masked_cross_entropy(
    logits: Float[Array, "*batch vocabulary"],
    targets: Int[Array, "*batch"],
    counted: Bool[Array, "*batch"],
) -> Float[Array, ""]:
    r"""The mean loss of those predictions that count, such as the tokens of an answer.

    $$L = -\frac{1}{|A|} \sum_{i \in A} \ln \operatorname{softmax}(z_i)_{t_i}$$

    Args:
        logits: z (..., vocabulary), real floats.
        targets: t (...), integers: the ids of the tokens that came.
        counted: (...), booleans: True where a prediction counts, the set A.

    Returns:
        One number, in nats.

    Raises:
        ValueError: nothing counts, or an id without a logit.

    Source:
        Ouyang et al. 2022, "Training language models to follow instructions", §3.5: supervised
        fine-tuning.

    Examples:
        Probabilities 1/4, 1/2 and 1/8, of which the last two count: (ln 2 + ln 8) / 2 = 2 ln 2.

        >>> import numpy as np
        >>> logits = np.log(np.array([[1.0, 3], [1, 1], [7, 1]]))
        >>> targets, counted = np.array([0, 1, 1]), np.array([False, True, True])
        >>> round(float(masked_cross_entropy(logits, targets, counted) / np.log(2)), 6)
        2.0
    """
    xp = array_namespace(logits)
    losses = cross_entropy(logits, targets)
    kept = xp.where(counted, losses, xp.zeros_like(losses))
    return xp.sum(kept) / xp.sum(xp.astype(counted, losses.dtype))


# --- preferences ----------------------------------------------------------------------------------


@checked
def preference_probability(
    first: Float[Array, "*batch"], second: Float[Array, "*batch"]
) -> Float[Array, "*batch"]:
    r"""How probable it is that the first of two is preferred, by their rewards (Bradley–Terry).

    $$P(a, b) = \frac{e^{r_a}}{e^{r_a} + e^{r_b}} = \sigma(r_a - r_b)$$

    Args:
        first: r_a (...), real floats.
        second: r_b (...).

    Returns:
        Probabilities (...).

    Source:
        Bradley and Terry 1952, "Rank Analysis of Incomplete Block Designs: I".

    Examples:
        A lead of ln 3 is a preference of 3 to 1.

        >>> import numpy as np
        >>> preference_probability(np.log(np.array([3.0, 1])), np.zeros(2)).round(4).tolist()
        [0.75, 0.5]
    """
    xp = array_namespace(first)
    return softmax(xp.stack([first, second], axis=-1))[..., 0]


@checked
def preference_loss(
    chosen: Float[Array, "*batch"], rejected: Float[Array, "*batch"]
) -> Float[Array, "*batch"]:
    r"""The loss of rewards, where one of two was preferred: minus the logarithm of how probable.

    $$\ell = -\ln \sigma(r_a - r_b) = \ln\bigl(1 + e^{r_b - r_a}\bigr)$$

    Args:
        chosen: r_a (...), real floats: the rewards of what was preferred.
        rejected: r_b (...): those of what was not.

    Returns:
        The losses (...), in nats.

    Source:
        Ouyang et al. 2022, "Training language models to follow instructions", equation 1.

    Examples:
        Equal rewards cost ln 2 = 0.6931, a lead of ln 3 costs ln 4/3 = 0.2877.

        >>> import numpy as np
        >>> preference_loss(np.log(np.array([1.0, 3])), np.zeros(2)).round(4).tolist()
        [0.6931, 0.2877]
    """
    xp = array_namespace(chosen)
    # Not by |r_a - r_b|, which torch gives the slope 0 at 0, where the tuning of a policy begins.
    return xp.logaddexp(xp.zeros_like(chosen), rejected - chosen)


@requires("beta must be positive and finite", lambda beta: 0 < beta < inf)
def dpo_loss(
    chosen: Float[Array, "*batch"],
    rejected: Float[Array, "*batch"],
    chosen_before: Float[Array, "*batch"],
    rejected_before: Float[Array, "*batch"],
    beta: float,
) -> Float[Array, "*batch"]:
    r"""Direct preference optimization: the policy's own log-ratios as rewards.

    $$\ell = -\ln \sigma\Bigl(\beta \ln \frac{\pi(a)}{\pi_\text{ref}(a)}
      - \beta \ln \frac{\pi(b)}{\pi_\text{ref}(b)}\Bigr)$$

    Args:
        chosen: ln π (...) of the texts that were preferred, real floats.
        rejected: ln π (...) of those that were not.
        chosen_before: ln π_ref of the first.
        rejected_before: ln π_ref of the second.
        beta: β, positive and finite, in units of the reward.

    Returns:
        The losses (...), in nats; ln 2 where the policy is still the reference.

    Raises:
        ValueError: β is not positive and finite.

    Source:
        Rafailov et al. 2023, "Direct Preference Optimization", equation 7.

    Examples:
        The preferred text became 9 times as probable, the other stayed: at β = 1/2 its reward
        leads by ln 3, and the loss is ln 4/3 = 0.2877.

        >>> import numpy as np
        >>> before = np.log(np.array([0.1]))
        >>> dpo_loss(np.log(np.array([0.9])), before, before, before, 0.5).round(4).tolist()
        [0.2877]
    """
    loss: Array = preference_loss(
        beta * (chosen - chosen_before), beta * (rejected - rejected_before)
    )
    return loss


@requires("beta must be positive and finite", lambda beta: 0 < beta < inf)
@requires("reference must be positive", lambda reference: bool((reference > 0).all()))
def tilted_policy(
    reference: Float[Array, "... n"], rewards: Float[Array, "... n"], beta: float
) -> Float[Array, "... n"]:
    r"""The policy with the highest reward minus β times its divergence from a reference.

    $$\pi^*_y = \frac{\pi_{\text{ref}, y}\, e^{r_y / \beta}}{\sum_u \pi_{\text{ref}, u}\, e^{r_u /
      \beta}} = \operatorname{softmax}(r / \beta + \ln \pi_\text{ref})_y$$

    Args:
        reference: π_ref (..., n), positive, real floats; each row sums to 1.
        rewards: r (..., n).
        beta: β, positive and finite, in units of the reward.

    Returns:
        Probabilities (..., n).

    Raises:
        ValueError: β is not positive and finite, or a probability is not positive.

    Source:
        Rafailov et al. 2023, "Direct Preference Optimization", equation 4.

    Examples:
        1/2, 1/4, 1/4 times 1, 1, 4 are 2/4, 1/4, 4/4: of seven quarters.

        >>> import numpy as np
        >>> reference, rewards = np.array([0.5, 0.25, 0.25]), np.log(np.array([1.0, 1, 4]))
        >>> (7 * tilted_policy(reference, rewards, 1.0)).round(4).tolist()
        [2.0, 1.0, 4.0]
    """
    xp = array_namespace(reference)
    policy: Array = softmax(rewards / beta + xp.log(reference))
    return policy


# --- low-rank updates -----------------------------------------------------------------------------


@checked
def add_low_rank(
    W: Float[Array, "d_in d_out"],
    down: Float[Array, "d_in rank"],
    up: Float[Array, "rank d_out"],
    scale: float = 1.0,
) -> Float[Array, "d_in d_out"]:
    r"""A matrix of parameters and a change of low rank, of which only the two factors are trained.

    $$W' = W + c\, D U$$

    Args:
        W: (d_in, d_out), real floats; it stays as it is.
        down: D (d_in, rank).
        up: U (rank, d_out); 0 at the start of training, so that nothing changes.
        scale: c.

    Returns:
        W' (d_in, d_out).

    Source:
        Hu et al. 2022, "LoRA: Low-Rank Adaptation of Large Language Models", §4.1.

    Examples:
        >>> import numpy as np
        >>> add_low_rank(np.eye(2), np.array([[1.0], [2]]), np.array([[0.0, 3]])).tolist()
        [[1.0, 3.0], [0.0, 7.0]]
    """
    return W + scale * (down @ up)


# --- what was measured ----------------------------------------------------------------------------


def load_answers() -> Answers:
    """What SmolLM2-135M-Instruct answers when it is asked for capitals, as measured.

    Examples:
        >>> load_answers().context
        8192
    """
    found: dict[str, Any] = json.loads((FOLDER / ANSWERS).read_text(encoding="utf-8"))
    return Answers(*(found[name] for name in Answers._fields))
