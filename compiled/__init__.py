"""Compiled code without any Kafka: the one decorator, records, tables, and where code is kept.

========================  ===================================================================
file                      subject
========================  ===================================================================
``rules.py``              ``@rule`` and ``@inner_rule``: compiled by Numba, or plain Python
``codes.py``              typed constants and environment variables, without the compiler
``records.py``            records: rows of numpy arrays, their layout and their arrays
``record_views.py``       records and their classes in compiled code
``filled_records.py``     functions that fill a free record of a class, by keywords
``lists.py``              linked lists of records, and loops through them
``handlers.py``           handlers of events by a decorator, and the rule that chooses
``signatures.py``         tables as compiled code sees them, the Numba types of parameters
``lookups.py``            global tuples that rules look places up in
``passes.py``             the passes of Numba that rules need
``lowering.py``           from typed rules to LLVM's code
``inner_code.py``         two compilers for Numba: rules, and the rules that they call
``kept_code.py``          the cache of compiled code, a file for each function
``compile_all.py``        compiling every rule in all processors
``interruptions.py``      Ctrl-C while a process is being started
========================  ===================================================================

The room imports no other. Rules in any room above it import ``rule``, ``inner_rule``, ``code`` and
``Tables`` from ``rules.py`` and the record machinery from ``records.py``.
"""
