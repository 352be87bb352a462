import { expect, test } from '@jest/globals';
import type { Decision } from '../../../core/ledger/record.js';
import { silentLogger } from '../../../core/log.js';
import { refuse } from '../../../core/refusal.js';
import { toAddressKey } from '../../../core/units/address.js';
import { parseUserOperation } from '../../../core/userop/parse.js';
import { createDecisionRecords } from '../../../server/decision/decision-record.js';
import { planReservation } from '../../../server/decision/reservation.js';
import { draftSponsorship } from '../../../server/decision/steps/sponsored.js';
import { gatherCase } from '../../../server/decision/steps/sponsored-case.js';
import { withLimits } from '../../../server/decision/gas-limits.js';
import type { Subject } from '../../../server/decision/step.js';
import { createRecordIds } from '../../../server/ledger/record-ids.js';
import { serveChain } from '../../../server/view/served-chain.js';
import { servePaymaster } from '../../../server/view/served-paymaster.js';
import { createSharing } from '../../../server/view/sharing.js';
import {
  addressOf,
  aChainConfig,
  aLimitConfig,
  aPaymasterConfig,
  someFunding,
  someNow,
  someTarget,
} from '../../build/configs.js';
import { anOperation, execute, executeBatch, mintCall } from '../../build/operations.js';
import { signsBy } from '../../build/signing.js';
import { createTakeBack } from '../../../server/decision/sign/take-back.js';
import { MemoryRows } from '../../support/memory-rows.js';
import type { StepRecord } from '../../../core/usage/reservation.js';
import { gwei } from '../../../core/units/wei.js';

test('a signed operation is recorded with its limits, its calls and the most that it can cost', () => {
  const { on, subject, promised, records } = aCase();
  const record = records.promised(on, subject, 'sponsored', promised);
  const { id } = record;
  expect(record).toEqual({
    kind: 'decision',
    id,
    at: someNow,
    organisation: 'acme',
    paymasterId: on.paymaster.paymasterId,
    chainId: on.chain.chainId,
    entryPoint: on.profile.entryPointKey,
    contract: on.profile.contractKey,
    fundingAddress: toAddressKey(someFunding),
    mode: 'SPONSORED',
    method: 'pm_sponsorUserOperation',
    requestId: 'ours',
    callerRequestId: 'theirs',
    sender: on.request.op.sender,
    nonce: on.request.op.nonce,
    callsLeftOut: 0,
    digest: promised.promise.digest,
    // A listed method is a value of usage; others are one value, since callers choose them.
    calls: [
      expect.objectContaining({
        target: toAddressKey(someTarget),
        contractId: expect.any(String),
        name: expect.stringMatching(/^0x[0-9a-f]{8}$/),
      }),
    ],
    verdict: 'sponsored',
    policies: [{ policyId: on.paymaster.limits[0]!.policyId, effect: 'counted' }],
    maxCostWei: promised.need.entryPoint,
    validUntil: someNow / 1000 + 300,
  });
});

test('a refusal is recorded with its reason, its detail and the policy that refused', () => {
  const { on, mode, refused, records } = aCase();
  records.refused(mode, on, { ...refuse('LIMIT_REACHED', 'x'.repeat(10_000)), policyId: 'p-1' });
  expect(refused).toEqual([
    expect.objectContaining({
      verdict: 'refused',
      reason: 'LIMIT_REACHED',
      detail: 'x'.repeat(500),
      policies: [{ policyId: 'p-1', effect: 'refused' }],
      digest: undefined,
      maxCostWei: undefined,
      callerRequestId: 'theirs',
    }),
  ]);
});

test('text that a contract or host chose is kept without control characters and halves of characters', () => {
  const { on, mode, refused, records } = aCase();
  records.refused(mode, on, refuse('EXECUTION_REVERTS', `no\0 \r\nmoney ${'\ud800'} ${'😀'.repeat(300)}`));
  const [{ detail } = { detail: undefined }] = refused;
  expect(detail).toMatch(/^no +money \ufffd 😀/);
  expect(detail?.isWellFormed()).toBe(true);
  expect(detail?.length).toBeLessThanOrEqual(500);
});

test('a record stays below 8 kB, whatever the number of calls and the length of names', () => {
  const name = 'n'.repeat(253);
  const { on, subject, promised, records } = aCase(
    executeBatch(Array.from({ length: 120 }, () => ({ target: someTarget, data: mintCall() }))),
    name,
  );
  const { calls } = records.promised(on, subject, 'sponsored', promised);
  expect(Buffer.byteLength(JSON.stringify(calls))).toBeLessThan(7_000);
  expect(calls.length).toBeGreaterThan(8);
  expect(calls.length).toBeLessThanOrEqual(32);
});

