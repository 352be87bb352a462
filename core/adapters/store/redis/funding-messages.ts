import type { UsageStore } from '../../../policy/usage-store.js';
import type { EpochMs } from '../../../units/time.js';
import type { RedisLink } from './link.js';
import { textOf } from './reply.js';
import { putMessageScript, readMessageScript } from './scripts.js';

type FundingMessages = Pick<UsageStore, 'putFundingMessage' | 'getFundingMessage' | 'consumeFundingMessage'>;

/** Funding messages: one live message per paymaster, used up once. They belong to no chain and survive no loss. */
export function createFundingMessages(deps: {
  readonly link: RedisLink;
  readonly keyPrefix: string;
  readonly imposedNow: () => EpochMs | 0;
}): FundingMessages {
  const { link, imposedNow } = deps;
  const keyOf = (paymasterId: string): string => `${deps.keyPrefix}{f:${paymasterId}}`;
  const read = async (paymasterId: string, text: string, isWrite: boolean): Promise<string | undefined> =>
    textOf(await link.run(readMessageScript, [keyOf(paymasterId)], [imposedNow(), text], isWrite));
  return {
    async putFundingMessage(paymasterId, message, expiresAt) {
      const args = [imposedNow(), message, expiresAt];
      await link.run(putMessageScript, [keyOf(paymasterId)], args, true);
    },
    getFundingMessage: (paymasterId) => read(paymasterId, '', false),
    consumeFundingMessage: async (paymasterId, message) =>
      message !== '' && (await read(paymasterId, message, true)) === message,
  };
}
