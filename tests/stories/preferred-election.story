# The leader comes back to the first replica when the operator asks for it.
duration: 40s
steps: [{at: 30s, do: preferred_election, topic: story, partition: 0}]
faults:
- {name: stop, kind: restart, brokers: [1], at: 5s, for: 5s}
---
partition story-0:
    0.016s  controller of broker 3: broker 3 becomes controller, controller epoch 1
    0.583s  controller of broker 3: leader is now broker 1, before none: clean election, epoch 0, ISR [1,2,3]
    0.584s  broker 1: becomes leader in epoch 0: ISR [1,2,3], log end offset 0, high watermark 0
    0.584s  broker 1: its leader epochs: entry 0 is epoch 0 from 0 on
    0.584s  broker 2: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    0.584s  broker 3: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    5.000s  broker 1 (+1): restart 'stop' (restart of 1) begins
    5.046s  controller of broker 3: leader is now broker 2, before broker 1: clean election, epoch 1, ISR [2,3]
            because: restart 'stop' began at 5.000s
    5.048s  broker 1: consumers could read to before 0 in epoch 0 (end of term)
    5.048s  broker 1: follows broker 2 in epoch 1: log end offset 0, high watermark 0
    5.048s  broker 2: becomes leader in epoch 1: ISR [2,3], log end offset 0, high watermark 0
            because: restart 'stop' began at 5.000s
    5.048s  broker 2: its leader epochs: entry 0 is epoch 1 from 0 on
    5.048s  broker 3: follows broker 2 in epoch 1: log end offset 0, high watermark 0
   10.000s  broker 1 (+1): restart 'stop' (restart of 1) ends
   10.700s  broker 1: finds on disk: high watermark 0, recovery point 0, log end offset 0, 1 leader epoch
   10.700s  broker 1: its leader epochs: only the first 0 are left
   10.852s  broker 1: follows broker 2 in epoch 1: log end offset 0, high watermark 0
   10.854s  broker 2: asks to change the ISR from [2,3] to [2,3,1], if its version is 1
   10.856s  broker 2: expands the ISR from [2,3] to [2,3,1], log end offset 0
            because: restart 'stop' began at 5.000s
   10.856s  broker 2: consumers could read to before 0 in epoch 1 (ISR changed)
   18.000s  broker 2: writes an isr_change_notification about 1 partition, 7144 ms after its last ISR change, 17500 ms after its last notification
   18.043s  controller of broker 3: reads isr_change_notification 0 about 1 partition
   30.000s  operator: step 1: preferred_election topic story partition 0
   30.044s  controller of broker 3: leader is now broker 1, before broker 2: clean election, epoch 2, ISR [2,3,1]
            because: a preferred election
   30.046s  broker 1: becomes leader in epoch 2: ISR [2,3,1], log end offset 0, high watermark 0
            because: a preferred election
   30.046s  broker 1: its leader epochs: entry 0 is epoch 2 from 0 on
   30.046s  broker 2: consumers could read to before 0 in epoch 1 (end of term)
   30.046s  broker 2: follows broker 1 in epoch 2: log end offset 0, high watermark 0
   30.046s  broker 3: follows broker 1 in epoch 2: log end offset 0, high watermark 0
   30.047s  broker 1: responds to broker 2, which asks for epoch 1: epoch 1 ends at 0: NONE
   30.048s  broker 2: its leader epochs: only the first 0 are left
   40.000s  broker 1: consumers could read to before 0 in epoch 2 (end of run)
