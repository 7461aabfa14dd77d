"""Torch modules built from the package's own functions; importing this needs torch."""

from attention_docs.nn.multi_head import MultiHeadAttention
from attention_docs.nn.transformer_block import TransformerEncoderLayer

__all__ = ["MultiHeadAttention", "TransformerEncoderLayer"]
