#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks of tests/truth must be able to fail, and fail by chance as rarely as they say."""
import random
import sys

import account
import stats
from account import Sample

tests = []
CHANCE = 0.001


def test(function):
    tests.append(function)
    return function


def planted(places=40):
    """Places with shares in proportion to 1, 2, 3 …"""
    return account.places(
        {
            "places": [
                {
                    "task": f"T{i}",
                    "ns": (i + 1) * 1000,
                    "stack": [f"burn_T{i}_L0", "step", f"f_{i:02x}", f"f_{i + 1:02x}"],
                }
                for i in range(places)
            ]
        }
    )


def samples(plan, number, source):
    """So many samples as a perfect sampler takes them."""
    names = list(plan)
    drawn = source.choices(names, [plan[name].share for name in names], k=number)
    return [Sample(plan[name].task, plan[name].stack, True, 1) for name in drawn]


@test
def tails_are_those_of_a_binomial():
    assert abs(stats.two_sided(10, 10, 0.5) - 2 / 1024) < 1e-12
    assert abs(stats.tail(4, 3, 0.5) - 5 / 16) < 1e-12
    assert abs(stats.tail(4, 1, 0.5) - 5 / 16) < 1e-12
    assert stats.two_sided(1000, 0, 0.5) < 1e-200
    assert stats.two_sided(1000, 500, 0.5) == 1.0


@test
def as_many_may_be_outside_as_chance_allows():
    assert stats.most_outside(100, 0.05, 0.5) in (4, 5)
    assert 11 <= stats.most_outside(100, 0.05, 0.001) <= 14


@test
def a_perfect_sampler_passes():
    source, plan = random.Random(1), planted()
    failures = sum(
        bool(account.unlikely_shares(samples(plan, 2000, source), plan, CHANCE)[0])
        for _ in range(200)
    )
    assert failures <= 1, failures


@test
def a_share_that_is_a_third_too_large_fails():
    source, plan = random.Random(2), planted(20)
    caught = 0
    for _ in range(20):
        taken = samples(plan, 10000, source)
        taken += [sample for sample in taken if sample.task == "T19"][: len(taken) // 30]
        caught += bool(account.unlikely_shares(taken, plan, CHANCE)[0])
    assert caught >= 19, caught


@test
def many_small_errors_fail():
    source, plan = random.Random(3), planted()
    other = {
        name: place._replace(share=place.share * (1.25 if i % 2 else 0.75))
        for i, (name, place) in enumerate(plan.items())
    }
    caught = 0
    for _ in range(20):
        wrong, _ = account.unlikely_shares(samples(other, 10000, source), plan, CHANCE)
        caught += bool(wrong)
    assert caught >= 19, caught


@test
def a_thread_that_is_never_sampled_fails():
    plan = planted()
    plan[account.ALONE] = account.Place(None, [account.ALONE], None)
    taken = samples(planted(), 2000, random.Random(4))
    alone = Sample(None, [account.ALONE, "start_thread"], True, 300)
    assert account.unlikely_shares(taken, plan, CHANCE)[0]
    assert not account.unlikely_shares(taken + [alone], plan, CHANCE)[0]
    assert account.wrong_tasks([alone._replace(task="T3")], plan)


@test
def one_sample_on_a_wrong_task_fails():
    plan = planted()
    good = Sample("T3", ["spin", *plan["burn_T3_L0"].stack], True, 5)
    assert not account.wrong_tasks([good], plan)
    assert account.wrong_tasks([good, good._replace(task="T4")], plan)
    assert account.wrong_tasks([good._replace(task=None)], plan)


@test
def a_stack_with_a_frame_less_or_more_fails():
    plan = planted()
    stack = plan["burn_T3_L0"].stack
    assert not account.wrong_stacks([Sample("T3", ["read", *stack], True, 1)], plan)
    for wrong in (stack[:-1], stack + ["main"], stack[:2] + stack[3:], stack[:3] + stack[2:]):
        assert account.wrong_stacks([Sample("T3", wrong, True, 1)], plan), wrong


@test
def the_root_of_another_chain_fails_wherever_the_sample_was():
    plan = planted()
    assert not account.wrong_chains([Sample("T3", ["hook", "f_04"], True, 1)], plan)
    assert account.wrong_chains([Sample("T3", ["hook", "f_05"], True, 1)], plan)
    assert account.wrong_chains([Sample("T3", ["hook", "f_04", "turn"], True, 1)], plan)
    assert not account.wrong_chains([Sample("T3", ["hook", "f_05"], False, 1)], plan)


def main():
    failed = 0
    for number, function in enumerate(tests, 1):
        try:
            function()
            verdict = "ok"
        except AssertionError as error:
            verdict, failed = "not ok", failed + 1
            print(f"# {error}")
        print(f"{verdict} {number} - {function.__name__.replace('_', ' ')}")
    print(f"1..{len(tests)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
