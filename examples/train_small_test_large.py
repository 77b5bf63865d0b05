"""Train on small tasks, test on large ones: four deliveries in training, eight in the test, with the same machine and policy.

What a 1-policy learns (go to the place on top of the stack) does not depend on how high the stack is.
"""

from dataclasses import replace

import pdrm

domain = pdrm.domain("deliver-4-8")
small = pdrm.Task(replace(domain, tests=()))
large = pdrm.Task(domain.tested_on[0])
settings = {"episodes": 1_500, "learning_rate": 0.1, "epsilon_decay": 0.999, "epsilon_least": 0.1}

for agent in (pdrm.QLearning(k=1, **settings), pdrm.CpRM(k=1, **settings)):
    run = pdrm.train(small, agent, seed=0, progress=False)
    trained, tested = run.evaluate(5), run.evaluate(5, task=large)
    print(
        f"{agent.name:<5} four deliveries: {trained['mean_return']:8.1f} of {domain.highest:g}   "
        f"eight deliveries: {tested['mean_return']:8.1f} of {large.domain.highest:g}"
    )
