"""Builds what is published: the wheel, its bill of materials, the npm package."""
