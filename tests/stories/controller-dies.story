# The broker that is controller dies; another one wins /controller, and reads all states.
duration: 40s
tell: [partition story-0, controller]
faults:
- {name: crash, kind: crash, brokers: [3], at: 5s}
---
partition story-0:
    0.016s  controller of broker 3: broker 3 becomes controller, controller epoch 1
    0.583s  controller of broker 3: leader is now broker 1, before none: clean election, epoch 0, ISR [1,2,3]
    0.584s  broker 1: becomes leader in epoch 0: ISR [1,2,3], log end offset 0, high watermark 0
    0.584s  broker 1: its leader epochs: entry 0 is epoch 0 from 0 on
    0.584s  broker 2: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    0.584s  broker 3: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    5.000s  broker 3 (+1): crash 'crash' (crash of 3) begins
   20.000s  zookeeper: expires session 1 of broker 3, silent for 19.414s
            because: crash 'crash' began at 5.000s
   20.011s  controller of broker 2: broker 2 becomes controller, controller epoch 2
            because: crash 'crash' began at 5.000s
   20.026s  controller of broker 2: takes broker 3 out of the ISR, now [1,2]: leader broker 1, epoch 1
            because: crash 'crash' began at 5.000s
   20.028s  broker 1: consumers could read to before 0 in epoch 0 (end of term)
   20.028s  broker 1: stays leader in epoch 1: ISR [1,2], log end offset 0, high watermark 0
            because: crash 'crash' began at 5.000s
   20.028s  broker 1: its leader epochs: entry 0 is epoch 1 from 0 on
   20.028s  broker 2: follows broker 1 in epoch 1: log end offset 0, high watermark 0
   40.000s  broker 1: consumers could read to before 0 in epoch 1 (end of run)
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
    5.000s  controller of broker 3: crash 'crash' (crash of 3) begins
   20.000s  zookeeper: expires session 1 of broker 3, silent for 19.414s
            because: crash 'crash' began at 5.000s
   20.000s  zookeeper: /controller is deleted by the end of its session
            because: crash 'crash' began at 5.000s
   20.009s  zookeeper: /controller is created by broker 2
            because: crash 'crash' began at 5.000s
   20.011s  controller of broker 2: broker 2 becomes controller, controller epoch 2
            because: crash 'crash' began at 5.000s
   20.026s  controller of broker 2: story-0: takes broker 3 out of the ISR, now [1,2]: leader broker 1, epoch 1
            because: crash 'crash' began at 5.000s
   20.026s  controller of broker 2: Startup: waited 15.13 ms, took 5.69 ms
   25.026s  controller of broker 2: AutoLeaderBalance: waited 0 us, took 35.00 ms
