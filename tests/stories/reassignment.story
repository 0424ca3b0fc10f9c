# A partition moves to another broker: the new replica catches up before the old one leaves.
duration: 40s
release: "2.6"
cluster:
  brokers: 4
  start: {3: 0s, 1: 500ms, 2: 500ms, 4: 500ms}
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 30s}]}
steps: [{at: 10s, do: reassign, partitions: [{topic: story, partition: 0, replicas: [1, 2, 4]}]}]
---
partition story-0:
    0.018s  controller of broker 3: broker 3 becomes controller, controller epoch 1
    0.582s  controller of broker 3: leader is now broker 1, before none: clean election, epoch 0, ISR [1,2,3]
    0.583s  broker 1: becomes leader in epoch 0: ISR [1,2,3], log end offset 0, high watermark 0
    0.583s  broker 1: its leader epochs: entry 0 is epoch 0 from 0 on
    0.583s  broker 2: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    0.583s  broker 3: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    2.002s  broker 2: its leader epochs: entry 0 is epoch 0 from 0 on
    2.002s  broker 3: its leader epochs: entry 0 is epoch 0 from 0 on
   10.000s  operator: step 1: reassign version 1 partitions [{"topic":"story","partition":0,"replicas":[1,2,4]}] topics []
   10.042s  controller of broker 3: moves replicas, now [1,2,4,3]: [4] are added, [3] will be removed
   10.043s  zookeeper: the assignment is [1,2,4,3] now; [4] are being added, [3] removed
   10.054s  controller of broker 3: raises the leader epoch of broker 1 to 1, ISR [1,2,3]: the replicas are [1,2,4,3]
   10.055s  broker 1: acknowledged with acks=1: offsets 0 to before 17 in epoch 0 (end of term)
   10.055s  broker 1: consumers could read to before 17 in epoch 0 (end of term)
   10.055s  broker 1: its log has offsets 0 to before 17 of epoch 0 (leader)
   10.055s  broker 1: stays leader in epoch 1: ISR [1,2,3], log end offset 17, high watermark 17
            because: a step of the scenario
   10.055s  broker 1: its leader epochs: entry 1 is epoch 1 from 17 on
   10.055s  broker 2: follows broker 1 in epoch 1: log end offset 17, high watermark 16
   10.055s  broker 3: follows broker 1 in epoch 1: log end offset 17, high watermark 16
   10.055s  broker 4: follows broker 1 in epoch 1: log end offset 0, high watermark 0
   10.057s  broker 4: its leader epochs: entry 0 is epoch 0 from 0 on
   10.058s  broker 1: asks to change the ISR from [1,2,3] to [1,2,3,4], if its version is 1
   10.061s  broker 1: expands the ISR from [1,2,3] to [1,2,3,4], log end offset 17
            because: a step of the scenario
   10.061s  broker 1: consumers could read to before 17 in epoch 1 (ISR changed)
   10.099s  controller of broker 3: raises the leader epoch of broker 1 to 2, ISR [1,2,3,4]: the replicas are [1,2,4]
   10.100s  broker 1: consumers could read to before 17 in epoch 1 (end of term)
   10.100s  broker 1: stays leader in epoch 2: ISR [1,2,3,4], log end offset 17, high watermark 17
            because: a step of the scenario
   10.100s  broker 1: its leader epochs: entry 1 is epoch 2 from 17 on
   10.100s  broker 2: follows broker 1 in epoch 2: log end offset 17, high watermark 16
   10.100s  broker 4: follows broker 1 in epoch 2: log end offset 17, high watermark 17
   10.104s  controller of broker 3: takes broker 3 out of the ISR, now [1,2,4]: leader broker 1, epoch 3
            because: a step of the scenario
   10.105s  broker 1: consumers could read to before 17 in epoch 2 (end of term)
   10.105s  broker 1: stays leader in epoch 3: ISR [1,2,4], log end offset 17, high watermark 17
            because: a step of the scenario
   10.105s  broker 1: its leader epochs: entry 1 is epoch 3 from 17 on
   10.105s  broker 2: follows broker 1 in epoch 3: log end offset 17, high watermark 16
   10.105s  broker 4: follows broker 1 in epoch 3: log end offset 17, high watermark 17
   10.105s  zookeeper: the assignment is [1,2,4] now; [] are being added, [] removed
   10.107s  broker 3: stops fetching in epoch 2, as StopReplica requests
   10.109s  broker 3: stops fetching in epoch 3, as StopReplica requests
   10.109s  broker 3: its log has offsets 0 to before 17 of epoch 0 (deleted)
   10.109s  broker 3: deletes its log, with records to before 17
   10.115s  controller of broker 3: has moved the replicas: they are [1,2,4]
   10.503s  broker 1: responds to broker 2, which asks for epoch 0: epoch 0 ends at 17: NONE
   10.503s  broker 1: responds to broker 4, which asks for epoch 0: epoch 0 ends at 17: NONE
   10.506s  broker 2: its leader epochs: entry 1 is epoch 3 from 17 on
   10.506s  broker 4: its leader epochs: entry 1 is epoch 3 from 17 on
   15.500s  broker 1: writes an isr_change_notification about 1 partition, 5439 ms after its last ISR change, 15000 ms after its last notification
   15.542s  controller of broker 3: reads isr_change_notification 0 about 1 partition
   40.000s  broker 1: acknowledged with acks=1: offsets 17 to before 56 in epoch 3 (end of run)
   40.000s  broker 1: consumers could read to before 56 in epoch 3 (end of run)
   40.000s  broker 1: its log has offsets 17 to before 56 of epoch 3 (end of run)
   40.000s  broker 2: its log has offsets 0 to before 17 of epoch 0 (end of run)
   40.000s  broker 2: its log has offsets 17 to before 56 of epoch 3 (end of run)
   40.000s  broker 4: its log has offsets 0 to before 17 of epoch 0 (end of run)
   40.000s  broker 4: its log has offsets 17 to before 56 of epoch 3 (end of run)
