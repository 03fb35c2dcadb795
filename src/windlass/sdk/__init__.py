"""What users import."""
