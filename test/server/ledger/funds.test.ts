import { expect, test } from '@jest/globals';
import type { LedgerRecord } from '../../../core/ledger/record.js';
import { accountName } from '../../../core/usage/accounts.js';
import { gwei } from '../../../core/units/wei.js';
import type { AccountBalance } from '../../../core/usage/reserve-request.js';
import { createFundsSamples } from '../../../server/ledger/funds.js';
import { createRecordIds } from '../../../server/ledger/record-ids.js';
import { aClock } from '../../adapters/usage/clock.js';
import { address } from '../../conformance/ledger-records.js';
import { silentLogger } from '../../../core/log.js';

const account: AccountBalance = {
  contract: address(1),
  balance: gwei(7),
  reserved: gwei(2),
  readAt: undefined,
};
const minuteMs = 60_000;
/** Wei that the chain has shown. */
const held = new Map<string, bigint>();

const clock = aClock();

/** Samples of the accounts that there are, and what was recorded of them. */
function recorded(accounts: () => readonly AccountBalance[], price: () => bigint | undefined) {
  const records: LedgerRecord[] = [];
  const samples = createFundsSamples({
    usage: { accounts: async () => accounts() },
    offers: {
      add: (record) => {
        records.push(record);
        return true;
      },
    },
    ids: createRecordIds(clock),
    usdPerNative: price,
    clock,
    log: silentLogger,
  });
  return { records, samples };
}

test('a sample has the price of its minute, and none while no price may be used', async () => {
  let price: bigint | undefined;
  const { records, samples } = recorded(
    () => [account],
    () => price,
  );
  for (const now of [2_000n * 10n ** 18n, undefined, 1n]) {
    price = now;
    samples.followed(1, held);
    // The price of a minute is that of its first round.
    price = 5n;
    samples.followed(1, held);
    clock.advance(minuteMs);
  }
  await samples.stop();
  expect(records).toMatchObject([
    { kind: 'funds', balanceWei: 7n * 10n ** 9n, usdPerNative: 2_000n * 10n ** 18n },
    { usdPerNative: undefined },
    { usdPerNative: 1n },
  ]);
});

test('the first account of a chain is recorded in the minute in which it appears', async () => {
  const accounts: AccountBalance[] = [];
  const { records, samples } = recorded(
    () => accounts,
    () => 1n,
  );
  const round = async () => {
    samples.followed(1, held);
    await samples.stop();
  };
  await round();
  expect(records).toEqual([]);
  accounts.push(account);
  await round();
  await round();
  expect(records).toHaveLength(1);
});

test('a balance is recorded in wei as the chain has shown it, and else as limits count it', async () => {
  const wallet: AccountBalance = { ...account, fundingAddress: address(2) };
  const { records, samples } = recorded(
    () => [account, wallet],
    () => 1n,
  );
  samples.followed(1, new Map([[accountName(wallet), 7_123_456_789n]]));
  await samples.stop();
  expect(records).toMatchObject([{ balanceWei: 7_000_000_000n }, { balanceWei: 7_123_456_789n }]);
});
