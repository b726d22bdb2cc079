"""Graph IR and the passes over it; one file per pass, named like it."""
