import { randomUUID } from 'node:crypto';
import type { EpochMs } from '../../../core/units/time.js';
import type { KeptEpoch, KeptEpochs } from '../kept-epochs.js';
import { epochOfKept, isFirstFormat, keptOfEpoch } from './data-format.js';
import type { ChainKeys } from './keys.js';
import type { RedisLink } from '../../redis/link.js';
import { listOf, textOf } from '../../redis/reply.js';
import type { Script } from './script.js';
import { noteExpiryScript, readEpochScript, writeEpochScript } from './scripts.js';

/**
 * The epochs that Redis keeps beside the data. Scripts read and write them, so that the time is the store's. Data of
 * the first format are converted when they are first read.
 */
export function createKeptEpochs(deps: {
  readonly link: RedisLink;
  readonly keys: (chainId: number) => ChainKeys;
  readonly imposedNow: () => EpochMs | 0;
  /** Converts the data of a chain whose stored epoch is `kept`. */
  readonly convert: (chainId: number, kept: string) => Promise<void>;
}): KeptEpochs {
  const { link, keys, imposedNow, convert } = deps;
  const keysOf = (chainId: number) => {
    const chain = keys(chainId);
    return [chain.epoch, chain.head[2], chain.longestExpiry];
  };

  async function call(
    script: Script,
    chainId: number,
    args: readonly string[],
    isWrite: boolean,
  ): Promise<KeptEpoch> {
    const reply = await link.run(script, keysOf(chainId), [imposedNow(), ...args], isWrite);
    const [kept, sequence, longestExpiryMs, now] = listOf(reply);
    return {
      kept: textOf(kept) ?? '',
      sequence: Number(sequence),
      longestExpiryMs: Number(longestExpiryMs),
      now: Number(now) as EpochMs,
    };
  }
  const translated = (found: KeptEpoch): KeptEpoch => ({ ...found, kept: epochOfKept(found.kept) });

  return {
    assertUsable: () => link.assertUsable(),
    async read(chainId) {
      const found = await call(readEpochScript, chainId, [], false);
      if (!isFirstFormat(found.kept)) return translated(found);
      const failure = await convert(chainId, found.kept).catch((error: unknown) => error);
      const converted = await call(readEpochScript, chainId, [], false);
      // Another replica may have converted the data first.
      if (failure !== undefined && isFirstFormat(converted.kept)) throw failure;
      return translated(converted);
    },
    async begin(chainId, expected, isFirst) {
      const next = keptOfEpoch(`${randomUUID()}:${isFirst ? '0' : '%now'}`);
      return translated(await call(writeEpochScript, chainId, [keptOfEpoch(expected), next], true));
    },
    async noteExpiry(chainId, expected, longestExpiryMs) {
      await link.run(noteExpiryScript, keysOf(chainId), [keptOfEpoch(expected), longestExpiryMs], true);
    },
  };
}
