# A paused follower leaves the ISR after replica.lag.time.max.ms, though its session lives, and
# comes back.
duration: 40s
release: "2.6"
cluster:
  brokers: 3
  start: {3: 0s, 1: 500ms, 2: 500ms}
  settings: {replica.lag.time.max.ms: 6000, replica.fetch.wait.max.ms: 500}
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 30s}]}
faults:
- {name: blip, kind: pause, brokers: [2], at: 5s, for: 12s}
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
    5.000s  broker 2 (+1): pause 'blip' (pause of 2) begins
   12.500s  broker 1: asks to change the ISR from [1,2,3] to [1,3], if its version is 0
            because: pause 'blip' began at 5.000s
   12.506s  broker 1: shrinks the ISR from [1,2,3] to [1,3]: not caught up for 7997 ms, log end offset 21
            because: pause 'blip' began at 5.000s
   12.506s  broker 1: acknowledged with acks=1: offsets 0 to before 21 in epoch 0 (ISR changed)
   12.506s  broker 1: consumers could read to before 6 in epoch 0 (ISR changed)
   17.000s  broker 2 (+1): pause 'blip' (pause of 2) ends
   17.003s  broker 1: asks to change the ISR from [1,3] to [1,3,2], if its version is 1
   17.005s  broker 1: expands the ISR from [1,3] to [1,3,2], log end offset 31
            because: pause 'blip' began at 5.000s
   17.005s  broker 1: acknowledged with acks=1: offsets 21 to before 31 in epoch 0 (ISR changed)
   17.005s  broker 1: consumers could read to before 31 in epoch 0 (ISR changed)
   23.000s  broker 1: writes an isr_change_notification about 1 partition, 5995 ms after its last ISR change, 22500 ms after its last notification
   23.042s  controller of broker 3: reads isr_change_notification 0 about 1 partition
   40.000s  broker 1: acknowledged with acks=1: offsets 31 to before 56 in epoch 0 (end of run)
   40.000s  broker 1: consumers could read to before 56 in epoch 0 (end of run)
   40.000s  broker 1: its log has offsets 0 to before 56 of epoch 0 (end of run)
   40.000s  broker 2: its log has offsets 0 to before 56 of epoch 0 (end of run)
   40.000s  broker 3: its log has offsets 0 to before 56 of epoch 0 (end of run)
