# The same with KRaft: the ISR changes by AlterPartition.
release: "4.1"
mode: kraft
duration: 40s
cluster:
  brokers: 3
  settings: {replica.lag.time.max.ms: 4000, replica.fetch.wait.max.ms: 500}
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 30s}]}
faults:
- {name: blip, kind: pause, brokers: [2], at: 5s, for: 7s}
---
partition story-0:
    0.391s  controller 3000: takes broker 2 for fenced: registered
    0.456s  controller 3000: takes broker 3 for fenced: registered
    0.510s  controller 3000: takes broker 2 for active: unfenced
    0.612s  controller 3000: takes broker 3 for active: unfenced
    0.877s  controller 3000: takes broker 1 for fenced: registered
    1.005s  controller 3000: takes broker 1 for active: unfenced
    1.131s  controller 3000: the state is created by controller 3000: leader broker 1, epoch 0, ISR [1,2,3], partition epoch 0
    1.131s  controller 3000: eligible leaders are []
    1.212s  broker 2: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    1.212s  broker 3: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    1.270s  broker 1: becomes leader in epoch 0: ISR [1,2,3], log end offset 0, high watermark 0
    1.270s  broker 1: its leader epochs: entry 0 is epoch 0 from 0 on
    2.216s  broker 2: its leader epochs: entry 0 is epoch 0 from 0 on
    2.216s  broker 3: its leader epochs: entry 0 is epoch 0 from 0 on
    5.000s  broker 2: pause 'blip' (pause of 2) begins
    6.000s  client shop-0: writes stall: batch 6 has no outcome after 1.000s
            because: pause 'blip' began at 5.000s
    8.750s  broker 1: asks to change the ISR from [1,2,3] to [1,3], if its version is 0
            because: pause 'blip' began at 5.000s
    8.751s  controller 3000: gets a request of broker 1, epoch 0, for the ISR [1,3], now version 1: NONE
    8.779s  controller 3000: the state is written by controller 3000: leader broker 1, epoch 0, ISR [1,3], partition epoch 1
    8.780s  broker 1: shrinks the ISR from [1,2,3] to [1,3]: not caught up for 4242 ms, log end offset 7
            because: pause 'blip' began at 5.000s
    8.780s  broker 1: acknowledged with acks=all: offsets 0 to before 6 in epoch 0 (ISR changed)
    8.780s  broker 1: consumers could read to before 6 in epoch 0 (ISR changed)
    8.791s  client shop-0: writes are no longer stalled, after 2.791s
   12.000s  broker 2: pause 'blip' (pause of 2) ends
   12.003s  broker 1: asks to change the ISR from [1,3] to [1,3,2], if its version is 1
   12.004s  controller 3000: gets a request of broker 1, epoch 0, for the ISR [1,3,2], now version 2: NONE
   12.032s  controller 3000: the state is written by controller 3000: leader broker 1, epoch 0, ISR [1,3,2], partition epoch 2
   12.033s  broker 1: expands the ISR from [1,3] to [1,3,2], log end offset 21
            because: pause 'blip' began at 5.000s
   12.033s  broker 1: acknowledged with acks=all: offsets 6 to before 21 in epoch 0 (ISR changed)
   12.033s  broker 1: consumers could read to before 21 in epoch 0 (ISR changed)
   40.000s  broker 1: acknowledged with acks=all: offsets 21 to before 56 in epoch 0 (end of run)
   40.000s  broker 1: consumers could read to before 56 in epoch 0 (end of run)
   40.000s  broker 1: its log has offsets 0 to before 56 of epoch 0 (end of run)
   40.000s  broker 2: its log has offsets 0 to before 56 of epoch 0 (end of run)
   40.000s  broker 3: its log has offsets 0 to before 56 of epoch 0 (end of run)
