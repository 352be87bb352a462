import type { EpochMs } from '../../../core/units/time.js';
import type { FundingMessages } from '../../../core/usage/funding-messages.js';
import type { RedisLink } from '../../redis/link.js';
import { textOf } from '../../redis/reply.js';
import { consumeMessageScript, putMessageScript, readMessageScript } from './scripts.js';

/**
 * Funding messages: one live message per paymaster, which can be used once. They belong to no chain and are gone after
 * a loss.
 */
export function createFundingMessages(deps: {
  readonly link: RedisLink;
  readonly keyPrefix: string;
  readonly imposedNow: () => EpochMs | 0;
}): FundingMessages {
  const { link, imposedNow } = deps;
  const keysOf = (paymasterId: string) => [`${deps.keyPrefix}{f:${paymasterId}}`];
  return {
    async putFundingMessage(paymasterId, message, expiresAt) {
      const args = [imposedNow(), message, expiresAt];
      await link.run(putMessageScript, keysOf(paymasterId), args, true);
    },
    async getFundingMessage(paymasterId) {
      return textOf(await link.run(readMessageScript, keysOf(paymasterId), [imposedNow()], false));
    },
    async consumeFundingMessage(paymasterId, message) {
      const args = [imposedNow(), message];
      const used = textOf(await link.run(consumeMessageScript, keysOf(paymasterId), args, true));
      return message !== '' && used === message;
    },
  };
}
