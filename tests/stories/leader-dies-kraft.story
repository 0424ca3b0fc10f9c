# A dead leader with KRaft: it is fenced after 9 s without a heartbeat, in one batch with the
# election.
release: "4.1"
mode: kraft
duration: 30s
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 25s}]}
faults:
- {name: crash, kind: crash, brokers: [1], at: 5s}
---
partition story-0:
    0.129s  controller 3000: takes broker 3 for fenced: registered
    0.246s  controller 3000: takes broker 3 for active: unfenced
    0.629s  controller 3000: takes broker 1 for fenced: registered
    0.629s  controller 3000: takes broker 2 for fenced: registered
    0.745s  controller 3000: takes broker 2 for active: unfenced
    0.775s  controller 3000: takes broker 1 for active: unfenced
    0.831s  controller 3000: the state is created by controller 3000: leader broker 1, epoch 0, ISR [1,2,3], partition epoch 0
    0.831s  controller 3000: eligible leaders are []
    0.986s  broker 3: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    1.044s  broker 1: becomes leader in epoch 0: ISR [1,2,3], log end offset 0, high watermark 0
    1.044s  broker 1: its leader epochs: entry 0 is epoch 0 from 0 on
    1.050s  broker 2: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    2.007s  broker 2: its leader epochs: entry 0 is epoch 0 from 0 on
    2.007s  broker 3: its leader epochs: entry 0 is epoch 0 from 0 on
    5.000s  broker 1: crash 'crash' (crash of 1) begins
    5.000s  broker 1: acknowledged with acks=all: offsets 0 to before 6 in epoch 0 (end of term)
    5.000s  broker 1: consumers could read to before 6 in epoch 0 (end of term)
    5.000s  broker 1: its log has offsets 0 to before 6 of epoch 0 (the process is gone)
    6.000s  client shop-0: writes stall: batch 6 has no outcome after 1.000s
            because: crash 'crash' began at 5.000s
   13.932s  controller 3000: leader is now broker 2, before broker 1: clean election, epoch 1, ISR [2,3]
            because: crash 'crash' began at 5.000s
   13.932s  controller 3000: takes broker 1 out of the ISR, now [2,3]: leader broker 2, epoch 1
            because: crash 'crash' began at 5.000s
   13.932s  controller 3000: the state is written by controller 3000: leader broker 2, epoch 1, ISR [2,3], partition epoch 1
   13.932s  controller 3000: takes broker 1 for fenced: session expired
            because: crash 'crash' began at 5.000s
   14.013s  broker 2: its log has offsets 0 to before 6 of epoch 0 (leader)
   14.013s  broker 2: becomes leader in epoch 1: ISR [2,3], log end offset 6, high watermark 5
            because: crash 'crash' began at 5.000s
   14.013s  broker 2: its leader epochs: entry 1 is epoch 1 from 6 on
   14.013s  broker 3: follows broker 2 in epoch 1: log end offset 6, high watermark 5
   14.085s  broker 3: its leader epochs: entry 1 is epoch 1 from 6 on
   14.093s  client shop-0: writes are no longer stalled, after 8.093s
   30.000s  broker 2: acknowledged with acks=all: offsets 6 to before 46 in epoch 1 (end of run)
   30.000s  broker 2: consumers could read to before 46 in epoch 1 (end of run)
   30.000s  broker 2: its log has offsets 6 to before 46 of epoch 1 (end of run)
   30.000s  broker 3: its log has offsets 0 to before 6 of epoch 0 (end of run)
   30.000s  broker 3: its log has offsets 6 to before 46 of epoch 1 (end of run)
