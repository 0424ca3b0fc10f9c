# The controller empties the ISR of a deleted topic, then brokers stop its replicas and delete
# their logs.
duration: 20s
steps: [{at: 5s, do: delete_topic, topic: story}]
---
partition story-0:
    0.016s  controller of broker 3: broker 3 becomes controller, controller epoch 1
    0.586s  controller of broker 3: leader is now broker 1, before none: clean election, epoch 0, ISR [1,2,3]
    0.587s  broker 1: becomes leader in epoch 0: ISR [1,2,3], log end offset 0, high watermark 0
    0.587s  broker 1: its leader epochs: entry 0 is epoch 0 from 0 on
    0.587s  broker 2: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    0.587s  broker 3: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    5.000s  operator: step 1: delete_topic topic story
    5.049s  controller of broker 3: takes broker 1 out of the ISR, now [2,3]: leader none, epoch 1
            because: a step of the scenario
    5.054s  controller of broker 3: takes broker 2 out of the ISR, now [3]: leader none, epoch 2
            because: a step of the scenario
    5.059s  controller of broker 3: takes broker 3 out of the ISR, now [3]: leader none, epoch 3
            because: a step of the scenario
    5.060s  broker 1: stops fetching in epoch -2, as StopReplica requests
    5.060s  broker 2: stops fetching in epoch -2, as StopReplica requests
    5.060s  broker 3: stops fetching in epoch -2, as StopReplica requests
    5.062s  broker 1: stops fetching in epoch -2, as StopReplica requests
    5.062s  broker 1: consumers could read to before 0 in epoch 0 (end of term)
    5.062s  broker 1: deletes its log, with records to before 0
    5.062s  broker 2: stops fetching in epoch -2, as StopReplica requests
    5.062s  broker 2: deletes its log, with records to before 0
    5.062s  broker 3: stops fetching in epoch -2, as StopReplica requests
    5.062s  broker 3: deletes its log, with records to before 0
