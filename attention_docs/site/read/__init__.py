"""Read pages and listings from disk, once, and compare translations with their originals."""
