"""Detection between two solids against brute force: counts of configurations that disagree, by what is wrong.

python tests/collision_survey.py --random 100000 --degenerate 1000
"""

import argparse
from collections import Counter

import numpy as np

from brute_force import solids_intersect, surface_distance
from configurations import SIZE, degenerate_batches, random_batches
from pliant.collision import CollisionSurface, ProximityOptions, surface_contacts
from pliant.collision.penetration import surface_overlap

MARGIN = 0.2 * SIZE
EXACT = 2e-7
"""m, distances agree within this: 2e-5 of the size."""
FLUSH = 0.04 * SIZE
"""m, so near to an edge of a face that it opposes, a vertex is measured along the normal of that face, and its gap may
be less than its distance: 1 % of the sides of the triangle."""


def judge(batch, *, measure_overlap=True):
    """What is wrong with each configuration of a batch, or "", and whether the solids overlap."""
    x = np.broadcast_to(batch.points, (len(batch.others), *batch.points.shape))
    distance = surface_distance(x, batch.triangles, batch.others, batch.other_triangles)
    if batch.signed is None:
        meet = solids_intersect(x, batch.triangles, batch.others, batch.other_triangles)
    else:
        meet, distance = batch.signed < -EXACT, np.maximum(batch.signed, 0.0)
    a = CollisionSurface.build(batch.triangles, batch.points).at(batch.points)
    surface = CollisionSurface.build(batch.other_triangles, batch.others[0])
    for k, y in enumerate(batch.others):
        b = surface.at(y)
        found = surface_contacts(a, b, ProximityOptions(margin=MARGIN))
        least = float(found.gap.min(initial=np.inf))
        overlap = surface_overlap(a, b) if measure_overlap else None
        depth = 0.0 if overlap is None else overlap.depth
        yield _verdict(bool(meet[k]), float(distance[k]), least, depth, overlap, batch.signed, k), bool(meet[k])


def _verdict(meet, distance, least, depth, overlap, signed, k):
    if meet:
        if overlap is not None and depth <= 0.0:
            return "overlap not noticed"
        if signed is not None and depth > -signed[k] + EXACT:
            return "overlap too deep"
        on_surface = overlap is not None and max(overlap.of_a.depth, overlap.of_b.depth) > EXACT
        return "overlap without a contact" if on_surface and not least < 0.0 else ""
    if least < -EXACT or depth > EXACT:
        return "false overlap"
    if distance < MARGIN - EXACT:
        if not np.isfinite(least):
            return "missed pair"
        short = distance - least
        if short < -EXACT or short > (EXACT if distance > FLUSH else distance + EXACT):
            return "wrong distance"
    elif distance > MARGIN + EXACT and np.isfinite(least):
        return "contact beyond the margin"
    return ""


def survey(batches, **options):
    """Counts of all verdicts, of configurations "apart" and "overlapping"."""
    counts = Counter()
    for batch in batches:
        for verdict, meet in judge(batch, **options):
            counts["overlapping" if meet else "apart"] += 1
            if verdict:
                counts[verdict] += 1
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=2000)
    parser.add_argument("--degenerate", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for name, made in (("degenerate", degenerate_batches), ("random", random_batches)):
        print(name, dict(survey(made(getattr(arguments, name), seed=arguments.seed))), flush=True)
