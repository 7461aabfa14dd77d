"""Multi-head attention as a torch module; this module needs torch."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_docs.checks import requires
from attention_docs.multi_head import Parameters, multi_head_attention
from attention_docs.signatures import checked


class MultiHeadAttention(nn.Module):
    r"""Multi-head attention with learned parameters.

    $$Y = [O_1 \; \dots \; O_h]\, W_O + b_O, \qquad
      O_r = \operatorname{Attention}(X_Q W_Q^r + b_Q^r,\; X_K W_K^r + b_K^r,\; X_V W_V^r + b_V^r)$$

    It holds four linear maps and calls `attention_docs.multi_head.multi_head_attention`. The batch
    comes first, and a mask's True takes part: the other way round than in
    `torch.nn.MultiheadAttention`.

    Args:
        d_model: size of inputs and outputs; every head has size d_model / num_heads.
        num_heads: number of heads, which must divide d_model.
        bias: whether the four linear maps have biases.
        dropout: probability that a weight is dropped while training.
        device: as in torch.
        dtype: as in torch.

    Raises:
        ValueError: the number of heads does not divide d_model.

    Source:
        Vaswani et al. 2017, "Attention Is All You Need", §3.2.2.

    Examples:
        >>> layer = MultiHeadAttention(d_model=64, num_heads=8)
        >>> sum(p.numel() for p in layer.parameters())
        16640
        >>> output, weights = layer(torch.zeros(2, 5, 64))
        >>> tuple(output.shape), tuple(weights.shape)
        ((2, 5, 64), (2, 8, 5, 5))
    """

    @requires(
        "num_heads must divide d_model",
        lambda num_heads, d_model: min(num_heads, d_model) >= 1 and d_model % num_heads == 0,
    )
    def __init__(
        self,
        d_model: int,
        num_heads: int,
        bias: bool = True,
        dropout: float = 0.0,
        *,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        options = {"bias": bias, "device": device, "dtype": dtype}
        self.query = nn.Linear(d_model, d_model, **options)
        self.key = nn.Linear(d_model, d_model, **options)
        self.value = nn.Linear(d_model, d_model, **options)
        self.output = nn.Linear(d_model, d_model, **options)
        self.dropout = nn.Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters: Xavier uniform, biases 0."""
        for linear in (self.query, self.key, self.value, self.output):
            nn.init.xavier_uniform_(linear.weight)
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)

    @classmethod
    @requires(
        lambda other: (
            "other must have kdim = vdim = embed_dim and neither add_bias_kv nor add_zero_attn, "
            f"got {other.kdim}, {other.vdim}, {other.embed_dim}, {other.bias_k is not None} and "
            f"{other.add_zero_attn}"
        ),
        lambda other: (
            other.in_proj_weight is not None and other.bias_k is None and not other.add_zero_attn
        ),
    )
    @requires(
        lambda other: (
            "other must have batch_first=True, since inputs here are (batch, n, d_model), got "
            f"{other.batch_first}; its parameters do not depend on it: set other.batch_first = True"
        ),
        lambda other: other.batch_first,
    )
    def from_torch(cls, other: nn.MultiheadAttention) -> MultiHeadAttention:
        """A module with copies of the parameters of a `torch.nn.MultiheadAttention`.

        It takes over size, heads, biases, dropout, dtype, device and training mode.

        Raises:
            ValueError: the other has `batch_first=False`, and so wants inputs (n, batch, d_model);
                or it has keys or values of another size, `add_bias_kv` or `add_zero_attn`.
        """
        weight, bias = other.in_proj_weight, other.in_proj_bias
        has_bias = bias is not None
        options: dict[str, Any] = {"device": weight.device, "dtype": weight.dtype}
        own = cls(other.embed_dim, other.num_heads, has_bias, other.dropout, **options)
        with torch.no_grad():
            # One matrix holds the three: rows 1 to d make the queries, then keys, then values.
            for i, linear in enumerate((own.query, own.key, own.value)):
                linear.weight.copy_(weight.chunk(3)[i])
                if has_bias:
                    linear.bias.copy_(bias.chunk(3)[i])
            own.output.weight.copy_(other.out_proj.weight)
            if has_bias:
                own.output.bias.copy_(other.out_proj.bias)
        return own.train(other.training)

    def parameters_by_name(self) -> Parameters:
        """The parameters as `multi_head_attention` takes them; gradients pass through.

        `nn.Linear` computes x Wᵀ + b, so each of its matrices is transposed.
        """
        maps = (self.query, self.key, self.value, self.output)
        return Parameters(*(m.weight.mT for m in maps), *(m.bias for m in maps))

    @checked
    def forward(
        self,
        query: Float[Tensor, "... n_q d_model"],
        key: Float[Tensor, "... n_k d_model"] | None = None,
        value: Float[Tensor, "... n_k d_model"] | None = None,
        mask: Tensor | None = None,
    ) -> tuple[Float[Tensor, "... n_q d_model"], Float[Tensor, "... h n_q n_k"]]:
        """Outputs and weights, one map a head, before dropout.

        Args:
            query: (..., n_q, d_model).
            key: (..., n_k, d_model); the query where it is left out: self-attention.
            value: (..., n_k, d_model); the key where it is left out.
            mask: (n_q, n_k), or with all the axes of the weights, such as (batch, 1, n_q, n_k).
                Booleans: True takes part. Floats: added to the scores.

        Raises:
            ValueError: as for `multi_head_attention`.
        """
        key = query if key is None else key
        value = key if value is None else value
        return multi_head_attention(
            query, key, value, self.parameters_by_name(), self.num_heads, mask, self.dropout
        )
