# A controlled shutdown moves the leadership before the broker ends; the preferred leader stays
# follower.
duration: 30s
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 20s}]}
faults:
- {name: stop, kind: restart, brokers: [1], at: 5s, for: 5s}
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
    5.000s  broker 1 (+1): restart 'stop' (restart of 1) begins
    5.046s  controller of broker 3: leader is now broker 2, before broker 1: clean election, epoch 1, ISR [2,3]
            because: restart 'stop' began at 5.000s
    5.048s  broker 1: acknowledged with acks=1: offsets 0 to before 7 in epoch 0 (end of term)
    5.048s  broker 1: consumers could read to before 7 in epoch 0 (end of term)
    5.048s  broker 1: follows broker 2 in epoch 1: log end offset 7, high watermark 7
    5.048s  broker 2: its log has offsets 0 to before 7 of epoch 0 (leader)
    5.048s  broker 2: becomes leader in epoch 1: ISR [2,3], log end offset 7, high watermark 6
            because: restart 'stop' began at 5.000s
    5.048s  broker 2: its leader epochs: entry 1 is epoch 1 from 7 on
    5.048s  broker 3: follows broker 2 in epoch 1: log end offset 7, high watermark 6
    5.049s  broker 2: responds to broker 3, which asks for epoch 0: epoch 0 ends at 7: NONE
    5.604s  broker 3: its leader epochs: entry 1 is epoch 1 from 7 on
    6.748s  broker 1: its log has offsets 0 to before 7 of epoch 0 (the process is gone)
   10.000s  broker 1 (+1): restart 'stop' (restart of 1) ends
   10.700s  broker 1: finds on disk: high watermark 7, recovery point 7, log end offset 7, 1 leader epoch
   10.852s  broker 1: follows broker 2 in epoch 1: log end offset 7, high watermark 7
   10.854s  broker 2: responds to broker 1, which asks for epoch 0: epoch 0 ends at 7: NONE
   10.857s  broker 1: its leader epochs: entry 1 is epoch 1 from 7 on
   10.858s  broker 2: asks to change the ISR from [2,3] to [2,3,1], if its version is 1
   10.860s  broker 2: expands the ISR from [2,3] to [2,3,1], log end offset 18
            because: restart 'stop' began at 5.000s
   10.860s  broker 2: acknowledged with acks=1: offsets 7 to before 18 in epoch 1 (ISR changed)
   10.860s  broker 2: consumers could read to before 18 in epoch 1 (ISR changed)
   18.000s  broker 2: writes an isr_change_notification about 1 partition, 7140 ms after its last ISR change, 17500 ms after its last notification
   18.043s  controller of broker 3: reads isr_change_notification 0 about 1 partition
   30.000s  broker 1: its log has offsets 7 to before 36 of epoch 1 (end of run)
   30.000s  broker 2: acknowledged with acks=1: offsets 18 to before 36 in epoch 1 (end of run)
   30.000s  broker 2: consumers could read to before 36 in epoch 1 (end of run)
   30.000s  broker 2: its log has offsets 7 to before 36 of epoch 1 (end of run)
   30.000s  broker 3: its log has offsets 0 to before 7 of epoch 0 (end of run)
   30.000s  broker 3: its log has offsets 7 to before 36 of epoch 1 (end of run)
