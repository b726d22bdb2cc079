"""A model file in, a bundle out."""
