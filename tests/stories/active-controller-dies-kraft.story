# The active controller of the quorum dies: another voter is elected, and brokers stay.
release: "4.1"
mode: kraft
duration: 20s
tell: [partition story-0, controller]
faults:
- {name: crash, kind: crash, brokers: ["controller:0"], at: 5s}
---
partition story-0:
    0.129s  controller 3000: takes broker 3 for fenced: registered
    0.247s  controller 3000: takes broker 3 for active: unfenced
    0.629s  controller 3000: takes broker 1 for fenced: registered
    0.629s  controller 3000: takes broker 2 for fenced: registered
    0.745s  controller 3000: takes broker 1 for active: unfenced
    0.745s  controller 3000: takes broker 2 for active: unfenced
    0.834s  controller 3000: the state is created by controller 3000: leader broker 1, epoch 0, ISR [1,2,3], partition epoch 0
    0.834s  controller 3000: eligible leaders are []
    0.915s  broker 1: becomes leader in epoch 0: ISR [1,2,3], log end offset 0, high watermark 0
    0.915s  broker 1: its leader epochs: entry 0 is epoch 0 from 0 on
    0.915s  broker 2: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    0.915s  broker 3: follows broker 1 in epoch 0: log end offset 0, high watermark 0
    5.000s  controller 3000: crash 'crash' (crash of controller:0) begins
   20.000s  broker 1: consumers could read to before 0 in epoch 0 (end of run)
controller:
    0.000s  controller 3000: controller 3000 is leader in epoch 1: leader controller 3000, voted for none
    0.000s  controller 3000: active controller: controller 3000, controller epoch 1
    0.000s  controller 3001: controller 3001 is follower in epoch 1: leader controller 3000, voted for none
    0.000s  controller 3002: controller 3002 is follower in epoch 1: leader controller 3000, voted for none
    0.101s  controller 3000: registerBroker: waited 0 us, took 2 us
    0.129s  controller 3000: takes broker 3 for fenced: registered
    0.217s  controller 3000: processBrokerHeartbeat: waited 0 us, took 2 us
    0.247s  controller 3000: takes broker 3 for active: unfenced
    0.601s  controller 3000: registerBroker: waited 0 us, took 2 us
    0.601s  controller 3000: registerBroker: waited 2 us, took 2 us
    0.629s  controller 3000: takes broker 1 for fenced: registered
    0.629s  controller 3000: takes broker 2 for fenced: registered
    0.717s  controller 3000: processBrokerHeartbeat: waited 0 us, took 2 us
    0.717s  controller 3000: processBrokerHeartbeat: waited 2 us, took 2 us
    0.745s  controller 3000: takes broker 1 for active: unfenced
    0.745s  controller 3000: takes broker 2 for active: unfenced
    0.803s  controller 3000: createTopics: waited 0 us, took 4 us
    0.834s  controller 3000: story-0: the state is created by controller 3000: leader broker 1, epoch 0, ISR [1,2,3], partition epoch 0
    0.834s  controller 3000: story-0: eligible leaders are []
    5.000s  controller 3000: crash 'crash' (crash of controller:0) begins
    5.000s  controller 3000: active controller: none, controller epoch 1
            because: crash 'crash' began at 5.000s
    5.000s  controller 3000: controller 3000 is stopped in epoch 1: leader controller 3000, voted for none
    6.893s  controller 3001: controller 3001 is prospective in epoch 1: leader controller 3000, voted for none
    6.893s  controller 3002: controller 3002 is prospective in epoch 1: leader controller 3000, voted for none
    6.913s  controller 3001: controller 3001 is candidate in epoch 2: leader none, voted for controller 3001
    6.928s  controller 3002: controller 3002 is unattached in epoch 2: leader none, voted for none
    6.946s  controller 3002: controller 3002 is unattached in epoch 2: leader none, voted for controller 3001
    6.980s  controller 3001: controller 3001 is leader in epoch 2: leader controller 3001, voted for controller 3001
    6.981s  controller 3002: controller 3002 is follower in epoch 2: leader controller 3001, voted for controller 3001
    6.996s  controller 3001: active controller: controller 3001, controller epoch 2
            because: crash 'crash' began at 5.000s
