# A producer's batches wait until its metadata name the new leader.
duration: 40s
tell: [client shop]
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 35s}]}
faults:
- {name: crash, kind: crash, brokers: [1], at: 5s}
---
client shop:
    6.000s  client shop-0: story-0: writes stall: batch 6 has no outcome after 1.000s
            because: crash 'crash' began at 5.000s
   20.201s  client shop-0: story-0: writes are no longer stalled, after 14.201s
