"""Attention whose features are independent, and the linear solves that turn features into a stream."""
