"""The JVM's orders: the hashes of Java and Scala that choose partitions, threads and orders.

=============================  ==========================================================
Java's hash of a text          ``java_hash.py``
the order of Scala's sets      ``scala_hash.py``
=============================  ==========================================================
"""
