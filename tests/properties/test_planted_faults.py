"""A proof that cannot fail shows nothing: each new one finds a fault that is put where it looks."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from pdrm.analysis import best_policy, solving
from pdrm.analysis.whole_stack import WholeStack
from pdrm.domains import FiniteEnv, domain, environments
from pdrm.domains.paper_domains import echo
from pdrm.language import draft
from pdrm.language.combining import Combination, Part
from pdrm.language.draft import DraftMove
from pdrm.language.grammars import conflicts
from pdrm.language.logic import acceptors, regular_expressions, temporal_formulas
from pdrm.language.source import Line
from pdrm.learning.tabular import learner, rows_kernel as tables
from pdrm.learning.tabular.hierarchical import ReadableHierarchical
from pdrm.learning.tabular.q_learning import ReadableQLearning
from pdrm.machines import findings
from pdrm.machines.counting import CountingTransition
from pdrm.machines.guards import ALWAYS
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import LazyTable
from pdrm.machines.transitions import Otherwise
from pdrm.product import explore_kernel, shaping as potentials
from pdrm.product.finite_kernel import FiniteProduct
from pdrm.product.jax_env.jax_product import JaxMachine
from pdrm.product.observation import TopK
from pdrm.product.wrapping import MachineEnv
from tests import contracts
from tests.product import test_exploring, test_finite
from tests.properties import (
    acceptance,
    combining,
    command_lines,
    engines,
    grammars,
    hierarchical,
    jax_machine,
    learners,
    logic,
    mutations,
    plain_summaries,
    round_trip,
    shaping,
    sizes,
    sufficient_k,
    summaries,
    task_findings,
    translation,
    water_twin,
    wrapping,
)


def test_values_that_are_a_little_too_high(monkeypatch):
    find = solving.Solution.value
    monkeypatch.setattr(solving.Solution, "value", lambda *given: find(*given) + 1e-6)
    with pytest.raises(AssertionError, match=r"not in|one step later"):
        summaries.check(seed=0, products=12)


def test_operators_without_their_last_line(monkeypatch):
    read = WholeStack.read

    def forgets(*given):
        constant, lines = read(*given)
        return constant, lines[:-1]

    monkeypatch.setattr(WholeStack, "read", forgets)
    with pytest.raises(AssertionError, match="readable"):
        plain_summaries.check(seed=0, products=20)


def test_operators_that_do_not_hear_of_new_moves(monkeypatch):
    monkeypatch.setattr(WholeStack, "note", lambda *_: None)
    with pytest.raises(AssertionError, match="at once"):
        plain_summaries.check(seed=0, products=1)


def test_bounds_of_a_loss_that_forget_what_was_dropped(monkeypatch):
    tighten = best_policy._BranchAndBound.tighten

    def loose(self, policy, bound, sign, deadline):
        tighten(self, policy, bound, sign, deadline)
        bound -= 1e-3 * (sign > 0)

    monkeypatch.setattr(best_policy._BranchAndBound, "tighten", loose)
    with pytest.raises(AssertionError, match="loss in"):
        sufficient_k.check(seed=0, products=20)


def test_a_play_that_pays_a_little_more(monkeypatch):
    play = best_policy.play

    def generous(*given):
        playback = next(one for one in given if isinstance(one, best_policy.Playback))
        playback.sums[best_policy.RETURN] += 1e-3
        return play(*given)

    monkeypatch.setattr(best_policy, "play", generous)
    with pytest.raises(AssertionError, match="loss in"):
        sufficient_k.check(seed=0, products=20)


def test_a_checker_that_compares_nothing(monkeypatch):
    monkeypatch.setattr("pdrm.analysis.checker.Check.max_excess", lambda *_: Fraction(0))
    with pytest.raises(AssertionError, match="it loses"):
        sufficient_k.check(seed=1, products=20)


def test_a_writer_that_forgets_a_rule(monkeypatch):
    def forgets(machine):
        return round_trip_to_text(replace(machine, transitions=machine.transitions[:-1]))

    round_trip_to_text = round_trip.to_text
    monkeypatch.setattr(round_trip, "to_text", forgets)
    with pytest.raises(AssertionError, match="is read as"):
        round_trip.check(seed=0, machines=20)


def test_a_wrapped_environment_that_pays_a_little_more(monkeypatch):
    step = LazyTable.step

    def generous(self, *given):
        state, stack, reward = step(self, *given)
        return state, stack, reward + 1e-3

    monkeypatch.setattr(LazyTable, "step", generous)
    with pytest.raises(AssertionError, match=r"step \d"):
        wrapping.check(seed=0, episodes=20)


def test_a_wrapper_that_forgets_the_weight(monkeypatch):
    monkeypatch.setattr("pdrm.product.wrapping.check_weight", lambda _weight: 1.0)
    with pytest.raises(AssertionError, match=r"step \d"):
        wrapping.check(seed=0, episodes=20)


@pytest.mark.parametrize("part", ["_pop", "_push"])
def test_a_stack_in_jax_that_is_not_moved(part, monkeypatch):
    monkeypatch.setattr(JaxMachine, part, lambda _self, words, *_symbol: words)
    jax_machine._program.cache_clear()
    with pytest.raises(AssertionError, match="JAX: state"):
        jax_machine.check(seed=0, machines=20, words=20)
    jax_machine._program.cache_clear()


def test_water_whose_twin_has_heavier_balls(monkeypatch):
    advance = water_twin.advance

    def slower(world, water, push, numbers, xp):
        return advance(world, water, push if xp is np else 0.999 * push, numbers, xp)

    monkeypatch.setattr(water_twin, "advance", slower)
    water_twin._program.cache_clear()
    with pytest.raises(AssertionError, match="step"):
        water_twin.check(seed=0, steps=100)
    water_twin._program.cache_clear()


@pytest.mark.parametrize(
    ("proof", "readable"), [(learners, ReadableQLearning), (hierarchical, ReadableHierarchical)]
)
def test_a_learner_that_learns_an_action_twice(proof, readable, monkeypatch):
    name = "update" if readable is ReadableQLearning else "learn"
    learn = getattr(readable, name)
    monkeypatch.setattr(readable, name, lambda *given: (learn(*given), learn(*given)))
    with pytest.raises(AssertionError, match=r"learnt = "):
        proof.check(seed=0, runs=20)


def test_a_learner_that_imagines_an_end_at_every_step(monkeypatch):
    new = tables.ObservedStacks.of

    def hopeless(*given):
        observed = new(*given)
        observed.reached[:] = explore_kernel.ENDED
        observed.ready[:] = observed.reached[0].size
        return observed

    monkeypatch.setattr(tables.ObservedStacks, "of", hopeless)
    with pytest.raises(AssertionError, match=r"learnt = "):
        learners.check(seed=1, runs=60)


def test_a_command_that_leaves_an_error_to_python(tmp_path, monkeypatch):
    broken = "def fail(*_given): raise ValueError\nfrom pdrm.cli.main import Commands\nCommands.get_command = fail\n"
    (tmp_path / "sitecustomize.py").write_text(broken)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    with pytest.raises(AssertionError, match="exit code 99"):
        command_lines.check(seed=0, cases=5)


def test_an_option_that_is_not_paid_what_the_machine_would_pay(monkeypatch):
    tabulate = learner.tabulate_options
    monkeypatch.setattr(learner, "tabulate_options", lambda *given: _without_pay(tabulate(*given)))
    with pytest.raises(AssertionError, match=r"learnt = "):
        hierarchical.check(seed=0, runs=20)


def _without_pay(options):
    return options._replace(paid=0 * options.paid)


def test_a_next_that_may_be_missing(monkeypatch):
    monkeypatch.setitem(temporal_formulas.UNARY, "X", temporal_formulas.UNARY["WX"])
    with pytest.raises(AssertionError, match="should be"):
        logic.check_formulas(seed=0, formulas=60, traces=30)


def test_states_that_are_taken_for_one(monkeypatch):
    def confuse(describe):
        return dict.fromkeys(describe({}), 0)

    monkeypatch.setattr(acceptors, "refine", confuse)
    with pytest.raises(AssertionError, match="should be"):
        logic.check_formulas(seed=0, formulas=30, traces=30)


def test_an_expression_that_forgets_to_repeat(monkeypatch):
    derive = regular_expressions._derive
    monkeypatch.setattr(regular_expressions, "_derive", lambda *given: derive(*given)[:4])
    with pytest.raises(AssertionError, match="should be"):
        logic.check_expressions(seed=0, expressions=30, words=30)


def test_a_combination_in_which_a_finished_part_is_still_paid(monkeypatch):
    rules = Part.rules

    def pays(self, state, top):
        finished = state in self.machine.final
        return [(ALWAYS, Otherwise.stay(1))] if finished else rules(self, state, top)

    monkeypatch.setattr(Part, "rules", pays)
    with pytest.raises(AssertionError, match="pays"):
        combining.check(seed=1, combinations=20, words=20)


def test_a_combination_that_ends_before_its_silent_moves(monkeypatch):
    moves = Combination._moves

    def hurry(self, head):
        place, top = head
        resolved = self._evaluate_when(place)
        return moves(self, head) if resolved == place else [DraftMove(None, resolved, (top,), 0.0)]

    monkeypatch.setattr(Combination, "_moves", hurry)
    with pytest.raises(AssertionError):
        combining.check(seed=1, combinations=30, words=20)


def test_a_potential_that_outlives_the_episode(monkeypatch):
    """It changes which actions are optimal; and the package is found out if it is the one that pays so."""
    add, reward = shaping.add, potentials.Potential.reward

    def keeps(case, plain, potential, before, way):
        return add(case, plain, potential, before, way) + (way.after == shaping.END) * 3

    with monkeypatch.context() as patch:
        patch.setattr(shaping, "add", keeps)
        with pytest.raises(AssertionError, match="optimal"):
            shaping.check(seed=0, products=100)
    monkeypatch.setattr(
        potentials.Potential,
        "reward",
        lambda own, *places, over: reward(own, *places, over=over and False),
    )
    with pytest.raises(AssertionError, match="is not"):
        shaping.check(seed=0, products=40)


def test_values_of_a_machine_that_try_one_label(monkeypatch):
    labels = potentials.cover_moves
    monkeypatch.setattr(potentials, "cover_moves", lambda machine: labels(machine)[:1])
    with pytest.raises(AssertionError, match="by one label more"):
        shaping.check(seed=0, products=40)


def test_a_lint_that_forgets_what_lies_below(monkeypatch):
    saturate = task_findings.task_findings.saturate

    def forgetful(moves, begin):
        cut = [(state, stack[:1]) for state, stack in begin]
        return saturate(lambda head: [(state, push[:1]) for state, push in moves(head)], cut)

    monkeypatch.setattr(task_findings.task_findings, "saturate", forgetful)
    with pytest.raises(AssertionError, match=r"can be reached|ending pays"):
        task_findings.check(seed=0, tasks=200)


def test_a_lint_that_adds_what_is_paid_wrongly(monkeypatch):
    def generous(moves):
        return [loop._replace(reward=loop.reward + 3) for loop in findings.find_reward_loops(moves)]

    monkeypatch.setattr(task_findings.task_findings, "find_reward_loops", generous)
    with pytest.raises(AssertionError, match=r"the loop pays|going on pays"):
        task_findings.check(seed=0, tasks=200)


def test_a_grammar_that_is_refused_for_words_that_it_does_not_have(monkeypatch):
    find = conflicts._find_ambiguity

    def forget(grammar, symbols):
        found = find(grammar, symbols)
        return found and tuple(form._replace(word=(), rest=()) for form in found)

    monkeypatch.setattr(conflicts, "_find_ambiguity", forget)
    with pytest.raises(AssertionError, match="E0113"):
        grammars.check(seed=0, grammars=40)


def test_a_parser_that_confuses_two_states(monkeypatch):
    def stops(describe):
        kinds = list(dict.fromkeys(describe({}).values()))
        return {one: kinds.index(kind) for one, kind in describe({}).items()}

    monkeypatch.setattr(draft, "refine", stops)
    with pytest.raises(AssertionError, match="word"):
        grammars.check(seed=0, grammars=40)


def test_a_solution_that_names_one_action_too_few(monkeypatch):
    actions = solving.Solution.actions
    monkeypatch.setattr(solving.Solution, "actions", lambda *given: actions(*given)[1:])
    with pytest.raises((AssertionError, ValueError)):
        summaries.check(seed=0, products=20)


# --- The machine: every engine is compared with the readable step


def _compare_engines_on_tables(monkeypatch, spoil):
    tabulate = engines.tabulate
    monkeypatch.setattr(engines, "tabulate", lambda *given: spoil(tabulate(*given)))
    with pytest.raises(AssertionError, match="readable = "):
        engines.check(seed=0, machines=20, words=50)


def test_a_wrong_pop(monkeypatch):
    _compare_engines_on_tables(monkeypatch, lambda table: table._replace(pops=0 * table.pops))


def test_a_dropped_silent_reward(monkeypatch):
    def spoil(table):
        paid = table.reward.copy()
        paid[table.silent[table.silent >= 0]] = 0
        return table._replace(reward=paid)

    _compare_engines_on_tables(monkeypatch, spoil)


def test_symbols_pushed_in_the_wrong_order(monkeypatch):
    def spoil(table):
        push = table.push.copy()
        for row, count in zip(push, table.pushes, strict=True):
            row[:count] = row[:count][::-1].copy()
        return table._replace(push=push)

    _compare_engines_on_tables(monkeypatch, spoil)


def test_any_top_that_beats_a_named_one(monkeypatch):
    def strongest(self, state, label, top):
        rules = [rule for rule in self.transitions if rule.source == state and rule.looks_at(top)]
        if label is None:
            fitting = [rule for rule in rules if rule.silent]
        else:
            fitting = [rule for rule in rules if not rule.silent and rule.guard.holds(label)]
        return max(fitting, key=lambda rule: rule.top == "z", default=None)

    monkeypatch.setattr(PushdownRewardMachine, "rule", strongest)
    with pytest.raises(AssertionError, match="ours = "):
        acceptance.check(seed=0, machines=30, words=60)


def test_a_translation_that_forgets_the_bottom(monkeypatch):
    def forgets(machine):
        translated = counting_to_pushdown(machine)
        rules = tuple(r for r in translated.transitions if r.top != "#" or not r.silent)
        return replace(translated, transitions=rules)

    counting_to_pushdown = translation.counting_to_pushdown
    monkeypatch.setattr(translation, "counting_to_pushdown", forgets)
    with pytest.raises(AssertionError):
        translation.check_translation(seed=0, machines=20)


def test_a_counter_that_falls_below_zero(monkeypatch):
    def change(self, counters):
        return tuple(max(-1, one + by) for one, by in zip(counters, self.changes, strict=True))

    monkeypatch.setattr(CountingTransition, "change", change)
    with pytest.raises(AssertionError):
        translation.check_translation(seed=0, machines=20)


def test_a_bound_on_stacks_that_is_too_low(monkeypatch):
    grow = sizes.stack_growth
    monkeypatch.setattr(
        sizes, "stack_growth", lambda machine: replace(grow(machine), step=0, added=0)
    )
    with pytest.raises(AssertionError):
        sizes.check(seed=0, machines=20)


def test_a_lost_error_position(monkeypatch):
    at = Line.at
    monkeypatch.setattr(Line, "at", lambda *given: replace(at(*given), line=0))
    with pytest.raises(AssertionError, match="no place"):
        mutations.check(seed=0, cases=50)


# --- Environments and learners


def test_a_label_that_is_read_twice(monkeypatch):
    step = LazyTable.step

    def twice(self, state, stack, label):
        after, above, paid = step(self, state, stack, label)
        if after in self.machine.final:
            return after, above, paid
        return step(self, after, above, label)

    monkeypatch.setattr(LazyTable, "step", twice)
    with pytest.raises(AssertionError, match=r"step \d"):
        wrapping.check(seed=0, episodes=20)


def test_a_truncation_that_is_taken_for_an_end(monkeypatch):
    step = MachineEnv.step

    def ends(self, action):
        seen, reward, terminated, truncated, info = step(self, action)
        return seen, reward, terminated or truncated, False, info

    monkeypatch.setattr(MachineEnv, "step", ends)
    with pytest.raises(AssertionError, match=r"step \d"):
        wrapping.check(seed=0, episodes=40)


def test_a_learner_that_takes_the_limit_for_an_end(monkeypatch):
    new = learners.QLearner

    def ends(domain, machine, view, settings, seed):
        return new(domain, machine, view, replace(settings, limit_ends=True), seed)

    monkeypatch.setattr(learners, "QLearner", ends)
    with pytest.raises(AssertionError, match=r"learnt = "):
        learners.check(seed=0, runs=60)


def test_a_shifted_seed(monkeypatch):
    draw = learner.seed_streams
    monkeypatch.setattr(learner, "seed_streams", lambda seed, count: draw(seed + 1, count))
    with pytest.raises(AssertionError):
        learners.check(seed=0, runs=20)


def test_a_step_limit_that_is_one_too_long(monkeypatch):
    step = FiniteEnv.step

    def late(self, action):
        *moved, truncated, info = step(self, action)
        return *moved, truncated and self.steps > self.domain.step_limit, info

    monkeypatch.setattr(FiniteEnv, "step", late)
    with pytest.raises(AssertionError):
        contracts.the_limit_truncates(domain("letter"))


def test_outcomes_that_are_drawn_with_other_chances(monkeypatch):
    monkeypatch.setattr(environments, "pick", lambda chances, number: int(number * len(chances)))
    with pytest.raises(AssertionError):
        contracts.outcomes_have_their_frequencies(echo(more=0.9))


def test_a_generator_that_is_not_seeded(monkeypatch):
    reset = FiniteEnv.reset
    monkeypatch.setattr(FiniteEnv, "reset", lambda self, seed=None, options=None: reset(self))
    with pytest.raises(AssertionError):
        contracts.seeds_are_respected(domain("letter"))


def _for_ten_seeds(check, *given):
    for seed in range(10):
        check(seed, *given)


def test_a_view_that_sees_one_symbol_more(monkeypatch):
    monkeypatch.setattr(TopK, "of", lambda view, stack: stack[: view.k + 1])
    with pytest.raises(AssertionError):
        _for_ten_seeds(test_exploring.check_a_walk_is_the_readable_one, TopK(1))


def test_a_product_that_pays_a_little_less(monkeypatch):
    find = FiniteProduct.reward.fget
    monkeypatch.setattr(FiniteProduct, "reward", property(lambda self: find(self) - 1e-9))
    with pytest.raises(AssertionError):
        _for_ten_seeds(test_finite.check_the_product_is_the_readable_one)
