"""Pure values and decisions. No await, no clock, no randomness: time and chance are arguments."""
