# /controller is deleted: an election without a dead broker.
duration: 15s
tell: [controller]
faults:
- {name: move, kind: controller_move, at: 5s}
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
    0.542s  controller of broker 3: TopicChange: waited 32.52 ms, took 40.56 ms
    0.583s  controller of broker 3: story-0: leader is now broker 1, before none: clean election, epoch 0, ISR [1,2,3]
    5.000s  zookeeper: controller_move 'move' (controller_move) begins
    5.000s  zookeeper: /controller is deleted by the end of its session
            because: controller_move 'move' began at 5.000s
    5.001s  controller of broker 3: Startup: waited 0 us
    5.006s  controller of broker 3: broker 3 is no longer controller, controller epoch 1
    5.010s  zookeeper: /controller is created by broker 2
            because: controller_move 'move' began at 5.000s
    5.015s  controller of broker 2: broker 2 becomes controller, controller epoch 2
            because: controller_move 'move' began at 5.000s
    5.021s  controller of broker 2: Startup: waited 5.71 ms, took 5.49 ms
   10.021s  controller of broker 2: AutoLeaderBalance: waited 0 us, took 35.00 ms
