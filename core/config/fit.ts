import { finding } from '../meta/conditions.js';
import type { Finding } from '../meta/conditions.js';
import { maxConfigBytes } from './paymaster-config.js';
import type { PaymasterConfig } from './paymaster-config.js';

type Contracts = PaymasterConfig['contracts'];

/**
 * Keeps what is served within the bound of the stores. Only contracts and their methods can be so many: over the bound
 * those stay that were served before and are wanted still, and everything else takes effect at once. So nothing is kept
 * that the owner or the platform has taken back: funding, tokens, quotas, caps, policies, a contract or a method.
 */
export function fit(
  config: PaymasterConfig,
  previous: PaymasterConfig | undefined,
): { readonly config: PaymasterConfig; readonly tooLarge?: Finding } {
  if (isWithinBound(config)) return { config };
  const message = `The compiled form is over ${maxConfigBytes / 1024} KiB: whitelist fewer methods, or delete contracts.`;
  const tooLarge = finding('Programmed', 'TooLarge', message);
  const last = { ...config, contracts: stillWanted(previous?.contracts ?? [], config.contracts) };
  // Without contracts it always fits; that contracts are registered still stands in it, so nothing is sponsored.
  const kept = isWithinBound(last) ? last : { ...config, contracts: [] };
  const wasClosed =
    previous?.notReady?.reason === 'TooLarge' || previous === undefined || previous.deletedAt !== undefined;
  const notReady = config.notReady ?? (wasClosed ? { reason: 'TooLarge', message } : undefined);
  return { config: notReady === undefined ? kept : { ...kept, notReady }, tooLarge };
}

/** What was served and is wanted now: never more than either. */
function stillWanted(served: Contracts, wanted: Contracts): Contracts {
  const wantedAt = new Map(wanted.map((contract) => [contract.address, contract]));
  return served.flatMap((contract) => {
    const now = wantedAt.get(contract.address);
    if (now === undefined) return [];
    const selectors = new Set(now.selectors);
    // The name of the time before: it counts as much as the bytes that were known to fit.
    return [{ ...contract, selectors: contract.selectors.filter((selector) => selectors.has(selector)) }];
  });
}

/** A store writes a generation of its own into it: judged with the longest. */
function isWithinBound(config: PaymasterConfig): boolean {
  const text = JSON.stringify({ ...config, configGeneration: Number.MAX_SAFE_INTEGER });
  return Buffer.byteLength(text) <= maxConfigBytes;
}
