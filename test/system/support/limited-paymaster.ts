import type { Connection } from '../../../standalone/connection.js';
import { describeDevChain } from '../../../standalone/dev-chain/deployments.js';
import { devAccounts } from '../../../standalone/dev-chain/dev-accounts.js';
import { dashboard } from './client.js';

/** Sponsors one method of the dev chain's contract this many times in 30 days; its apiKey. */
export async function createLimitedPaymaster(
  connection: Required<Connection>,
  threshold: number,
): Promise<string> {
  const created = await dashboard(connection, 'POST', '/paymaster', {
    body: { name: 'limited', type: 'HYBRID', chainId: connection.chainId, version: '1.1.0' },
  });
  const key = (created.body.data as { apiKey: string }).apiKey;
  const { sponsoredContract } = describeDevChain(
    connection.chainId,
    devAccounts.signer.address,
    devAccounts.deployer.address,
  );
  await dashboard(connection, 'POST', '/smart-contract', {
    apiKey: key,
    body: {
      name: 'counter',
      address: sponsoredContract.address,
      abi: sponsoredContract.abi,
      whitelistedMethods: ['increment'],
    },
  });
  const policy = await dashboard(connection, 'POST', '/paymaster-policy', {
    apiKey: key,
    body: {
      name: `${threshold} in 30 days`,
      policyType: 'PAYMASTER_SA_LIMIT',
      policyData: {
        type: 'PAYMASTER',
        cycleDuration: { value: 30, unit: 'day' },
        threshold,
        thresholdType: 'COUNT',
      },
    },
  });
  if (policy.status !== 200 || policy.programmed !== 'true')
    throw new Error(`the limit is not in force: ${JSON.stringify(policy)}`);
  return key;
}
