import { describe, expect, test } from '@jest/globals';
import type { Reversal, Settlement } from '../../../core/ledger/record.js';
import { gwei } from '../../../core/units/wei.js';
import {
  aDigest,
  aHash,
  aKey,
  aLimit,
  aNeed,
  aRequest,
  chainId,
  hourMs,
  seconds,
} from '../usage-requests.js';
import {
  aStepDecision,
  aStepExpiry,
  aStepReversal,
  aStepSettlement,
  stepRecordId,
  written,
} from '../step-records.js';
import { reserved, type Suite } from './suite.js';

/** Records for the ledger: each exactly once, with what it records, or not at all. */
export function recordsConformance(it: Suite): void {
  const takeRecords = async () => it.harness.takeRecords();
  const of = (number: number) => ({ record: aStepDecision(number) });
  const added = (reservation: number, number: number) =>
    written(aStepDecision(number), stepRecordId(reservation));
  const ended = (reservation: number | undefined, record: Settlement | Reversal) =>
    written(record, reservation === undefined ? undefined : stepRecordId(reservation));
  const known = (number: number) => [{ recordId: stepRecordId(number) }];
  const live = async () => it.store.reservations(chainId);

  describe('records of the ledger', () => {
    test('a reservation adds its record, and is known by the id of its first one', async () => {
      expect(await it.store.reserve(aRequest(of(1)))).toEqual(reserved);
      expect(await it.store.reserve(aRequest({ ...of(2), promise: { digest: aDigest(2) } }))).toEqual(
        reserved,
      );
      expect(await takeRecords()).toEqual([added(1, 1), added(1, 2)]);
      expect(await live()).toMatchObject(known(1));
    });

    test('requests that are decided together add their records in their order', async () => {
      const nonces = [...Array(40).keys()];
      await Promise.all(
        nonces.map((nonce) =>
          it.store.reserve(aRequest({ key: { nonce: BigInt(nonce >> 1) }, ...of(nonce) })),
        ),
      );
      expect(await takeRecords()).toEqual(nonces.map((nonce) => added(nonce - (nonce % 2), nonce)));
    });

    test('a refusal adds nothing, also among others that pass', async () => {
      const limits = [aLimit({ threshold: 1 })];
      const results = await Promise.all(
        [0n, 1n, 2n].map((nonce) =>
          it.store.reserve(aRequest({ key: { nonce }, limits, ...of(Number(nonce)) })),
        ),
      );
      expect(results.map(({ outcome }) => outcome)).toEqual(['reserved', 'limit', 'limit']);
      expect(await takeRecords()).toEqual([added(0, 0)]);
    });

    test('a deposit that is not known adds nothing', async () => {
      await expect(it.store.reserve(aRequest({ accounts: [aNeed(1)], ...of(1) }))).rejects.toMatchObject({
        code: 'UNAVAILABLE',
      });
      expect(await takeRecords()).toEqual([]);
    });

    test('commit and finalize are two records of one reservation; finalizing again adds none', async () => {
      const commit = aRequest({ ...of(1), phase: { kind: 'commit', commitment: aHash(1) } });
      const finalize = { ...commit, phase: { kind: 'finalize', commitment: aHash(1) } as const };
      expect(await it.store.reserve(commit)).toEqual(reserved);
      expect(await it.store.reserve({ ...finalize, ...of(2) })).toEqual(reserved);
      expect(await it.store.reserve({ ...finalize, ...of(3) })).toEqual(reserved);
      expect(await takeRecords()).toEqual([added(1, 1), added(1, 2)]);
      it.clock.advance(60_000);
      await it.store.dropCommits(chainId);
      expect(await live()).toMatchObject(known(1));
    });

    test('a reservation keeps its first id when a later commit of it is over', async () => {
      const phase = { kind: 'commit', commitment: aHash(1) } as const;
      await it.store.reserve(aRequest(of(1)));
      await it.store.reserve(aRequest({ ...of(2), phase }));
      it.clock.advance(60_000);
      await it.store.dropCommits(chainId);
      expect(await live()).toMatchObject(known(1));
    });

    test('a reservation without a record gets its id from the first request that has one', async () => {
      const phase = { kind: 'commit', commitment: aHash(1) } as const;
      await it.store.reserve(aRequest());
      expect(await live()).not.toMatchObject([{ recordId: expect.anything() }]);
      await it.store.reserve(aRequest({ phase, ...of(1) }));
      it.clock.advance(60_000);
      await it.store.dropCommits(chainId);
      expect(await live()).toMatchObject(known(1));
    });

    test('a request without a record adds none, and the id stays', async () => {
      await it.store.reserve(aRequest(of(1)));
      await it.store.reserve(aRequest({ promise: { digest: aDigest(2) } }));
      expect(await takeRecords()).toEqual([added(1, 1)]);
      expect(await live()).toMatchObject(known(1));
    });

    test('each ending adds its record with the reservation’s id, in the order of the step', async () => {
      for (const nonce of [0n, 1n, 2n, 3n])
        await it.store.reserve(aRequest({ key: { nonce }, ...(nonce === 3n ? {} : of(Number(nonce))) }));
      await takeRecords();
      await it.advance({
        forfeited: [{ key: aKey({ nonce: 2n }), record: aStepExpiry(13) }],
        released: [
          { key: aKey({ nonce: 1n }), record: aStepExpiry(11) },
          { key: aKey({ nonce: 3n }), record: aStepExpiry(12) },
        ],
        settled: [
          { key: aKey(), actualCost: gwei(1), record: aStepSettlement(10) },
          { key: aKey({ nonce: 9n }), actualCost: gwei(1), record: aStepSettlement(14) },
        ],
      });
      expect(await takeRecords()).toEqual([
        ended(0, aStepSettlement(10)),
        ended(1, aStepExpiry(11)),
        ended(undefined, aStepExpiry(12)),
        ended(2, aStepExpiry(13)),
      ]);
    });

    test('an ending that does not happen adds nothing', async () => {
      await it.store.reserve(aRequest(of(1)));
      const phase = { kind: 'commit', commitment: aHash(1) } as const;
      await it.store.reserve(aRequest({ key: { nonce: 1n }, phase, ...of(2) }));
      await takeRecords();
      await it.advance({
        released: [
          { key: aKey(), validUntil: seconds(299), record: aStepExpiry(10) },
          { key: aKey(), record: aStepExpiry(11) },
          { key: aKey({ nonce: 1n }), record: aStepExpiry(12) },
        ],
      });
      expect(await takeRecords()).toEqual([]);
    });

    test('a step that is not taken adds nothing', async () => {
      await it.store.reserve(aRequest(of(1)));
      const step = it.step({ settled: [{ key: aKey(), actualCost: gwei(1), record: aStepSettlement(10) }] });
      await it.advance();
      await takeRecords();
      expect(await it.store.advance(step)).toEqual({ isTaken: false });
      expect(await takeRecords()).toEqual([]);
    });

    test('a restored reservation comes back with its id, and its records are those of the step', async () => {
      await it.store.reserve(aRequest(of(1)));
      const whole = it.step({ settled: [{ key: aKey(), actualCost: gwei(1), record: aStepSettlement(10) }] });
      const gone = await live();
      await it.store.advance(whole);
      await takeRecords();
      await it.store.advance({
        ...it.step({
          restored: gone,
          records: [{ reservation: stepRecordId(1), record: aStepReversal(11) }],
        }),
        expected: whole.next,
        settled: [{ key: aKey(), actualCost: gwei(1), record: aStepSettlement(12) }],
      });
      expect(await takeRecords()).toEqual([ended(1, aStepReversal(11)), ended(1, aStepSettlement(12))]);
    });

    test('of two reservations that become one the smaller id stays', async () => {
      await it.store.reserve(aRequest(of(1)));
      const [former] = await live();
      await it.advance({ released: [{ key: aKey() }] });
      const phase = { kind: 'commit', commitment: aHash(1) } as const;
      await it.store.reserve(aRequest({ ...of(2), phase, promise: { digest: aDigest(2) } }));
      await it.advance({ restored: [former!] });
      expect(await live()).toMatchObject(known(1));
      it.clock.advance(hourMs);
      await it.store.dropCommits(chainId);
      expect(await live()).toMatchObject(known(1));
    });

    test('records are still there for the next process', async () => {
      await it.store.reserve(aRequest(of(1)));
      await it.replaced('reopen');
      expect(await takeRecords()).toEqual([added(1, 1)]);
      await it.replaced('reopen');
      expect(await takeRecords()).toEqual([]);
    });
  });
}
