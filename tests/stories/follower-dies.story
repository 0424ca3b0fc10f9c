# A dead follower is removed by the controller, not by the leader.
duration: 40s
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 35s}]}
faults:
- {name: crash, kind: crash, brokers: [2], at: 5s, for: 25s}
---
partition story-0:
    0.016s  controller of broker 3: broker 3 becomes controller, controller epoch 1
    0.583s  controller of broker 3: leader is now broker 1, before none: clean election, epoch 0, ISR [1,2,3]
    0.584s  broker 1: becomes leader in epoch 0: ISR [1,2,3], log end offset 0, high watermark 0
    0.584s  broker 1: its leader epochs: entry 0 is epoch 0 from 0 on
    0.584s  broker 2: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    0.584s  broker 3: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    2.002s  broker 2: its leader epochs: entry 0 is epoch 0 from 0 on
    2.002s  broker 3: its leader epochs: entry 0 is epoch 0 from 0 on
    5.000s  broker 2 (+1): crash 'crash' (crash of 2) begins
    5.000s  broker 2: its log has offsets 0 to before 6 of epoch 0 (the process is gone)
   20.000s  zookeeper: expires session 3 of broker 2, silent for 19.414s
            because: crash 'crash' began at 5.000s
   20.047s  controller of broker 3: takes broker 2 out of the ISR, now [1,3]: leader broker 1, epoch 1
            because: crash 'crash' began at 5.000s
   20.048s  broker 1: acknowledged with acks=1: offsets 0 to before 37 in epoch 0 (end of term)
   20.048s  broker 1: consumers could read to before 6 in epoch 0 (end of term)
   20.048s  broker 1: its log has offsets 0 to before 37 of epoch 0 (leader)
   20.048s  broker 1: stays leader in epoch 1: ISR [1,3], log end offset 37, high watermark 6
            because: crash 'crash' began at 5.000s
   20.048s  broker 1: its leader epochs: entry 1 is epoch 1 from 37 on
   20.048s  broker 3: follows broker 1 in epoch 1: log end offset 37, high watermark 6
   20.050s  broker 1: responds to broker 3, which asks for epoch 0: epoch 0 ends at 37: NONE
   20.502s  broker 3: its leader epochs: entry 1 is epoch 1 from 37 on
   30.000s  broker 2 (+1): crash 'crash' (crash of 2) ends
   30.704s  broker 2: finds on disk: high watermark 0, recovery point -1, log end offset 6, 1 leader epoch
   30.856s  broker 2: follows broker 1 in epoch 1: log end offset 6, high watermark 0
   30.858s  broker 1: responds to broker 2, which asks for epoch 0: epoch 0 ends at 37: NONE
   30.861s  broker 2: its leader epochs: entry 1 is epoch 1 from 37 on
   30.862s  broker 1: asks to change the ISR from [1,3] to [1,3,2], if its version is 1
   30.864s  broker 1: expands the ISR from [1,3] to [1,3,2], log end offset 58
            because: crash 'crash' began at 5.000s
   30.864s  broker 1: acknowledged with acks=1: offsets 37 to before 58 in epoch 1 (ISR changed)
   30.864s  broker 1: consumers could read to before 58 in epoch 1 (ISR changed)
   38.000s  broker 1: writes an isr_change_notification about 1 partition, 7136 ms after its last ISR change, 37500 ms after its last notification
   38.042s  controller of broker 3: reads isr_change_notification 0 about 1 partition
   40.000s  broker 1: acknowledged with acks=1: offsets 58 to before 66 in epoch 1 (end of run)
   40.000s  broker 1: consumers could read to before 66 in epoch 1 (end of run)
   40.000s  broker 1: its log has offsets 37 to before 66 of epoch 1 (end of run)
   40.000s  broker 2: its log has offsets 0 to before 37 of epoch 0 (end of run)
   40.000s  broker 2: its log has offsets 37 to before 66 of epoch 1 (end of run)
   40.000s  broker 3: its log has offsets 0 to before 37 of epoch 0 (end of run)
   40.000s  broker 3: its log has offsets 37 to before 66 of epoch 1 (end of run)
