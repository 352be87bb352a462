import { finding } from '../meta/conditions.js';
import type { Finding } from '../meta/conditions.js';
import { maxConfigBytes } from './paymaster-config.js';
import type { PaymasterConfig } from './paymaster-config.js';

type Contracts = PaymasterConfig['contracts'];

/**
 * Keeps what is served within the size bound of the stores. Only contracts and their methods can become too many.
 * Over the bound, only those contracts and methods stay that were served before and are still wanted; everything else
 * takes effect immediately. So nothing stays in force that the owner or the platform has withdrawn: funding, tokens,
 * quotas, caps, policies, a contract or a method.
 */
export function fit(
  config: PaymasterConfig,
  previous: PaymasterConfig | undefined,
): { readonly config: PaymasterConfig; readonly tooLarge?: Finding } {
  if (isWithinBound(config)) return { config };
  const message = `The compiled form is over ${maxConfigBytes / 1024} KiB: whitelist fewer methods, or delete contracts.`;
  const tooLarge = finding('Programmed', 'TooLarge', message);
  const last = { ...config, contracts: stillWanted(previous?.contracts ?? [], config.contracts) };
  // Without contracts the config always fits. It still says that contracts are registered, so nothing is sponsored.
  const kept = isWithinBound(last) ? last : { ...config, contracts: [] };
  const wasClosed =
    previous?.notReady?.reason === 'TooLarge' || previous === undefined || previous.deletedAt !== undefined;
  const notReady = config.notReady ?? (wasClosed ? { reason: 'TooLarge', message } : undefined);
  return { config: notReady === undefined ? kept : { ...kept, notReady }, tooLarge };
}

/** What was served before and is still wanted: never more than either of the two. */
function stillWanted(served: Contracts, wanted: Contracts): Contracts {
  const wantedAt = new Map(wanted.map((contract) => [contract.address, contract]));
  return served.flatMap((contract) => {
    const now = wantedAt.get(contract.address);
    if (now === undefined) return [];
    const selectors = new Set(now.selectors);
    // Keeps the earlier name: its length is part of the size that was known to fit.
    return [{ ...contract, selectors: contract.selectors.filter((selector) => selectors.has(selector)) }];
  });
}

/** Checks the size with the longest possible generation, because the store writes a new one into the config. */
function isWithinBound(config: PaymasterConfig): boolean {
  const text = JSON.stringify({ ...config, configGeneration: Number.MAX_SAFE_INTEGER });
  return Buffer.byteLength(text) <= maxConfigBytes;
}
