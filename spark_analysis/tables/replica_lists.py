"""Replica lists, packed into integers as ``replication/replica_list.py`` says, for Spark."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as f

from tidegauge.replication.records import SLOTS

_BITS = 4
_MASK = 0b1111


def list_size(replicas: Column) -> Column:
    """How many replicas the list holds: each is a digit of the integer in hexadecimal."""
    return f.when(replicas == 0, 0).otherwise(f.length(f.hex(replicas)))


def list_members(replicas: Column, by_slot: Column) -> Column:
    """The values of an array for the slots of the list, in the order of the list."""
    places = f.array(*(f.lit(_BITS * place) for place in range(SLOTS)))
    members = f.transform(
        places,
        lambda place: f.get(by_slot, _slot(f.call_function("shiftright", replicas, place))),
    )
    return f.filter(members, lambda member: member.isNotNull())


def _slot(replicas: Column) -> Column:
    return (replicas.bitwiseAND(_MASK) - 1).cast("int")
