# Without leader epochs a follower of a new leader truncates to its own high watermark, below the
# leader's log (KIP-101).
release: "0.10.2"
duration: 60s
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 30s}]}
faults:
- {name: cut, kind: cut_link, between: [[1], [2, 3, zookeeper]], at: 5s, for: 30s}
---
partition story-0:
    0.019s  controller of broker 3: broker 3 becomes controller, controller epoch 1
    0.586s  controller of broker 3: leader is now broker 1, before none: clean election, epoch 0, ISR [1,2,3]
    0.587s  broker 1: becomes leader in epoch 0: ISR [1,2,3], log end offset 0, high watermark 0
    0.587s  broker 2: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    0.587s  broker 3: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    5.000s  broker 1 (+6): cut_link 'cut' (cut_link 1 <-> 2,3,zookeeper) begins
   12.000s  zookeeper: expires session 2 of broker 1, silent for 7.411s
            because: cut_link 'cut' began at 5.000s
   12.043s  controller of broker 3: leader is now broker 2, before broker 1: clean election, epoch 1, ISR [2,3]
            because: cut_link 'cut' began at 5.000s
   12.044s  broker 2: its log has offsets 0 to before 6 of epoch 0 (leader)
   12.044s  broker 2: becomes leader in epoch 1: ISR [2,3], log end offset 6, high watermark 5
            because: cut_link 'cut' began at 5.000s
   12.044s  broker 3: follows broker 2 in epoch 1: log end offset 6, high watermark 5
   12.045s  broker 3: its log has offsets 0 to before 6 of epoch 0 (truncation)
   12.045s  broker 3: truncates its log from 6 to 5 in epoch 1, high watermark 5
            because: cut_link 'cut' began at 5.000s
   15.500s  broker 1: asks to change the ISR from [1,2,3] to [1], if its version is 0
            because: cut_link 'cut' began at 5.000s
   16.500s  client shop-0: writes stall: batch 27 has no outcome after 1.000s
            because: cut_link 'cut' began at 5.000s
   35.000s  broker 1 (+6): cut_link 'cut' (cut_link 1 <-> 2,3,zookeeper) ends
   37.903s  broker 1: the ISR [1] is refused at version 0: BAD_VERSION
   37.903s  broker 1: asks to change the ISR from [1,2,3] to [1], if its version is 0
            because: cut_link 'cut' began at 5.000s
   37.906s  broker 1: the ISR [1] is refused at version 0: BAD_VERSION
   37.906s  broker 1: asks to change the ISR from [1,2,3] to [1], if its version is 0
            because: cut_link 'cut' began at 5.000s
   37.909s  broker 1: the ISR [1] is refused at version 0: BAD_VERSION
   37.909s  broker 1: asks to change the ISR from [1,2,3] to [1], if its version is 0
            because: cut_link 'cut' began at 5.000s
   37.911s  broker 1: the ISR [1] is refused at version 0: BAD_VERSION
   37.911s  broker 1: asks to change the ISR from [1,2,3] to [1], if its version is 0
            because: cut_link 'cut' began at 5.000s
   37.914s  broker 1: the ISR [1] is refused at version 0: BAD_VERSION
   37.915s  client shop-0: writes are no longer stalled, after 21.415s
   37.944s  broker 1: acknowledged with acks=1: offsets 0 to before 56 in epoch 0 (end of term)
   37.944s  broker 1: consumers could read to before 6 in epoch 0 (end of term)
   37.944s  broker 1: follows broker 2 in epoch 1: log end offset 56, high watermark 6
   37.944s  broker 1: its log has offsets 0 to before 56 of epoch 0 (truncation)
   37.944s  broker 1: truncates its log from 56 to 6 in epoch 1, high watermark 6
            because: cut_link 'cut' began at 5.000s
   37.945s  broker 2: asks to change the ISR from [2,3] to [2,3,1], if its version is 1
   37.948s  broker 2: expands the ISR from [2,3] to [2,3,1], log end offset 6
            because: cut_link 'cut' began at 5.000s
   37.948s  broker 2: consumers could read to before 6 in epoch 1 (ISR changed)
   43.000s  broker 2: writes an isr_change_notification about 1 partition, 5052 ms after its last ISR change, 42500 ms after its last notification
   43.044s  controller of broker 3: reads isr_change_notification 0 about 1 partition
   60.000s  broker 2: consumers could read to before 6 in epoch 1 (end of run)
   60.000s  broker 3: its log has offsets 0 to before 6 of epoch 0 (end of run)
