"""The problems of the literature, as cases of `pliant validate literature`."""

from __future__ import annotations

from validation.case import Case


def _problem(path: str, line: str, source: str) -> Case:
    return Case(
        line=line,
        group="literature",
        rows=f"validation.literature.{path}",
        source=source,
        licence="published value or closed form",
    )


PROBLEMS: dict[str, Case] = {
    "rivlin-torsion": _problem(
        "finite_elasticity:rivlin_torsion",
        "a Mooney–Rivlin cylinder of constant length twisted by 0.5 rad per radius: torque, and thrust (Poynting)",
        "Rivlin, Phil. Trans. R. Soc. A 241, 1948, and 242, 1949 (parts IV and VI); Poynting, Proc. R. Soc. A 82, 1909",
    ),
    "bent-block": _problem(
        "finite_elasticity:bent_block",
        "a neo-Hookean block in plane strain bent by couples: the moment at the curvature of its middle",
        "Rivlin, Proc. R. Soc. A 195, 1949; Ogden, Non-linear Elastic Deformations, 1984",
    ),
    "mooney-balloon": _problem(
        "finite_elasticity:mooney_balloon",
        "a thin Mooney–Rivlin balloon under volume control: pressure at, before and far beyond its maximum",
        "Green and Adkins, Large Elastic Deformations, 1960; Müller and Strehlow, Rubber and Rubber Balloons, 2004",
    ),
    "bubble-in-a-large-body": _problem(
        "finite_elasticity:bubble_in_a_large_body",
        "a small bubble in a large soft body opened to about three times its radius: p = μ (5/2 − 2/λ − 1/(2λ⁴))",
        "Gent and Lindley, Proc. R. Soc. A 249, 1959; Ball, Phil. Trans. A 306, 1982",
    ),
    "neutral-winding": _problem(
        "finite_elasticity:neutral_winding",
        "a pressurized tube wound with stiff fibres keeps its length at tan² = 2, 54.74° to the axis",
        "Clark and Cowey, J. Exp. Biol. 35, 1958; Chou and Hannaford, IEEE T-RA 12, 1996",
    ),
    "euler-columns": _problem(
        "slender_statics:euler_columns",
        "columns with three pairs of ends: π², 20.19 and 4π² times EI/L²",
        "Timoshenko and Gere, Theory of Elastic Stability, 1961",
    ),
    "heavy-column": _problem(
        "slender_statics:heavy_column",
        "a standing column buckles under its own weight at w L³/EI = 7.837",
        "Greenhill, Proc. Camb. Phil. Soc. 4, 1881",
    ),
    "lateral-buckling": _problem(
        "slender_statics:lateral_buckling",
        "a narrow cantilever loaded at its tip falls to the side at P = 4.013 √(EI₂ GJ)/L²",
        "Michell, Phil. Mag. 48, 1899; Timoshenko and Gere, 1961",
    ),
    "helical-spring": _problem(
        "slender_statics:helical_spring",
        "a close-coiled spring: k = G d⁴/(64 R³ n)",
        "Wahl, Mechanical Springs, 1963; Love, Mathematical Theory of Elasticity, 1927, §271",
    ),
    "tendon-curvature": _problem(
        "slender_statics:tendon_curvature",
        "a parallel tendon bends a backbone to a circle: κ = T d/EI, at a bend of 1.5 rad",
        "Camarillo et al., IEEE T-RO 24, 2008",
    ),
    "ring-under-opposite-forces": _problem(
        "slender_statics:ring_under_opposite_forces",
        "a thin ring pulled along a diameter: it lengthens by 0.1488 PR³/EI and narrows by 0.1366 PR³/EI",
        "Timoshenko, Strength of Materials I, 1955",
    ),
    "lee-frame": _problem(
        "slender_statics:lee_frame",
        "Lee's frame: two hinged legs of length L, loaded at L/5 of the upper one; largest load 18.552 EI/L²",
        "Lee, Manuel and Rossow, J. Eng. Mech. 94, 1968; Cichoń, Comput. Struct. 19, 1984",
    ),
    "princeton-beam": _problem(
        "slender_statics:princeton_beam",
        "the aluminium beam of Princeton at a load of 8.9 N under 45°: displacements of its tip",
        "Dowell and Traybar, Princeton AMS Reports 1194 and 1257, 1975; Bauchau et al., Multib. Syst. Dyn. 37, 2016",
    ),
    "deep-arch": _problem(
        "slender_statics:deep_arch",
        "an arch of 215°, clamped at one end and hinged at the other, loaded on top: it collapses at 8.97 EI/R²",
        "DaDeppo and Schmidt, J. Appl. Mech. 42, 1975",
    ),
    "right-angle-frame": _problem(
        "slender_statics:right_angle_frame",
        "Argyris' right-angle frame (legs of 240 m, 30 × 0.6 m) leaves its plane at an end force of 1.083 N in it",
        "Argyris et al., Comput. Methods Appl. Mech. Eng. 17/18, 1979; Simo and Vu-Quoc, ibid. 58, 1986",
    ),
    "higher-bending-modes": _problem(
        "slender_motion:higher_bending_modes",
        "second and third bending mode of a solid cantilever: βL = 4.694 and 7.855, with Timoshenko's shear",
        "Timoshenko, Vibration Problems in Engineering, 1937",
    ),
    "hanging-chain": _problem(
        "slender_motion:hanging_chain",
        "a hanging chain swings with ω = 1.2024 √(g/L), the first zero of J₀ over 2",
        "Bernoulli, Comm. Acad. Petrop. 6, 1733; Rayleigh, The Theory of Sound I, 1894",
    ),
    "torsional-pendulum": _problem(
        "slender_motion:torsional_pendulum", "a disc on a wire: ω² = GJ/(L I)", "Coulomb, Mém. Acad. Sci., 1784"
    ),
    "ring-vibration": _problem(
        "slender_motion:ring_vibration",
        "a free ring goes oval in its plane with ω² = 36/5 EI/(ρAR⁴)",
        "Hoppe 1871; Love, Mathematical Theory of Elasticity, 1927, §293",
    ),
    "spinning-beam": _problem(
        "slender_motion:spinning_beam",
        "a beam of length 10 in steady rotation at 6 rad/s stretches by ρAω²L³/(3EA) = 5.14e-4",
        "Simo and Vu-Quoc, J. Appl. Mech. 53, 1986, part II",
    ),
    "asymmetric-top": _problem(
        "rigid_motion:asymmetric_top",
        "a box that turns near its middle axis: spin about it after 2 s, by Jacobi's elliptic functions",
        "Landau and Lifshitz, Mechanics, 1976, §37",
    ),
    "heavy-top": _problem(
        "rigid_motion:heavy_top",
        "a fast disc on a stalk in steady precession, I₁Ω² cos θ − I₃ω₃Ω + mgl = 0: angle turned in 0.5 s",
        "Goldstein, Classical Mechanics, 1980, §5.7",
    ),
    "large-pendulum": _problem(
        "rigid_motion:large_pendulum",
        "a bar that swings by 120° to either side: period 4 √(I/mgl) K(sin² 60°)",
        "Whittaker, Analytical Dynamics, 1937, §44",
    ),
    "sliding-to-rolling": _problem(
        "rigid_motion:sliding_to_rolling",
        "a ball thrown along a floor without spin: it rolls at 5/7 of its speed, after 2v/(7μg)",
        "Goldstein, Classical Mechanics, 1980, ch. 1; Coriolis, Théorie du jeu de billard, 1835",
    ),
    "stopping-distance": _problem(
        "rigid_motion:stopping_distance",
        "a soft block thrown along a floor stops after v²/(2μg)",
        "Coulomb, Théorie des machines simples, 1785",
    ),
    "ball-leaves-a-sphere": _problem(
        "rigid_motion:ball_leaves_a_sphere",
        "a ball that rolls down a fixed sphere without slip leaves it at cos θ = 10/17",
        "Routh, Dynamics of a System of Rigid Bodies, 1905; from rest at θ₀: cos θ = 10/17 cos θ₀",
    ),
    "ladder": _problem(
        "rigid_motion:ladder",
        "a ladder slides between a smooth wall and a smooth floor: it leaves the wall at 2/3 of its first height",
        "Lamb, Dynamics, 1914",
    ),
    "zeno-time": _problem(
        "impacts:zeno_time",
        "a ball dropped from 1 m with e = 0.7 comes to rest after √(2h/g) (1 + e)/(1 − e)",
        "Goldsmith, Impact, 1960; Brogliato, Nonsmooth Mechanics, 2016, §1.3",
    ),
    "painleve-friction": _problem(
        "impacts:painleve_friction",
        "a thin rod dragged on its tip, at tan θ = 2: no consistent force beyond μ = 4/3",
        "Painlevé, C. R. Acad. Sci. 121, 1895; Génot and Brogliato, Eur. J. Mech. A 18, 1999",
    ),
    "stick-slip": _problem(
        "impacts:stick_slip",
        "a block between a spring and a belt: it sticks and slips on the circle of radius V/ω about x = μmg/k",
        "Den Hartog, Mechanical Vibrations, 1956; Popp and Stelter, Phil. Trans. A 332, 1990",
    ),
    "curved-beam": _problem(
        "elastic_solids:curved_beam",
        "MacNeal and Harder's quarter ring with a unit force at its end, in its plane and out of it",
        "MacNeal and Harder, Finite Elem. Anal. Des. 1, 1985",
    ),
    "twisted-beam": _problem(
        "elastic_solids:twisted_beam",
        "MacNeal and Harder's beam that is twisted by 90°, with a unit force at its end along two directions",
        "MacNeal and Harder, Finite Elem. Anal. Des. 1, 1985",
    ),
    "square-torsion": _problem(
        "elastic_solids:square_torsion",
        "a square bar twisted at its ends: torque over the rate of twist in its middle, 0.1406 G a⁴",
        "Saint-Venant 1855; Timoshenko and Goodier, Theory of Elasticity, 1970, §109",
    ),
    "anticlastic-bending": _problem(
        "elastic_solids:anticlastic_bending",
        "a bar bent by couples curves across by ν times its curvature, the other way",
        "Timoshenko and Goodier, Theory of Elasticity, 1970, §102",
    ),
    "plate-with-a-hole": _problem(
        "elastic_solids:plate_with_a_hole",
        "a wide plate pulled along x: the edge of its hole moves by 3σa/E along and −σa/E across",
        "Kirsch, VDI-Z. 42, 1898",
    ),
    "clamped-plate": _problem(
        "elastic_solids:clamped_plate",
        "a clamped circular plate under pressure: its middle sinks by p a⁴/(64 D)",
        "Timoshenko and Woinowsky-Krieger, Theory of Plates and Shells, 1959, §17",
    ),
    "circular-membrane": _problem(
        "elastic_solids:circular_membrane",
        "Hencky's membrane: a thin sheet clamped at its rim and blown up, w = 0.6534 a (p a/(E h))^{1/3}",
        "Hencky, Z. Math. Phys. 63, 1915; Fichter, NASA TP-3658, 1997",
    ),
    "spinning-disc": _problem(
        "elastic_solids:spinning_disc",
        "a thin disc that spins freely: its rim moves out by ρω²b³(1 − ν)/(4E)",
        "Timoshenko and Goodier, Theory of Elasticity, 1970, §32",
    ),
    "flat-punch": _problem(
        "contact:flat_punch",
        "a smooth flat circular punch pressed into a half-space: F = 2 a d E/(1 − ν²)",
        "Boussinesq 1885; Sneddon, Int. J. Eng. Sci. 3, 1965",
    ),
    "twisted-disc": _problem(
        "contact:twisted_disc",
        "a rigid disc bonded to a half-space and turned about its axis: T = 16/3 G a³ φ",
        "Reissner and Sagoci, J. Appl. Phys. 15, 1944",
    ),
    "blocked-actuator": _problem(
        "contact:blocked_actuator",
        "a bending actuator whose tip is held: F = 3/2 p A e/L, of a chamber of the section A, e off the middle",
        "Euler and Bernoulli's beam under the moment of a chamber; compare Polygerinos et al., IEEE T-RO 31, 2015",
    ),
    "struck-bar": _problem(
        "contact:struck_bar",
        "a step of force at one end of a free bar reaches the other after L/√(E/ρ)",
        "Rayleigh, The Theory of Sound I, 1894",
    ),
    "bar-against-a-wall": _problem(
        "contact:bar_against_a_wall",
        "an elastic bar thrown against a rigid wall stays there for 2L/c and leaves at its own speed",
        "Saint-Venant 1867; Goldsmith, Impact, 1960",
    ),
    "concentric-tubes": _problem(
        "concentric_tubes:rows",
        "two bent tubes in each other: curvatures weighted by EI, and the angle between them α″ = c sin α",
        "Dupont, Lock, Itkowitz and Butler, IEEE T-RO 26, 2010",
    ),
    "hertz-ball": _problem(
        "contact_statics:hertz_ball",
        "a rigid ball pressed into a half-space: F = 4/3 E* √R d^(3/2), a² = R d",
        "Hertz, J. reine angew. Math. 92, 1882; Johnson, Contact Mechanics, 1985, ch. 4",
    ),
    "blunt-cone": _problem(
        "contact_statics:blunt_cone",
        "a rigid blunt cone pressed into a half-space: F = 2 E* d²/(π tan β)",
        "Sneddon, Int. J. Eng. Sci. 3, 1965",
    ),
    "partial-slip-of-a-ball": _problem(
        "contact_statics:partial_slip_of_a_ball",
        "a ball pressed, then moved sideways by half of what makes it slide: it sticks within a (1 − Q/μP)^(1/3)",
        "Cattaneo, Rend. Lincei 27, 1938; Mindlin, J. Appl. Mech. 16, 1949",
    ),
    "partial-slip-of-a-roller": _problem(
        "contact_statics:partial_slip_of_a_roller",
        "a roller pressed, then moved sideways: it sticks within a √(1 − Q/μP)",
        "Cattaneo, Rend. Lincei 27, 1938; Johnson, Contact Mechanics, 1985, ch. 7",
    ),
    "ironing": _problem(
        "contact_statics:ironing",
        "a roller dragged along a half-plane: Q = μP, a² = 4 P R/(π E*)",
        "Coulomb, Théorie des machines simples, 1785; Johnson, Contact Mechanics, 1985, ch. 7",
    ),
    "two-cylinders": _problem(
        "contact_statics:two_cylinders",
        "two elastic cylinders side by side: a² = 4 P R/(π E*)",
        "Hertz, J. reine angew. Math. 92, 1882; Johnson, Contact Mechanics, 1985, ch. 4",
    ),
    "punch-in-plane-strain": _problem(
        "contact_statics:punch_in_plane_strain",
        "a flat punch on a half-plane: p = P/(π √(a² − x²)), and its sinking against the surface at 2a",
        "Sadowsky, Z. Angew. Math. Mech. 8, 1928; Johnson, Contact Mechanics, 1985, ch. 2",
    ),
    "circular-load": _problem(
        "contact_statics:circular_load",
        "a uniform pressure on a circle of a half-space: the centre sinks by 2pa/E*, the rim by 4pa/(πE*)",
        "Boussinesq, Application des potentiels, 1885; Johnson, Contact Mechanics, 1985, ch. 3",
    ),
}
"""The cases by name."""
