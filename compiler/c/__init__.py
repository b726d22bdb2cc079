"""C99: a model as a source file for any compiler, and one that is compiled and loaded here."""
