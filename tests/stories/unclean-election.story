# With unclean.leader.election.enable the last replica leads without the records of the ISR.
duration: 60s
topics: [{name: story, assignment: {0: [1, 2]}, settings: {unclean.leader.election.enable: true}}]
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 40s, settings: {acks: 1}}]}
faults:
- {name: follower, kind: crash, brokers: [2], at: 5s, for: 25s}
- {name: leader, kind: crash, brokers: [1], at: 26s}
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
   44.043s  controller of broker 3: leader is now broker 2, before broker 1: UNCLEAN election, epoch 2, ISR [2]
            because: crash 'leader' began at 26.000s
   44.044s  broker 2: becomes leader in epoch 2: ISR [2], log end offset 6, high watermark 0
            because: crash 'leader' began at 26.000s
   44.044s  broker 2: its leader epochs: entry 1 is epoch 2 from 6 on
   44.159s  client shop-0: writes are no longer stalled, after 17.159s
   60.000s  broker 2: acknowledged with acks=1: offsets 6 to before 34 in epoch 2 (end of run)
   60.000s  broker 2: consumers could read to before 34 in epoch 2 (end of run)
   60.000s  broker 2: its log has offsets 6 to before 34 of epoch 2 (end of run)
