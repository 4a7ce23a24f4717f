"""A trunk learns to reach: proximal policy optimization (Schulman et al. 2017) on many copies of an environment.

It needs PyTorch (``pip install torch``) beside ``pliant[gym]``; without it, it says so and ends. By default it learns
for some seconds, to show that the return rises. The whole training, of which docs/gym.md has the curve:

    python examples/learn_reach.py --reduced --steps 60000 --curve reach.json

Another task, with more copies and a longer view ahead:

    python examples/learn_reach.py --task FollowTarget --copies 256 --discount 0.99 --steps 2000000 --curve follow.json
"""

import argparse
import importlib.util
import json
import sys
from itertools import pairwise
from time import perf_counter

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

import pliant.gym  # noqa: F401  registers the environments

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=6_000, help="environment steps of the training")
parser.add_argument("--task", default="Reach", help="name of the task")
parser.add_argument("--copies", type=int, default=16, help="environments at once")
parser.add_argument("--discount", type=float, default=0.95, help="of the reward of the next step")
parser.add_argument("--reduced", action="store_true", help="learn on the reduced twin, and test on the task itself too")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--curve", help="file (.json) for the learning curve")
asked = parser.parse_args()
if importlib.util.find_spec("torch") is None:
    print("this example needs PyTorch: pip install torch")
    sys.exit()

import torch  # noqa: E402
from torch import nn  # noqa: E402

