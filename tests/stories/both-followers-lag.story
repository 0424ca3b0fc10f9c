# Without followers the leader refuses acks=all below min.insync.replicas.
duration: 40s
release: "2.6"
topics: [{name: story, assignment: {0: [1, 2, 3]}, settings: {min.insync.replicas: 2}}]
cluster:
  brokers: 3
  start: {1: 0s, 2: 500ms, 3: 500ms}
  settings: {replica.lag.time.max.ms: 6000, replica.fetch.wait.max.ms: 500}
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 30s, settings: {acks: all}}]}
faults:
- {name: blip, kind: pause, brokers: [2, 3], at: 5s, for: 12s}
---
partition story-0:
    0.016s  controller of broker 1: broker 1 becomes controller, controller epoch 1
    0.583s  controller of broker 1: leader is now broker 1, before none: clean election, epoch 0, ISR [1,2,3]
    0.584s  broker 1: becomes leader in epoch 0: ISR [1,2,3], log end offset 0, high watermark 0
    0.584s  broker 1: its leader epochs: entry 0 is epoch 0 from 0 on
    0.584s  broker 2: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    0.584s  broker 3: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    2.002s  broker 2: its leader epochs: entry 0 is epoch 0 from 0 on
    2.002s  broker 3: its leader epochs: entry 0 is epoch 0 from 0 on
    5.000s  broker 2 (+3): pause 'blip' (pause of 2,3) begins
    6.000s  client shop-0: writes stall: batch 6 has no outcome after 1.000s
            because: pause 'blip' began at 5.000s
   12.000s  broker 1: asks to change the ISR from [1,2,3] to [1], if its version is 0
            because: pause 'blip' began at 5.000s
   12.006s  broker 1: shrinks the ISR from [1,2,3] to [1]: not caught up for 7497 ms, log end offset 7
            because: pause 'blip' began at 5.000s
   12.006s  broker 1: acknowledged with acks=all: offsets 0 to before 6 in epoch 0 (ISR changed)
   12.006s  broker 1: consumers could read to before 6 in epoch 0 (ISR changed)
   12.006s  broker 1: refuses PRODUCE of client shop-0: NOT_ENOUGH_REPLICAS_AFTER_APPEND (offset 6)
   12.006s  broker 1: refuses 244 requests (244 PRODUCE NOT_ENOUGH_REPLICAS) (until 16.914s)
   17.000s  broker 2 (+3): pause 'blip' (pause of 2,3) ends
   17.001s  broker 1: asks to change the ISR from [1] to [1,2], if its version is 1
   17.003s  broker 1: expands the ISR from [1] to [1,2], log end offset 7
            because: pause 'blip' began at 5.000s
   17.003s  broker 1: consumers could read to before 7 in epoch 0 (ISR changed)
   17.003s  broker 1: asks to change the ISR from [1,2] to [1,2,3], if its version is 2
   17.006s  broker 1: expands the ISR from [1,2] to [1,2,3], log end offset 7
            because: pause 'blip' began at 5.000s
   17.006s  broker 1: consumers could read to before 7 in epoch 0 (ISR changed)
   17.027s  client shop-0: batch 6 of 1 record is in the log twice: at offset 6 and, by a retry, at 11
   17.030s  client shop-0: writes are no longer stalled, after 11.030s
   22.500s  broker 1: writes an isr_change_notification about 1 partition, 5494 ms after its last ISR change, 22500 ms after its last notification
   22.546s  controller of broker 1: reads isr_change_notification 0 about 1 partition
   40.000s  broker 1: acknowledged with acks=all: offsets 7 to before 57 in epoch 0 (end of run)
   40.000s  broker 1: consumers could read to before 57 in epoch 0 (end of run)
   40.000s  broker 1: its log has offsets 0 to before 57 of epoch 0 (end of run)
   40.000s  broker 2: its log has offsets 0 to before 57 of epoch 0 (end of run)
   40.000s  broker 3: its log has offsets 0 to before 57 of epoch 0 (end of run)
