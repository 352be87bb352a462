import { DomainError } from '../../core/errors.js';
import type { Logger } from '../../core/log.js';
import {
  formatTokenLossReport,
  parseTokenLossReport,
  type TokenLossReport,
  type TokenLossReports,
} from '../../core/policy/token-loss-reports.js';
import { createNamedConfigMap } from './config-map.js';
import type { KubeTransport } from './transport.js';

export const tokenLossConfigMap = 'paymaster-token-losses';

const mostAttempts = 5;

/**
 * Reports in one ConfigMap of the system namespace, by chain id. The rpc role may write this ConfigMap besides the
 * epochs of the usage store; the operator may only read it. So neither of them needs access to the other, or to what it
 * reads.
 */
export function createKubeTokenLossReports(deps: {
  readonly transport: Pick<KubeTransport, 'request'>;
  readonly namespace: string;
  readonly log: Logger;
}): TokenLossReports {
  const map = createNamedConfigMap({ ...deps, name: tokenLossConfigMap });
  return {
    async all() {
      const reports = new Map<number, TokenLossReport>();
      for (const [chainId, text] of Object.entries((await map.read())?.data ?? {})) {
        const report = parseTokenLossReport(text);
        if (report === undefined)
          deps.log.warn('what stands in the ConfigMap of token losses is no report', { chainId });
        else reports.set(Number(chainId), report);
      }
      return reports;
    },
    async put(chainId, report) {
      const text = formatTokenLossReport(report);
      for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
        const present = await map.read();
        if (present?.data?.[String(chainId)] === text) return;
        // The followers of other chains write to the same ConfigMap.
        if (await map.write(present, { ...present?.data, [String(chainId)]: text })) return;
      }
      throw new DomainError('UNAVAILABLE', `ConfigMap ${tokenLossConfigMap} is being written by others`, {
        reason: 'CONFLICT',
      });
    },
  };
}
