# A topic is created: the controller chooses the first leader, and brokers learn of it.
duration: 20s
steps: [{at: 5s, do: create_topic, topic: story}]
---
partition story-0:
    0.016s  controller of broker 3: broker 3 becomes controller, controller epoch 1
    5.000s  operator: step 1: create_topic topic story
    5.042s  controller of broker 3: leader is now broker 1, before none: clean election, epoch 0, ISR [1,2,3]
            because: a step of the scenario
    5.043s  broker 1: becomes leader in epoch 0: ISR [1,2,3], log end offset 0, high watermark 0
            because: a step of the scenario
    5.043s  broker 1: its leader epochs: entry 0 is epoch 0 from 0 on
    5.043s  broker 2: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    5.043s  broker 3: follows broker 1 in epoch 0: log end offset 0, high watermark 0
   20.000s  broker 1: consumers could read to before 0 in epoch 0 (end of run)
