"""How many pictures a second reach a browser, and whether the simulation keeps real time meanwhile.

A short spine, whose surface has more than 5000 vertices, is pulled to and fro by a tendon in the live viewer. The
client is a process of its own that takes what a browser would, without drawing: how fast a browser draws depends on its
graphics card.

    python -m benchmarks.streaming --json out/streaming.json
"""

import argparse
import asyncio
import json
import multiprocessing
import time
from pathlib import Path

import numpy as np

import pliant as pl
from pliant.viewer.simulation import LiveSimulation
from pliant.viewer.world_subject import WorldSubject


def subject():
    """A spine of three vertebrae under gravity, with its contacts."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    spine = scene.add(pl.robots.spine(length=0.08, vertebra_count=3))
    return WorldSubject(scene.compile(), name="spine", tip=spine.tip, actuators=spine.cables)


async def receive(port, seconds, pipe):
    """Take what the server sends for `seconds` s: pictures (updates of vertices), bytes, and the times between."""
    import viser
    import websockets
    import zstandard

    pictures, size, arrivals = 0, 0, []
    address, protocol = f"ws://localhost:{port}", f"viser-v{viser.__version__}"
    async with websockets.connect(address, max_size=None, subprotocols=[protocol]) as socket:
        await socket.recv()  # what there was before
        pipe.send("connected")
        begin = time.perf_counter()
        while time.perf_counter() - begin < seconds:
            data = await asyncio.wait_for(socket.recv(), 10.0)
            plain, packed = (int.from_bytes(data[k : k + 8], "little") for k in (0, 8))
            text = zstandard.ZstdDecompressor().decompress(data[16 : 16 + packed], max_output_size=plain)
            updates = text.count(b"vertices")
            if updates:
                pictures += updates
                arrivals.append(time.perf_counter())
            size += len(data)
    return pictures, size, arrivals


def client(port, seconds, pipe):
    """The process of the client."""
    pipe.send(asyncio.run(receive(port, seconds, pipe)))


def shake(viewer, done):
    """Pull one tendon to and fro until `done()`: what is at rest is not sent again."""
    slider, *_ = viewer.inputs.sliders[viewer.subject.actuators[0]]
    while not done():
        slider.value = 4.0 - slider.value
        time.sleep(0.3)


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with LiveSimulation(subject(), port=0) as viewer:
        viewer.play()
        while viewer.subject.time < 0.5:  # kernels are loaded
            time.sleep(0.05)
        vertices = sum(len(skin._source) for skin in viewer._scene_view._skins.values())
        here, there = multiprocessing.Pipe()
        process = multiprocessing.get_context("spawn").Process(
            target=client, args=(viewer.port, options.seconds, there)
        )
        process.start()
        here.recv()
        start, clock = viewer.subject.time, time.perf_counter()
        shake(viewer, here.poll)
        pictures, size, arrivals = here.recv()
        process.join()
        factor = (viewer.subject.time - start) / (time.perf_counter() - clock)
        step = viewer._pace.step_seconds
    gaps = np.diff(arrivals)
    result = {
        "vertices": vertices,
        "pictures_per_second": (pictures - 1) / (arrivals[-1] - arrivals[0]),
        "longest_gap_ms": 1e3 * float(gaps.max()),
        "real_time_factor": factor,
        "step_ms": 1e3 * step,
        "megabytes_per_second": 1e-6 * size / options.seconds,
    }
    print("  ".join(f"{name} {value:.4g}" for name, value in result.items()))
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
