"""Networks as files for the runtimes that serve them."""
