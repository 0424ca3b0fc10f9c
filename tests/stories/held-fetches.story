# The fetches of broker 3 are held, so the leader takes it out of the ISR: the pin is the reason, and no
# fault. Released, they bring it back.
duration: 30s
cluster:
  brokers: 3
  start: {3: 0s, 1: 500ms, 2: 500ms}
  settings: {replica.lag.time.max.ms: 4000, replica.fetch.wait.max.ms: 500}
workload:
  producers:
    - {name: shop, topics: [story], batches_per_second: 2, start: 1s, stop: 25s}
pins:
  - {name: silent, hold: FETCH, from: broker:3, to: broker:1, count: all, after: 10s, until: 20s}
---
partition story-0:
    0.016s  controller of broker 3: broker 3 becomes controller, controller epoch 1
    0.583s  controller of broker 3: leader is now broker 1, before none: clean election, epoch 0, ISR [1,2,3]
    0.584s  broker 1: becomes leader in epoch 0: ISR [1,2,3], log end offset 0, high watermark 0
    0.584s  broker 1: its leader epochs: entry 0 is epoch 0 from 0 on
    0.584s  broker 2: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    0.584s  broker 3: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    1.002s  broker 2: its leader epochs: entry 0 is epoch 0 from 0 on
    1.002s  broker 3: its leader epochs: entry 0 is epoch 0 from 0 on
   10.003s  broker 1: pin silent holds FETCH of broker 3
   14.500s  broker 1: asks to change the ISR from [1,2,3] to [1,2], if its version is 0
            because: pin silent held FETCH of broker 3 at 10.003s
   14.506s  broker 1: shrinks the ISR from [1,2,3] to [1,2]: not caught up for 4997 ms, log end offset 27
   14.506s  broker 1: acknowledged with acks=1: offsets 0 to before 27 in epoch 0 (ISR changed)
   14.506s  broker 1: consumers could read to before 18 in epoch 0 (ISR changed)
   20.000s  broker 1: pin silent releases FETCH of broker 3, held for 9.996s
   20.002s  broker 1: asks to change the ISR from [1,2] to [1,2,3], if its version is 1
   20.004s  broker 1: expands the ISR from [1,2] to [1,2,3], log end offset 39
   20.004s  broker 1: acknowledged with acks=1: offsets 27 to before 39 in epoch 0 (ISR changed)
   20.004s  broker 1: consumers could read to before 38 in epoch 0 (ISR changed)
   25.500s  broker 1: writes an isr_change_notification about 1 partition, 5496 ms after its last ISR change, 25000 ms after its last notification
   25.542s  controller of broker 3: reads isr_change_notification 0 about 1 partition
   30.000s  broker 1: acknowledged with acks=1: offsets 39 to before 48 in epoch 0 (end of run)
   30.000s  broker 1: consumers could read to before 48 in epoch 0 (end of run)
   30.000s  broker 1: its log has offsets 0 to before 48 of epoch 0 (end of run)
   30.000s  broker 2: its log has offsets 0 to before 48 of epoch 0 (end of run)
   30.000s  broker 3: its log has offsets 0 to before 48 of epoch 0 (end of run)
