"""What a client can talk about, one noun a file."""
