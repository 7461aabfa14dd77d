"""Self-attention, one module a chapter.

Import the module of the topic:

    from attention_docs.attention_function import attention
    from attention_docs.softmax import softmax

NumPy is enough for every module but those that say that they need torch.
"""
