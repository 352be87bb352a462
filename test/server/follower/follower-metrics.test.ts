import { expect, test } from '@jest/globals';
import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import { silentLogger } from '../../../core/log.js';
import { createFollower } from '../../../server/follower/follower.js';
import { createInstruments } from '../../../server/ops/instruments.js';
import { aHash, contract, funding } from '../../conformance/usage-requests.js';
import { until } from '../../support/until.js';
import { aChainConfig, aFollowed, anOperation, aPromise } from './followed.js';

test('a follower shows blocks, deposits, promises and how they ended, and no address', async () => {
  const it = await aFollowed();
  const metrics = createMetrics({ process: false });
  const follower = createFollower({
    usage: it.usage,
    chains: { get: () => it.chain },
    chainConfigs: () => [aChainConfig()],
    platformAccounts: () => [{ contract, fundingAddress: funding }],
    clock: it.clock,
    log: silentLogger,
    instruments: createInstruments(metrics),
    pollMs: 1,
  });
  const lines = async () =>
    (await metrics.render()).body.split('\n').filter((line) => /chain="31337"|paymaster="/.test(line));
  const shows = (line: string) => until(`metrics show ${line}`, async () => (await lines()).includes(line));
  try {
    follower.start();
    await it.usage.reserve(aPromise(100));
    await it.usage.reserve(aPromise(70, { key: { nonce: 1n } }));
    await shows('paymaster_reservations{chain="31337"} 2');
    await shows('paymaster_deposit_reserved_gwei{chain="31337",account="funding"} 170');
    it.chain.mine({ operations: [anOperation(40)] });
    it.chain.mineEmpty(2);
    await shows('paymaster_settlements_total{chain="31337",outcome="settled"} 1');
    await shows('paymaster_settlements_total{chain="31337",outcome="released"} 0');
    await shows('paymaster_spent_gwei_total{paymaster="pm-1"} 40');
    await shows('paymaster_deposit_lowest_gwei{chain="31337",account="entry_point"} 960');
    await shows('paymaster_deposit_reserved_gwei{chain="31337",account="funding"} 70');
    await shows(`paymaster_follower_block{chain="31337"} ${it.chain.height - 2}`);
    const committed = { key: { nonce: 2n } };
    await it.usage.reserve({
      ...aPromise(50, committed),
      phase: { kind: 'commit', commitment: aHash(1) },
    });
    await shows('paymaster_reservations{chain="31337"} 2');
    it.chain.isDown = true;
    it.clock.advance(60_000);
    await shows('paymaster_settlements_total{chain="31337",outcome="unfinished"} 1');
    await until('a failure is counted', async () =>
      (await lines()).some((line) => /^paymaster_follower_failures_total\{.*\} [1-9]/.test(line)),
    );
    // The contracts of profiles are few, and losses are of a contract; no other address is a label.
    const isOfContracts = (line: string): boolean => line.startsWith('paymaster_token_losses_gwei_total{');
    expect((await lines()).filter((line) => line.includes('0x') && !isOfContracts(line))).toEqual([]);
  } finally {
    await follower.stop();
    await it.stop();
  }
});
