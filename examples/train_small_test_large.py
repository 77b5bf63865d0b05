"""Train with four deliveries, evaluate with eight, with the same machine and policy.

The rule learnt by a 1-policy (go to the place on top of the stack) does not depend on the height of
the stack.
"""

from dataclasses import replace

import pdrm

domain = pdrm.domain("deliver-4-8")
small = pdrm.Task(replace(domain, tests=()))
large = pdrm.Task(domain.tested_on[0])
settings = {"episodes": 1_500, "learning_rate": 0.1, "epsilon_decay": 0.999, "epsilon_least": 0.1}

for agent in (pdrm.QLearning(k=1, **settings), pdrm.CpRM(k=1, **settings)):
    run = pdrm.train(small, agent, seed=0, progress=False)
    four = run.evaluate(5)
    eight = run.evaluate(5, task=large)
    print(
        f"{agent.name:<5} four deliveries: {four['mean_return']:8.1f} of {domain.highest:g}   "
        f"eight deliveries: {eight['mean_return']:8.1f} of {large.domain.highest:g}"
    )
