"""What faces the network: HTTP API and limits."""
