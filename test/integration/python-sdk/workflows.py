"""The workflows that client.py registers and runs: with defaults, a sub-workflow, gates that wait, and a schedule."""

import datetime as dt
import typing

from flytekit import CronSchedule, LaunchPlan, approve, sleep, task, wait_for_input, workflow


@task
def weigh(parcel: str, grams: int) -> float:
    return grams / 1000


@task(retries=2)
def label(parcel: str, kilograms: float) -> typing.List[str]:
    return [parcel, f"{kilograms} kg"]


@workflow
def measure(parcel: str, grams: int = 250) -> float:
    return weigh(parcel=parcel, grams=grams)


@workflow
def ship(parcel: str = "books", grams: int = 700) -> typing.Tuple[typing.List[str], float]:
    kilograms = measure(parcel=parcel, grams=grams)
    return label(parcel=parcel, kilograms=kilograms), kilograms


heavy = LaunchPlan.get_or_create(
    ship, name="ship.heavy", fixed_inputs={"grams": 30_000}, default_inputs={"parcel": "piano"}
)


@workflow
def age(parcel: str = "cheese", grams: int = 500) -> float:
    """Waits longer than any test, and ends by termination."""
    weighed = weigh(parcel=parcel, grams=grams)
    rest = sleep(dt.timedelta(hours=6))
    again = weigh(parcel=parcel, grams=grams)
    rest >> again
    return weighed


@workflow
def inspect(parcel: str = "lamp", grams: int = 900) -> typing.Tuple[float, int]:
    weighed = weigh(parcel=parcel, grams=grams)
    stamps = wait_for_input("stamps", timeout=dt.timedelta(hours=1), expected_type=int)
    cleared = approve(weighed, "customs", timeout=dt.timedelta(hours=1))
    return cleared, stamps


@workflow
def remind(kickoff: dt.datetime, parcel: str = "letter", grams: int = 20) -> float:
    return weigh(parcel=parcel, grams=grams)


minutely = LaunchPlan.get_or_create(
    remind,
    name="remind.minutely",
    schedule=CronSchedule(schedule="* * * * *", kickoff_time_input_arg="kickoff"),
    fixed_inputs={"grams": 25},
)


@task
def count_words(text: str) -> int:
    return len(text.split())


@workflow
def read(text: str = "to be or not") -> int:
    return count_words(text=text)
