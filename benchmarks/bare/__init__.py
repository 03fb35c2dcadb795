"""The bare speeds: the same rows and the same server with nothing of a job engine around them."""
