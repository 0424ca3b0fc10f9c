# Kafka 4.1 elects an eligible leader replica that left the ISR cleanly.
release: "4.1"
mode: kraft
eligible_leader_replicas: true
duration: 50s
topics: [{name: story, assignment: {0: [1, 2]}, settings: {min.insync.replicas: 2}}]
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 40s}]}
faults:
- {name: follower, kind: restart, brokers: [2], at: 5s, for: 15s}
- {name: leader, kind: crash, brokers: [1], at: 10s}
---
partition story-0:
    0.629s  controller 3000: takes broker 1 for fenced: registered
    0.629s  controller 3000: takes broker 2 for fenced: registered
    0.745s  controller 3000: takes broker 2 for active: unfenced
    0.775s  controller 3000: takes broker 1 for active: unfenced
    0.831s  controller 3000: the state is created by controller 3000: leader broker 1, epoch 0, ISR [1,2], partition epoch 0
    0.831s  controller 3000: eligible leaders are []
    1.044s  broker 1: becomes leader in epoch 0: ISR [1,2], log end offset 0, high watermark 0
    1.044s  broker 1: its leader epochs: entry 0 is epoch 0 from 0 on
    1.050s  broker 2: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    2.007s  broker 2: its leader epochs: entry 0 is epoch 0 from 0 on
    5.000s  broker 2: restart 'follower' (restart of 2) begins
    5.039s  controller 3000: takes broker 2 out of the ISR, now [1]: leader broker 1, epoch 0
            because: restart 'follower' began at 5.000s
    5.039s  controller 3000: the state is written by controller 3000: leader broker 1, epoch 0, ISR [1], partition epoch 1
    5.039s  controller 3000: eligible leaders are [2]
    5.039s  controller 3000: takes broker 2 for fenced: session closed
            because: restart 'follower' began at 5.000s
    5.120s  broker 1: acknowledged with acks=all: offsets 0 to before 7 in epoch 0 (ISR changed)
    5.120s  broker 1: consumers could read to before 7 in epoch 0 (ISR changed)
    5.506s  broker 1: refuses 3 requests (3 PRODUCE NOT_ENOUGH_REPLICAS) (until 5.710s)
    5.740s  broker 2: its log has offsets 0 to before 7 of epoch 0 (the process is gone)
    5.812s  broker 1: refuses 8 requests (8 PRODUCE NOT_ENOUGH_REPLICAS) (until 6.424s)
    6.500s  client shop-0: writes stall: batch 7 has no outcome after 1.000s
            because: restart 'follower' began at 5.000s
    6.526s  broker 1: refuses 35 requests (35 PRODUCE NOT_ENOUGH_REPLICAS) (until 9.996s)
   10.000s  broker 1: crash 'leader' (crash of 1) begins
   10.000s  broker 1: consumers could read to before 7 in epoch 0 (end of term)
   10.000s  broker 1: its log has offsets 0 to before 7 of epoch 0 (the process is gone)
   15.058s  controller 3000: takes broker 2 for fenced: session expired
            because: restart 'follower' began at 5.000s
   18.443s  controller 3000: takes broker 1 out of the ISR, now []: leader none, epoch 1
            because: crash 'leader' began at 10.000s
   18.443s  controller 3000: the state is written by controller 3000: leader none, epoch 1, ISR [], partition epoch 2
   18.443s  controller 3000: eligible leaders are [1,2]; the last known leader is broker 1
   18.443s  controller 3000: takes broker 1 for fenced: session expired
            because: crash 'leader' began at 10.000s
   20.000s  broker 2: restart 'follower' (restart of 2) ends
   20.905s  broker 2: finds on disk: high watermark 6, recovery point 7, log end offset 7, 1 leader epoch
   20.985s  broker 2: follows none in epoch 1: log end offset 7, high watermark 6
   21.029s  controller 3000: takes broker 2 for fenced: registered
            because: restart 'follower' began at 5.000s
   21.314s  controller 3000: takes broker 2 for active: unfenced
            because: restart 'follower' began at 5.000s
   21.314s  controller 3000: leader is now broker 2, before none: clean election, epoch 2, ISR [2]
            because: restart 'follower' began at 5.000s and crash 'leader' began at 10.000s
   21.314s  controller 3000: the state is written by controller 3000: leader broker 2, epoch 2, ISR [2], partition epoch 3
   21.314s  controller 3000: eligible leaders are [1]
   21.323s  broker 2: refuses PRODUCE of client shop-0: NOT_LEADER_OR_FOLLOWER
   21.395s  broker 2: becomes leader in epoch 2: ISR [2], log end offset 7, high watermark 6
            because: restart 'follower' began at 5.000s and crash 'leader' began at 10.000s
   21.395s  broker 2: its leader epochs: entry 1 is epoch 2 from 7 on
   21.425s  broker 2: refuses 281 requests (281 PRODUCE NOT_ENOUGH_REPLICAS) (until 49.999s)
   50.000s  broker 2: consumers could read to before 6 in epoch 2 (end of run)
