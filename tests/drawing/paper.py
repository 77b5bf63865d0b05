"""The paper's machines to draw, without the lines of their text."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from pdrm.language.loading import parse
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Otherwise, Transition

LETTER = """
name letter
events A B C
stack # A
start u0
final u2
otherwise stay -0.01
u0 -> u0 : {A}, z / A z, -0.01
u0 -> u0 : {C}, z / z, -0.01
u0 -> u0 : {}, z / z, -0.01
u0 -> u1 : {B}, z / z, -0.01
u1 -> u1 : {A}, z / z, -0.01
u1 -> u1 : {B}, z / z, -0.01
u1 -> u1 : {}, z / z, -0.01
u1 -> u1 : {C}, A / eps, -0.01
u1 -> u2 : {C}, # / #, 1
"""
ONE_TREASURE = """
name one-treasure
events u d l r t x
stack # u d l r
start u0
final u2 u3
otherwise stay 0
map back u:d d:u l:r r:l
for a in u d l r:
    u0 -> u0 : {a}, z / a z, 0
    u0 -> u1 : {a, t}, z / a z, 1
    u1 -> u1 : {back(a)}, a / eps, 1
    u1 -> u3 : {back(a), x}, a / eps, 1e5
    for b in u d l r where b != back(a):
        u1 -> u2 : {b}, a / eps, -1e5
        u1 -> u2 : {b, x}, a / eps, -1e5
"""
FORMULA_MAZE = """
name formula-maze
events u d l r t x
exclusive u d l r
stack # u d l r
start search
final home lost
otherwise go lost -1e5
map back u:d d:u l:r r:l
for a in u d l r:
    search -> search : a & !t, z / a z, 0
    search -> return : a & t, z / a z, 1
    return -> return : back(a) & !x, a / eps, 1
    return -> home : back(a) & x, a / eps, 1e5
    for b in u d l r where b != back(a):
        return -> lost : b, a / eps, -1e5
"""
MULTIPLE_TREASURE = """
name multiple-treasure
events u d l r s t T x
stack # u d l r
start u0
final u4 u5
otherwise stay 0
map back u:d d:u l:r r:l
for a in u d l r:
    u0 -> u0 : {a}, z / a z, 0
    u0 -> u1 : {a, s}, z / a z, 1e3
    u1 -> u1 : {a}, z / a z, 0
    u1 -> u2 : {a, t}, z / a z, 1e3
    u2 -> u2 : {back(a)}, a / eps, 1
    u2 -> u1 : {back(a), s}, a / eps, 1e3
    u2 -> u3 : {back(a), s, T}, a / eps, 1e3
    u3 -> u3 : {back(a)}, a / eps, 1
    u3 -> u5 : {back(a), x}, a / eps, 1e5
    for b in u d l r where b != back(a):
        u2 -> u4 : {b}, a / eps, -1e5
        u2 -> u4 : {b, s}, a / eps, -1e5
        u3 -> u4 : {b}, a / eps, -1e5
        u3 -> u4 : {b, x}, a / eps, -1e5
"""
COUNTING = """
name counting
events A B C
exclusive A B C
counters 1
start u0
final u2 u3
otherwise stay 0
u0 -> u1 : B, [1] / [0], 0
u0 -> u0 : A, [1] / [+1], 0
u0 -> u0 : A, [0] / [+1], 0
u0 -> u2 : !A & !B, [0] / [+1], 0
u0 -> u2 : !A & !B, [1] / [0], 0
u1 -> u3 : B, [1] / [0], 0
u1 -> u3 : eps, [0] / [0], 1
u1 -> u1 : C, [1] / [-1], 0
"""
OFFICE = """
name office
events coffee office plant
start u0
final done broken
otherwise stay 0
u0 -> u1 : coffee & !plant, 0
u1 -> done : office & !plant, 1
u0 -> broken : plant, -1
u1 -> broken : plant, -1
"""
SILENT = """
name silent
events é%$ _^~
stack # □
start u0
final u3
otherwise stay 0
u0 -> u1 : eps, # / □ #, 0.5
u1 -> u1 : {é%$}, eps / □, 2
u1 -> u2 : {_^~}, □ / eps, -3
u2 -> u2 : eps, □ / eps, 0.25
u2 -> u3 : eps, # / #, 1
"""
TEXTS = {
    "letter": LETTER,
    "one-treasure": ONE_TREASURE,
    "formula-maze": FORMULA_MAZE,
    "multiple-treasure": MULTIPLE_TREASURE,
    "counting": COUNTING,
    "office": OFFICE,
    "silent": SILENT,
}


@cache
def drawn(name):
    """A machine without source lines."""
    machine = parse(TEXTS[name])
    rules = tuple(replace(rule, where=None) for rule in machine.transitions)
    return replace(machine, transitions=rules)


def letter():
    return drawn("letter")


def rule(source, target, guard, move, reward):
    top, _, push = move.partition("/")
    symbols = tuple(push.split())
    pushed = () if symbols == ("eps",) else symbols
    return Transition(source, target, guard, top.strip(), pushed, reward)


def built(events, rules, otherwise=None, final=("end",), stack=()):
    """A machine built in Python."""
    last = Otherwise.error() if otherwise is None else otherwise
    start = rules[0].source
    symbols = ("#", *stack)
    return PushdownRewardMachine("m", tuple(events), symbols, start, final, last, tuple(rules))
