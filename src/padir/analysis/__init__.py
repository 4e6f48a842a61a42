"""Measurements on trained models and their output."""
