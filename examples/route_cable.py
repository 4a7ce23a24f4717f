"""Route one cable through a bar so that pulling it bends the bar into a wanted S.

A cable along one side bends a bar into an arc. Where its guides must sit for an S, whose tip moves aside without
turning, is found by descent on their heights and on the pull at once; the derivatives by all of them come from one
adjoint solve per equilibrium.
"""

import numpy as np

import pliant as pl

LENGTH, HEIGHT = 0.12, 0.016  # m
STATIONS = np.array([0.03, 0.06, 0.09, 0.12])  # along the bar, where its shape is prescribed, m
ASIDE = 0.012  # of the tip, m
SQUEEZED = 0.015  # of the length of the bar
FARTHEST = 3e-4  # of a station from the wanted shape, m

scene = pl.Scene()  # the bar lies on a table
rubber = pl.materials.Corotated(young=0.4e6, poisson=0.45, density=1070)
mesh = pl.mesh.box((LENGTH, HEIGHT, HEIGHT), (12, 2, 2))
bar = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="x", at=0), name="bar"))
middle = 0.5 * HEIGHT
guides = np.array([(x, middle, 0.75 * HEIGHT) for x in np.linspace(0.002, LENGTH - 0.002, 9)])  # the drawing: one side
cable = scene.add(pl.Cable(bar, guides, name="cable"))
world = scene.compile()

s = STATIONS / LENGTH  # the wanted axis has the length of the bar, less what the cable compresses it
shortened = SQUEEZED * STATIONS + 18 * ASIDE**2 / LENGTH * (s**3 / 3 - s**4 / 2 + s**5 / 5)
wanted = np.stack([STATIONS - shortened, 0 * s + middle, middle + ASIDE * (3 * s**2 - 2 * s**3)], axis=1)

marks = [pl.robots.Marker(bar, (x, middle, middle)) for x in STATIONS]
first, *others = (1e6 * pl.losses.Position(mark, place) for mark, place in zip(marks, wanted, strict=True))  # mm²
only = np.zeros(guides.shape, bool)
only[:, 2] = True  # guides stay where they are along the bar, and may move up and down
inside = (np.array([0, 0, 0.1 * HEIGHT]), np.array([LENGTH, HEIGHT, 0.9 * HEIGHT]))
route = pl.variables.Design(pl.parameters.Route(cable), bounds=inside, only=only)
pull = pl.variables.Command(cable, bounds=(0.0, 0.01), guess=0.002)
found = pl.optimize(
    world, pl.QuasiStatic(tolerance=1e-8), sum(others, first), variables=[route, pull], rollouts=100, target=0.05
)

state = found.run().state(-1)
away = np.array([np.linalg.norm(mark.at(state) - place) for mark, place in zip(marks, wanted, strict=True)])
heights = ", ".join(f"{1e3 * z:.1f}" for z in found[route][:, 2] - middle)
print(f"{found.rollouts} equilibria with their gradients; the cable is pulled by {1e3 * found[pull][0]:.2f} mm")
print(f"guides at {heights} mm from the axis")
print(f"stations are {', '.join(f'{1e3 * x:.2f}' for x in away)} mm from the wanted S, whose tip is 12 mm aside")
assert away.max() < FARTHEST, f"a station is {1e3 * away.max():.2f} mm from its place, more than {1e3 * FARTHEST:g} mm"
