# A controlled shutdown with KRaft: the broker asks in a heartbeat.
release: "4.1"
mode: kraft
duration: 30s
workload: {producers: [{name: shop, topics: [story], batches_per_second: 2, start: 2s, stop: 20s}]}
faults:
- {name: stop, kind: restart, brokers: [1], at: 5s, for: 5s}
---
partition story-0:
    0.129s  controller 3000: takes broker 3 for fenced: registered
    0.246s  controller 3000: takes broker 3 for active: unfenced
    0.629s  controller 3000: takes broker 1 for fenced: registered
    0.629s  controller 3000: takes broker 2 for fenced: registered
    0.745s  controller 3000: takes broker 2 for active: unfenced
    0.775s  controller 3000: takes broker 1 for active: unfenced
    0.831s  controller 3000: the state is created by controller 3000: leader broker 1, epoch 0, ISR [1,2,3], partition epoch 0
    0.831s  controller 3000: eligible leaders are []
    0.986s  broker 3: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    1.044s  broker 1: becomes leader in epoch 0: ISR [1,2,3], log end offset 0, high watermark 0
    1.044s  broker 1: its leader epochs: entry 0 is epoch 0 from 0 on
    1.050s  broker 2: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    2.007s  broker 2: its leader epochs: entry 0 is epoch 0 from 0 on
    2.007s  broker 3: its leader epochs: entry 0 is epoch 0 from 0 on
    5.000s  broker 1: restart 'stop' (restart of 1) begins
    5.039s  controller 3000: takes broker 1 for shutting down: shuts down
            because: restart 'stop' began at 5.000s
    5.039s  controller 3000: leader is now broker 2, before broker 1: clean election, epoch 1, ISR [2,3]
            because: restart 'stop' began at 5.000s
    5.039s  controller 3000: takes broker 1 out of the ISR, now [2,3]: leader broker 2, epoch 1
            because: restart 'stop' began at 5.000s
    5.039s  controller 3000: the state is written by controller 3000: leader broker 2, epoch 1, ISR [2,3], partition epoch 1
    5.120s  broker 1: acknowledged with acks=all: offsets 0 to before 7 in epoch 0 (end of term)
    5.120s  broker 1: consumers could read to before 7 in epoch 0 (end of term)
    5.120s  broker 1: follows broker 2 in epoch 1: log end offset 7, high watermark 7
    5.120s  broker 2: its log has offsets 0 to before 7 of epoch 0 (leader)
    5.120s  broker 2: becomes leader in epoch 1: ISR [2,3], log end offset 7, high watermark 6
            because: restart 'stop' began at 5.000s
    5.120s  broker 2: its leader epochs: entry 1 is epoch 1 from 7 on
    5.120s  broker 3: follows broker 2 in epoch 1: log end offset 7, high watermark 6
    5.506s  broker 1: refuses PRODUCE of client shop-0: NOT_LEADER_OR_FOLLOWER
    5.609s  broker 3: its leader epochs: entry 1 is epoch 1 from 7 on
    7.122s  controller 3000: takes broker 1 for fenced: session closed
            because: restart 'stop' began at 5.000s
    7.823s  broker 1: its log has offsets 0 to before 7 of epoch 0 (the process is gone)
   10.000s  broker 1: restart 'stop' (restart of 1) ends
   10.905s  broker 1: finds on disk: high watermark 7, recovery point 7, log end offset 7, 1 leader epoch
   10.985s  broker 1: follows broker 2 in epoch 1: log end offset 7, high watermark 7
   10.987s  broker 1: its leader epochs: entry 1 is epoch 1 from 7 on
   16.183s  controller 3000: takes broker 1 for fenced: session expired
            because: restart 'stop' began at 5.000s
   17.035s  controller 3000: takes broker 1 for fenced: registered
            because: restart 'stop' began at 5.000s
   17.169s  controller 3000: takes broker 1 for active: unfenced
            because: restart 'stop' began at 5.000s
   17.508s  broker 2: asks to change the ISR from [2,3] to [2,3,1], if its version is 1
   17.509s  controller 3000: gets a request of broker 2, epoch 1, for the ISR [2,3,1], now version 2: NONE
   17.537s  controller 3000: the state is written by controller 3000: leader broker 2, epoch 1, ISR [2,3,1], partition epoch 2
   17.538s  broker 2: expands the ISR from [2,3] to [2,3,1], log end offset 32
            because: restart 'stop' began at 5.000s
   17.538s  broker 2: acknowledged with acks=all: offsets 7 to before 32 in epoch 1 (ISR changed)
   17.538s  broker 2: consumers could read to before 32 in epoch 1 (ISR changed)
   30.000s  broker 1: its log has offsets 7 to before 36 of epoch 1 (end of run)
   30.000s  broker 2: acknowledged with acks=all: offsets 32 to before 36 in epoch 1 (end of run)
   30.000s  broker 2: consumers could read to before 36 in epoch 1 (end of run)
   30.000s  broker 2: its log has offsets 7 to before 36 of epoch 1 (end of run)
   30.000s  broker 3: its log has offsets 0 to before 7 of epoch 0 (end of run)
   30.000s  broker 3: its log has offsets 7 to before 36 of epoch 1 (end of run)
