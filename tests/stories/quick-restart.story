# A broker that is back before its session ends cannot register until the old session is over.
duration: 50s
tell: [partition story-0, broker 1]
faults:
- {name: kill, kind: crash, brokers: [1], at: 5s, for: 3s}
---
partition story-0:
    0.016s  controller of broker 3: broker 3 becomes controller, controller epoch 1
    0.583s  controller of broker 3: leader is now broker 1, before none: clean election, epoch 0, ISR [1,2,3]
    0.584s  broker 1: becomes leader in epoch 0: ISR [1,2,3], log end offset 0, high watermark 0
    0.584s  broker 1: its leader epochs: entry 0 is epoch 0 from 0 on
    0.584s  broker 2: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    0.584s  broker 3: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    5.000s  broker 1 (+1): crash 'kill' (crash of 1) begins
    5.000s  broker 1: consumers could read to before 0 in epoch 0 (end of term)
    8.000s  broker 1 (+1): crash 'kill' (crash of 1) ends
    8.704s  broker 1: finds on disk: high watermark 0, recovery point -1, log end offset 0, 1 leader epoch
    8.704s  broker 1: its leader epochs: only the first 0 are left
   14.407s  broker 1: finds on disk: high watermark 0, recovery point 0, log end offset 0, 0 leader epochs
   20.000s  zookeeper: expires session 2 of broker 1, silent for 19.414s
            because: crash 'kill' began at 5.000s
   20.043s  controller of broker 3: leader is now broker 2, before broker 1: clean election, epoch 1, ISR [2,3]
            because: crash 'kill' began at 5.000s
   20.044s  broker 2: becomes leader in epoch 1: ISR [2,3], log end offset 0, high watermark 0
            because: crash 'kill' began at 5.000s
   20.044s  broker 2: its leader epochs: entry 0 is epoch 1 from 0 on
   20.044s  broker 3: follows broker 2 in epoch 1: log end offset 0, high watermark 0
   20.111s  broker 1: finds on disk: high watermark 0, recovery point 0, log end offset 0, 0 leader epochs
   20.263s  broker 1: follows broker 2 in epoch 1: log end offset 0, high watermark 0
   20.264s  broker 2: asks to change the ISR from [2,3] to [2,3,1], if its version is 1
   20.268s  broker 2: expands the ISR from [2,3] to [2,3,1], log end offset 0
            because: crash 'kill' began at 5.000s
   20.268s  broker 2: consumers could read to before 0 in epoch 1 (ISR changed)
   25.500s  broker 2: writes an isr_change_notification about 1 partition, 5232 ms after its last ISR change, 25000 ms after its last notification
   25.542s  controller of broker 3: reads isr_change_notification 0 about 1 partition
   50.000s  broker 2: consumers could read to before 0 in epoch 1 (end of run)
broker 1:
    0.500s  broker 1: broker 1 starts
    0.501s  zookeeper: opens session 2 of broker 1, timeout 18000 ms
    0.503s  zookeeper: /brokers/ids/1 is created by broker 1
    0.542s  controller of broker 3: sees that broker 1 has registered
            because: the last event of zookeeper was znode_created at 0.503s
    0.583s  controller of broker 3: story-0: leader is now broker 1, before none: clean election, epoch 0, ISR [1,2,3]
    0.584s  broker 1: story-0: becomes leader in epoch 0: ISR [1,2,3], log end offset 0, high watermark 0
    5.000s  broker 1: crash 'kill' (crash of 1) begins
    5.000s  broker 1: broker 1 is gone: killed
    8.000s  broker 1: crash 'kill' (crash of 1) ends
    8.000s  broker 1: broker 1 begins: not stopped cleanly before, 1 log to load until 8.704s, 0 records to read again
    8.001s  zookeeper: opens session 4 of broker 1, timeout 18000 ms
    8.704s  broker 1: story-0: finds on disk: high watermark 0, recovery point -1, log end offset 0, 1 leader epoch
    8.704s  broker 1: broker 1 starts
    8.707s  broker 1: broker 1 is gone: exits: its registration is there already
    8.708s  zookeeper: closes session 4 of broker 1, as requested
   13.707s  broker 1: broker 1 begins: stopped cleanly before, 1 log to load until 14.407s, 0 records to read again
   13.708s  zookeeper: opens session 5 of broker 1, timeout 18000 ms
   14.407s  broker 1: story-0: finds on disk: high watermark 0, recovery point 0, log end offset 0, 0 leader epochs
   14.407s  broker 1: broker 1 starts
   14.410s  broker 1: broker 1 is gone: exits: its registration is there already
   14.411s  zookeeper: closes session 5 of broker 1, as requested
   19.410s  broker 1: broker 1 begins: stopped cleanly before, 1 log to load until 20.111s, 0 records to read again
   19.411s  zookeeper: opens session 6 of broker 1, timeout 18000 ms
   20.000s  zookeeper: expires session 2 of broker 1, silent for 19.414s
            because: crash 'kill' began at 5.000s
   20.000s  zookeeper: /brokers/ids/1 is deleted by the end of its session
            because: crash 'kill' began at 5.000s
   20.038s  controller of broker 3: sees that broker 1 is gone
            because: crash 'kill' began at 5.000s
   20.043s  controller of broker 3: story-0: leader is now broker 2, before broker 1: clean election, epoch 1, ISR [2,3]
            because: crash 'kill' began at 5.000s
   20.111s  broker 1: story-0: finds on disk: high watermark 0, recovery point 0, log end offset 0, 0 leader epochs
   20.111s  broker 1: broker 1 starts
   20.112s  zookeeper: /brokers/ids/1 is created by broker 1
            because: crash 'kill' began at 5.000s
   20.152s  controller of broker 3: sees that broker 1 has registered
            because: crash 'kill' ended at 8.000s
   20.263s  broker 1: story-0: follows broker 2 in epoch 1: log end offset 0, high watermark 0
