import type { ConfigStore } from '../core/config/config-store.js';
import type { PaymasterConfig } from '../core/config/paymaster-config.js';
import type { Console } from './console.js';

/**
 * Warns once when a paymaster begins to sponsor calls to any contract, and says when that has ended: a paymaster created by REST does
 * so until its first contract is registered. Returns a function that stops it.
 */
export function reportOpenSponsorship(
  configs: Pick<ConfigStore, 'watch'>,
  console: Pick<Console, 'line' | 'warn'>,
): () => void {
  const open = new Set<string>();
  const watch = configs.watch((event) => {
    if (event.type === 'delete-paymaster') open.delete(event.paymasterId);
    if (event.type !== 'put-paymaster') return;
    const { paymasterId, name } = event.config;
    const shown = `paymaster ${JSON.stringify(name)} (${paymasterId})`;
    if (isOpen(event.config) === open.has(paymasterId)) return;
    if (open.delete(paymasterId)) return console.line(`${shown} no longer sponsors calls to any contract`);
    open.add(paymasterId);
    console.warn(
      `${shown} sponsors calls to ANY contract: register one and leave contractsEnforcement out, or set defaultContractAction to Deny`,
    );
  });
  return () => watch.stop();
}

function isOpen(config: PaymasterConfig): boolean {
  const { contractsRegistered, contracts, defaultContractAction, contractsInShadow, suspended } = config;
  const hasNone = !contractsRegistered && contracts.length === 0 && defaultContractAction === 'Allow';
  return (hasNone || contractsInShadow === true) && !suspended;
}
