import sys
from pathlib import Path
from statistics import median
from tidegauge.calibration.cluster_logs import read_cluster_logs
from tidegauge.calibration.estimators import ESTIMATORS
for g in ['zk-2.4.1','zk-2.6.3','zk-3.9.0','kraft-3.9.0','kraft-4.1.0']:
    d={}
    for f in sorted(Path('/work/shared/real_logs').glob(g+'*')):
        if 'slow' in f.name: continue
        logs=read_cluster_logs(f,[m for e in ESTIMATORS for m in e.markers])
        for e in ESTIMATORS:
            if e.mode in (None, logs.mode):
                d.setdefault(e.cost,[]).extend(s.value_us/1000 for s in e.samples(logs))
    print(g, logs.releases)
    for c,v in d.items():
        if v: v=sorted(v); print('   ',c.ljust(34),len(v),'min %.1f p50 %.1f p90 %.1f max %.1f'%(v[0],median(v),v[int(.9*(len(v)-1))],v[-1]))
        else: print('   ',c,0)
