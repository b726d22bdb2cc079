"""Package data: the JavaScript runtime. A package, so that an editable install finds it as a wheel does."""
