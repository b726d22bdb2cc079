"""Pictures as inputs: how pixels become the elements that a model takes."""
