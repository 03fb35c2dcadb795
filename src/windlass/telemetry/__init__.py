"""What happens, as numbers and lines."""
