"""Train on four deliveries, then act optimally on any number of them.

python examples/whole_stack.py 8 100 1000
"""

import random
import sys
import tempfile

import pdrm

task = pdrm.Task("deliver-4-8")  # trains on sequences of four deliveries
with tempfile.TemporaryDirectory() as folder:
    policy = pdrm.train(task, pdrm.Summary(episodes=40), folder=folder).policy
solution = pdrm.solve(task, discount=0.99)
machine, domain, chance = task.pushdown, task.finite, random.Random(0)
places = [symbol for symbol in machine.stack if symbol != "#"]
for count in map(int, sys.argv[1:] or ("8", "40")):
    stack = (*chance.choices(places, k=count), "#")
    s, state, paid, weight = int(domain.arrays.start_state[0]), "deliver", 0.0, 1.0
    optimum = solution.value(s, state, stack)
    while state not in machine.final:
        action = policy.act(s, state, stack)
        label = domain.labels[domain.arrays.label[s, action, 0]]
        step = machine.step(pdrm.machines.Configuration(state, stack), label)
        paid += weight * (float(domain.arrays.reward[s, action, 0]) + step.reward)
        s, state, stack = int(domain.arrays.next[s, action, 0]), step.after.state, step.after.stack
        weight *= 0.99
    print(
        f"{count:5} deliveries: the agent's discounted return {paid:.6f}, the optimum {optimum:.6f}"
    )
