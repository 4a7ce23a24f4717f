"""A strip of Dragon Skin 20 at three times its length, compared with the tensile test of its material."""

import numpy as np

import pliant as pl

LENGTH, SIDE = 0.05, 0.01
silicone = pl.materials.dragon_skin_20

scene = pl.Scene()
mesh = pl.mesh.box((SIDE, SIDE, LENGTH), (2, 2, 6), symmetric="")  # an eighth: its middle planes are not of symmetry
strip = scene.add(pl.Volume(mesh, silicone(poisson=0.495)))
for axis in "xyz":  # an eighth of the whole strip, between three planes of symmetry
    scene.add(pl.Support(strip, pl.regions.plane(axis=axis, at=0), axes=axis))
grip = scene.add(pl.Support(strip, pl.regions.plane(axis="z", at=LENGTH), axes="z"))
world = scene.compile()

held = pl.regions.plane(axis="z", at=LENGTH).nodes(mesh.points, what="grip")
strains, measured = silicone.data()
state, stresses = world.initial_state(), []
for strain in strains:
    state, info = pl.QuasiStatic()(world, state, {grip: pl.Displacement(strain * LENGTH)})
    stresses.append(info.reaction(strip)[held, 2].sum() / SIDE**2)

print(f"{silicone.name}\nstrain   simulated   measured")
for strain, stress, reference in zip(strains, stresses, measured, strict=True):
    print(f"{strain:6.2f} {1e-3 * stress:8.0f} kPa {1e-3 * reference:6.0f} kPa")

error = np.sqrt(np.mean((np.array(stresses) - measured) ** 2)) / measured.max()
print(f"root mean square difference {error:.1%} of the largest stress")
assert error < 0.05, f"the simulated strip differs from its tensile test by {error:.1%}, more than 5 %"
