# Two of three brokers lose their power, and the records that were not on disk; the third leads.
duration: 60s
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 40s, settings: {acks: 1}}]}
faults:
- {name: power, kind: power_loss, brokers: [1, 2], at: 20s, for: 10s}
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
   20.000s  broker 1 (+3): power_loss 'power' (power_loss of 1,2) begins
   20.000s  broker 1: acknowledged with acks=1: offsets 0 to before 36 in epoch 0 (end of term)
   20.000s  broker 1: consumers could read to before 36 in epoch 0 (end of term)
   20.000s  broker 1: its log has offsets 0 to before 36 of epoch 0 (the process is gone)
   20.000s  broker 1: its log loses what was not on disk: from 36 to 24
            because: power_loss 'power' began at 20.000s
   20.000s  broker 2: its log has offsets 0 to before 36 of epoch 0 (the process is gone)
   20.000s  broker 2: its log loses what was not on disk: from 36 to 7
            because: power_loss 'power' began at 20.000s
   21.000s  client shop-0: writes stall: batch 36 has no outcome after 1.000s
            because: power_loss 'power' began at 20.000s
   30.000s  broker 1 (+3): power_loss 'power' (power_loss of 1,2) ends
   30.704s  broker 1: finds on disk: high watermark 28, recovery point -1, log end offset 24, 1 leader epoch
   30.704s  broker 2: finds on disk: high watermark 27, recovery point -1, log end offset 7, 1 leader epoch
   36.407s  broker 1: finds on disk: high watermark 28, recovery point 24, log end offset 24, 1 leader epoch
   36.408s  broker 2: finds on disk: high watermark 27, recovery point 7, log end offset 7, 1 leader epoch
   38.000s  zookeeper: expires session 2 of broker 1, silent for 19.414s
            because: power_loss 'power' began at 20.000s
   38.000s  zookeeper: expires session 3 of broker 2, silent for 19.414s
            because: power_loss 'power' began at 20.000s
   38.044s  controller of broker 3: leader is now broker 3, before broker 1: clean election, epoch 1, ISR [3]
            because: power_loss 'power' began at 20.000s
   38.045s  broker 3: its log has offsets 0 to before 36 of epoch 0 (leader)
   38.045s  broker 3: becomes leader in epoch 1: ISR [3], log end offset 36, high watermark 35
            because: power_loss 'power' began at 20.000s
   38.045s  broker 3: its leader epochs: entry 1 is epoch 1 from 36 on
   38.156s  client shop-0: writes are no longer stalled, after 17.156s
   42.110s  broker 1: finds on disk: high watermark 28, recovery point 24, log end offset 24, 1 leader epoch
   42.110s  broker 2: finds on disk: high watermark 27, recovery point 7, log end offset 7, 1 leader epoch
   42.262s  broker 1: follows broker 3 in epoch 1: log end offset 24, high watermark 24
   42.263s  broker 2: follows broker 3 in epoch 1: log end offset 7, high watermark 7
   42.264s  broker 3: responds to broker 1, which asks for epoch 0: epoch 0 ends at 36: NONE
   42.264s  broker 3: responds to broker 2, which asks for epoch 0: epoch 0 ends at 36: NONE
   42.267s  broker 1: its leader epochs: entry 1 is epoch 1 from 36 on
   42.267s  broker 2: its leader epochs: entry 1 is epoch 1 from 36 on
   42.268s  broker 3: asks to change the ISR from [3] to [3,1], if its version is 1
   42.270s  broker 3: expands the ISR from [3] to [3,1], log end offset 76
            because: power_loss 'power' began at 20.000s
   42.270s  broker 3: acknowledged with acks=1: offsets 36 to before 76 in epoch 1 (ISR changed)
   42.270s  broker 3: consumers could read to before 76 in epoch 1 (ISR changed)
   42.270s  broker 3: asks to change the ISR from [3,1] to [3,1,2], if its version is 2
   42.274s  broker 3: expands the ISR from [3,1] to [3,1,2], log end offset 76
            because: power_loss 'power' began at 20.000s
   42.274s  broker 3: consumers could read to before 76 in epoch 1 (ISR changed)
   47.500s  broker 3: writes an isr_change_notification about 1 partition, 5226 ms after its last ISR change, 47500 ms after its last notification
   47.542s  controller of broker 3: reads isr_change_notification 0 about 1 partition
   60.000s  broker 1: its log has offsets 0 to before 36 of epoch 0 (end of run)
   60.000s  broker 1: its log has offsets 36 to before 76 of epoch 1 (end of run)
   60.000s  broker 2: its log has offsets 0 to before 36 of epoch 0 (end of run)
   60.000s  broker 2: its log has offsets 36 to before 76 of epoch 1 (end of run)
   60.000s  broker 3: consumers could read to before 76 in epoch 1 (end of run)
   60.000s  broker 3: its log has offsets 36 to before 76 of epoch 1 (end of run)
