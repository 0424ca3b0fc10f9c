# The same with KRaft: the controller completes the move in one record.
release: "4.1"
mode: kraft
duration: 40s
cluster:
  brokers: 4
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 30s}]}
steps: [{at: 10s, do: alter_reassignments, partitions: [{topic: story, partition: 0, replicas: [1, 2, 4]}]}]
---
partition story-0:
    0.391s  controller 3000: takes broker 2 for fenced: registered
    0.456s  controller 3000: takes broker 3 for fenced: registered
    0.546s  controller 3000: takes broker 2 for active: unfenced
    0.613s  controller 3000: takes broker 3 for active: unfenced
    0.819s  controller 3000: takes broker 4 for fenced: registered
    0.877s  controller 3000: takes broker 1 for fenced: registered
    0.967s  controller 3000: takes broker 4 for active: unfenced
    1.045s  controller 3000: takes broker 1 for active: unfenced
    1.133s  controller 3000: the state is created by controller 3000: leader broker 1, epoch 0, ISR [1,2,3], partition epoch 0
    1.133s  controller 3000: eligible leaders are []
    1.222s  broker 1: becomes leader in epoch 0: ISR [1,2,3], log end offset 0, high watermark 0
    1.222s  broker 1: its leader epochs: entry 0 is epoch 0 from 0 on
    1.248s  broker 2: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    1.252s  broker 3: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    2.007s  broker 2: its leader epochs: entry 0 is epoch 0 from 0 on
    2.007s  broker 3: its leader epochs: entry 0 is epoch 0 from 0 on
   10.000s  operator: step 1: alter_reassignments partitions [{"topic":"story","partition":0,"replicas":[1,2,4]}]
   10.029s  controller 3000: moves replicas, now [1,2,4,3]: [4] are added, [3] will be removed
   10.029s  controller 3000: the state is written by controller 3000: leader broker 1, epoch 0, ISR [1,2,3], partition epoch 1
   10.029s  controller 3000: eligible leaders are []; of the replicas [1,2,4,3], [4] are being added, [3] removed
   10.110s  broker 4: follows broker 1 in epoch 0: log end offset 0, high watermark 0
   10.112s  broker 4: its leader epochs: entry 0 is epoch 0 from 0 on
   10.508s  broker 1: asks to change the ISR from [1,2,3] to [1,2,3,4], if its version is 1
   10.509s  controller 3000: gets a request of broker 1, epoch 1, for the ISR [1,2,4], now version 2: NONE
   10.537s  controller 3000: has moved the replicas: they are [1,2,4]
   10.537s  controller 3000: the state is written by controller 3000: leader broker 1, epoch 1, ISR [1,2,4], partition epoch 2
   10.537s  controller 3000: eligible leaders are []
   10.538s  broker 1: the ISR [1,2,3,4] is refused at version 1: NONE
   10.618s  broker 1: acknowledged with acks=all: offsets 0 to before 18 in epoch 0 (end of term)
   10.618s  broker 1: consumers could read to before 18 in epoch 0 (end of term)
   10.618s  broker 1: its log has offsets 0 to before 18 of epoch 0 (leader)
   10.618s  broker 1: stays leader in epoch 1: ISR [1,2,4], log end offset 18, high watermark 18
   10.618s  broker 1: its leader epochs: entry 1 is epoch 1 from 18 on
   10.618s  broker 2: follows broker 1 in epoch 1: log end offset 18, high watermark 17
   10.618s  broker 3: stops fetching in epoch 1, as StopReplica requests
   10.618s  broker 3: its log has offsets 0 to before 18 of epoch 0 (deleted)
   10.618s  broker 3: deletes its log, with records to before 18
   10.624s  broker 4: follows broker 1 in epoch 1: log end offset 18, high watermark 17
   11.009s  broker 2: its leader epochs: entry 1 is epoch 1 from 18 on
   11.009s  broker 4: its leader epochs: entry 1 is epoch 1 from 18 on
   40.000s  broker 1: acknowledged with acks=all: offsets 18 to before 56 in epoch 1 (end of run)
   40.000s  broker 1: consumers could read to before 56 in epoch 1 (end of run)
   40.000s  broker 1: its log has offsets 18 to before 56 of epoch 1 (end of run)
   40.000s  broker 2: its log has offsets 0 to before 18 of epoch 0 (end of run)
   40.000s  broker 2: its log has offsets 18 to before 56 of epoch 1 (end of run)
   40.000s  broker 4: its log has offsets 0 to before 18 of epoch 0 (end of run)
   40.000s  broker 4: its log has offsets 18 to before 56 of epoch 1 (end of run)
