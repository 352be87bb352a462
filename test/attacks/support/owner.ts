import { expect } from '@jest/globals';
import { handleOps } from '../../chain/support/handle-ops.js';
import { buildUserOp, type SignedUserOp } from '../../chain/support/user-op.js';
import { until } from '../../support/until.js';
import type { Service } from './service.js';
import { aDeployedAccount, ask, explain, increment, usedOf, type Asked } from './wallet.js';

export const sponsored = { mode: 'SPONSORED' };

export const priceAt = (rate: string) => ({ static: { rate, usdPerNative: rate } });

const notReadYet = new Set(['CHAIN_UNAVAILABLE', 'DEPOSIT_UNKNOWN', 'PRICE_STALE']);

/** What an owner sees of his rules: operations of new accounts, what the chain takes for them, and what is used of his first limit. */
export function askingAsOwner(version: string, serviceOf: () => Service) {
  /** Asks again until the replicas have read the chain and the price, as they do after a jump in time. */
  async function askOnceRead(...of: Parameters<typeof ask>): Promise<Asked> {
    let asked = await ask(...of);
    await until('the chain and the price are read', async () => {
      if (!notReadYet.has(String(asked.reason))) return true;
      asked = await ask(...of);
      return false;
    });
    return asked;
  }

  return {
    askOnceRead,

    async request(url: string, fees: { readonly maxFeePerGas?: bigint } = {}) {
      const { devChain } = serviceOf();
      const account = await aDeployedAccount(devChain, version);
      const op = await buildUserOp(account, [increment(devChain)], fees);
      return { account, op, ...(await askOnceRead(url, op, sponsored, account)) };
    },

    /** Wei that the chain took, once the operations are settled and no other promise of the paymaster is left. */
    async mine(ops: readonly SignedUserOp[], of: string): Promise<bigint> {
      const service = serviceOf();
      const { entryPointVersion } = service.devChain.profile(version);
      const { events } = await handleOps(service.devChain, entryPointVersion, ops);
      expect(events).toHaveLength(ops.length);
      await service.settled(0, of);
      return events.reduce((sum, { actualGasCost }) => sum + actualGasCost, 0n);
    },

    /** Used and promised of the first limit, in its unit. */
    async used(url: string): Promise<number> {
      const { devChain } = serviceOf();
      const account = await aDeployedAccount(devChain, version);
      const op = await buildUserOp(account, [increment(devChain)]);
      let figure = NaN;
      await until('the limit is shown with its use', async () => {
        figure = usedOf(await explain(url, op, sponsored));
        return Number.isFinite(figure);
      });
      return figure;
    },
  };
}
