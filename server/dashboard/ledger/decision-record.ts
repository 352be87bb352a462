import type { DecisionView, SettlementView } from '../../../core/ledger/query.js';
import type { Decision } from '../../../core/ledger/record.js';
import { arrayOf, record, type JsonSchema } from '../../../core/schema/json-schema.js';
import { hexQuantity } from '../../../core/units/hex.js';
import { formatInstant, toMs } from '../../../core/units/time.js';
import { formatDecimal } from '../../../core/units/wei.js';
import { recordedSteps, shownSteps } from '../../decision/show/recorded-steps.js';
import { amount } from './amounts.js';
import type { MethodNames } from './method-names.js';
import * as schemas from './schemas.js';

/** A decision as the API shows it. */
export function renderDecision(
  { decision, settlement }: DecisionView,
  nameOf: MethodNames,
  /** What the paymaster is called, or was called when it was deleted. */
  paymaster: string | undefined,
): Readonly<Record<string, unknown>> {
  const { maxCostWei, validUntil } = decision;
  return {
    id: decision.id,
    at: formatInstant(decision.at),
    verdict: decision.verdict,
    reason: decision.reason ?? null,
    detail: decision.detail ?? null,
    method: decision.method,
    requestId: decision.requestId,
    callerRequestId: decision.callerRequestId ?? null,
    paymasterId: decision.paymasterId,
    paymaster: paymaster ?? null,
    chainId: decision.chainId,
    mode: decision.mode ?? null,
    entryPoint: decision.entryPoint,
    contract: decision.contract ?? null,
    fundingAddress: decision.fundingAddress ?? null,
    sender: decision.sender,
    nonce: hexQuantity(decision.nonce),
    userOpHash: decision.userOpHash ?? settlement?.mined?.userOpHash ?? null,
    calls: decision.calls.map(({ target, selector, contractId }) => ({
      target,
      selector,
      name: (contractId && nameOf(contractId, selector)) ?? null,
      contractId: contractId ?? null,
    })),
    policies: policiesOf(decision),
    campaign: decision.policies.find(({ effect }) => effect === 'campaign')?.policyId ?? null,
    ...(maxCostWei === undefined ? { maxCostWei: null, maxCost: null } : amount('maxCost', maxCostWei)),
    validUntil: validUntil === undefined ? null : formatInstant(toMs(validUntil)),
    token: decision.token ?? null,
    settlement: settlement === undefined ? null : renderSettlement(settlement),
  };
}

/** What was decided, for one who asks why: every step with its outcome, every policy that had a part in it, and the verdict. */
export function renderTrace(decision: Decision): readonly object[] {
  const { verdict, reason } = decision;
  return [
    ...recordedSteps(decision),
    ...policiesOf(decision).map(({ policyId, effect }) => ({ step: 'policy', policyId, verdict: effect })),
    { step: 'decision', verdict, ...(reason === undefined ? {} : { reason }) },
  ];
}

/** The campaign is kept among them. */
function policiesOf({ policies }: Decision): Decision['policies'] {
  return policies.filter(({ effect }) => effect !== 'campaign');
}

function renderSettlement({ outcome, at, mined, takenBack }: SettlementView): object {
  const token = mined?.token;
  return {
    outcome,
    at: formatInstant(at),
    transactionHash: mined?.transactionHash ?? null,
    ...amount('actualGasCost', mined?.actualGasCostWei ?? 0n),
    actualGasUsed: (mined?.actualGasUsed ?? 0n).toString(),
    success: mined?.success ?? null,
    blockNumber: mined?.blockNumber ?? null,
    blockHash: mined?.blockHash ?? null,
    logIndex: mined?.logIndex ?? null,
    token:
      token === undefined
        ? null
        : {
            address: token.address,
            amount: token.amount.toString(),
            decimals: token.decimals ?? null,
            rendered: token.decimals === undefined ? null : formatDecimal(token.amount, token.decimals),
          },
    takenBack,
  };
}

const integerOrNull: JsonSchema = { type: ['integer', 'null'] };

const settlementSchema = record({
  outcome: { enum: ['mined', 'expired', 'spent-elsewhere'] },
  at: schemas.time,
  transactionHash: schemas.hashOrNull,
  actualGasCostWei: schemas.wei,
  actualGasCost: schemas.coins,
  actualGasUsed: schemas.wei,
  success: { type: ['boolean', 'null'], description: 'False: the call of the account reverted.' },
  blockNumber: integerOrNull,
  blockHash: schemas.hashOrNull,
  logIndex: integerOrNull,
  token: {
    anyOf: [
      { type: 'null' },
      record({
        address: schemas.address,
        amount: schemas.wei,
        decimals: integerOrNull,
        rendered: schemas.textOrNull,
      }),
    ],
  },
  takenBack: { ...schemas.count, description: 'Settlements before this one that a reorganisation removed.' },
});

