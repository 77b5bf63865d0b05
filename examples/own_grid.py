"""Your own grid: a map, its events, and a task that visits colours again in reverse order."""

import pdrm

MAP = """\
#########
#g..r...#
#.##.##.#
#..@....#
#.##.##.#
#r..g...#
#########
"""
places = {"g": "green", "r": "red", "@": "home"}
world = pdrm.domains.grid_domain("keys", MAP, places, start="@", step_limit=80, step_reward=-0.1)

TASK = pdrm.parse("""
name      keys
events    green red home
exclusive green red home
stack     # green red
start     first
final     done
otherwise stay 0

// Meet two places, go home, then meet the same colours again, the last one first.
for c in green red:
    first  -> second : c, z / c z, 1
    second -> return : c, z / c z, 1
    back   -> back   : c, c / eps, 5
return -> back : home, z / z, 1
back   -> done : eps,  # / #, 20
""")

task = pdrm.Task(world, TASK)
run = pdrm.train(task, pdrm.CpRM(k=1, episodes=1_000), seed=1)
for episodes, returns in zip(run.curve.at, run.curve.returns, strict=True):
    print(f"after {episodes:>5} episodes: mean evaluation return {returns.mean():.2f}")
policy = run.policy
first_action = policy.actions[policy.act((3, 3), "first", ("#",))]
print(f"{len(policy)} table rows; the first action is {first_action}")
