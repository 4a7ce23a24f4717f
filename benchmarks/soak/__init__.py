"""The soak: every robot of the zoo under random actuation, with independent checks after its steps.

    python -m benchmarks.soak [--robot NAME] [--minutes 10] [--folder out/soak] [--wall MINUTES] [--write FILE]

Episodes of two simulated seconds (`--episode`) take the robots and the steppers in turn. Their results are kept in the
folder, so that a run which was ended continues there. `zoo` holds the scenes, `drive` the random commands, `checker`
the penetration by brute force, `episodes` the steps, `progress` the folder and `report` the table.
"""
