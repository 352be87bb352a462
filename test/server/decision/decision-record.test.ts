import { expect, test } from '@jest/globals';
import type { Decision } from '../../../core/ledger/record.js';
import { parseRecord } from '../../../core/ledger/record-text.js';
import { silentLogger } from '../../../core/log.js';
import { refuse } from '../../../core/refusal.js';
import { toAddressKey } from '../../../core/units/address.js';
import { parseUserOperation } from '../../../core/userop/parse.js';
import { createDecisionRecords } from '../../../server/decision/decision-record.js';
import { draftSponsorship } from '../../../server/decision/sponsored.js';
import { gatherCase } from '../../../server/decision/sponsored-case.js';
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

test('what is signed is recorded with its limits, its calls and the most that it can cost', () => {
  const { on, subject, promised, records } = aCase();
  const { id, text } = records.promised(on, subject, 'sponsored', promised);
  expect(parseRecord(text)).toEqual({
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
  const { on, subject, refused, records } = aCase();
  records.refused(on, subject, { ...refuse('LIMIT_REACHED', 'x'.repeat(10_000)), policyId: 'p-1' });
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
  const { on, subject, refused, records } = aCase();
  records.refused(on, subject, refuse('EXECUTION_REVERTS', `no\0 \r\nmoney ${'\ud800'} ${'😀'.repeat(300)}`));
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
  const { text } = records.promised(on, subject, 'sponsored', promised);
  const { calls } = parseRecord(text) as Decision;
  expect(Buffer.byteLength(text)).toBeLessThan(8_192);
  expect(calls.length).toBeGreaterThan(8);
  expect(calls.length).toBeLessThanOrEqual(32);
});

/** A request to a paymaster with one limit and one registered contract, as far as a step list has decided it. */
function aCase(callData = execute(), contractName = 'Token') {
  const config = aPaymasterConfig();
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
    sign: (digests: readonly Uint8Array[]) => digests.map(() => new Uint8Array(65).fill(27)),
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
      view: { chain: () => chain, isStale: () => false },
      heads: { get: () => head },
      dataFees: { get: () => undefined },
      clock,
    },
    paymaster,
    {
      op: parseUserOperation(anOperation({ callData }), '0.6'),
      calculateGasLimits: false,
      expirySeconds: undefined,
      webhookData: {},
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
  const refused: Decision[] = [];
  const records = createDecisionRecords({
    ids: createRecordIds(clock),
    refusals: { add: (_of, _reason, make) => void refused.push(make()) },
  });
  return { on, subject, promised, records, refused };
}
