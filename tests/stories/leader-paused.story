# A paused leader loses its session, and leads on in its own eyes until it learns of its
# successor.
duration: 60s
tell: [partition story-0, broker 1]
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 50s}]}
faults:
- {name: hang, kind: pause, brokers: [1], at: 5s, for: 30s}
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
    5.000s  broker 1 (+1): pause 'hang' (pause of 1) begins
    6.000s  client shop-0: writes stall: batch 6 has no outcome after 1.000s
            because: pause 'hang' began at 5.000s
   20.000s  zookeeper: expires session 2 of broker 1, silent for 19.414s
            because: pause 'hang' began at 5.000s
   20.047s  controller of broker 3: leader is now broker 2, before broker 1: clean election, epoch 1, ISR [2,3]
            because: pause 'hang' began at 5.000s
   20.048s  broker 2: its log has offsets 0 to before 6 of epoch 0 (leader)
   20.048s  broker 2: becomes leader in epoch 1: ISR [2,3], log end offset 6, high watermark 5
            because: pause 'hang' began at 5.000s
   20.048s  broker 2: its leader epochs: entry 1 is epoch 1 from 6 on
   20.048s  broker 3: follows broker 2 in epoch 1: log end offset 6, high watermark 5
   20.049s  broker 2: responds to broker 3, which asks for epoch 0: epoch 0 ends at 6: NONE
   35.000s  broker 1 (+1): pause 'hang' (pause of 1) ends
   35.102s  broker 3: its leader epochs: entry 1 is epoch 1 from 6 on
   35.102s  client shop-0: batch 10 of 1 record is in the log twice: at offset 10 and, by a retry, at 6
   35.102s  client shop-0: batch 9 of 1 record is in the log twice: at offset 9 and, by a retry, at 7
   35.102s  client shop-0: batch 8 of 1 record is in the log twice: at offset 8 and, by a retry, at 8
   35.102s  client shop-0: batch 7 of 1 record is in the log twice: at offset 7 and, by a retry, at 9
   35.102s  client shop-0: batch 6 of 1 record is in the log twice: at offset 6 and, by a retry, at 10
   35.104s  client shop-0: writes are no longer stalled, after 29.104s
   35.141s  broker 1: acknowledged with acks=1: offsets 0 to before 11 in epoch 0 (end of term)
   35.141s  broker 1: consumers could read to before 6 in epoch 0 (end of term)
   35.141s  broker 1: follows broker 2 in epoch 1: log end offset 11, high watermark 6
   35.143s  broker 2: responds to broker 1, which asks for epoch 0: epoch 0 ends at 6: NONE
   35.144s  broker 1: its log has offsets 0 to before 11 of epoch 0 (truncation)
   35.144s  broker 1: truncates its log from 11 to 6 in epoch 1, high watermark 6
            because: pause 'hang' began at 5.000s
   35.146s  broker 1: its leader epochs: entry 1 is epoch 1 from 6 on
   35.147s  broker 2: asks to change the ISR from [2,3] to [2,3,1], if its version is 1
   35.149s  broker 2: expands the ISR from [2,3] to [2,3,1], log end offset 67
            because: pause 'hang' began at 5.000s
   35.149s  broker 2: acknowledged with acks=1: offsets 6 to before 67 in epoch 1 (ISR changed)
   35.149s  broker 2: consumers could read to before 67 in epoch 1 (ISR changed)
   40.500s  broker 2: writes an isr_change_notification about 1 partition, 5351 ms after its last ISR change, 40000 ms after its last notification
   40.542s  controller of broker 3: reads isr_change_notification 0 about 1 partition
   60.000s  broker 1: its log has offsets 6 to before 96 of epoch 1 (end of run)
   60.000s  broker 2: acknowledged with acks=1: offsets 67 to before 96 in epoch 1 (end of run)
   60.000s  broker 2: consumers could read to before 96 in epoch 1 (end of run)
   60.000s  broker 2: its log has offsets 6 to before 96 of epoch 1 (end of run)
   60.000s  broker 3: its log has offsets 0 to before 6 of epoch 0 (end of run)
   60.000s  broker 3: its log has offsets 6 to before 96 of epoch 1 (end of run)
broker 1:
    0.500s  broker 1: broker 1 starts
    0.501s  zookeeper: opens session 2 of broker 1, timeout 18000 ms
    0.503s  zookeeper: /brokers/ids/1 is created by broker 1
    0.542s  controller of broker 3: sees that broker 1 has registered
            because: the last event of zookeeper was znode_created at 0.503s
    0.583s  controller of broker 3: story-0: leader is now broker 1, before none: clean election, epoch 0, ISR [1,2,3]
    0.584s  broker 1: story-0: becomes leader in epoch 0: ISR [1,2,3], log end offset 0, high watermark 0
    5.000s  broker 1: pause 'hang' (pause of 1) begins
   20.000s  zookeeper: expires session 2 of broker 1, silent for 19.414s
            because: pause 'hang' began at 5.000s
   20.000s  zookeeper: /brokers/ids/1 is deleted by the end of its session
            because: pause 'hang' began at 5.000s
   20.041s  controller of broker 3: sees that broker 1 is gone
            because: pause 'hang' began at 5.000s
   20.047s  controller of broker 3: story-0: leader is now broker 2, before broker 1: clean election, epoch 1, ISR [2,3]
            because: pause 'hang' began at 5.000s
   35.000s  broker 1: pause 'hang' (pause of 1) ends
   35.093s  zookeeper: opens session 4 of broker 1, timeout 18000 ms
   35.099s  zookeeper: /brokers/ids/1 is created by broker 1
            because: pause 'hang' began at 5.000s
   35.138s  controller of broker 3: sees that broker 1 has registered
            because: pause 'hang' began at 5.000s
   35.141s  broker 1: story-0: follows broker 2 in epoch 1: log end offset 11, high watermark 6
   35.144s  broker 1: story-0: truncates its log from 11 to 6 in epoch 1, high watermark 6
            because: pause 'hang' began at 5.000s
