"""Solid shapes as signed distances: analytic ones, pipes, closed meshes."""
