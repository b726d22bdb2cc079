"""The files of the compile page, for `webnn-compile-page`."""
