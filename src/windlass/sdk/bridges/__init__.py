"""Where the SDK meets libraries of other people. Nothing here is imported unless asked for."""
