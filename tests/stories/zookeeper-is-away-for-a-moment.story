# An outage of ZooKeeper that is shorter than a session changes nothing.
duration: 30s
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 25s}]}
faults:
- {name: outage, kind: zookeeper_outage, at: 5s, for: 8s}
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
    5.000s  zookeeper: zookeeper_outage 'outage' (zookeeper_outage) begins
   13.000s  zookeeper: zookeeper_outage 'outage' (zookeeper_outage) ends
   30.000s  broker 1: acknowledged with acks=1: offsets 0 to before 46 in epoch 0 (end of run)
   30.000s  broker 1: consumers could read to before 46 in epoch 0 (end of run)
   30.000s  broker 1: its log has offsets 0 to before 46 of epoch 0 (end of run)
   30.000s  broker 2: its log has offsets 0 to before 46 of epoch 0 (end of run)
   30.000s  broker 3: its log has offsets 0 to before 46 of epoch 0 (end of run)
