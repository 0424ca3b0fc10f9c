# The only member of the ISR dies: the partition is offline until it is back.
duration: 60s
topics: [{name: story, assignment: {0: [1, 2]}}]
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 40s}]}
faults:
- {name: follower, kind: crash, brokers: [2], at: 5s, for: 25s}
- {name: leader, kind: crash, brokers: [1], at: 26s, for: 22s}
---
partition story-0:
    0.016s  controller of broker 3: broker 3 becomes controller, controller epoch 1
    0.583s  controller of broker 3: leader is now broker 1, before none: clean election, epoch 0, ISR [1,2]
    0.584s  broker 1: becomes leader in epoch 0: ISR [1,2], log end offset 0, high watermark 0
    0.584s  broker 1: its leader epochs: entry 0 is epoch 0 from 0 on
    0.584s  broker 2: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    2.002s  broker 2: its leader epochs: entry 0 is epoch 0 from 0 on
    5.000s  broker 2 (+1): crash 'follower' (crash of 2) begins
    5.000s  broker 2: its log has offsets 0 to before 6 of epoch 0 (the process is gone)
   20.000s  zookeeper: expires session 3 of broker 2, silent for 19.414s
            because: crash 'follower' began at 5.000s
   20.047s  controller of broker 3: takes broker 2 out of the ISR, now [1]: leader broker 1, epoch 1
            because: crash 'follower' began at 5.000s
   20.048s  broker 1: acknowledged with acks=1: offsets 0 to before 37 in epoch 0 (end of term)
   20.048s  broker 1: consumers could read to before 6 in epoch 0 (end of term)
   20.048s  broker 1: its log has offsets 0 to before 37 of epoch 0 (leader)
   20.048s  broker 1: stays leader in epoch 1: ISR [1], log end offset 37, high watermark 6
            because: crash 'follower' began at 5.000s
   20.048s  broker 1: its leader epochs: entry 1 is epoch 1 from 37 on
   26.000s  broker 1 (+1): crash 'leader' (crash of 1) begins
   26.000s  broker 1: acknowledged with acks=1: offsets 37 to before 48 in epoch 1 (end of term)
   26.000s  broker 1: consumers could read to before 48 in epoch 1 (end of term)
   26.000s  broker 1: its log has offsets 37 to before 48 of epoch 1 (the process is gone)
   27.000s  client shop-0: writes stall: batch 48 has no outcome after 1.000s
            because: crash 'leader' began at 26.000s
   30.000s  broker 2 (+1): crash 'follower' (crash of 2) ends
   30.704s  broker 2: finds on disk: high watermark 0, recovery point -1, log end offset 6, 1 leader epoch
   30.856s  broker 2: follows broker 1 in epoch 1: log end offset 6, high watermark 0
   44.000s  zookeeper: expires session 2 of broker 1, silent for 19.414s
            because: crash 'leader' began at 26.000s
   44.045s  controller of broker 3: takes broker 1 out of the ISR, now [1]: leader none, epoch 2
            because: crash 'leader' began at 26.000s
   48.000s  broker 1 (+1): crash 'leader' (crash of 1) ends
   48.704s  broker 1: finds on disk: high watermark 48, recovery point -1, log end offset 48, 2 leader epochs
   48.749s  controller of broker 3: leader is now broker 1, before none: clean election, epoch 3, ISR [1]
            because: crash 'follower' began at 5.000s and crash 'leader' began at 26.000s
   48.751s  broker 2: follows broker 1 in epoch 3: log end offset 6, high watermark 0
   48.854s  broker 1: refuses 5 requests (5 PRODUCE NOT_LEADER_OR_FOLLOWER)
   48.860s  broker 1: becomes leader in epoch 3: ISR [1], log end offset 48, high watermark 48
            because: crash 'follower' began at 5.000s and crash 'leader' began at 26.000s
   48.860s  broker 1: its leader epochs: entry 2 is epoch 3 from 48 on
   48.894s  broker 1: responds to broker 2, which asks for epoch 0: epoch 0 ends at 37: NONE
   48.897s  broker 2: its leader epochs: entry 1 is epoch 1 from 37 on
   48.898s  broker 1: asks to change the ISR from [1] to [1,2], if its version is 3
   48.900s  broker 1: expands the ISR from [1] to [1,2], log end offset 48
            because: crash 'follower' began at 5.000s
   48.900s  broker 1: consumers could read to before 48 in epoch 3 (ISR changed)
   48.957s  broker 2: its leader epochs: entry 2 is epoch 3 from 48 on
   48.960s  client shop-0: writes are no longer stalled, after 21.960s
   56.204s  broker 1: writes an isr_change_notification about 1 partition, 7304 ms after its last ISR change, 7500 ms after its last notification
   56.247s  controller of broker 3: reads isr_change_notification 0 about 1 partition
   60.000s  broker 1: acknowledged with acks=1: offsets 48 to before 76 in epoch 3 (end of run)
   60.000s  broker 1: consumers could read to before 76 in epoch 3 (end of run)
   60.000s  broker 1: its log has offsets 48 to before 76 of epoch 3 (end of run)
   60.000s  broker 2: its log has offsets 0 to before 37 of epoch 0 (end of run)
   60.000s  broker 2: its log has offsets 37 to before 48 of epoch 1 (end of run)
   60.000s  broker 2: its log has offsets 48 to before 76 of epoch 3 (end of run)
