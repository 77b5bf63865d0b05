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
machine = task.pushdown
domain = task.finite
rng = random.Random(0)
places = [symbol for symbol in machine.stack if symbol != "#"]
for count in map(int, sys.argv[1:] or ("8", "40")):
    s = int(domain.arrays.start_state[0])
    state = "deliver"
    stack = (*rng.choices(places, k=count), "#")
    optimum = solution.value(s, state, stack)
    discounted_return = 0.0
    discount = 1.0
    while state not in machine.final:
        action = policy.act(s, state, stack)
        label = domain.labels[domain.arrays.label[s, action, 0]]
        step = machine.step(pdrm.machines.Configuration(state, stack), label)
        discounted_return += discount * (float(domain.arrays.reward[s, action, 0]) + step.reward)
        discount *= 0.99
        s = int(domain.arrays.next[s, action, 0])
        state = step.after.state
        stack = step.after.stack
    print(
        f"{count:5} deliveries: the agent's discounted return {discounted_return:.6f}, the optimum {optimum:.6f}"
    )
