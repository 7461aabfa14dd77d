"""An encoder block as a torch module; this module needs torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_docs.checks import requires
from attention_docs.nn.multi_head import MultiHeadAttention
from attention_docs.signatures import checked
from attention_docs.transformer_block import BlockParameters, encoder_block, relu

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": relu, "gelu": nn.functional.gelu}


class TransformerEncoderLayer(nn.Module):
    r"""One Transformer block with learned parameters.

    $$\begin{aligned}
      \text{post-norm:} \quad z &= \operatorname{LN}_1(x + \operatorname{MHA}(x)),
      & y &= \operatorname{LN}_2(z + \operatorname{FFN}(z)) \\
      \text{pre-norm:} \quad z &= x + \operatorname{MHA}(\operatorname{LN}_1(x)),
      & y &= z + \operatorname{FFN}(\operatorname{LN}_2(z))
      \end{aligned}$$

    It calls `attention_docs.transformer_block.encoder_block`. The batch comes first, and a mask's
    True takes part: the other way round than in `torch.nn.TransformerEncoderLayer`.

    Args:
        d_model: size of inputs and outputs.
        num_heads: number of heads, which must divide d_model.
        d_ff: size of the hidden layer of the feed-forward network.
        dropout: probability that a number is dropped while training, in all four places.
        norm_first: False is post-norm, True is pre-norm.
        activation: "relu", "gelu", or a function of a tensor.
        bias: whether the linear maps have biases and the LayerNorms have shifts.
        layer_norm_eps: ε of both LayerNorms.
        device: as in torch.
        dtype: as in torch.

    Raises:
        ValueError: the number of heads does not divide d_model, d_ff is below 1, or an activation
            without a name here.

    Source:
        Vaswani et al. 2017, "Attention Is All You Need", §3.1 to §3.3 and §5.4.

    Examples:
        12·64² + 13·64 parameters.

        >>> layer = TransformerEncoderLayer(d_model=64, num_heads=8, d_ff=256)
        >>> sum(p.numel() for p in layer.parameters())
        49984
        >>> tuple(layer(torch.zeros(2, 5, 64)).shape)
        (2, 5, 64)
    """

    @requires("d_ff must be at least 1", lambda d_ff: d_ff >= 1)
    @requires(
        lambda activation: (
            f"activation must be a function or one of {[*ACTIVATIONS]}, got {activation!r}"
        ),
        lambda activation: callable(activation) or activation in ACTIVATIONS,
    )
    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int = 2048,
        dropout: float = 0.1,
        norm_first: bool = False,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        bias: bool = True,
        *,
        layer_norm_eps: float = 1e-5,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_heads, self.norm_first, self.eps = num_heads, norm_first, layer_norm_eps
        self.activation = ACTIVATIONS[activation] if isinstance(activation, str) else activation
        options: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.attention = MultiHeadAttention(d_model, num_heads, dropout=dropout, **options)
        self.linear_1 = nn.Linear(d_model, d_ff, **options)
        self.linear_2 = nn.Linear(d_ff, d_model, **options)
        self.norm_1 = nn.LayerNorm(d_model, layer_norm_eps, **options)
        self.norm_2 = nn.LayerNorm(d_model, layer_norm_eps, **options)
        self.dropout = nn.Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters: Xavier uniform, biases and shifts 0, scales 1."""
        self.attention.reset_parameters()
        for linear in (self.linear_1, self.linear_2):
            nn.init.xavier_uniform_(linear.weight)
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)
        self.norm_1.reset_parameters()
        self.norm_2.reset_parameters()

    @classmethod
    def from_torch(cls, other: nn.TransformerEncoderLayer) -> TransformerEncoderLayer:
        """A module with copies of the parameters of a `torch.nn.TransformerEncoderLayer`.

        It takes over sizes, heads, biases, dropout, order of the norms, activation, ε, dtype,
        device and training mode.

        Raises:
            ValueError: as for `MultiHeadAttention.from_torch`.
        """
        first = other.linear1.weight
        d_ff, d_model = first.shape
        own = cls(
            d_model,
            other.self_attn.num_heads,
            d_ff,
            other.dropout.p,
            other.norm_first,
            other.activation,
            other.linear1.bias is not None,
            layer_norm_eps=other.norm1.eps,
            device=first.device,
            dtype=first.dtype,
        )
        own.attention = MultiHeadAttention.from_torch(other.self_attn)
        for name in ("linear_1", "linear_2", "norm_1", "norm_2"):
            theirs = getattr(other, name.replace("_", ""))
            getattr(own, name).load_state_dict(theirs.state_dict())
        return own.train(other.training)

    def parameters_by_name(self) -> BlockParameters:
        """The parameters as `encoder_block` takes them; gradients pass through."""
        return BlockParameters(
            self.attention.parameters_by_name(),
            self.linear_1.weight.mT,  # nn.Linear computes x Wᵀ + b
            self.linear_2.weight.mT,
            self.linear_1.bias,
            self.linear_2.bias,
            self.norm_1.weight,
            self.norm_1.bias,
            self.norm_2.weight,
            self.norm_2.bias,
        )

    @checked
    def forward(
        self, x: Float[Tensor, "... n d_model"], mask: Tensor | None = None
    ) -> Float[Tensor, "... n d_model"]:
        """Outputs of the block.

        Args:
            x: (..., n, d_model).
            mask: (n, n), or with all the axes of the weights, such as (batch, 1, n, n). Booleans:
                True takes part. Floats: added to the scores. A token whose keys are all masked
                out gets weights of 0, where torch's layer gives NaN.

        Raises:
            ValueError: as for `encoder_block`.
        """
        output: Tensor = encoder_block(
            x,
            self.parameters_by_name(),
            self.num_heads,
            mask,
            self.norm_first,
            self.activation,
            self.dropout,
            self.eps,
        )
        return output
