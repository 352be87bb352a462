import { hashCredential } from '../../../core/config/api-key.js';
import { derivePaymasterId } from '../../../core/config/ids.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import type { ResourceStore } from '../../../core/resources/resource-store.js';
import { chainId } from '../fixture.js';

/** Of the organisation that has all paymasters, where a dashboard is measured beside the sponsor path. */
export const consoleToken = 'bench-console-token-0123456789';
const owner = 'bench';

/** The same config as the operator would make it of a resource of the organisation. */
export function ownedByConsole(config: PaymasterConfig): PaymasterConfig {
  return { ...config, namespace: owner, paymasterId: derivePaymasterId(owner, config.objectName) };
}

export async function seedConsole(
  resources: ResourceStore,
  configs: readonly Pick<PaymasterConfig, 'objectName' | 'name'>[],
): Promise<void> {
  const tokens = [{ name: 'console', sha256: hashCredential(consoleToken) }];
  await resources.apply({
    manager: 'bench',
    kind: 'Organisation',
    key: { name: owner },
    spec: { namespace: owner, tokens },
  });
  for (const { objectName, name } of configs)
    await resources.apply({
      manager: 'bench',
      kind: 'Paymaster',
      key: { namespace: owner, name: objectName },
      spec: { name, chainId, type: 'HYBRID', version: '1.1.0' },
    });
}
