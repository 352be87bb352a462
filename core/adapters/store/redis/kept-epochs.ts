import { randomUUID } from 'node:crypto';
import type { EpochMs } from '../../../units/time.js';
import type { KeptEpochs } from '../usage-epochs.js';
import { chainKeys } from './keys.js';
import type { RedisLink } from './link.js';
import { listOf, textOf } from './reply.js';
import { writeEpochScript } from './scripts.js';

/** The epochs that stand in Redis beside the data, read and written by script so that the time is the store's. */
export function createKeptEpochs(deps: {
  readonly link: RedisLink;
  readonly prefix: string;
  readonly imposedNow: () => EpochMs | 0;
}): KeptEpochs {
  async function call(
    chainId: number,
    expected: string,
    terms: { readonly id: string; readonly isFirst: boolean; readonly isWrite: boolean },
  ): Promise<{ readonly kept: string; readonly now: EpochMs }> {
    const { epoch } = chainKeys(deps.prefix, chainId);
    const args = [deps.imposedNow(), expected, terms.id, terms.isFirst ? 1 : 0];
    const [kept, now] = listOf(await deps.link.run(writeEpochScript, [epoch], args, terms.isWrite));
    return { kept: textOf(kept) ?? '', now: Number(now) as EpochMs };
  }

  return {
    assertUsable: () => deps.link.assertUsable(),
    // What is kept can never be this text, so nothing is written.
    read: (chainId) => call(chainId, 'read', { id: '', isFirst: false, isWrite: false }),
    async begin(chainId, expected, isFirst) {
      return (await call(chainId, expected, { id: randomUUID(), isFirst, isWrite: true })).kept;
    },
  };
}
