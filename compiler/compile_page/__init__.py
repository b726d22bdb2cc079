"""The compiler in a page: what runs there, in Pyodide, and the folder of files that a web server hosts."""
