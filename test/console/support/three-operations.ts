import type { Connection } from '../../../standalone/connection.js';
import { until } from '../../support/until.js';
import { freshUserOp, rpc } from '../../system/support/client.js';

/** Asks for two operations that are sponsored and one that is refused; resolves when the ledger has them. */
export async function askForThree(connection: Required<Connection>): Promise<void> {
  const sponsored = () => freshUserOp(connection);
  const refused = {
    ...sponsored(),
    callData: String(sponsored()['callData']).replace('d09de08a', 'ffffffff'),
  };
  for (const op of [sponsored(), sponsored(), refused])
    await rpc(connection.rpcUrl, 'pm_sponsorUserOperation', [
      op,
      { mode: 'SPONSORED', calculateGasLimits: false },
    ]);
  await until('the ledger has all of them', async () => {
    const answer = await fetch(`${connection.dashboardUrl}/manage/v1/decisions`, {
      headers: { authToken: connection.authToken },
    });
    return ((await answer.json()) as { data: { items: unknown[] } }).data.items.length === 3;
  });
}
