"""Loops and lifetimes: what a running node does all day."""
