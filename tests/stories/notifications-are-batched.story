# With ZooKeeper one notification tells the controller of several changed ISRs.
duration: 40s
release: "2.6"
topics: [{name: story, assignment: {0: [1, 2, 3], 1: [1, 3, 2]}}]
tell: [controller]
cluster:
  brokers: 3
  start: {3: 0s, 1: 500ms, 2: 500ms}
  settings: {replica.lag.time.max.ms: 6000, replica.fetch.wait.max.ms: 500}
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 30s}]}
faults:
- {name: blip, kind: pause, brokers: [2], at: 5s, for: 12s}
---
controller:
    0.015s  zookeeper: /controller is created by broker 3
    0.016s  controller of broker 3: broker 3 becomes controller, controller epoch 1
    0.021s  controller of broker 3: Startup: waited 4.42 ms, took 5.51 ms
    0.505s  controller of broker 3: BrokerChange: waited 0 us, took 37.37 ms
    0.542s  controller of broker 3: sees that broker 1 has registered
            because: the last event of zookeeper was znode_created at 0.503s
    0.542s  controller of broker 3: sees that broker 2 has registered
            because: the last event of zookeeper was znode_created at 0.503s
    0.542s  controller of broker 3: TopicChange: waited 32.52 ms, took 43.85 ms
    0.583s  controller of broker 3: story-0: leader is now broker 1, before none: clean election, epoch 0, ISR [1,2,3]
    0.586s  controller of broker 3: story-1: leader is now broker 1, before none: clean election, epoch 0, ISR [1,3,2]
    5.021s  controller of broker 3: AutoLeaderBalance: waited 0 us, took 35.00 ms
   23.006s  controller of broker 3: IsrChange: waited 0 us, took 45.09 ms
   23.046s  controller of broker 3: reads isr_change_notification 0 about 2 partitions
   23.051s  controller of broker 3: IsrChange: waited 80 us, took 37.58 ms