test('records of a later tenant of a namespace are under the name of that tenant', () => {
  const { mode, on, subject, promised, refused, records } = aCase(execute(), 'Token', {
    tenant: 'acme@2',
  });
  const record = records.promised(on, subject, 'sponsored', promised);
  records.refused(mode, on, refuse('NOT_FUNDED', ''));
  expect(record).toMatchObject({ organisation: 'acme@2' });
  for (const of of refused) expect(of.organisation).toBe('acme@2');
});

test('a promise that could not be signed ends unused, in the ledger too', async () => {
  const { on, mode, promised, records } = aCase();
  const { chainId, tenant: organisation, paymasterId } = on.paymaster;
  const rows = new MemoryRows(chainId);
  const record = records.promised(on, mode.subject(), 'sponsored', promised);
  const request = planReservation(promised, Infinity, record)(someNow);
  rows.turn((turn) => {
    for (const account of request.accounts) turn.setBalance(account, gwei(1_000_000_000), someNow);
  });
  expect(rows.turn((turn) => turn.reserve(request, someNow))).toEqual({ outcome: 'reserved' });

  const ended: (StepRecord | undefined)[] = [];
  const takeBack = createTakeBack({
    usage: {
      takeBack: async (promise) => {
        ended.push(promise.record);
        return rows.turn((turn) => turn.takeBack(promise));
      },
    },
    recording: { ids: createRecordIds({ now: () => someNow }) },
    log: silentLogger,
  });
  await takeBack(promised);
  expect(rows.reservation(request.key)).toBeUndefined();
  const line = { organisation, paymasterId, chainId };
  expect(ended).toEqual([expect.objectContaining({ ...line, kind: 'settlement', outcome: 'expired' })]);

  // Nothing ends a second time, and a store that does not answer leaves the promise to expire.
  await takeBack(promised);
  const failing = { takeBack: () => Promise.reject(new Error('no database')) };
  await createTakeBack({ usage: failing, recording: undefined, log: silentLogger })(promised);
});

/** A request to a paymaster with one limit and one registered contract, as far as a step list has decided it. */
function aCase(callData = execute(), contractName = 'Token', { tenant }: { readonly tenant?: string } = {}) {
  const config = { ...aPaymasterConfig(), ...(tenant === undefined ? {} : { tenant }) };
  const paymaster = servePaymaster(
    {
      ...config,
      fundingAddress: someFunding,
      limits: [aLimitConfig()],
      contracts: config.contracts.map((contract) => ({ ...contract, name: contractName })),
    },
    createSharing(),
  );
  const signer = {
    address: addressOf(1),
    implementation: 'test',
    sign: signsBy(() => new Uint8Array(65).fill(27)),
  };
  const chain = serveChain(
    aChainConfig(),
    { get: () => signer, recover: () => addressOf(0xa11ce) },
    silentLogger,
  );
  const clock = { now: () => someNow };
  const head = {
    number: 1,
    timestamp: someNow / 1000,
    baseFeePerGas: 1_000_000_000n,
    priorityFeePerGas: 1_000_000_000n,
    observedAt: someNow,
  };
  const on = gatherCase(
    {
      view: { chain: () => chain, isStale: () => false, addressList: () => undefined },
      heads: { get: () => head },
      dataFees: { get: () => undefined },
      prices: { peek: () => undefined },
      clock,
    },
    paymaster,
    {
      op: parseUserOperation(anOperation({ callData }), '0.6'),
      calculateGasLimits: false,
      expirySeconds: undefined,
      webhookData: { coupon: 'top-secret' },
      requestId: 'ours',
      callerRequestId: 'theirs',
      method: 'pm_sponsorUserOperation',
    },
  );
  const subject: Subject = {
    mode: 'SPONSORED',
    contract: on.profile.contractKey,
    token: undefined,
    calls: on.calls,
  };
  const { promised } = draftSponsorship(on, withLimits(on.request.op, on.request.op), someNow);
  const mode = { subject: () => subject } as const;
  const refused: Decision[] = [];
  const records = createDecisionRecords({
    ids: createRecordIds(clock),
    refusals: {
      add(_of, _reason, make) {
        const decision = make();
        refused.push(decision);
        return decision;
      },
    },
  });
  return { on, subject, mode, promised, records, refused };
}
