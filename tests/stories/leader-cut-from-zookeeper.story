# A leader that is cut off from ZooKeeper alone keeps its followers until its session expires.
duration: 60s
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 50s}]}
faults:
- {name: cut, kind: cut_link, between: [[1], [zookeeper]], at: 5s, for: 30s}
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
    5.000s  broker 1 (+2): cut_link 'cut' (cut_link 1 <-> zookeeper) begins
   20.000s  zookeeper: expires session 2 of broker 1, silent for 19.414s
            because: cut_link 'cut' began at 5.000s
   20.047s  controller of broker 3: leader is now broker 2, before broker 1: clean election, epoch 1, ISR [2,3]
            because: cut_link 'cut' began at 5.000s
   20.048s  broker 2: its log has offsets 0 to before 37 of epoch 0 (leader)
   20.048s  broker 2: becomes leader in epoch 1: ISR [2,3], log end offset 37, high watermark 36
            because: cut_link 'cut' began at 5.000s
   20.048s  broker 2: its leader epochs: entry 1 is epoch 1 from 37 on
   20.048s  broker 3: follows broker 2 in epoch 1: log end offset 37, high watermark 36
   20.049s  broker 2: responds to broker 3, which asks for epoch 0: epoch 0 ends at 37: NONE
   35.000s  broker 1 (+2): cut_link 'cut' (cut_link 1 <-> zookeeper) ends
   37.941s  broker 1: acknowledged with acks=1: offsets 0 to before 72 in epoch 0 (end of term)
   37.941s  broker 1: consumers could read to before 37 in epoch 0 (end of term)
   37.941s  broker 1: follows broker 2 in epoch 1: log end offset 72, high watermark 37
   37.943s  broker 2: responds to broker 1, which asks for epoch 0: epoch 0 ends at 37: NONE
   37.944s  broker 1: its log has offsets 0 to before 72 of epoch 0 (truncation)
   37.944s  broker 1: truncates its log from 72 to 37 in epoch 1, high watermark 37
            because: cut_link 'cut' began at 5.000s
   37.945s  broker 2: asks to change the ISR from [2,3] to [2,3,1], if its version is 1
   37.948s  broker 2: expands the ISR from [2,3] to [2,3,1], log end offset 37
            because: cut_link 'cut' began at 5.000s
   37.948s  broker 2: consumers could read to before 37 in epoch 1 (ISR changed)
   38.001s  broker 1: refuses PRODUCE of client shop-0: NOT_LEADER_OR_FOLLOWER (offset -1)
   38.104s  broker 1: its leader epochs: entry 1 is epoch 1 from 37 on
   38.104s  broker 3: its leader epochs: entry 1 is epoch 1 from 37 on
   43.000s  broker 2: writes an isr_change_notification about 1 partition, 5052 ms after its last ISR change, 42500 ms after its last notification
   43.042s  controller of broker 3: reads isr_change_notification 0 about 1 partition
   60.000s  broker 1: its log has offsets 37 to before 61 of epoch 1 (end of run)
   60.000s  broker 2: acknowledged with acks=1: offsets 37 to before 61 in epoch 1 (end of run)
   60.000s  broker 2: consumers could read to before 61 in epoch 1 (end of run)
   60.000s  broker 2: its log has offsets 37 to before 61 of epoch 1 (end of run)
   60.000s  broker 3: its log has offsets 0 to before 37 of epoch 0 (end of run)
   60.000s  broker 3: its log has offsets 37 to before 61 of epoch 1 (end of run)
