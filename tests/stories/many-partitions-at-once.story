# Many partitions change together when their leader hangs: a line has their counts and first names.
duration: 60s
topics: [{name: story, assignment: {0: [1, 2, 3], 1: [1, 2, 3], 2: [1, 2, 3], 3: [1, 3, 2], 4: [1, 3, 2], 5: [2, 1, 3]}}]
tell: [broker 1, broker 2, controller]
workload: {producers: [{name: shop, topics: [story], batches_per_second: 20, start: 2s, stop: 35s}]}
faults:
- {name: hang, kind: pause, brokers: [1], at: 5s, for: 30s}
---
broker 1:
    0.500s  broker 1: broker 1 starts
    0.501s  zookeeper: opens session 2 of broker 1, timeout 18000 ms
    0.503s  zookeeper: /brokers/ids/1 is created by broker 1
    0.542s  controller of broker 3: sees that broker 1 has registered
            because: the last event of zookeeper was znode_created at 0.503s
    0.583s  controller of broker 3: 5 leaders elected (5 broker 1): story-0, story-1, story-2 and 2 more (until 0.586s)
    0.588s  broker 1: 5 partitions led (5 of them newly), 1 followed: story-0, story-1, story-2 and 3 more (until 0.591s)
    5.000s  broker 1: pause 'hang' (pause of 1) begins
   20.000s  zookeeper: expires session 2 of broker 1, silent for 19.407s
            because: pause 'hang' began at 5.000s
   20.000s  zookeeper: /brokers/ids/1 is deleted by the end of its session
            because: pause 'hang' began at 5.000s
   20.042s  controller of broker 3: sees that broker 1 is gone
            because: pause 'hang' began at 5.000s
   20.047s  controller of broker 3: 5 leaders elected (3 broker 2 before broker 1, 2 broker 3 before broker 1): story-0, story-1, story-2 and 2 more (until 20.048s)
            because: pause 'hang' began at 5.000s (5 times)
   20.054s  controller of broker 3: story-5: takes broker 1 out of the ISR, now [2,3]: leader broker 2, epoch 1
            because: pause 'hang' began at 5.000s
   35.000s  broker 1: pause 'hang' (pause of 1) ends
   35.093s  zookeeper: opens session 4 of broker 1, timeout 18000 ms
   35.095s  zookeeper: /brokers/ids/1 is created by broker 1
            because: pause 'hang' began at 5.000s
   35.135s  controller of broker 3: sees that broker 1 has registered
            because: pause 'hang' began at 5.000s
   35.138s  broker 1: 6 partitions followed: story-0, story-1, story-2 and 3 more (until 35.141s)
   35.143s  broker 1: truncates 5 logs, 5 records in all: story-3, story-4, story-0 and 2 more (until 36.002s)
            because: pause 'hang' began at 5.000s (5 times)
broker 2:
    0.500s  broker 2: broker 2 starts
    0.501s  zookeeper: opens session 3 of broker 2, timeout 18000 ms
    0.503s  zookeeper: /brokers/ids/2 is created by broker 2
    0.542s  controller of broker 3: sees that broker 2 has registered
            because: the last event of zookeeper was znode_created at 0.503s
    0.586s  controller of broker 3: story-5: leader is now broker 2, before none: clean election, epoch 0, ISR [2,1,3]
    0.588s  broker 2: 1 partition led (1 of them newly), 5 followed: story-5, story-0, story-1 and 3 more (until 0.591s)
   20.047s  controller of broker 3: story-0: leader is now broker 2, before broker 1: clean election, epoch 1, ISR [2,3]
            because: pause 'hang' began at 5.000s
   20.047s  controller of broker 3: story-1: leader is now broker 2, before broker 1: clean election, epoch 1, ISR [2,3]
            because: pause 'hang' began at 5.000s
   20.048s  controller of broker 3: story-2: leader is now broker 2, before broker 1: clean election, epoch 1, ISR [2,3]
            because: pause 'hang' began at 5.000s
   20.050s  broker 2: 4 partitions led (3 of them newly), 2 followed: story-0, story-1, story-2 and 3 more (until 20.057s)
            because: pause 'hang' began at 5.000s (4 times)
   36.005s  broker 2: ISR changes: 4 asked for, 4 ISRs expanded: story-0, story-1, story-2 and 1 more (until 36.016s)
            because: pause 'hang' began at 5.000s (4 times)
   43.000s  broker 2: writes an isr_change_notification about 4 partitions, 6984 ms after its last ISR change, 42500 ms after its last notification
controller:
    0.015s  zookeeper: /controller is created by broker 3
    0.016s  controller of broker 3: broker 3 becomes controller, controller epoch 1
    0.021s  controller of broker 3: Startup: waited 4.42 ms, took 5.51 ms
    0.505s  controller of broker 3: BrokerChange: waited 0 us, took 37.37 ms
    0.542s  controller of broker 3: sees that broker 1 has registered
            because: the last event of zookeeper was znode_created at 0.503s
    0.542s  controller of broker 3: sees that broker 2 has registered
            because: the last event of zookeeper was znode_created at 0.503s
    0.542s  controller of broker 3: TopicChange: waited 32.52 ms, took 44.81 ms
    0.583s  controller of broker 3: 6 leaders elected (5 broker 1, 1 broker 2): story-0, story-1, story-2 and 3 more (until 0.586s)
    5.021s  controller of broker 3: AutoLeaderBalance: waited 0 us, took 35.00 ms
   20.000s  zookeeper: expires session 2 of broker 1, silent for 19.407s
            because: pause 'hang' began at 5.000s
   20.001s  controller of broker 3: BrokerChange: waited 0 us, took 53.60 ms
   20.042s  controller of broker 3: sees that broker 1 is gone
            because: pause 'hang' began at 5.000s
   20.047s  controller of broker 3: 5 leaders elected (3 broker 2 before broker 1, 2 broker 3 before broker 1): story-0, story-1, story-2 and 2 more (until 20.048s)
            because: pause 'hang' began at 5.000s (5 times)
   20.054s  controller of broker 3: story-5: takes broker 1 out of the ISR, now [2,3]: leader broker 2, epoch 1
            because: pause 'hang' began at 5.000s
   35.097s  controller of broker 3: BrokerChange: waited 0 us, took 37.40 ms
   35.135s  controller of broker 3: sees that broker 1 has registered
            because: pause 'hang' began at 5.000s
   42.504s  controller of broker 3: IsrChange: waited 0 us, took 45.66 ms
   42.544s  controller of broker 3: reads isr_change_notification 0 about 2 partitions
   42.550s  controller of broker 3: IsrChange: waited 80 us, took 37.35 ms
   43.002s  controller of broker 3: IsrChange: waited 0 us, took 45.31 ms
   43.042s  controller of broker 3: reads isr_change_notification 1 about 4 partitions
   43.047s  controller of broker 3: IsrChange: waited 80 us, took 37.58 ms
