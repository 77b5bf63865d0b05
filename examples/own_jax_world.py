"""Your own world as functions in JAX: a room with a button that opens its door.

PPO learns it in a minute on a CPU. The machine, not the world, remembers that the button was
pressed.
"""

import argparse

import jax
import jax.numpy as jnp

import pdrm

BUTTON, DOOR = jnp.array([-0.6, 0.6]), jnp.array([0.8, -0.6])


def reset(key):
    """Start anywhere in the room, [-1, 1] × [-1, 1]."""
    return jax.random.uniform(key, (2,), minval=-1, maxval=1)


def step(position, action, key):
    """Walk in any direction, with a little noise."""
    noise = 0.02 * jax.random.normal(key, (2,))
    return jnp.clip(position + 0.15 * action + noise, -1, 1)


def label(before, action, after):
    """One boolean for each event."""
    distances = jnp.linalg.norm(after - jnp.stack([BUTTON, DOOR]), axis=1)
    return distances < 0.3


room = pdrm.domains.JaxWorld(
    name="room",
    events=("button", "door"),
    reset=reset,
    step=step,
    label=label,
    observe=lambda position: position,
    observation_size=2,
    action_size=2,
    step_limit=100,
)
task = pdrm.Task(
    room,
    """
    events    button door
    stack     # open
    start     closed
    final     out
    otherwise stay -0.01
    closed -> closed : button, #    / open #, 0.5
    closed -> out    : door,   open / eps,    1
    """,
)

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=200_000, help="steps of training")
steps = parser.parse_args().steps

ppo = pdrm.PPO(
    total_timesteps=steps, n_envs=32, n_steps=32, batch_size=128, ent_coef=0.0, learning_rate=2e-3
)
run = pdrm.train(task, ppo, seed=0)
print(run.curve)
print(run.evaluate(episodes=100))
