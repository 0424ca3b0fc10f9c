"""In what runs differ is found in their scenarios: nobody says what was swept."""

from __future__ import annotations

from typing import Any

from tidegauge.analysis.questions.compared_runs import settings_of


def scenario(*, seed: int = 1, lag_ms: object = 30_000, **more: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {"replica.lag.time.max.ms": lag_ms, "num.io.threads": 8}
    return {"name": "lag", "seed": seed, "cluster": {"brokers": 3, "settings": settings}} | more


def test_one_setting_is_called_by_its_name_and_sorts_as_a_number() -> None:
    found = settings_of({f"run-{ms}": scenario(lag_ms=ms) for ms in (9_000, 10_000, 30_000)})
    assert found["run-9000"].text == "replica.lag.time.max.ms=9000"
    assert found["run-10000"].value == 10_000
    in_order = sorted(found, key=lambda run: found[run].order)
    assert in_order == ["run-9000", "run-10000", "run-30000"]


def test_seeds_and_descriptions_are_no_settings() -> None:
    found = settings_of(
        {"one": scenario(seed=1, description="a"), "other": scenario(seed=2, description="b")}
    )
    assert {setting.text for setting in found.values()} == {""}
    assert {setting.value for setting in found.values()} == {None}


def test_two_settings_have_no_common_number() -> None:
    found = settings_of(
        {"one": scenario(lag_ms=1, duration="1m"), "other": scenario(lag_ms=2, duration="2m")}
    )
    assert found["one"].text == "replica.lag.time.max.ms=1, duration=1m"
    assert found["one"].value is None


def test_what_only_some_scenarios_have_is_a_setting_too() -> None:
    """A fault more: what is not there is told as such."""
    cut = {"kind": "cut_link", "at": "5s"}
    found = settings_of({"calm": scenario(faults=[]), "cut": scenario(faults=[cut])})
    assert found["calm"].text == "kind=not set, at=not set"
    assert found["cut"].text == "kind=cut_link, at=5s"
    assert found["cut"].value is None


def test_paths_that_end_alike_are_told_apart() -> None:
    slow, fast = (scenario(faults=[{"delay": delay}, {"delay": delay}]) for delay in ("9ms", "1ms"))
    found = settings_of({"slow": slow, "fast": fast})
    assert found["slow"].text == "0.delay=9ms, 1.delay=9ms"


def test_flags_are_no_numbers() -> None:
    found = settings_of({"on": scenario(lag_ms=True), "off": scenario(lag_ms=False)})
    assert found["on"].text == "replica.lag.time.max.ms=true"
    assert found["on"].value is None


def test_scenarios_of_different_names_are_compared_as_wholes() -> None:
    found = settings_of({"a": scenario(name="a", duration="1m"), "b": scenario(name="b")})
    assert found["a"].text == "name=a"


def with_crash(seconds: int, **more: Any) -> dict[str, Any]:
    crash = {"name": "crash", "kind": "crash", "at": "5s", "for": f"{seconds}s"}
    return scenario(faults=[crash, *more.pop("drawn", ())], **more)


def drawn(seed: int) -> list[dict[str, Any]]:
    """Faults that come of a rate: how many, and when, is the seed's affair."""
    return [
        {"name": f"tail-4-{number}", "kind": "slow_disk", "at": f"{seed * 7 + number}s"}
        for number in range(seed)
    ]


def test_a_parameter_of_a_fault_is_called_as_it_is_set_and_is_a_number_of_seconds() -> None:
    found = settings_of({f"for-{s}": with_crash(s) for s in (20, 100)})
    assert found["for-100"].text == "for=100s"
    assert found["for-100"].value == 100
    assert found["for-20"].order < found["for-100"].order


def test_faults_that_the_seed_has_drawn_are_no_settings() -> None:
    """A sweep over a lag time and seeds, with fault_rates: only the lag time tells runs apart."""
    found = settings_of(
        {
            f"{lag_ms},{seed}": with_crash(20, seed=seed, lag_ms=lag_ms, drawn=drawn(seed))
            for lag_ms in (10_000, 30_000)
            for seed in (1, 2, 3)
        }
    )
    assert {setting.text for setting in found.values()} == {
        "replica.lag.time.max.ms=10000",
        "replica.lag.time.max.ms=30000",
    }
    # The twin: what differs between runs of the same seed does count.
    other = settings_of(
        {
            f"{seconds},{seed}": with_crash(seconds, seed=seed, drawn=drawn(seed))
            for seconds in (20, 100)
            for seed in (1, 2, 3)
        }
    )
    assert {setting.text for setting in other.values()} == {"for=20s", "for=100s"}


def test_more_differences_than_anybody_reads_are_counted() -> None:
    many = settings_of(
        {
            seed: scenario(
                topics=[{"name": f"t{n}", "partitions": n * int(seed)} for n in range(8)]
            )
            for seed in ("1", "2")
        }
    )
    assert many["1"].text.endswith("... 1 more")
