"""Open-loop control of hardware: an inverse finds the cable displacements of a trunk, a stream sends them to motors.

Here the motors are a socket on this machine; `SerialSink("/dev/ttyUSB0", 115200)` is a board on a serial port. What was
sent is also kept in a file and replayed from there.
"""

import socket

import numpy as np

import pliant as pl
from pliant.control import stream

scene = pl.Scene(gravity=(0, 0, -9.81))
trunk = scene.add(pl.robots.trunk(vertebra_count=6, cells=(2, 2)))
tip = pl.Effector(trunk.tip)
world = scene.compile()
circle = pl.paths.circle(center=(0, 0, 0.19), radius=0.02, count=50)
stepper = pl.ImplicitEuler(0.02, solver=pl.Inverse(effectors=[tip], actuators=trunk.cables))

motors = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
motors.bind(("127.0.0.1", 0))
motors.settimeout(5.0)
last = {}
with stream.CsvSink("actuation.csv") as file:
    streamer = stream.Streamer(file, trunk.cables)

    def sent_and_kept(state, info):
        """Send the step and keep its state."""
        streamer(state, info)
        last["state"] = state

    run = pl.simulate(
        world,
        stepper,
        until=1.0,
        control=lambda t, state: {tip: circle[round(t / 0.02) - 1]},
        callback=sent_and_kept,
    )

# twenty-five lines a second, ten times faster than they were recorded
with stream.UdpSink("127.0.0.1", motors.getsockname()[1]) as sink:
    sent = stream.replay("actuation.csv", sink, rate=25.0, speed=10.0)
lines = np.array([[float(x) for x in motors.recv(1024).decode().split(",")] for _ in range(sent)])
motors.close()

# What the motors do open loop: they hold the last displacements, and the tip comes to rest beside its target.
held = {cable: pl.Displacement(float(run.actuation(cable)[0][-1])) for cable in trunk.cables}
state, settle = last["state"], pl.ImplicitEuler(0.05)
for _ in range(60):
    state, _ = settle(world, state, held)
moving = np.linalg.norm(trunk.tip.along(run.points(trunk))[-1] - circle[-1])
rest = np.linalg.norm(trunk.tip.at(state) - circle[-1])
print(f"error of the tip {1e3 * moving:.2f} mm while it moves, {1e3 * rest:.2f} mm at rest with the cables held")

pulls = run.actuation(trunk.cables[0])[1]
print(f"{len(run.times) - 1} steps, {sent} of them sent to the motors; the first line: {lines[0, :3]} (s, m, N)")
print(f"the first long cable pulls with up to {pulls.max():.2f} N")

assert sent == 25, f"25 lines in a second of the stream, got {sent}"
assert np.allclose(lines[:, 2], pulls[1::2], atol=1e-6), "the motors must be asked for what the inverse found"
