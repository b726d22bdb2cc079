"""Schedule rules, one per shape of nest."""