export const members: Readonly<Record<string, JsonSchema>> = {
  id: schemas.uuid,
  at: schemas.time,
  verdict: { enum: ['sponsored', 'refused', 'committed'] },
  reason: schemas.textOrNull,
  detail: schemas.textOrNull,
  method: schemas.text,
  requestId: schemas.text,
  callerRequestId: { ...schemas.textOrNull, description: 'X-Request-Id of the caller, who may repeat it.' },
  paymasterId: schemas.uuid,
  paymaster: {
    ...schemas.textOrNull,
    description: 'What it is called, or was called when it was deleted.',
  },
  chainId: { type: 'integer' },
  mode: { enum: ['SPONSORED', 'ERC20', null] },
  entryPoint: schemas.address,
  contract: schemas.addressOrNull,
  fundingAddress: schemas.addressOrNull,
  sender: schemas.address,
  nonce: { type: 'string', pattern: '^0x[0-9a-f]+$' },
  userOpHash: { ...schemas.hashOrNull, description: 'Null when refused, or not known until it is mined.' },
  calls: arrayOf(
    record({
      target: schemas.address,
      selector: { type: 'string', pattern: '^0x([0-9a-f]{8})?$' },
      name: {
        ...schemas.textOrNull,
        description:
          'By the ABI of the registered contract; null for others, and when the ABI no longer has it.',
      },
      contractId: { ...schemas.textOrNull, description: 'Name of the registered contract.' },
    }),
  ),
  policies: arrayOf(
    record({ policyId: schemas.text, effect: { enum: ['counted', 'refused', 'would_refuse'] } }),
  ),
  campaign: { ...schemas.textOrNull, description: 'The campaign that the request named, if it is known.' },
  maxCostWei: schemas.weiOrNull,
  maxCost: schemas.coinsOrNull,
  validUntil: schemas.timeOrNull,
  token: schemas.addressOrNull,
  settlement: { anyOf: [{ type: 'null' }, settlementSchema] },
};

export const decisionSchema = record(members);

export const tracedDecisionSchema = record({
  ...members,
  trace: arrayOf(
    record(
      {
        step: {
          enum: [...shownSteps, 'policy', 'decision'],
          description:
            'A step as pm_explainSponsorship names it, then each policy with a part in it, then the verdict.',
        },
        verdict: {
          enum: [
            'pass',
            'refuse',
            'undecided',
            'counted',
            'refused',
            'would_refuse',
            'sponsored',
            'committed',
          ],
          description:
            'pass: the step did not refuse, or had nothing to decide. undecided: it comes after the refusal.',
        },
      },
      {
        policyId: schemas.text,
        reason: schemas.text,
        detail: schemas.text,
        remedy: schemas.text,
      },
    ),
  ),
});

export const decisionExample = {
  id: '019b76da-a800-7000-8000-000000000001',
  at: '2026-01-01T00:00:00.000Z',
  verdict: 'sponsored',
  reason: null,
  detail: null,
  method: 'pm_sponsorUserOperation',
  requestId: '5f1c2e4a-12',
  callerRequestId: null,
  paymasterId: '7e0b4a52-6d7f-5d8a-9a51-0f3b1f1f6a11',
  paymaster: 'shop',
  chainId: 31337,
  mode: 'SPONSORED',
  entryPoint: '0x0000000071727de22e5e9d8baf0edac6f37da032',
  contract: '0x00000000000000fb866daaa79352cc568a005d96',
  fundingAddress: null,
  sender: '0x1234567890123456789012345678901234567890',
  nonce: '0x0',
  userOpHash: null,
  calls: [
    {
      target: '0x5fbdb2315678afecb367f032d93f642f64180aa3',
      selector: '0xd09de08a',
      name: 'increment',
      contractId: '0f3b1f1f-6d7f-5d8a-9a51-7e0b4a526a11',
    },
  ],
  policies: [],
  campaign: null,
  maxCostWei: '420000000000000',
  maxCost: '0.00042',
  validUntil: '2026-01-01T00:10:00.000Z',
  token: null,
  settlement: null,
} as const;
