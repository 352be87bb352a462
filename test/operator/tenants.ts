import { Wallet } from 'ethers';
import { deriveApiKey, hashCredential } from '../../core/config/api-key.js';
import { fundingMessage } from '../../core/config/funding.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import type { PaymasterSpec } from '../../core/resources/paymaster.js';
import { parseAddress } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import { createInstruments } from '../../server/ops/instruments.js';
import { createConfigView } from '../../server/view/config-view.js';
import type { ConfigView, SeenConfig } from '../../server/view/config-view.js';
import { aProfile } from '../build/resources.js';
import type { World } from './world.js';

/** Shared by attacks of tenants on the control plane: an operator over real stores, and a replica that reads them. */

const master = new Uint8Array(32).fill(1);

/** Hash of the key that the tenant's Paymaster `shop` has in that generation. */
export function keyHash(keyGeneration: number, tenant = 'acme'): string {
  return hashCredential(deriveApiKey(master, { namespace: tenant, name: 'shop', keyGeneration }));
}

/** A replica of the rpc role over the operator's config store, and every generation that it has seen. */
export async function aReplica(
  world: World,
): Promise<{ readonly view: ConfigView; readonly seen: readonly SeenConfig[] }> {
  const seen: SeenConfig[] = [];
  const view = createConfigView({
    configs: world.configs,
    signers: { get: () => undefined, recover: () => undefined },
    clock: world.time.clock,
    log: silentLogger,
    instruments: createInstruments(noMetrics),
    onSeen: (each) => seen.push(each),
  });
  await view.start();
  return { view, seen };
}

export const owner = new Wallet(`0x${'11'.repeat(32)}`);

/** The proof that the owner of a wallet has signed for `shop` of a tenant; it is public in a spec. */
export function fundingProof(tenant: string): NonNullable<PaymasterSpec['funding']> {
  const message = fundingMessage({
    chainId: 31337,
    contract: parseAddress(aProfile.addresses.sponsorship),
    namespace: tenant,
    paymaster: 'shop',
    nonce: 'nonce-12345678',
    time: 1_770_000_000_000 as EpochMs,
  });
  return { address: owner.address, message, signature: owner.signMessageSync(message) };
}
