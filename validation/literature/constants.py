"""Numbers that the literature gives, each derived again or looked up by tests/verification/test_reference_values.py."""

from __future__ import annotations

FIXED_PINNED_COLUMN = 20.1907
"""Buckling load of a column fixed at one end and pinned at the other, EI/L²: tan x = x."""
GREENHILL = 7.8373
"""Weight at which a standing column buckles, EI/L²: 9/4 of the squared first zero of J₋₁⸝₃."""
MICHELL_CANTILEVER = 4.0126
"""Load at which a narrow cantilever falls to the side, √(EI GJ)/L²: twice the first zero of J₋₁⸝₄."""
LEE_FRAME = 18.552
"""Largest load of Lee's frame, EI/L²."""
DEEP_ARCH = 8.97
"""Largest load of the arch of 215°, clamped at one end and hinged at the other, EI/R²."""
RIGHT_ANGLE_FRAME = 1.0833
"""End force at which Argyris' right-angle frame leaves its plane, N: Kirchhoff's equations; papers print 1.09."""
CANTILEVER_ROOTS = (4.6940911, 7.8547574)
"""βL of the second and third bending mode of a cantilever: cos x cosh x = −1."""
BESSEL_ZERO = 2.404826
"""First zero of J₀."""
OVAL_RING = 7.2
"""ω² of a free ring that goes oval in its plane, EI/(ρAR⁴): n²(n² − 1)²/(n² + 1) at n = 2."""
CURVED_BEAM = (0.08734, 0.5022)
"""Tip of MacNeal and Harder's curved beam in its plane and out of it, in."""
TWISTED_BEAM = (5.424e-3, 1.754e-3)
"""Tip of MacNeal and Harder's twisted beam along the width and across it, in."""
SQUARE_TORSION = 0.140577
"""Torsional stiffness of a square bar, G a⁴."""
HENCKY = 0.6534
"""Height of Hencky's membrane at ν = 0.3, a (p a/(E h))^(1/3)."""
REISSNER_SAGOCI = 16.0 / 3.0
"""Torque on a rigid disc bonded to a half-space, G a³ φ."""
ROLLING = 5.0 / 7.0
"""Speed of a ball that rolls over that with which it was thrown."""
LEAVING_SPHERE = 10.0 / 17.0
"""Cosine at which a ball that rolls down a sphere leaves it, over that at which it started."""
LADDER = 2.0 / 3.0
"""Height at which a ladder leaves the wall, over the first one."""
PAINLEVE = 4.0 / 3.0
"""Friction beyond which a rod dragged at tan θ = 2 has no consistent force."""
