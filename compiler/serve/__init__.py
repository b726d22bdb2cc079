"""Folders of pages and bundles over HTTP, as hosts of static files give them."""
