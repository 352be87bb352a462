import type { Logger } from '../../core/log.js';
import { createReports, type Reports } from '../../core/reports/reports.js';
import type { Clock } from '../../core/units/time.js';
import { createNamedConfigMap, type ConfigMapPlace, type ReadConfigMap } from './config-map.js';

export const reportsConfigMap = 'paymaster-reports';

/**
 * Reports of all servers in one ConfigMap of the system namespace. The rpc role may write it; the operator may only read it. So neither
 * of them needs access to the other, or to what it reads.
 */
export function createKubeReports(
  deps: ConfigMapPlace & {
    readonly clock: Clock;
    readonly log: Logger;
    /** Default: each read asks the API server. */
    readonly read?: ReadConfigMap;
  },
): Reports {
  const map = createNamedConfigMap({ ...deps, name: reportsConfigMap });
  const read = deps.read ?? map.read;
  return createReports({ ...map, read: async () => (await read(reportsConfigMap))?.data ?? {} }, deps);
}
