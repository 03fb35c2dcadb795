"""Redis or Valkey, the fast lane: it may vanish at any moment, and then Windlass is only slower."""
