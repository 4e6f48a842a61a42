"""Teacher translations as training targets. Paper: L.2 (sequence-level distillation)."""
