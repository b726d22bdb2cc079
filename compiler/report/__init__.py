"""Reports of a build for people: one page, which needs no other file."""
