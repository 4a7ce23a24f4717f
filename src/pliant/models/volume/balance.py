"""The balance of forces of a volume, and whether its supports have still to move."""

from __future__ import annotations

from pliant.core.kernels import kernel


@kernel
def balance(mass, gravity, loads, internal, velocity, rate, fixed, target, q, dx, fraction, rounding, r, free):
    """r := external − internal + momentum (n, 3), and the same with zeros at `fixed` unknowns into `free`.

    External forces are mass (n,) × gravity (3,) and `loads` (n, 3), empty where there are none; the momentum is
    rate × mass × velocity (n, 3). Returns the largest of the squared norms of the three, and whether `fixed` unknowns
    are not yet at `fraction` of the way from q to `target` (n, 3), as `has_motion_left` does.
    """
    e = i = m = 0.0
    left = False
    loaded = loads.shape[0] > 0
    for n in range(r.shape[0]):
        for a in range(3):
            x, y, z = mass[n] * gravity[a], internal[n, a], mass[n] * (rate * velocity[n, a])
            if loaded:
                x += loads[n, a]
            r[n, a] = x - y + z
            free[n, a] = 0.0 if fixed[n, a] else r[n, a]
            e += x * x
            i += y * y
            m += z * z
    for n in range(r.shape[0]):
        for a in range(3):
            if fixed[n, a]:
                way = abs(fraction * (target[n, a] - q[n, a]) - dx[n, a])
                left = left or way > rounding * abs(target[n, a])
    return max(e, i, m), left


@kernel
def has_motion_left(fixed, target, q, dx, fraction, rounding):
    """Whether unknowns `fixed` (k,) are not yet at `fraction` of the way from q to `target` (n,), beyond rounding."""
    left = False
    for k in fixed:
        left = left or abs(fraction * (target[k] - q[k]) - dx[k]) > rounding * abs(target[k])
    return left
