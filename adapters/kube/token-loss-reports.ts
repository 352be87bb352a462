import type { Logger } from '../../core/log.js';
import {
  formatTokenLossReport,
  parseTokenLossReport,
  type TokenLossReport,
  type TokenLossReports,
} from '../../core/policy/token-loss-reports.js';
import { createNamedConfigMap, type ConfigMapPlace } from './config-map.js';

export const tokenLossConfigMap = 'paymaster-token-losses';

/**
 * Reports in one ConfigMap of the system namespace, by chain id. The rpc role may write this ConfigMap besides the
 * epochs of the usage store; the operator may only read it. So neither of them needs access to the other, or to what it
 * reads.
 */
export function createKubeTokenLossReports(
  deps: ConfigMapPlace & { readonly log: Logger },
): TokenLossReports {
  const map = createNamedConfigMap({ ...deps, name: tokenLossConfigMap });
  return {
    async all() {
      const reports = new Map<number, TokenLossReport>();
      for (const [chainId, text] of Object.entries((await map.read())?.data ?? {})) {
        const report = parseTokenLossReport(text);
        if (report === undefined) deps.log.warn('token loss report is not valid', { chainId });
        else reports.set(Number(chainId), report);
      }
      return reports;
    },
    // The followers of other chains write to the same ConfigMap.
    put: (chainId, report) =>
      map.update((data) => ({ ...data, [String(chainId)]: formatTokenLossReport(report) })),
  };
}