COPIES, HORIZON, DISCOUNT = asked.copies, 64, asked.discount  # environments, steps of each between two updates
PASSES, MINIBATCH, CLIP, TRACE = 8, max(256, COPIES * HORIZON // 16), 0.2, 0.95
FULL, NAME = f"Pliant/{asked.task}-v0", f"Pliant/{asked.task}-{'reduced-' if asked.reduced else ''}v0"
WHOLE = gymnasium.spec(FULL).max_episode_steps or 100  # steps of an episode of a test
EPISODE = WHOLE // 2 if asked.task == "Reach" else WHOLE  # and of the training: the trunk is there in half the time
torch.manual_seed(asked.seed)
torch.set_num_threads(1)


def network(*sizes: int, last: float) -> nn.Sequential:
    """Layers with tanh between them; `last` scales the weights of the last one."""
    layers: list[nn.Module] = []
    for k, (inside, outside) in enumerate(pairwise(sizes)):
        layer = nn.Linear(inside, outside)
        nn.init.orthogonal_(layer.weight, 2.0**0.5 if k < len(sizes) - 2 else last)
        nn.init.zeros_(layer.bias)
        layers += [layer, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


class Policy(nn.Module):
    """A Gaussian over actions, and the value of an observation."""

    def __init__(self, observations: int, actions: int) -> None:
        super().__init__()
        self.mean = network(observations, 64, 64, actions, last=0.01)
        self.value = network(observations, 64, 64, 1, last=1.0)
        self.spread = nn.Parameter(torch.full((actions,), -0.5))

    def actions(self, seen: torch.Tensor) -> torch.distributions.Normal:
        """The distribution of actions at observations (c, n)."""
        return torch.distributions.Normal(self.mean(seen), self.spread.exp())


def tested(policy: Policy, name: str, episodes: int, seed: int) -> tuple[float, float]:
    """Fraction of episodes that end in success, and their mean last error, m, without exploration."""
    copies = min(COPIES, episodes)
    envs = gymnasium.make_vec(name, copies, autoreset_mode=AutoresetMode.SAME_STEP, max_episode_steps=WHOLE)
    reached, errors = [], []
    for first in range(0, episodes, copies):
        seen, waits = envs.reset(seed=seed + first)[0], np.ones(copies, bool)
        while waits.any():
            with torch.no_grad():
                seen, _, terminated, truncated, info = envs.step(policy.mean(torch.as_tensor(seen)))
            ended = waits & (terminated | truncated)
            if ended.any():
                reached += info["final_info"]["success"][ended].tolist()
                errors += info["final_info"]["error"][ended].tolist()
            waits &= ~ended
    envs.close()
    return float(np.mean(reached)), float(np.mean(errors))


envs = gymnasium.make_vec(NAME, COPIES, autoreset_mode=AutoresetMode.SAME_STEP, max_episode_steps=EPISODE)
policy = Policy(envs.single_observation_space.shape[0], envs.single_action_space.shape[0])
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3, eps=1e-5)
updates = max(1, asked.steps // (COPIES * HORIZON))
seen = torch.as_tensor(envs.reset(seed=asked.seed)[0])
curve, begun = [], perf_counter()
for update in range(updates):
    optimizer.param_groups[0]["lr"] = 1e-3 * (1.0 - 0.9 * update / updates)
    kept: dict[str, list[torch.Tensor]] = {name: [] for name in ("seen", "action", "log", "value", "reward", "last")}
    later, reached, errors = [], [], []
    for _ in range(HORIZON):
        with torch.no_grad():
            chosen = policy.actions(seen)
            action, value = chosen.sample(), policy.value(seen)[:, 0]
        found, reward, terminated, truncated, info = envs.step(action)  # tensors go in by DLPack
        after, over = torch.as_tensor(found), terminated | truncated
        follows = after.clone()  # the observation that follows the action, of this episode
        for k in np.flatnonzero(over):
            follows[k] = torch.as_tensor(info["final_obs"][k])
        if over.any():
            reached += info["final_info"]["success"][over].tolist()
            errors += info["final_info"]["error"][over].tolist()
        with torch.no_grad():
            later.append(policy.value(follows)[:, 0] * torch.as_tensor(~terminated))
        row = (seen, action, chosen.log_prob(action).sum(1), value, torch.as_tensor(reward, dtype=torch.float32))
        for name, each in zip(kept, (*row, torch.as_tensor(over, dtype=torch.float32)), strict=True):
            kept[name].append(each)
        seen = after
    data = {name: torch.stack(each) for name, each in kept.items()}
    gain, gains = torch.zeros(COPIES), []
    for k in reversed(range(HORIZON)):  # generalized advantage estimation
        surprise = data["reward"][k] + DISCOUNT * later[k] - data["value"][k]
        gain = surprise + DISCOUNT * TRACE * (1.0 - data["last"][k]) * gain
        gains.append(gain)
    advantage = torch.stack(gains[::-1])
    flat = {name: each.flatten(0, 1) for name, each in data.items()}
    wanted = (advantage + data["value"]).flatten()
    advantage = advantage.flatten()
    for _ in range(PASSES):
        for rows in torch.randperm(COPIES * HORIZON).split(MINIBATCH):
            chosen = policy.actions(flat["seen"][rows])
            ratio = (chosen.log_prob(flat["action"][rows]).sum(1) - flat["log"][rows]).exp()
            better = advantage[rows]
            better = (better - better.mean()) / (better.std() + 1e-8)
            gained = torch.minimum(ratio * better, ratio.clamp(1.0 - CLIP, 1.0 + CLIP) * better).mean()
            missed = (policy.value(flat["seen"][rows])[:, 0] - wanted[rows]).square().mean()
            optimizer.zero_grad()
            (0.5 * missed - gained).backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()
    curve.append(
        {
            "steps": (update + 1) * COPIES * HORIZON,
            "seconds": perf_counter() - begun,
            "reward": float(data["reward"].mean()),
            "success": float(np.mean(reached)) if reached else None,  # no episode ended
            "error": float(np.mean(errors)) if errors else None,
        }
    )
    if update % max(1, updates // 20) == 0 or update == updates - 1:
        row = curve[-1]
        ended = f"   {100 * row['success']:3.0f} % reached   {1e3 * row['error']:5.1f} mm away" if reached else ""
        print(f"{row['steps']:8d} steps {row['seconds']:6.0f} s   reward {row['reward']:6.3f}{ended}", flush=True)
envs.close()

seconds = perf_counter() - begun
if asked.steps >= 50_000:
    results = {name: tested(policy, name, 96, 10_000) for name in dict.fromkeys((NAME, FULL))}
    for name, (success, error) in results.items():
        print(
            f"{name}: {100 * success:.0f} % of 96 new goals reached, {1e3 * error:.1f} mm away, after {seconds:.0f} s"
        )
    assert asked.task != "Reach" or all(success >= 0.9 for success, _ in results.values()), "nine goals of ten"
else:
    results = {}
assert curve[-1]["reward"] > curve[0]["reward"], "the policy must become better"
if asked.curve:
    with open(asked.curve, "w", encoding="utf-8") as stream:
        json.dump({"environment": NAME, "seconds": seconds, "curve": curve, "tested": results}, stream)
