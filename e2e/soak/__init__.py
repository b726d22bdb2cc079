"""Long runs of models of all kinds in browsers: results stay right, and memory stays flat."""
