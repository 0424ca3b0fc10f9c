# Many ISRs shrink and expand together when a follower lags.
duration: 40s
release: "2.6"
topics: [{name: story, assignment: {0: [1, 2, 3], 1: [1, 2, 3], 2: [1, 2, 3], 3: [1, 3, 2], 4: [1, 3, 2], 5: [2, 1, 3]}}]
tell: [broker 1, partition story-5]
cluster:
  brokers: 3
  start: {3: 0s, 1: 500ms, 2: 500ms}
  settings: {replica.lag.time.max.ms: 6000, replica.fetch.wait.max.ms: 500}
workload: {producers: [{name: shop, topics: [story], batches_per_second: 20, start: 2s, stop: 35s}]}
faults:
- {name: blip, kind: pause, brokers: [3], at: 5s, for: 12s}
---
broker 1:
    0.500s  broker 1: broker 1 starts
    0.501s  zookeeper: opens session 2 of broker 1, timeout 18000 ms
    0.503s  zookeeper: /brokers/ids/1 is created by broker 1
    0.542s  controller of broker 3: sees that broker 1 has registered
            because: the last event of zookeeper was znode_created at 0.503s
    0.583s  controller of broker 3: 5 leaders elected (5 broker 1): story-0, story-1, story-2 and 2 more (until 0.586s)
    0.588s  broker 1: 5 partitions led (5 of them newly), 1 followed: story-0, story-1, story-2 and 3 more (until 0.591s)
   12.500s  broker 1: ISR changes: 5 asked for, 5 ISRs shrunk: story-0, story-1, story-2 and 2 more (until 12.516s)
            because: pause 'blip' began at 5.000s (10 times)
   17.003s  broker 1: ISR changes: 5 asked for, 5 ISRs expanded: story-4, story-0, story-1 and 2 more (until 17.018s)
            because: pause 'blip' began at 5.000s (5 times)
   23.000s  broker 1: writes an isr_change_notification about 5 partitions, 5982 ms after its last ISR change, 22500 ms after its last notification
partition story-5:
    0.016s  controller of broker 3: broker 3 becomes controller, controller epoch 1
    0.586s  controller of broker 3: leader is now broker 2, before none: clean election, epoch 0, ISR [2,1,3]
    0.588s  broker 2: becomes leader in epoch 0: ISR [2,1,3], log end offset 0, high watermark 0
    0.588s  broker 2: its leader epochs: entry 0 is epoch 0 from 0 on
    0.591s  broker 1: follows broker 2 in epoch 0: log end offset 0, high watermark 0
    0.591s  broker 3: follows broker 2 in epoch 0: log end offset 0, high watermark 0
    2.252s  broker 1: its leader epochs: entry 0 is epoch 0 from 0 on
    2.252s  broker 3: its leader epochs: entry 0 is epoch 0 from 0 on
    5.000s  broker 3 (+1): pause 'blip' (pause of 3) begins
   12.500s  broker 2: asks to change the ISR from [2,1,3] to [2,1], if its version is 0
            because: pause 'blip' began at 5.000s
   12.506s  broker 2: shrinks the ISR from [2,1,3] to [2,1]: not caught up for 7547 ms, log end offset 35
            because: pause 'blip' began at 5.000s
   12.506s  broker 2: acknowledged with acks=1: offsets 0 to before 35 in epoch 0 (ISR changed)
   12.506s  broker 2: consumers could read to before 10 in epoch 0 (ISR changed)
   17.000s  broker 3 (+1): pause 'blip' (pause of 3) ends
   17.003s  broker 2: asks to change the ISR from [2,1] to [2,1,3], if its version is 1
   17.006s  broker 2: expands the ISR from [2,1] to [2,1,3], log end offset 50
            because: pause 'blip' began at 5.000s
   17.006s  broker 2: acknowledged with acks=1: offsets 35 to before 50 in epoch 0 (ISR changed)
   17.006s  broker 2: consumers could read to before 50 in epoch 0 (ISR changed)
   23.000s  broker 2: writes an isr_change_notification about 1 partition, 5994 ms after its last ISR change, 22500 ms after its last notification
   23.042s  controller of broker 3: reads isr_change_notification 1 about 6 partitions
   40.000s  broker 1: its log has offsets 0 to before 110 of epoch 0 (end of run)
   40.000s  broker 2: acknowledged with acks=1: offsets 50 to before 110 in epoch 0 (end of run)
   40.000s  broker 2: consumers could read to before 110 in epoch 0 (end of run)
   40.000s  broker 2: its log has offsets 0 to before 110 of epoch 0 (end of run)
   40.000s  broker 3: its log has offsets 0 to before 110 of epoch 0 (end of run)
