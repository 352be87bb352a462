import { decisionEndpoint, decisionsEndpoint } from './decisions.js';
import type { LedgerEndpoint } from './endpoint.js';
import { fundsEndpoint } from './funds.js';
import { limitsEndpoint } from './limits.js';
import { cancelReplayEndpoint, replayEndpoint, startReplayEndpoint } from './replays.js';
import { usageEndpoint } from './usage.js';

export const ledgerPrefix = '/manage/v1';

const path = /^\/+manage\/+v1(?:[/?]|$)/;

export function isLedgerPath(url: string): boolean {
  return path.test(url);
}

/** Everything below {@link ledgerPrefix} that the dashboard role answers. */
export const ledgerEndpoints: readonly LedgerEndpoint[] = [
  usageEndpoint,
  decisionsEndpoint,
  decisionEndpoint,
  limitsEndpoint,
  fundsEndpoint,
  startReplayEndpoint,
  replayEndpoint,
  cancelReplayEndpoint,
];
