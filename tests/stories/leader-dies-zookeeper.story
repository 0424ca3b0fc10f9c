# A dead leader: its session expires after 18 s, then the next in the ISR leads.
duration: 40s
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 35s}]}
faults:
- {name: crash, kind: crash, brokers: [1], at: 5s}
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
    5.000s  broker 1 (+1): crash 'crash' (crash of 1) begins
    5.000s  broker 1: acknowledged with acks=1: offsets 0 to before 6 in epoch 0 (end of term)
    5.000s  broker 1: consumers could read to before 6 in epoch 0 (end of term)
    5.000s  broker 1: its log has offsets 0 to before 6 of epoch 0 (the process is gone)
    6.000s  client shop-0: writes stall: batch 6 has no outcome after 1.000s
            because: crash 'crash' began at 5.000s
   20.000s  zookeeper: expires session 2 of broker 1, silent for 19.414s
            because: crash 'crash' began at 5.000s
   20.047s  controller of broker 3: leader is now broker 2, before broker 1: clean election, epoch 1, ISR [2,3]
            because: crash 'crash' began at 5.000s
   20.048s  broker 2: its log has offsets 0 to before 6 of epoch 0 (leader)
   20.048s  broker 2: becomes leader in epoch 1: ISR [2,3], log end offset 6, high watermark 5
            because: crash 'crash' began at 5.000s
   20.048s  broker 2: its leader epochs: entry 1 is epoch 1 from 6 on
   20.048s  broker 3: follows broker 2 in epoch 1: log end offset 6, high watermark 5
   20.049s  broker 2: responds to broker 3, which asks for epoch 0: epoch 0 ends at 6: NONE
   20.199s  broker 3: its leader epochs: entry 1 is epoch 1 from 6 on
   20.201s  client shop-0: writes are no longer stalled, after 14.201s
   40.000s  broker 2: acknowledged with acks=1: offsets 6 to before 66 in epoch 1 (end of run)
   40.000s  broker 2: consumers could read to before 66 in epoch 1 (end of run)
   40.000s  broker 2: its log has offsets 6 to before 66 of epoch 1 (end of run)
   40.000s  broker 3: its log has offsets 0 to before 6 of epoch 0 (end of run)
   40.000s  broker 3: its log has offsets 6 to before 66 of epoch 1 (end of run)
