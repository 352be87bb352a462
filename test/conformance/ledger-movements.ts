import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Movement } from '../../core/ledger/movement.js';
import type { Movements } from '../../core/ledger/record.js';
import type { AccountMovements, StatementQuery } from '../../core/ledger/statement.js';
import type { EpochMs } from '../../core/units/time.js';
import { createMemoryLedger, type TestedLedger } from '../fakes/memory-ledger.js';
import { runs } from '../support/property.js';
import { isSoak } from '../support/soak-seconds.js';
import { address, alone, anId, aSample, at, hex } from './ledger-records.js';

const hourMs = 3_600_000;
/** A month, and one block each minute of it. */
const january = { from: at('2026-01-01T00:00:00Z'), to: at('2026-02-01T00:00:00Z') };
const timeOf = (block: number): EpochMs => (january.from + block * 60_000) as EpochMs;
const largest = 2n ** 256n - 1n;
let chains = 90_000;

/** Guarantees of every ledger about movements. Each test uses a chain of its own. */
export function movementConformance(implementation: string, create: () => Promise<TestedLedger>): void {
  describe(`movements of balances: ${implementation}`, () => {
    let ledger: TestedLedger;
    beforeAll(async () => {
      ledger = await create();
    });
    afterAll(() => ledger.stop());

    async function accountOf(
      chainId: number,
      change: Partial<StatementQuery> = {},
    ): Promise<AccountMovements> {
      const accounts = [{ chainId, contract: address(8), fundingAddress: undefined }];
      const [found] = await ledger.statement({ accounts, ...january, ...change });
      return found!;
    }

    test('what a step has read is answered as it was: balances, sums by hour, transfers and blocks', async () => {
      const chainId = ++chains;
      await ledger.append(
        alone(
          aStep(
            chainId,
            [1, 100],
            [
              aMovement(1, { kind: 'edge', at: january.from, amountWei: largest, blockNumber: 0 }),
              aMovement(5, { kind: 'deposit', amountWei: largest, transactionHash: hex(32, 5), count: 2 }),
              aMovement(6, { organisation: 'acme', paymasterId: 'shop', amountWei: 7n, count: 3 }),
              aMovement(7, { organisation: 'acme', paymasterId: 'shop', amountWei: 8n }),
              aMovement(70, { organisation: 'acme', paymasterId: 'shop', amountWei: 9n }),
              aMovement(71, { kind: 'deposit', amountWei: undefined }),
              aMovement(72, { kind: 'burnt', fundingAddress: address(1), amountWei: -5n }),
            ],
          ),
        ),
      );
      const found = await accountOf(chainId);
      const sum = { organisation: '', paymasterId: '', unread: 0 };
      expect(found).toEqual({
        account: { chainId, contract: address(8), fundingAddress: undefined },
        opening: { blockNumber: 0, at: january.from, balanceWei: largest },
        first: undefined,
        closing: undefined,
        sums: [
          { ...sum, kind: 'deposit', hour: timeOf(0), wei: largest, count: 2 },
          {
            ...sum,
            kind: 'mined',
            organisation: 'acme',
            paymasterId: 'shop',
            hour: timeOf(0),
            wei: 15n,
            count: 4,
          },
          { ...sum, kind: 'deposit', hour: timeOf(60), wei: 0n, count: 1, unread: 1 },
          {
            ...sum,
            kind: 'mined',
            organisation: 'acme',
            paymasterId: 'shop',
            hour: timeOf(60),
            wei: 9n,
            count: 1,
          },
        ],
        transfers: [
          {
            kind: 'deposit',
            at: timeOf(5),
            blockNumber: 5,
            transactionHash: hex(32, 5),
            amountWei: largest,
            count: 2,
          },
          {
            kind: 'deposit',
            at: timeOf(71),
            blockNumber: 71,
            transactionHash: undefined,
            amountWei: undefined,
            count: 1,
          },
        ],
        covered: [{ fromBlock: 1, toBlock: 100 }],
      });
      const wallet = { chainId, contract: address(8), fundingAddress: address(1) };
      const [ofWallet] = await ledger.statement({ accounts: [wallet], ...january });
      expect(ofWallet).toMatchObject({ opening: undefined, sums: [{ kind: 'burnt', wei: -5n }] });
    });

    test('a month begins with its first block and ends before that of the next one', async () => {
      const chainId = ++chains;
      const last = (january.to - 1) as EpochMs;
      await ledger.append(
        alone(
          aStep(
            chainId,
            [1, 9],
            [
              aMovement(1, { at: (january.from - 1) as EpochMs, amountWei: 1n }),
              aMovement(2, { at: january.from, amountWei: 2n }),
              aMovement(3, { at: last, amountWei: 4n }),
              aMovement(4, { at: january.to, amountWei: 8n }),
            ],
          ),
        ),
      );
      const { sums } = await accountOf(chainId);
      expect(sums.reduce((all, { wei }) => all + wei, 0n)).toBe(6n);
    });

    test('without an opening balance the first one within the month counts, and nothing before it', async () => {
      const chainId = ++chains;
      await ledger.append(
        alone(
          aStep(
            chainId,
            [1, 100],
            [
              aMovement(4, { amountWei: 1n }),
              aMovement(5, { kind: 'seen', amountWei: 50n }),
              aMovement(5, { kind: 'deposit', amountWei: 2n }),
              aMovement(6, { amountWei: 4n }),
              aMovement(9, { kind: 'seen', amountWei: 46n }),
            ],
          ),
        ),
      );
      const { first, sums, transfers } = await accountOf(chainId);
      expect(first).toEqual({ blockNumber: 5, at: timeOf(5), balanceWei: 50n });
      expect(sums).toMatchObject([{ wei: 4n }]);
      expect(transfers).toEqual([]);
    });

    test('blocks that are read again, or are gone, take their movements back, and no other chain loses any', async () => {
      const chainId = ++chains;
      const other = ++chains;
      const rows = [
        aMovement(5, { amountWei: 1n }),
        aMovement(6, { amountWei: 2n }),
        aMovement(9, { amountWei: 4n }),
      ];
      await ledger.append(alone(aStep(chainId, [1, 9], rows), aStep(other, [1, 9], rows)));
      await ledger.append(alone({ ...aStep(chainId, [6, 7], [aMovement(7, { amountWei: 8n })]), after: 5 }));
      expect(await accountOf(chainId)).toMatchObject({
        sums: [{ wei: 9n, count: 2 }],
        covered: [{ fromBlock: 1, toBlock: 7 }],
      });
      expect(await accountOf(other)).toMatchObject({
        sums: [{ wei: 7n }],
        covered: [{ fromBlock: 1, toBlock: 9 }],
      });
      await ledger.append(alone({ ...aStep(chainId, [1, 0], []), covered: [], after: 0 }));
      expect(await accountOf(chainId)).toMatchObject({ sums: [], covered: [] });
    });

    test('a step that is written twice counts once, also one that reads blocks again', async () => {
      const chainId = ++chains;
      const step = { ...aStep(chainId, [3, 9], [aMovement(5, { amountWei: 1n }), aMovement(9)]), after: 2 };
      await ledger.append(alone(aStep(chainId, [1, 5], [aMovement(1), aMovement(4)])));
      await ledger.append(alone(step));
      const once = await accountOf(chainId);
      await ledger.append(alone(step));
      expect(await accountOf(chainId)).toEqual(once);
      expect(once.covered).toEqual([{ fromBlock: 1, toBlock: 9 }]);
    });

    test('blocks that were not read show', async () => {
      const chainId = ++chains;
      await ledger.append(
        alone(aStep(chainId, [1, 5], []), aStep(chainId, [6, 9], []), aStep(chainId, [12, 20], [])),
      );
      expect((await accountOf(chainId)).covered).toEqual([
        { fromBlock: 1, toBlock: 9 },
        { fromBlock: 12, toBlock: 20 },
      ]);
    });

    test('the price of an hour is the first that was recorded in it', async () => {
      const chainId = ++chains;
      const price = (minute: number, usdPerNative: bigint | undefined, of = 8) =>
        aSample(address(of), timeOf(minute), { chainId, usdPerNative });
      await ledger.append(
        alone(
          price(1, 5n),
          price(2, 6n),
          price(61, undefined),
          price(62, 7n),
          price(123, 9n),
          price(122, 8n, 9),
        ),
      );
      const query = { chainIds: [chainId], from: january.from, to: january.to };
      expect(await ledger.prices(query)).toEqual([
        { chainId, hour: timeOf(0), at: timeOf(1), usdPerNative: 5n },
        { chainId, hour: timeOf(120), at: timeOf(122), usdPerNative: 8n },
      ]);
      expect(await ledger.prices({ ...query, from: timeOf(60) })).toHaveLength(1);
      expect(await ledger.prices({ ...query, chainIds: [] })).toEqual([]);
    });

    test('any history of steps and reorganisations is answered as a ledger without tables answers it', async () => {
      const kinds = fc.constantFrom('deposit', 'withdrawal', 'mined', 'burnt', 'loss', 'seen' as const);
      const movement = fc.record({
        kind: kinds,
        wallet: fc.integer({ min: 0, max: 1 }),
        paymaster: fc.integer({ min: 0, max: 1 }),
        amount: fc.bigInt(-(2n ** 80n), 2n ** 80n),
        place: fc.integer({ min: 0, max: 9 }),
      });
      const step = fc.record({
        back: fc.integer({ min: 0, max: 25 }),
        length: fc.integer({ min: 1, max: 9 }),
        movements: fc.array(movement, { maxLength: 6 }),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
          const chainId = ++chains;
          const plain = createMemoryLedger();
          let cursor = 0;
          for (const { back, length, movements } of steps) {
            const isBack = back > 15;
            const from = isBack ? Math.max(1, cursor - back + 15) : cursor + 1;
            cursor = from + length - 1;
            const rows = movements.map(({ kind, wallet, paymaster, amount, place }) =>
              aMovement(from + (place % length), {
                kind,
                fundingAddress: wallet === 0 ? undefined : address(wallet),
                paymasterId: `p${paymaster}`,
                amountWei: amount,
              }),
            );
            const record: Movements = {
              ...aStep(chainId, [from, cursor], rows),
              ...(isBack ? { after: from - 1 } : {}),
            };
            await ledger.append(alone(record));
            await plain.append(alone(record));
          }
          const accounts = [undefined, address(1)].map((fundingAddress) => ({
            chainId,
            contract: address(8),
            fundingAddress,
          }));
          const query = { accounts, from: january.from, to: (january.from + hourMs) as EpochMs };
          expect(ordered(await ledger.statement(query))).toEqual(ordered(await plain.statement(query)));
        }),
        runs(isSoak ? 40 : 12),
      );
    });
  });
}

function ordered(statements: readonly AccountMovements[]): readonly AccountMovements[] {
  const nameOf = (one: object): string =>
    JSON.stringify(one, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  return statements.map((one) => ({
    ...one,
    transfers: one.transfers.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)),
    sums: one.sums.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)),
  }));
}

export function aStep(
  chainId: number,
  [fromBlock, toBlock]: readonly [number, number],
  movements: readonly Movement[],
): Movements {
  const time = timeOf(toBlock);
  const covered = [{ contract: address(8), fromBlock, toBlock }];
  return { kind: 'movements', id: anId(time), at: time, chainId, movements, covered };
}

/** Mined, for 1 wei, in the block of its minute, unless changed. */
export function aMovement(blockNumber: number, change: Partial<Movement> = {}): Movement {
  return {
    contract: address(8),
    fundingAddress: undefined,
    kind: 'mined',
    blockNumber,
    logIndex: -1,
    at: timeOf(blockNumber),
    organisation: '',
    paymasterId: '',
    amountWei: 1n,
    count: 1,
    transactionHash: undefined,
    ...change,
  };
}
