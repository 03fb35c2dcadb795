"""What Windlass is held to, one figure a file: `figures(stage)` measures it and judges it."""
