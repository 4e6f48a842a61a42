"""Training: loop, step, objective, corruption, losses, optimizer, checkpoints."""
