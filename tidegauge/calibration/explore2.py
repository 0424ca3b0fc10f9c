import sys
from pathlib import Path
from statistics import median
from collections import defaultdict
from tidegauge.calibration.cluster_logs import read_cluster_logs
from tidegauge.calibration.estimators import ESTIMATORS
from tidegauge.calibration.fitted_costs import fit_costs
from tidegauge.calibration.side_by_side import *
from tidegauge.calibration.moments import FIGURES
M=[m for e in ESTIMATORS for m in e.markers]
for g in sys.argv[1:]:
    fs=[f for f in sorted(Path('/work/shared/real_logs').glob(g+'*')) if 'slow' not in f.name]
    logs={f:read_cluster_logs(f,M) for f in fs}
    R,D,C=[defaultdict(list) for _ in range(3)]
    for f in fs:
        sch,truth=schedule_in(f)
        others=[logs[o] for o in fs if o!=f] 
        costs=fit_costs(others, sch.mode).costs()
        for k,v in figures_of(moments_of_truth(truth)).items(): R[k]+=v
        try:
            for k,v in played_figures(sch,{}).items(): D[k]+=v
            for k,v in played_figures(sch,costs).items(): C[k]+=v
        except Exception as e: print(f.name, repr(e)[:300])
    print(g)
    for fig in FIGURES:
        n=fig.name
        md=lambda x: '%7.0f (%d)'%(median(x),len(x)) if x else '-'
        print('  ',n.ljust(26),'real',md(R[n]),'default',md(D[n]),'calibrated',md(C[n]), 'CLOSER' if R[n] and D[n] and C[n] and abs(median(C[n])-median(R[n]))<abs(median(D[n])-median(R[n])) else '')
