import type { InParts } from '../units/in-parts.js';
import { finding, type Finding } from '../meta/conditions.js';
import { maxConfigBytes, type PaymasterConfig } from './paymaster-config.js';

type Contracts = PaymasterConfig['contracts'];

/**
 * Keeps what is served within the size bound of the stores. Only contracts and their methods can become too many.
 * Over the bound, only those contracts and methods stay that were served before and are still wanted; everything else
 * takes effect immediately. So nothing stays in force that the owner or the platform has withdrawn: funding, tokens,
 * quotas, caps, policies, a contract or a method. A contract for which no room is left is dropped alone.
 */
export function* fit(
  config: PaymasterConfig,
  previous: PaymasterConfig | undefined,
): InParts<{ readonly config: PaymasterConfig; readonly tooLarge?: Finding }> {
  const roomBytes = maxConfigBytes - countBytes({ ...config, contracts: [] });
  const fitting = yield* asManyAsFit(config.contracts, roomBytes);
  if (fitting.length === config.contracts.length && roomBytes >= 0) return { config };
  const message = `The compiled form is over ${maxConfigBytes / 1024} KiB: whitelist fewer methods, or delete contracts.`;
  const tooLarge = finding('Programmed', 'TooLarge', message);
  const wasClosed =
    previous?.notReady?.reason === 'TooLarge' || previous === undefined || previous.deletedAt !== undefined;
  const notReady = config.notReady ?? (wasClosed ? { reason: 'TooLarge', message } : undefined);
  // Without contracts the config always fits. It still says that contracts are registered, so nothing else is sponsored.
  const { pausedContracts: _, ...others } = config;
  const bare = { ...others, contracts: [], ...(notReady === undefined ? {} : { notReady }) };
  const wanted = stillWanted(previous?.contracts ?? [], config.contracts);
  return {
    config: { ...bare, contracts: yield* asManyAsFit(wanted, maxConfigBytes - countBytes(bare)) },
    tooLarge,
  };
}

/** The contracts in their order, without those that are too large for what the ones before them leave of the room. */
function* asManyAsFit(contracts: Contracts, roomBytes: number): InParts<Contracts> {
  let leftBytes = roomBytes;
  const fitting: Contracts[number][] = [];
  for (const contract of contracts) {
    yield;
    const bytes = Buffer.byteLength(JSON.stringify(contract)) + ','.length;
    if (bytes > leftBytes) continue;
    leftBytes -= bytes;
    fitting.push(contract);
  }
  return fitting;
}

/** What was served before and is still wanted: never more than either of the two. */
function stillWanted(served: Contracts, wanted: Contracts): Contracts {
  const wantedAt = new Map(wanted.map((contract) => [contract.address, contract]));
  return served.flatMap((contract) => {
    const now = wantedAt.get(contract.address);
    if (now === undefined) return [];
    const selectors = new Set(now.selectors);
    return [{ ...now, selectors: contract.selectors.filter((selector) => selectors.has(selector)) }];
  });
}

/** Bytes with the longest possible generation, because the store writes a new one into the config. */
function countBytes(config: PaymasterConfig): number {
  return Buffer.byteLength(JSON.stringify({ ...config, configGeneration: Number.MAX_SAFE_INTEGER }));
}
