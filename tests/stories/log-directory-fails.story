# A log directory fails: the broker tells the controller, and its replicas are offline.
duration: 40s
release: "2.6"
cluster:
  brokers: 3
  log_directories: 2
  start: {3: 0s, 1: 500ms, 2: 500ms}
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 30s}]}
faults:
- {name: disk, kind: log_directory_failure, brokers: [1], directory: 1, at: 5s}
---
partition story-0:
    0.016s  controller of broker 3: broker 3 becomes controller, controller epoch 1
    0.586s  controller of broker 3: leader is now broker 1, before none: clean election, epoch 0, ISR [1,2,3]
    0.587s  broker 1: becomes leader in epoch 0: ISR [1,2,3], log end offset 0, high watermark 0
    0.587s  broker 1: its leader epochs: entry 0 is epoch 0 from 0 on
    0.587s  broker 2: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    0.587s  broker 3: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    2.002s  broker 2: its leader epochs: entry 0 is epoch 0 from 0 on
    2.002s  broker 3: its leader epochs: entry 0 is epoch 0 from 0 on
    5.000s  broker 1: log_directory_failure 'disk' (log_directory_failure of 1) begins
    5.001s  broker 1: refuses PRODUCE of client shop-0: KAFKA_STORAGE_ERROR (offset -1)
    5.001s  broker 1: acknowledged with acks=1: offsets 0 to before 6 in epoch 0 (end of term)
    5.001s  broker 1: consumers could read to before 6 in epoch 0 (end of term)
    5.001s  broker 1: its log has offsets 0 to before 6 of epoch 0 (its log directory is offline)
    5.001s  broker 1: its replica is offline with log directory 1
    5.044s  broker 1: refuses LEADER_AND_ISR of controller of broker 3: KAFKA_STORAGE_ERROR (offset -1)
    5.081s  controller of broker 3: learns that the replica of broker 1 is offline
    5.103s  broker 1: refuses PRODUCE of client shop-0: KAFKA_STORAGE_ERROR (offset -1)
    5.125s  controller of broker 3: leader is now broker 2, before broker 1: clean election, epoch 1, ISR [2,3]
            because: log_directory_failure 'disk' began at 5.000s
    5.126s  broker 1: refuses LEADER_AND_ISR of controller of broker 3: KAFKA_STORAGE_ERROR (offset -1)
    5.126s  broker 2: its log has offsets 0 to before 6 of epoch 0 (leader)
    5.126s  broker 2: becomes leader in epoch 1: ISR [2,3], log end offset 6, high watermark 5
            because: log_directory_failure 'disk' began at 5.000s
    5.126s  broker 2: its leader epochs: entry 1 is epoch 1 from 6 on
    5.126s  broker 3: follows broker 2 in epoch 1: log end offset 6, high watermark 5
    5.128s  broker 2: responds to broker 3, which asks for epoch 0: epoch 0 ends at 6: NONE
    5.205s  broker 1: refuses PRODUCE of client shop-0: KAFKA_STORAGE_ERROR (offset -1)
    5.308s  broker 3: its leader epochs: entry 1 is epoch 1 from 6 on
   40.000s  broker 2: acknowledged with acks=1: offsets 6 to before 56 in epoch 1 (end of run)
   40.000s  broker 2: consumers could read to before 56 in epoch 1 (end of run)
   40.000s  broker 2: its log has offsets 6 to before 56 of epoch 1 (end of run)
   40.000s  broker 3: its log has offsets 0 to before 6 of epoch 0 (end of run)
   40.000s  broker 3: its log has offsets 6 to before 56 of epoch 1 (end of run)
